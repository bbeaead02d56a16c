"""Runs programs again and again without a new import: each run is a fork of this process.

Reads one run per line, as JSON, and answers with its exit code; ends with its input. A run finds
other packages' modules loaded, and none of this project. So do the jobs of a workflow, most of
which take longer to load packages than to do their work.
"""

import atexit
import gc
import importlib
import json
import os
import runpy
import subprocess
import sys
import threading
from typing import Any

#: What every start of Snakemake loads, the first at once and the others on the way.
SNAKEMAKE = (
    *("snakemake.cli", "nbformat", "pyarrow.parquet", "smart_open"),
    *("snakemake.report.html_reporter", "yte"),
)
#: What most jobs and commands load.
PACKAGES = (
    *("pandas", "scipy.stats", "scipy.optimize", "numba", "torch", "pydantic", "jinja2"),
    *("matplotlib.backends.backend_pdf", "matplotlib.backends.backend_agg", "seaborn"),
    *("sklearn.ensemble", "sklearn.impute", "sklearn.linear_model", "sklearn.model_selection"),
    *("sklearn.neural_network", "sklearn.pipeline", "sklearn.preprocessing"),
)


def become(run: dict[str, Any]) -> None:
    """Let this process be a run, with its folder, variables, words and a file for what it says."""
    os.environ.clear()
    os.environ.update(run["environment"])
    os.chdir(run["directory"])
    said = os.open(run["output"], os.O_WRONLY)
    for stream, file in enumerate((os.open(os.devnull, os.O_RDONLY), said, said)):
        os.dup2(file, stream)
    sys.argv[1:], sys.path[0] = run["words"], run["directory"]
    try:
        if run["module"] == "snakemake":
            load_jobs()
        runpy.run_module(run["module"], run_name=run["name"], alter_sys=True)
        sys.exit()
    except SystemExit as ending:
        code = ending.code
        ended.append(code if isinstance(code, int) else int(code is not None))
        raise


#: The exit code of this process, if it is a run or a job that has come to its end.
ended: list[int] = []


def leave() -> None:
    """Leave without taking all those packages down, which can take longer than a plan."""
    if ended:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(*ended)


def load_jobs() -> None:
    """Let this process, a workflow, fork its jobs from a child that does nothing else.

    The workflow itself has threads by then, and a fork of such a process may wait for ever.
    """
    theirs, ours = os.pipe()
    if (child := os.fork()) == 0:
        os.close(ours)
        start_jobs(theirs)
    os.close(theirs)
    orders, turn = open(ours, "w"), threading.Lock()  # noqa: SIM115  open until the end
    atexit.register(lambda: (orders.close(), os.waitpid(child, 0)))
    benchmarked = importlib.import_module("snakemake.benchmark").benchmarked

    def execute_script(script: Any, name: str, edit: bool = False) -> None:
        answer = f"{name}.answer"
        os.mkfifo(answer)
        order = {"script": name, "answer": answer, "environment": dict(os.environ)}
        with turn:
            print(json.dumps(order), file=orders, flush=True)
        with benchmarked(child, script.bench_record), open(answer, "rb") as answered:
            done = answered.read()
        os.unlink(answer)
        if not done:  # it ended without a word
            raise subprocess.CalledProcessError(1, ["python", name])

    sys.modules["snakemake.script"].PythonScript.execute_script = execute_script


def start_jobs(orders: int) -> None:
    """Fork a job for each order, until the workflow ends."""
    jobs = []
    with open(orders) as lines:
        for line in lines:
            order = json.loads(line)
            answer = os.open(order["answer"], os.O_WRONLY)
            jobs.append(os.fork())
            if jobs[-1] == 0:
                do_job(order, answer)
            os.close(answer)
    for job in jobs:
        os.waitpid(job, 0)
    os._exit(0)


def do_job(order: dict[str, Any], answer: int) -> None:
    """Run a script as Python does, then say so and end."""
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.argv = [order["script"]]
    sys.path[:1] = [os.path.dirname(order["script"]), *os.environ["PYTHONPATH"].split(os.pathsep)]
    runpy.run_path(order["script"], run_name="__main__")
    os.write(answer, b"done")
    sys.exit()


def main() -> None:
    """Run what is asked for, one after the other."""
    atexit.register(leave)  # first, so that all others are called before
    for module in SNAKEMAKE + PACKAGES:
        importlib.import_module(module)
    gc.freeze()  # forks need not look at what was loaded
    for line in sys.stdin:
        if child := os.fork():
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        else:
            become(json.loads(line))


if __name__ == "__main__":
    main()
