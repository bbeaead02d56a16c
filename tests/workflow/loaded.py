"""Runs programs again and again without a new import: each run is a fork of this process.

Reads one run per line, as JSON, and answers with its process and, when it has ended, its exit code;
ends with its input. A run finds other packages' modules loaded, and none of this project.
"""

import atexit
import gc
import importlib
import json
import os
import runpy
import sys
from typing import Any

#: What every start of Snakemake loads, the first at once and the others on the way.
SNAKEMAKE = (
    *("snakemake.cli", "nbformat", "pyarrow.parquet", "smart_open"),
    *("snakemake.report.html_reporter", "yte"),
)
#: What plans and commands load.
PACKAGES = (
    *("pandas", "scipy.stats", "scipy.optimize", "numba", "torch", "pydantic", "jinja2"),
    *("matplotlib.backends.backend_pdf", "matplotlib.backends.backend_agg"),
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
        runpy.run_module(run["module"], run_name=run["name"], alter_sys=True)
        sys.exit()
    except SystemExit as ending:
        code = ending.code
        ended.append(code if isinstance(code, int) else int(code is not None))
        raise


#: The exit code of this process, if it is a run that has come to its end.
ended: list[int] = []


def leave() -> None:
    """Leave without taking all those packages down, which can take longer than a plan."""
    if ended:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(*ended)


def main() -> None:
    """Run what is asked for, one after the other."""
    atexit.register(leave)  # first, so that all others are called before
    for module in SNAKEMAKE + PACKAGES:
        importlib.import_module(module)
    gc.freeze()  # forks need not look at what was loaded
    for line in sys.stdin:
        if child := os.fork():
            print(child, flush=True)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        else:
            become(json.loads(line))


if __name__ == "__main__":
    main()
