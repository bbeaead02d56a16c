"""Counting and planning a data set of Criteo's shape, beside pandas, each within so much memory.

python -m tests.benchmarks.streaming_rates FOLDER --rows 40000000 --memory-mb 2000

Makes the files in the folder unless they are there (3 GB and some minutes for 40 million rows).
Every contestant runs in a process of its own that may not hold more than the memory; ours first on
a part of the files, to see how the cost grows.
"""

import argparse
import math
import resource
import subprocess
import sys
import time
from pathlib import Path

from tests.oracles.criteo_like import LEVELS, NAMES, write_files

#: The program of every contestant; it is given the folder for its output and the files.
PROGRAMS = {
    "ours, counts and sample": """
from embedalloc import count_levels
import pyarrow.parquet as pq
found = count_levels(files, names, output=out / "counts.parquet", sample_rows=20_000, jobs=2,
                     memory=limit // 3)
pq.write_table(found.sample, out / "sample.parquet")
levels = [len(found.counts[name]) for name in names]
""",
    "ours, plan from the sample": """
from embedalloc import EmbeddingAllocator, read_counts
import pandas as pd
sample = pd.read_parquet(out / "sample.parquet")
counts = read_counts(out / "counts.parquet")
plan = EmbeddingAllocator(columns=names, random_state=0, epochs=5)
plan.fit(sample.drop(columns="click"), sample["click"].to_numpy())
print(plan.report_)
levels = [len(counts[name]) for name in names]
""",
    "pandas, a column at a time": """
import pandas as pd
levels = []
for name in names:
    column = pd.concat([pd.read_parquet(file, columns=[name])[name] for file in files])
    levels.append(len(column.value_counts(dropna=False)))
    del column
    print(name, levels[-1], flush=True)
""",
    "pandas, whole table": """
import pandas as pd
parts = []
for file in files:
    parts.append(pd.read_parquet(file))
    print(sum(map(len, parts)), "rows read", flush=True)
table = pd.concat(parts)
levels = [len(table[name].value_counts(dropna=False)) for name in names]
""",
}
FRAME = """
import resource, sys
from pathlib import Path
limit, out, files = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3].split(",")
names = sys.argv[4].split(",")
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
{program}
print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, "MB")
print("levels", *levels)
"""


def run(program, files, out, limit):
    """Run one contestant; return how it went, its CPU seconds and the levels that it found."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-c", FRAME.format(program=program), str(limit), str(out)]
    child = subprocess.Popen(
        [*command, ",".join(map(str, files)), ",".join(NAMES)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    said, _ = child.communicate()
    passed, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    lines = said.splitlines()
    ending = "done" if child.returncode == 0 else f"ended with: {lines[-1] if lines else '?'}"
    levels = [int(each) for each in lines[-1].split()[1:]] if child.returncode == 0 else []
    print("\n".join(line for line in lines[:-1] if line.strip())[-6000:])
    return f"{ending} after {passed:.0f} s, {cpu:.0f} s of CPU", cpu, levels


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=40_000_000)
    parser.add_argument("--memory-mb", type=int, default=2000)
    parser.add_argument("--only", nargs="*", choices=list(PROGRAMS), default=list(PROGRAMS))
    words = parser.parse_args()
    data, out = words.folder / "full", words.folder / "out"
    out.mkdir(parents=True, exist_ok=True)
    files = sorted(data.glob("*.parquet")) or write_files(data, words.rows)
    limit = words.memory_mb * 10**6
    first = "ours, counts and sample"
    costs = {}
    for name in words.only:
        shares = (len(files) // 4, len(files)) if name == first else (len(files),)
        for many in shares:
            told, cpu, levels = run(PROGRAMS[name], files[:many], out, limit)
            print(f"{name}, {many} of {len(files)} files, {words.memory_mb} MB: {told}", flush=True)
            if name == first:
                costs[many] = cpu
            if levels and many == len(files):
                assert levels == [min(each, words.rows) for each in LEVELS]
    if len(costs) > 1:
        (few, one), *_, (many, two) = costs.items()
        print(f"CPU time grows as rows^{math.log(two / one) / math.log(many / few):.2f}")


if __name__ == "__main__":
    main()
