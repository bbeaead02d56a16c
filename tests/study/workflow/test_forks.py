"""A job that is forked is what a new process is, and ends with what it is forked from."""

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from snakemake.benchmark import BenchmarkRecord, benchmarked

from embedalloc.study.workflow.forks import PACKAGES, Forks, Job, fork_jobs
from tests.interruption import jobs_of

#: Calls scripts as Snakemake does, one after the other, and says how each ended.
CALLS = """
import subprocess, sys
from snakemake.shell import shell
if sys.argv[1] == "forked":
    from embedalloc.study.workflow.forks import fork_jobs
    fork_jobs()
for script in sys.argv[2:]:
    print(script, flush=True)
    try:
        shell("{py_exec} {fname:q}", py_exec=sys.executable, fname=script, threads=1)
    except subprocess.CalledProcessError as error:
        print("exit code", error.returncode, flush=True)
"""
#: What a process may know of itself; importing Snakemake adds to its path.
DESCRIBE = """
import os, signal, snakemake, sys, threading
def function(): pass
files = {each: os.readlink(f"/proc/self/fd/{each}") for each in (0, 1, 2)}
umask = os.umask(0)
of_bash = ("_", "OLDPWD", "PWD", "SHLVL")
print(sorted(item for item in os.environ.items() if item[0] not in of_bash))
print(sys.argv, sys.path, os.getcwd(), umask, files)
print(len(os.listdir("/proc/self/fd")), threading.active_count(), sys.stdout.line_buffering)
print(signal.pthread_sigmask(signal.SIG_BLOCK, ()), *map(signal.getsignal, signal.Signals))
print(__name__, __file__, function.__module__, sys.modules["__main__"].__file__)
print([name for name in sys.modules if name.startswith("embedalloc")])
"""
ENDS = (
    "print('said')",
    "import sys; print('said', file=sys.stderr); sys.exit(3)",
    "import sys; sys.exit('error: wrong')",
    "def divide(): 1 / 0\ndivide()",
    "not a script",
    "import os, signal; os.kill(os.getpid(), signal.SIGINT)",
    "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "import ctypes; ctypes.string_at(0)",
    "import atexit; atexit.register(print, 'said at exit'); print('said')",
    "import threading; threading.Timer(0.2, print, ['said late']).start()",
    "import tempfile; folder = tempfile.TemporaryDirectory(dir='.', prefix='left')",
)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder that a workflow runs in."""
    (tmp_path / ".snakemake/scripts").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(place, name, text):
    """Write a script where Snakemake does."""
    script = place / ".snakemake/scripts" / f"{name}.py"
    script.write_text(text)
    return str(script)


def test_a_fork_is_what_a_new_process_is(place):
    """All that it knows of itself, all that it says and how it ends."""
    scripts = [write(place, f"a {i}.job", text) for i, text in enumerate((DESCRIBE, *ENDS))]
    said = {}
    for way in ("new", "forked"):
        with open("said.txt", "w+") as file:
            call = [sys.executable, "-c", CALLS, way, *scripts]
            subprocess.run(call, stdin=subprocess.DEVNULL, stdout=file, stderr=file, check=True)
            file.seek(0)
            said[way] = file.read().splitlines()
    assert said["forked"] == said["new"]
    assert said["forked"].count("exit code -9") == 1
    assert list(place.glob("left*")) == []


@pytest.fixture(scope="module")
def forks():
    """What starts jobs, which are all forked from one process."""
    return Forks()


def begin(forks, script, **variables):
    """Start a script as Snakemake does; it runs when its end is waited for."""
    command = f"set -euo pipefail; {sys.executable} {shlex.quote(script)}"
    environment = os.environ | {"OMP_NUM_THREADS": "1"} | variables
    shell = {"shell": True, "executable": "/bin/bash"}
    return forks.popen(command, env=environment, stdout=None, **shell)


def test_two_jobs_at_once_are_measured_each_for_itself(place, forks):
    works = {"idle": "time.sleep(1.5)", "busy": "while time.process_time() < 1.5: pass"}
    jobs = {
        name: begin(forks, write(place, name, f"import time\n{text}"))
        for name, text in works.items()
    }
    measured = {name: BenchmarkRecord() for name in jobs}

    def measure(name):
        with benchmarked(jobs[name].pid, measured[name], interval=0.2):
            assert jobs[name].wait() == 0

    threads = [threading.Thread(target=measure, args=[name]) for name in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert measured["idle"].cpu_time < 0.4 < measured["busy"].cpu_time


def parent_of(process):
    """Return the process that a process was forked from."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def test_what_jobs_are_forked_from_has_one_thread_and_the_packages(place, forks):
    names = "import json, sys; json.dump([*sys.modules], open('names.json', 'w'))"
    job = begin(forks, write(place, "names", names))
    assert isinstance(job, Job)
    assert len([*Path(f"/proc/{parent_of(job.pid)}/task").iterdir()]) == 1
    assert job.wait() == 0
    loaded = json.loads((place / "names.json").read_text())
    assert {*PACKAGES} <= {*loaded}
    assert not any(name.startswith("embedalloc") for name in loaded)


