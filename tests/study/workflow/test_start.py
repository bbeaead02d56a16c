"""Before the first job: locks of killed runs are forgotten, folders are checked."""

import multiprocessing
import os
import signal
import time
from contextlib import contextmanager

import pytest

from embedalloc.study.settings.errors import ConfigError
from embedalloc.study.settings.exp1 import Exp1Designs
from embedalloc.study.workflow.environment import forget_steering
from embedalloc.study.workflow.start import (
    check_folder,
    forget_future_dates,
    forget_stale_locks,
    read_values,
    use_own_code,
)
from tests.places import ROOT

#: Runs are forks, for a new process would load packages longer than it does its work.
FORKS = multiprocessing.get_context("fork")


def begin(state, stays, told):
    """Do what a run does first; one that stays locks an output and waits for its end."""
    forget_stale_locks(state)
    locks = state / "locks"
    told.send(sorted(path.name for path in locks.glob("*")))
    if stays:
        locks.mkdir(exist_ok=True)
        (locks / "0.output.lock").write_text("figures/x.pdf")
        told.send("locked")
        signal.pause()


@contextmanager
def started(directory, stays=False):
    """Start a run in a process of its own; give it and what it tells."""
    heard, told = FORKS.Pipe(duplex=False)
    process = FORKS.Process(target=begin, args=(directory / ".snakemake", stays, told))
    process.start()
    told.close()
    try:
        yield process, heard.recv
    finally:
        if stays:
            process.kill()
        process.join()


def seen(directory):
    """Locks that a run started now would find."""
    with started(directory) as (_, told):
        return told()


def test_locks_end_with_their_run_and_not_before(tmp_path):
    with started(tmp_path, stays=True) as (first, told):
        assert [told(), told()] == [[], "locked"]
        # While the first is alive, others leave its locks alone, however many come and go.
        assert [seen(tmp_path) for _ in range(3)] == [["0.output.lock"]] * 3
        with started(tmp_path, stays=True) as (_, told):
            assert told() == ["0.output.lock"]
            assert first.is_alive()
            first.kill()
            first.join()
            # The first is gone, the second is not: the lock may be its own.
            assert seen(tmp_path) == ["0.output.lock"]
    assert seen(tmp_path) == []


def test_locks_of_another_computer_are_left_alone(tmp_path):
    locks = tmp_path / ".snakemake/locks"
    locks.mkdir(parents=True)
    (locks / "0.output.lock").write_text("figures/x.pdf")
    (tmp_path / ".snakemake/running.lock").write_text("elsewhere")
    assert seen(tmp_path) == ["0.output.lock"]
    (locks / "0.output.lock").unlink()
    locks.rmdir()
    assert seen(tmp_path) == []
    (tmp_path / ".snakemake/locks").mkdir()
    (locks / "0.output.lock").write_text("figures/x.pdf")
    assert seen(tmp_path) == []


def test_places_for_results_are_checked(tmp_path, monkeypatch):
    check_folder(tmp_path / "not there yet")
    check_folder(tmp_path)
    (tmp_path / "figures").write_text("a file")
    (tmp_path / "results").symlink_to("nowhere")
    for name in ("figures", "results"):
        with pytest.raises(ConfigError, match=rf"{name}: a file where a folder is needed"):
            check_folder(tmp_path / name)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(ConfigError, match="the folder is read-only"):
        check_folder(tmp_path)


def test_jobs_get_the_code_of_this_project_first(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", f"/another/clone/src:{ROOT}")
    use_own_code(ROOT)
    assert os.environ["PYTHONPATH"] == f"{ROOT}/src:{ROOT}:/another/clone/src"
    monkeypatch.delenv("PYTHONPATH")
    use_own_code(ROOT)
    assert os.environ["PYTHONPATH"] == f"{ROOT}/src:{ROOT}"


def test_what_steers_libraries_is_forgotten_and_places_and_kernels_stay():
    kept = {
        "HOME": "/home/a",
        "PATH": "/bin",
        "PYTHONPATH": "/somewhere",
        "MPLCONFIGDIR": "/cache",
        "OPENBLAS_CORETYPE": "Haswell",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3",
    }
    steering = (
        *("NUMBA_DISABLE_JIT", "NUMBA_CACHE_DIR", "NUMBA_OPT", "OMP_NUM_THREADS", "MKL_CBWR"),
        *("PYTHONOPTIMIZE", "PYTHONWARNINGS", "PYTHONINSPECT", "MPLBACKEND", "MATPLOTLIBRC"),
        *("OPENBLAS_NUM_THREADS", "TORCH_LOGS", "NPY_RELAXED_STRIDES_DEBUG"),
    )
    environment = kept | dict.fromkeys(steering, "1")
    forget_steering(environment)
    assert environment == kept


def test_the_code_of_another_clone_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=rf"^{tmp_path}: .* with the code of {ROOT}; start"):
        use_own_code(tmp_path)


def test_designs_stand_in_the_order_of_the_paper():
    laws = {
        "exponential": {"decay": "exponential", "rate": 0.5, "scale": 1.0},
        "polynomial_fast": {"decay": "polynomial", "rate": 1.5, "scale": 1.0},
        "polynomial_slow": {"decay": "polynomial", "rate": 1.0, "scale": 1.0},
    }
    ordered = ["polynomial_slow", "polynomial_fast", "exponential"]
    for names in (laws, reversed(laws)):
        block = {"designs": {name: laws[name] for name in names}}
        assert list(Exp1Designs.model_validate(block).designs) == ordered


def test_values_of_the_command_line_are_read_like_those_of_a_file():
    """Snakemake leaves what stands in a block as text."""
    given = {"exp3": {"replications": "100", "budgets": ["300", "400"], "spectral_mass": "squared"}}
    given |= {"heart": {"flag": "true", "tables": [{"size": "3"}], "odd": "[1"}, "seed": 7}
    config = {"exp3": {"noise": 0.9} | given["exp3"], "heart": dict(given["heart"]), "seed": 7}
    read_values(config, given)
    assert config == {
        "exp3": {
            "noise": 0.9,
            "replications": 100,
            "budgets": [300, 400],
            "spectral_mass": "squared",
        },
        "heart": {"flag": True, "tables": [{"size": 3}], "odd": "[1"},
        "seed": 7,
    }


def test_files_of_the_future_are_dated_to_now(tmp_path):
    (tmp_path / "deep").mkdir()
    past, future = tmp_path / "past", tmp_path / "deep/future"
    for path, date in ((past, 1000.0), (future, time.time() + 86_400)):
        path.write_text("")
        os.utime(path, (date, date))
    forget_future_dates(tmp_path, tmp_path / "not there")
    assert past.stat().st_mtime == 1000.0
    assert 0 <= time.time() - future.stat().st_mtime < 60
