"""Install the package beside others and use both: `make compat`, `make lowest`.

python -m tests.compat lowest         the tests of core, data and command line at lowest versions
python -m tests.compat lowest quick   those of them that are quick
python -m tests.compat peers          every peer at its newest version, one after the other
python -m tests.compat peers skrub    one of them; `base` is ours alone, without extras

Each environment is made by pip in a temporary folder and deleted afterwards. A peer that cannot be
installed here is named with pip's reason; a peer that is installed and fails ends in an error.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.places import ROOT

HERE = ROOT / "tests/compat"
#: What is tested with the lowest versions.
LOWEST = (
    *("tests/core", "tests/data", "tests/audit", "tests/command_line"),
    *("src/embedalloc/audit", "src/embedalloc/command_line", "src/embedalloc/data"),
)


class Peer(NamedTuple):
    """Another library: what pip installs, and the script that builds and trains a model with it."""

    packages: tuple[str, ...]
    script: Path
    extras: str = "[data,torch]"
    #: Installed without what it asks for: torchrec wants kernels that need a GPU's torch, though
    #: the same are there for processors.
    alone: str | None = None


def _peer(name: str, *packages: str, alone: str | None = None) -> Peer:
    script = HERE / "peers" / f"{name.replace('-', '_')}.py"
    return Peer(packages or (name,), script, alone=alone)


PEERS: Mapping[str, Peer] = {
    "base": Peer((), HERE / "peers/base.py", extras=""),
    "skrub": _peer("skrub"),
    "keras": Peer(("keras",), ROOT / "docs/examples/keras_model.py"),
    "fastai": Peer(("fastai",), ROOT / "docs/examples/fastai_model.py"),
    "pytorch-tabular": _peer("pytorch-tabular", "pytorch-tabular", "requests"),  # it forgets one
    "pytorch-widedeep": _peer("pytorch-widedeep"),
    "torchrec": _peer(
        *("torchrec", "fbgemm-gpu-cpu", "tensordict", "torchmetrics==1.0.3", "tqdm"),
        "pyre-extensions",
        alone="torchrec",
    ),
    "autogluon": _peer("autogluon", "autogluon.tabular[fastai]"),
}


def make_environment(folder: Path) -> Path:
    """Make an environment and return its Python."""
    # Our own pip installs into it, so that it needs none.
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder / "bin/python"


def install(python: Path, packages: Sequence[str], constraints: Path) -> str | None:
    """Install packages by pip; return why that is not possible, or None."""
    words = ["--quiet", "--progress-bar", "off", "--no-compile", "--constraint", str(constraints)]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "install", *words, *packages],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return None
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")]
    return " ".join(errors[-1:]) or done.stderr[-300:]


def run(python: Path, *words: str) -> int:
    """Run a program of an environment in the project's folder, away from the user's settings."""
    environment = os.environ | {"PYTHONPATH": "", "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    return subprocess.run([str(python), *words], cwd=ROOT, env=environment, check=False).returncode


def try_lowest(folder: Path, *, quick: bool) -> str:
    """Run the tests with the lowest versions, or those that are quick."""
    python = make_environment(folder)
    ours = f"{ROOT}[data,excel,plot,torch]"
    reason = install(python, ["-e", ours, "pytest", "hypothesis", "duckdb"], HERE / "lowest.txt")
    if reason:
        return f"failed, cannot be installed: {reason}"
    core = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "src/embedalloc").glob("*.py"))]
    marks = ["-m", "not slow"] if quick else []
    code = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *marks, *LOWEST, *core)
    return f"failed with {code}" if code else "passes"


def try_peer(peer: Peer, folder: Path) -> str:
    """Install a peer and ours in one go, then build and train a model of the plan's shapes."""
    python = make_environment(folder)
    reason = install(python, [f"{ROOT}{peer.extras}", *peer.packages], HERE / "newest.txt")
    if peer.alone and not reason:
        reason = install(python, ["--no-deps", peer.alone], HERE / "newest.txt")
    if reason:
        return f"{'' if peer.packages else 'failed, '}cannot be installed here: {reason}"
    # -P, because a script has the name of its peer, and Python looks beside a script first. The
    # peers' own warnings are many.
    code = run(python, "-P", "-W", "ignore", str(peer.script))
    return f"failed with {code}" if code else "works"


def main(what: str, names: Sequence[str]) -> int:
    """Try what is named, tell how each came out and return 1 if one failed."""
    known = {"lowest": ["quick"], "peers": [*PEERS]}.get(what, [])
    unknown = sorted({*names} - {*known})
    if unknown or not known:
        print(
            f"unknown: {' '.join(unknown) or what}; known are {', '.join(known) or 'lowest, peers'}"
        )
        return 2
    tries = {"lowest versions": None} if what == "lowest" else {n: PEERS[n] for n in names or PEERS}
    outcomes = {}
    for name, peer in tries.items():
        with tempfile.TemporaryDirectory(prefix="compat-") as place:
            folder = Path(place) / "environment"
            outcomes[name] = (
                try_lowest(folder, quick="quick" in names)
                if peer is None
                else try_peer(peer, folder)
            )
        print(f"{name}: {outcomes[name]}", flush=True)
    return int(any(outcome.startswith("failed") for outcome in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
