"""The smoke configuration on a real Slurm of two nodes, one of which is lost on the way."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.mini_slurm import PATH, PROGRAMS, end_with_parent, environment
from tests.conftest import FinishedRun
from tests.digests import digests, file_digests
from tests.places import ROOT
from tests.programs import require
from tests.workflow.runner import complete, start

#: Longest wait for a run; far more than one takes.
PATIENCE = 1500
#: A user's settings that must not change a number.
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "8")
#: The project's profile; jobs are looked after more often than on a large cluster.
SLURM = ("--profile", str(ROOT / "workflow/profiles/slurm"))
SLURM += ("--slurm-init-seconds-before-status-checks", "2")


@dataclass(frozen=True)
class Job:
    """A submission, as squeue shows it."""

    id: int
    state: str
    node: str
    memory: int
    rules: str


class Cluster:
    """Talks to the program that runs the cluster, and to Slurm."""

    def __init__(self, program: subprocess.Popen[str], state: Path) -> None:
        self.program = program
        self.environment = os.environ | environment(state)

    def answer(self) -> str:
        return self.program.stdout.readline() if self.program.stdout else ""

    def jobs(self) -> list[Job]:
        """Every submission so far."""
        command = ["squeue", "--states=all", "--noheader", "--format=%i|%T|%N|%m|%k"]
        output = subprocess.run(
            command, env=self.environment, check=True, capture_output=True, text=True
        ).stdout
        rows = (line.split("|") for line in output.splitlines())
        return [
            Job(int(number), state, node, int(memory.removesuffix("M")), rules)
            for number, state, node, memory, rules in rows
        ]

    def lose(self, node: str) -> int:
        """End a node with all that runs on it; return how many processes that were."""
        assert self.program.stdin
        print("lose", node, file=self.program.stdin, flush=True)
        return int(self.answer().split()[1])


def require_slurm() -> None:
    """Skip without Slurm, with the way to get it; in CI that is a failure."""
    missing = [name for name in PROGRAMS if not shutil.which(name, path=PATH)]
    require(
        not missing,
        f"Slurm is not installed (no {', '.join(missing)}); on Debian and Ubuntu: "
        "sudo apt-get install --no-install-recommends slurm-wlm munge",
    )


@contextmanager
def mini_slurm(state: Path) -> Iterator[Cluster]:
    """Start a cluster with its files in a directory, and end it."""
    require_slurm()
    program = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("mini_slurm.py")), str(state)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # an interrupt of the tests reaches it as the end of its input
    )
    with program:  # leaving closes its input and waits for its end
        cluster = Cluster(program, state)
        assert cluster.answer() == "up\n"
        yield cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with mini_slurm(tmp_path_factory.mktemp("slurm")) as running:
        yield running


@contextmanager
def snakemake(directory: Path, env: dict[str, str], *arguments: str):
    """Run the smoke configuration in a directory; nothing is left running afterwards."""
    with (
        (directory / "output.txt").open("w") as output,
        start(
            directory,
            *arguments,
            environment=env,
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=end_with_parent,
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def finish(process: subprocess.Popen[bytes], directory: Path) -> None:
    """Wait for a run and insist on its success."""
    process.wait(timeout=PATIENCE)
    assert process.returncode == 0, (directory / "output.txt").read_text()


def job_to_lose(jobs: list[Job]) -> Job | None:
    """Find a job that runs on a node that has already completed one."""
    proven = {job.node for job in jobs if job.state == "COMPLETED"}
    running = [job for job in jobs if job.state == "RUNNING" and job.node in proven]
    return running[0] if running else None


def lose_a_node(cluster: Cluster, process: subprocess.Popen[bytes]) -> Job:
    """Wait for a job in the middle of the run and end its node."""
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        if job := job_to_lose(cluster.jobs()):
            time.sleep(2)  # let it begin
            assert cluster.lose(job.node) > 1
            return job
        time.sleep(0.5)
    raise AssertionError("the run ended before a node could be lost")


@dataclass(frozen=True)
class Run:
    """A finished run on the cluster: where, its submissions, and the one that lost its node."""

    directory: Path
    jobs: list[Job]
    lost: Job


#: Made on the login node as in any run: one figure stands for all, and for the claims, which are
#: judged from the tables once all figures are there.
FIGURE, CLAIMS = "figures/exp1_gap.pdf", "results/claims.parquet"


@pytest.fixture(scope="module")
def run(
    cluster: Cluster, finished_run: FinishedRun, tmp_path_factory: pytest.TempPathFactory
) -> Run:
    """Every table of the study but that of the claims, and a figure."""
    directory, project = tmp_path_factory.mktemp("cluster"), finished_run.project
    made = (path for name in ("results", "figures") for path in (project / name).rglob("*.parquet"))
    targets = {FIGURE, *(path.relative_to(project).as_posix() for path in made)} - {CLAIMS}
    with snakemake(directory, cluster.environment | THREADS, *SLURM, "--", *targets) as process:
        lost = lose_a_node(cluster, process)
        finish(process, directory)
    return Run(directory, cluster.jobs(), lost)


def test_jobs_ran_on_both_nodes_in_few_submissions(run: Run) -> None:
    completed = [job for job in run.jobs if job.state == "COMPLETED"]
    assert {job.node for job in completed} == {"n1", "n2"}
    assert len(completed) == 4, run.jobs


def test_the_job_on_the_lost_node_was_submitted_again_with_more_memory(run: Run) -> None:
    assert [job.id for job in run.jobs if job.state == "NODE_FAIL"] == [run.lost.id]
    (again,) = [job for job in run.jobs if job.rules == run.lost.rules and job.id != run.lost.id]
    assert again.state == "COMPLETED"
    assert again.node != run.lost.node
    assert again.memory > run.lost.memory


def test_the_numbers_are_those_of_a_local_run(run: Run, finished_run: FinishedRun) -> None:
    tables = {n: digest for n, digest in finished_run.numbers.items() if n.endswith(".parquet")}
    del tables[CLAIMS]
    assert len(tables) > 20
    assert digests(run.directory) == tables
    assert file_digests(run.directory, FIGURE)[FIGURE] == finished_run.numbers[FIGURE]


def test_a_sweep_finds_the_same_as_locally(
    cluster: Cluster, finished_sweep: Path, tmp_path: Path
) -> None:
    before = {job.id for job in cluster.jobs()}
    project, env = finished_sweep, cluster.environment
    complete(tmp_path, "sweep", *SLURM, project=project, environment=env)
    (job,) = [job for job in cluster.jobs() if job.id not in before]
    assert job.state == "COMPLETED"
    files = ("results/sweep/curves.json", "figures/sweep.md")
    here, there = (digests(place) | file_digests(place, *files) for place in (project, tmp_path))
    assert len(here) == 6  # two splits at two budgets, the curves and the page
    assert here == there


def alive(process: int) -> bool:
    """Whether a process runs; one that has ended and waits for its parent does not."""
    try:
        return ") Z " not in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


@pytest.mark.parametrize(
    "end",
    [
        lambda program: program.stdin.close(),  # what happens when the tests are killed
        lambda program: program.terminate(),
        lambda program: program.kill(),
    ],
    ids=["input closed", "terminated", "killed"],
)
def test_no_daemon_outlives_its_starter(tmp_path: Path, end: Any) -> None:
    with mini_slurm(tmp_path) as cluster:
        daemons = [int(path.read_text()) for path in tmp_path.glob("*.pid")]
        assert len(daemons) == 4
        assert all(map(alive, daemons))
        end(cluster.program)
        cluster.program.wait(timeout=60)
        for _ in range(600):
            if not any(map(alive, daemons)):
                break
            time.sleep(0.1)
        assert not any(map(alive, daemons))


@pytest.mark.parametrize(
    ("ci", "outcome"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception)]
)
def test_without_slurm_the_reason_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, ci: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(f"{__name__}.PROGRAMS", ("slurmctld-of-another-world",))
    with pytest.raises(outcome, match="apt-get install --no-install-recommends slurm-wlm munge"):
        require_slurm()


def test_every_rule_that_is_submitted_travels_in_a_group() -> None:
    profile = yaml.safe_load((ROOT / "workflow/profiles/slurm/profile.yaml").read_text())
    rules = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    submitted = [
        rule.partition(":")[0]
        for rule in re.split(r"^rule ", rules, flags=re.MULTILINE)[1:]
        if "script:" in rule and "localrule: True" not in rule
    ]
    assert sorted(submitted) == sorted(profile["groups"])
