"""Jobs are forked from a process that has their packages loaded, which takes longer than most jobs.

Snakemake itself has threads, and a fork of such a process may wait for ever. So a program of its
own, this file, loads packages, none of this project's modules, and forks a process for each order.
A job is to notice nothing: environment, folder, words, signals and exit code are those of a new
process. What cannot be forked is one.
"""

import atexit
import gc
import importlib
import json
import os
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import ModuleType, SimpleNamespace, TracebackType
from typing import Any, TextIO

#: What many jobs load, and Snakemake's part, which stands before every script.
PACKAGES = (
    *("pandas", "pyarrow.parquet", "pyarrow.pandas_compat", "importlib.metadata", "yaml"),
    *("threadpoolctl", "pydantic", "snakemake.logging", "snakemake.io"),
    *("matplotlib.figure", "matplotlib.backends.backend_pdf", "matplotlib.backends.backend_agg"),
)
#: A thread that pyarrow would start; none may run where a process is forked.
NO_THREAD = {"JE_ARROW_MALLOC_CONF": "background_thread:false"}
#: How Snakemake calls a script without conda, container or modules, and where it writes scripts.
CALL = ["set", "-euo", "pipefail;", sys.executable]
SCRIPTS = Path(".snakemake/scripts")


class Job:
    """The process of a job, as Snakemake sees one that it has started itself."""

    def __init__(self, talk: TextIO) -> None:
        self._talk = talk
        self.pid = int(talk.readline())

    def wait(self) -> int:
        """Let the job begin, now that its process is being measured; return its exit code."""
        with suppress(OSError), self._talk:
            print(file=self._talk, flush=True)
            if code := self._talk.readline():
                return int(code)
        raise RuntimeError("the process that jobs are forked from was killed, and its jobs with it")


class Forks:
    """Starts processes for Snakemake: jobs as forks, all others as it would."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._orders: socket.socket | None = None

    def popen(self, command: str, **options: Any) -> "Job | subprocess.Popen[Any]":
        """Start what a command says; if it cannot be forked, as a new process."""
        with suppress(OSError, ValueError, KeyError):  # that process has ended, or never began
            if script := script_to_fork(command, options):
                return self._order(script, options)
        return subprocess.Popen(command, **options)

    def _order(self, script: str, options: dict[str, Any]) -> Job:
        with self._turn:
            self._orders = self._orders or start(options)
        order = {"script": script, "directory": os.getcwd(), "environment": options["env"]}
        ours, theirs = socket.socketpair()
        with ours, theirs:
            socket.send_fds(self._orders, [b"!"], [theirs.fileno()])
            talk = ours.makefile("rw")
        print(json.dumps(order), file=talk, flush=True)
        return Job(talk)


def fork_jobs() -> None:
    """Let Snakemake fork its jobs, if this system can and Snakemake is as we know it."""
    shell: Any = sys.modules["snakemake.shell"]
    if hasattr(os, "pidfd_open") and getattr(shell, "sp", None) is subprocess:
        shell.sp = SimpleNamespace(**vars(subprocess) | {"Popen": Forks().popen})


def script_to_fork(command: str, options: dict[str, Any]) -> str | None:
    """Return the script that a command calls, if it is a job's and computes with one thread.

    For more, libraries would have to be loaded anew.
    """
    with suppress(ValueError):  # other commands need not be words
        *call, script = shlex.split(command)
        if call == CALL and Path(script).parent == SCRIPTS.absolute():
            return script if options["env"].get("OMP_NUM_THREADS") == "1" else None
    return None


def start(options: dict[str, Any]) -> socket.socket:
    """Start the process that forks jobs; it ends when this one does, in whichever way."""
    ours, theirs = socket.socketpair()
    with theirs:
        # -P: modules beside this file are not to be taken for packages.
        words = [sys.executable, "-P", __file__, str(theirs.fileno())]
        inherited = {"stdout": options["stdout"], "pass_fds": [theirs.fileno()]}
        process = subprocess.Popen(words, env=options["env"] | NO_THREAD, **inherited)
    atexit.register(process.wait)
    atexit.register(ours.close)  # before
    return ours


def load() -> None:
    """Load the packages, so that collecting garbage touches none of it in a fork."""
    gc.disable()
    for package in PACKAGES:
        with suppress(ImportError):
            importlib.import_module(package)
    with suppress(ImportError, AttributeError):
        sys.modules["pydantic"].create_model("Any")  # loads the rest of it
    gc.freeze()
    gc.enable()


def serve(orders: socket.socket) -> tuple[dict[str, Any], socket.socket]:
    """Fork a process for every order and tell how it ended; in that process return the order."""
    jobs: dict[int, tuple[int, socket.socket]] = {}
    events = select.poll()
    events.register(orders, select.POLLIN)
    while True:
        for handle, _ in events.poll():
            if handle in jobs:
                events.unregister(handle)
                os.close(handle)
                process, talk = jobs.pop(handle)
                with talk:
                    tell(talk, os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
                continue
            _, [*given], _, _ = socket.recv_fds(orders, 1, 1)
            if not given:
                sys.exit()  # and the jobs with their parent
            talk = socket.socket(fileno=given[0])
            with talk.makefile() as lines:
                order = json.loads(lines.readline())
            if (process := os.fork()) == 0:
                orders.close()
                for handle, (_, other) in jobs.items():
                    os.close(handle)
                    other.close()
                return order, talk
            handle = os.pidfd_open(process)
            events.register(handle, select.POLLIN)
            jobs[handle] = process, talk
            tell(talk, process)


def tell(talk: socket.socket, number: int) -> None:
    """Tell a number to whoever gave an order, and may have ended since."""
    with suppress(OSError):
        talk.send(b"%d\n" % number)


def become(order: dict[str, Any], talk: socket.socket) -> None:
    """Run a script in this process as Python does."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    atexit.unregister(shutil.rmtree)  # of Matplotlib's folder, if there is no home; others use it
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["directory"])
    script = order["script"]
    sys.argv = [script]
    sys.path.insert(0, os.path.dirname(script))
    sys.excepthook = show_error
    main = sys.modules["__main__"] = ModuleType("__main__")
    main.__file__ = script
    with talk:
        wanted = talk.recv(1)
    if not wanted:
        return  # whoever gave the order has ended
    try:
        exec(compile(Path(script).read_bytes(), script, "exec"), vars(main))
    except BaseException:
        atexit.unregister(leave)  # errors end as they always do
        raise


def leave() -> None:
    """Leave without taking all packages apart, which takes as long as a small job."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def show_error(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print an error from the script on."""
    while trace and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    sys.__excepthook__(kind, error.with_traceback(trace), trace)


def main() -> None:
    """Load, then fork until the workflow ends; an interruption is for the jobs."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    atexit.register(leave)  # first, so that all others are called before
    load()
    if len(os.listdir("/proc/self/task")) == 1:
        become(*serve(socket.socket(fileno=int(sys.argv[1]))))


if __name__ == "__main__":
    main()
