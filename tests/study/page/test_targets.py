"""What a target costs, from timings whose answer is known."""

from pathlib import Path

import pytest

from embedalloc.study.page.targets import Cost, describe_targets, measure
from embedalloc.study.workflow.document import as_markdown
from embedalloc.study.workflow.tables import TableError


def put(folder, rule, seconds, memory, *sizes):
    """Write the timing of one job and what it made; return them as `measure` takes them."""
    timing = folder / f"results/timings/{rule}.tsv"
    timing.parent.mkdir(parents=True, exist_ok=True)
    timing.write_text(f"s\th:m:s\tmax_rss\tcpu_time\n{seconds}\t0:00:01\t{memory}\t-\n")
    made = [folder / f"{timing.stem}_{number}" for number in range(len(sizes))]
    for file, size in zip(made, sizes, strict=True):
        file.write_bytes(bytes(size))
    return {str(timing): [str(file) for file in made]}


def test_jobs_share_two_cores_and_clocks_run_alone(tmp_path):
    jobs = put(tmp_path, "simulate_exp1/a_0", 60, 300, 500_000, 500_000)
    jobs |= put(tmp_path, "simulate_exp1/b_0", 70, 200, 1_000_000)
    jobs |= put(tmp_path, "plot_exp1_main", 30, "-", 0)
    assert measure(jobs) == Cost(jobs=3, minutes=80 / 60, memory=500.0, disk=2.0)
    jobs |= put(tmp_path, "time_heart", 30, 450)
    assert measure(jobs).minutes == pytest.approx(110 / 60)
    assert measure(jobs).memory == 500.0


def test_the_longest_job_cannot_be_shared(tmp_path):
    jobs = put(tmp_path, "simulate_exp1/a_0", 90, 1) | put(tmp_path, "plot_a", 30, 1)
    assert measure(jobs).minutes == 1.5


def test_only_jobs_that_run_alone(tmp_path):
    assert measure(put(tmp_path, "measure_benchmark/x", 60, 70)).minutes == 1.0


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe\x00", b"s\n1\n", b"s\tmax_rss\tcpu_time\nx\t1\t1"]
)
def test_a_damaged_timing_is_named_with_the_way_out(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    (timing,) = put(Path(), "plot_a", 30, 1)
    Path(timing).write_bytes(content)
    with pytest.raises(TableError, match=rf"^{timing}: no timing of a job; .* --force {timing}$"):
        measure({timing: []})


def test_the_table_reads_well():
    text = as_markdown(describe_targets({"all": Cost(59, 3.34, 1102.4, 45.25)}))
    assert "| `all` | 59 | 3.3 | 1,102 | 45.2 |" in text
