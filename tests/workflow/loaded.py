"""Runs Snakemake again and again without a new import: each run is a fork of this process.

Reads one run per line, as JSON, and answers with its exit code; ends with its input. A run finds
other packages' modules loaded, and none of this project.
"""

import importlib
import json
import os
import sys

from snakemake.cli import main

#: What every start loads later on.
LATER = ("nbformat", "pyarrow.parquet", "smart_open", "snakemake.report.html_reporter", "yte")
for name in LATER:
    importlib.import_module(name)

for line in sys.stdin:
    run = json.loads(line)
    if child := os.fork():
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    os.environ.clear()
    os.environ.update(run["environment"])
    os.chdir(run["directory"])
    said = os.open(run["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream, file in enumerate((os.open(os.devnull, os.O_RDONLY), said, said)):
        os.dup2(file, stream)
    sys.argv[1:], sys.path[0] = run["words"], run["directory"]
    main()  # ends the process
