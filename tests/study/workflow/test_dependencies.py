"""Which files a script depends on, read from its text."""

import subprocess
import sys
from pathlib import Path

import pytest

from embedalloc.study.workflow.dependencies import SOURCE, imports_of
from tests.places import ROOT


def names(script):
    """Package files among a script's code; the script itself is always there."""
    code = {Path(path).resolve() for path in imports_of(script)}
    code.remove(Path(script).resolve())
    return {path.relative_to(SOURCE / "embedalloc").as_posix() for path in code}


def test_direct_and_indirect_imports_are_found():
    exp1, exp3 = names(ROOT / "scripts/simulate_exp1.py"), names(ROOT / "scripts/simulate_exp3.py")
    assert {"study/exp1.py", "study/latent.py", "streams.py", "spectra.py"} <= exp1
    assert {"allocation.py", "heuristics.py", "priorities.py", "problem.py"} <= exp3
    assert "allocation.py" not in exp1
    assert "study/exp3.py" not in exp1
    assert "study/style.py" not in exp1 | exp3


#: Runs the imports of every script in a fork of its own; what all of them need from outside the
#: package is loaded once, before the forks.
PROBE = """
import os, runpy, sys
import matplotlib.figure, numba, numpy, pandas, pyarrow.parquet, scipy.stats, seaborn, torch
for script in sys.argv[1:]:
    sys.stdout.flush()
    if os.fork() == 0:
        runpy.run_path(script, run_name="probe")
        for name, module in list(sys.modules.items()):
            if name.split(".")[0] == "embedalloc":
                print(script, module.__file__)
        sys.stdout.flush()
        os._exit(0)
    assert os.wait()[1] == 0, script
"""


@pytest.mark.slow  # imports every script
def test_equal_to_what_python_really_loads():
    """The list read from the text holds exactly the package files that the imports load."""
    scripts = sorted(str(path) for path in (ROOT / "scripts").glob("*.py"))
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *scripts], capture_output=True, text=True, check=True
    )
    loaded: dict[str, set[str]] = {script: set() for script in scripts}
    for line in done.stdout.splitlines():
        script, path = line.split(" ")
        loaded[script].add(Path(path).relative_to(SOURCE / "embedalloc").as_posix())
    for script in scripts:
        assert names(script) == loaded[script], script


def test_imports_inside_functions_count_and_those_for_type_checkers_do_not(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import embedalloc.budgets\n"
        "else:\n    import embedalloc.spectra\n"
        "def late():\n    from embedalloc import problem\n"
    )
    assert names(script) == {"__init__.py", "spectra.py", "problem.py"}


def test_relative_imports_are_refused(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("from . import other\n")
    with pytest.raises(ValueError, match=r"script\.py:1: write the import with its full name"):
        imports_of(script)
