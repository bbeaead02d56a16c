"""Counting and planning a data set of Criteo's shape, beside pandas, each within so much memory.

python -m tests.benchmarks.streaming_rates FOLDER --rows 40000000 --memory-mb 2000

Makes the files in the folder unless they are there (3 GB and some minutes for 40 million rows).
Every work runs in a process of its own, to which the kernel refuses more memory (RLIMIT_DATA: heap
and private writable pages, touched or not). What reads the files does so again on half and a
quarter of them, to see how the cost grows.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from embedalloc.text import text_table
from tests.oracles.criteo_like import LEVELS, NAMES, write_files

#: Allocators that reserve nothing and give back what is freed: the limit counts both.
GIVE_BACK = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_MMAP_THRESHOLD_": "1000000"}
#: The work whose cost is to grow as the rows do.
READING = "counting and sampling"
#: The program of every work; it has the folder for its output, the files and the limit.
PROGRAMS = {
    READING: """
from embedalloc import count_levels
import pyarrow.parquet as pq
found = count_levels(files, names, output=out / "counts.parquet", sample_rows=20_000, jobs=2,
                     memory=limit // 3)
pq.write_table(found.sample, out / "sample.parquet")
levels = [len(found.counts[name]) for name in names]
""",
    "planning tables, from the counts": """
from embedalloc import plan_memory, read_counts
counts = read_counts(out / "counts.parquet")
print(plan_memory(counts, "200 MB", optimizer="rowwise_adagrad"))
levels = [len(counts[name]) for name in names]
""",
    "planning dimensions, from the sample": """
from embedalloc import EmbeddingAllocator
import pandas as pd
sample = pd.read_parquet(out / "sample.parquet")
plan = EmbeddingAllocator(columns=names, random_state=0, epochs=5)
plan.fit(sample.drop(columns="click"), sample["click"].to_numpy())
print(plan.report_)
""",
    "pandas, counting a column at a time": """
import pandas as pd
levels = []
for number, name in enumerate(names):
    print(f"stops in {name}, {number} of {len(names)} columns done", flush=True)
    column = pd.concat([pd.read_parquet(file, columns=[name])[name] for file in files])
    levels.append(len(column.value_counts(dropna=False)))
    del column
""",
    "pandas, reading the table": """
import pandas as pd
parts = []
for number, file in enumerate(files):
    print(f"stops in file {number + 1} of {len(files)}", flush=True)
    parts.append(pd.read_parquet(file))
table = pd.concat(parts)
""",
}
FRAME = """
import resource, sys
from pathlib import Path
limit, out, files = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3].split(",")
names = sys.argv[4].split(",")
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
levels = []
{program}
print("levels", *levels)
"""


class Cost(NamedTuple):
    """What a work took, what it printed, and whether it came to its end."""

    seconds: float
    cpu: float
    megabytes: float
    lines: list[str]
    is_done: bool


def run(program, files, out, limit):
    """Run one work in a process of its own."""
    command = [sys.executable, "-c", FRAME.format(program=program), str(limit), str(out)]
    command += [",".join(map(str, files)), ",".join(NAMES)]
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as errors:
        begin = time.perf_counter()
        child = subprocess.Popen(command, stdout=said, stderr=errors, env=os.environ | GIVE_BACK)
        _, status, used = os.wait4(child.pid, 0)
        passed = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        for file in (said, errors):
            file.seek(0)
        lines, trouble = said.read().splitlines(), errors.read().splitlines()
    if child.returncode:
        print(*trouble[-1:], sep="\n")
    cpu = used.ru_utime + used.ru_stime
    return Cost(passed, cpu, used.ru_maxrss * 1024 / 1e6, lines, child.returncode == 0)


def describe(name, cost, rows):
    """Return a line of the table."""
    ending = "done" if cost.is_done else (cost.lines or ["stops at once"])[-1]
    sizes = [f"{each:.0f}" for each in (cost.seconds, cost.cpu, cost.megabytes)]
    return [name, f"{rows:,}", *sizes, ending]


def measure(files, total, folder, limit):
    """Print what every work took on all files, and the first on half and a quarter of them."""
    lines, cpu = [], []
    for name, share in [*((name, 1) for name in PROGRAMS), (READING, 4), (READING, 2)]:
        out = folder / f"part{share}"
        out.mkdir(parents=True, exist_ok=True)
        cost = run(PROGRAMS[name], files[: len(files) // share], out, limit)
        found = [int(each) for each in cost.lines[-1].split()[1:]] if cost.is_done else []
        if found and share == 1:
            assert found == [min(each, total) for each in LEVELS]
        if name == READING:
            cpu.append(cost.cpu)
        if name.startswith("planning"):
            print("\n".join(cost.lines[:-1]))
        lines.append(describe(name, cost, total // share))
        print(*lines[-1], sep=" | ", flush=True)
    heads = ["work", "rows", "seconds", "CPU seconds", "peak MB", "ending"]
    print(f"\n{text_table(heads, lines)}\n")
    lower, upper = np.diff(np.log2(sorted(cpu)))
    print(f"CPU seconds grow as rows^{lower:.2f} up to half, as rows^{upper:.2f} from half to all")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=40_000_000)
    parser.add_argument("--memory-mb", type=int, default=2000)
    words = parser.parse_args()
    data = words.folder / "full"
    files = sorted(data.glob("*.parquet")) or write_files(data, words.rows)
    measure(files, words.rows, words.folder, words.memory_mb * 10**6)


if __name__ == "__main__":
    main()