def test_what_jobs_cost_is_counted_with_the_workflow(place):
    script = write(place, "busy", "import time\nwhile time.process_time() < 1: pass")
    workflow = os.posix_spawn(
        sys.executable, [sys.executable, "-c", CALLS, "forked", script], os.environ
    )
    _, code, cost = os.wait4(workflow, 0)
    assert code == 0
    assert cost.ru_utime + cost.ru_stime > 1.5  # with the packages


def gone(process):
    """Wait until a process has ended, for half a minute at most; return whether it has."""
    for _ in range(3000):
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def test_a_killed_job_takes_no_other_with_it(place, forks):
    first, second = (
        begin(forks, write(place, name, "import time; time.sleep(1)")) for name in ("a", "b")
    )
    os.kill(first.pid, signal.SIGKILL)
    assert (first.wait(), second.wait()) == (-signal.SIGKILL, 0)


#: A job of the study, but for its work.
LONG = """
import time
from embedalloc.study.workflow.job import logged
with logged("log.txt"):
    time.sleep(600)
"""


def test_when_what_jobs_are_forked_from_is_killed_they_end_and_say_so(place):
    forks = Forks()
    job = begin(forks, write(place, "long", LONG))
    source = parent_of(job.pid)

    def kill():
        while not Path("log.txt").exists() or not Path("log.txt").read_text():
            time.sleep(0.01)
        os.kill(source, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(RuntimeError, match="forked from was killed, and its jobs with it"):
        job.wait()
    killer.join()
    assert gone(job.pid)
    with begin(forks, write(place, "next", "")) as new:  # in Snakemake's way
        assert isinstance(new, subprocess.Popen)
        assert new.wait() == 0


def test_a_job_that_nobody_waits_for_any_more_does_not_begin(place, forks):
    job = begin(forks, write(place, "never", "open('begun', 'w')"))
    process = job.pid
    del job
    assert gone(process)
    assert not Path("begun").exists()


@pytest.mark.parametrize(
    ("call", "threads"),
    [
        ("set -euo pipefail; {python} {script}", "2"),
        ("source activate /conda; set -euo pipefail; {python} {script}", "1"),
        ("set -euo pipefail; python {script}", "1"),
        ("set -euo pipefail; {python} elsewhere/script.py", "1"),
        ("set -euo pipefail; {python} {script} {script}", "1"),
        ("set -euo pipefail; echo 'a word", "1"),
        ("", "1"),
    ],
)
def test_all_else_is_started_as_snakemake_does(place, forks, call, threads):
    """More threads, which libraries are loaded for; conda, containers, modules, other commands."""
    command = call.format(python=sys.executable, script=write(place, "script", ""))
    environment = os.environ | {"OMP_NUM_THREADS": threads}
    with forks.popen(command, shell=True, env=environment, stderr=subprocess.DEVNULL) as process:
        assert isinstance(process, subprocess.Popen)


def test_another_snakemake_is_left_alone(monkeypatch):
    shell = sys.modules["snakemake.shell"]
    monkeypatch.delattr(shell, "sp")
    fork_jobs()
    assert not hasattr(shell, "sp")


def interrupted(place, number):
    """Interrupt a workflow with a job, and return all processes that it had."""
    calls = [sys.executable, "-c", CALLS, "forked", write(place, "long", LONG)]
    log = place / "log.txt"
    with subprocess.Popen(calls, start_new_session=True, stderr=subprocess.PIPE) as workflow:
        while not log.exists() or not log.read_text():
            time.sleep(0.01)
        processes = [workflow.pid, *jobs_of(workflow.pid)]
        assert len(processes) == 3
        (os.killpg if number == signal.SIGINT else os.kill)(workflow.pid, number)
    return processes


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_ended_workflow_leaves_no_process(place, number):
    """Ctrl-C goes to all of them, other signals to the workflow alone."""
    assert all(map(gone, interrupted(place, number)))
    assert ("KeyboardInterrupt" in (place / "log.txt").read_text()) == (number == signal.SIGINT)
