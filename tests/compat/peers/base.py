"""Ours alone, without extras: what works, and what to install for the rest."""

import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import embedalloc

installed = {each.name.lower() for each in distributions()} - {"pip", "setuptools"}
assert installed == {"embedalloc", "click", "numpy"}, installed

plan = embedalloc.allocate({"user": 943, "item": 1682}, 20_000)
for name in ("fastai", "keras", "pytorch_tabular", "pytorch_widedeep", "torchrec"):
    assert "user" in str(getattr(embedalloc, f"to_{name}")(plan)), name
assert embedalloc.from_json(embedalloc.to_json(plan)) == plan
assert embedalloc.plan_memory({"user": [90, 9, 1]}, "1 kB", formats=["float32", "int8"]).bytes


def run(*words: str) -> tuple[int, str]:
    """Run Python; return its code and the last line that it says."""
    command = [sys.executable, "-P", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, (done.stdout + done.stderr).splitlines()[-1]


OURS = ("-m", "embedalloc")
SIZES = ("--cardinality", "user=943", "--cardinality", "item=1682", "--budget", "20000")
assert run(*OURS, "solve", *SIZES)[0] == 0
assert run(*OURS, "rules")[0] == 0
FILE = ("docs/examples/sales.csv", "--target", "bought")
needs_pandas = 'needs pandas: pip install "embedalloc[data]"'
for words in ("plan", "compare"):
    found = run(*OURS, words, *FILE)
    assert found == (2, f"Error: this command {needs_pandas}"), found
ERROR = "embedalloc.extras.MissingExtraError: "
found = run("-c", "from embedalloc import EmbeddingAllocator")
assert found == (1, f"{ERROR}EmbeddingAllocator {needs_pandas}"), found
found = run("-c", "import embedalloc; embedalloc.to_torch({'user': (943, 8)})")
assert found == (1, f'{ERROR}to_torch needs torch: pip install "embedalloc[torch]"'), found

files = (path for path in Path(sys.prefix).rglob("*") if path.is_file() and not path.is_symlink())
size = sum(path.stat().st_size for path in files)
print(f"{', '.join(sorted(installed))}: {size / 1e6:.0f} MB")
