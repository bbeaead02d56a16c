"""Runs Snakemake again and again without a new import: each run is a fork of this process.

Reads one run per line, as JSON, and answers with its exit code; ends with its input. A run finds
other packages' modules loaded, and none of this project.
"""

import importlib
import json
import os
import sys
from typing import Any

#: What every start of Snakemake loads, the first at once and the others on the way.
MODULES = (
    *("snakemake.cli", "nbformat", "pyarrow.parquet", "smart_open"),
    *("snakemake.report.html_reporter", "yte"),
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
    sys.modules["snakemake.cli"].main()  # ends the process


def main() -> None:
    """Run what is asked for, one after the other."""
    for module in MODULES:
        importlib.import_module(module)
    for line in sys.stdin:
        if child := os.fork():
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        else:
            become(json.loads(line))


if __name__ == "__main__":
    main()
