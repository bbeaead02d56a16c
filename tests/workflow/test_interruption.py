"""Killed runs and damaged places: the same command again, or one clear line."""

from tests.interruption import torture
from tests.workflow.runner import run

#: Simulations with several outputs per job, a figure and a search: half of the program's own.
TARGETS = ("figures/exp3_allocations.pdf", "results/audit.parquet")


def test_killed_runs_resume_and_leave_no_damage(tmp_path):
    assert torture(tmp_path, kills=6, seed=8, targets=TARGETS) >= 1


def failed(directory, *targets):
    """Give the command in a place that cannot work; return what the user sees."""
    done = run(directory, "--", *targets, cores=1)
    assert done.returncode != 0
    assert "Traceback" not in done.stdout
    return done.stdout


def test_a_figure_folder_that_is_a_file_stops_before_the_first_job(tmp_path):
    (tmp_path / "figures").write_text("a file")
    assert "figures: a file where a folder is needed; move it away" in failed(tmp_path)
    assert not (tmp_path / "results").exists()


def test_a_read_only_results_folder_stops_before_the_first_job(tmp_path, small_disk):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/results").symlink_to(small_disk("ro,size=1m"))
    output = failed(tmp_path / "run", "results/audit.parquet")
    assert "results: the folder is read-only; make it writable or run elsewhere" in output


def test_a_full_disk_ends_in_one_line_without_a_damaged_file(tmp_path, small_disk):
    """The results folder has room for the log, but not for the table."""
    disk = small_disk("size=12k")
    (tmp_path / "run").mkdir()
    (tmp_path / "run/results").symlink_to(disk)
    output = failed(tmp_path / "run", "results/heart/patients.parquet")
    assert "cannot be written (No space left on device): 'results/heart/patients.parquet'" in output
    assert [path for path in disk.rglob("*") if path.suffix == ".parquet"] == []
