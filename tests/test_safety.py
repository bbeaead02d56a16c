"""Nothing in the project can run code from a file or reach the network."""

import ast
import re

import pytest

from tests.places import ROOT

SOURCES = sorted(
    path for folder in ("src", "scripts", "tests") for path in (ROOT / folder).rglob("*.py")
)
WORKFLOW = [ROOT / "Snakefile", *sorted((ROOT / "workflow").rglob("*.smk"))]
#: Modules that run code found in data, or that talk to other computers.
FORBIDDEN_MODULES = {
    *("pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"),
    *("urllib", "http", "ftplib", "smtplib", "requests", "httpx", "aiohttp", "wget", "socket"),
}
FORBIDDEN_NAMES = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_CALLS = {
    *("torch.load", "torch.save", "torch.hub", "pandas.read_pickle", "pd.read_pickle"),
    *("yaml.load", "yaml.load_all", "yaml.unsafe_load", "yaml.full_load", "yaml.Loader"),
    *("yaml.UnsafeLoader", "yaml.FullLoader", "os.system", "os.popen", "np.load", "numpy.load"),
    *("sklearn.datasets", "pd.eval", "pandas.eval"),
}
#: Methods of frames and arrays that evaluate text or write pickles.
FORBIDDEN_METHODS = {"eval", "query", "to_pickle", "read_pickle"}


def findings(text):
    """What a source file does that no file of the project may do."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            named = [a.name for a in node.names]
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else named
            for module in modules:
                if module.split(".")[0] in FORBIDDEN_MODULES:
                    yield f"import {module}"
            if isinstance(node, ast.ImportFrom):
                whole = [f"{node.module}.{name}" for name in named]
                yield from (f"from {name}" for name in whole if name in FORBIDDEN_CALLS)
        elif isinstance(node, ast.Name) and node.id in FORBIDDEN_NAMES:
            yield node.id
        elif isinstance(node, ast.Attribute) and ast.unparse(node) in FORBIDDEN_CALLS:
            yield ast.unparse(node)
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr in FORBIDDEN_METHODS:
                yield f".{node.func.attr}()"
            given = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
            for option in ("allow_pickle", "shell"):
                if given.get(option, "False") != "False":
                    yield f"{option}={given[option]}"


#: What single files may do all the same, and why.
EXCEPTIONS = {
    # A peer of the benchmarks: it passes functions to processes of its own and reads no file.
    "tests/benchmarks/experiments.py": {
        "import joblib",
        "import joblib.externals.loky",
    },
    # Reads YAML with a subclass of the safe loader.
    "src/embedalloc/study/workflow/config_files.py": {"yaml.load"},
    # Reads YAML with the loader that makes nothing but text, lists and mappings.
    "src/embedalloc/command_line/config_file.py": {"yaml.load"},
    # Passes functions of ours to processes of its own, and reads no file.
    "src/embedalloc/data/parallel.py": {"import joblib"},
    # Runs the script that Snakemake wrote for a job, as Python does; orders come by socket pairs,
    # which nobody else can reach.
    "src/embedalloc/study/workflow/forks.py": {"exec", "compile", "import socket"},
    # Starts a process as Snakemake does.
    "tests/study/workflow/test_forks.py": {"shell=True"},
    # Writes a plan and reads it back.
    "tests/data/test_estimator.py": {"import pickle"},
    # Asks for this machine's own name.
    "tests/cluster/mini_slurm.py": {"import socket"},
    # Undoes our own exporter's quoting of names.
    "tests/fuzz/core.py": {"import urllib.parse"},
    # Runs the text that our own exporter wrote, and undoes its quoting of names.
    "tests/core/test_exporters.py": {"exec", "import urllib.parse"},
}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_runs_data_or_reaches_the_network(path):
    allowed = EXCEPTIONS.get(str(path.relative_to(ROOT)), set())
    assert set(findings(path.read_text(encoding="utf-8"))) == allowed


@pytest.mark.parametrize("path", WORKFLOW, ids=lambda path: path.name)
def test_no_rule_runs_a_shell_or_reaches_the_network(path):
    text = path.read_text(encoding="utf-8")
    words = FORBIDDEN_MODULES | FORBIDDEN_NAMES | {"shell", "storage", "remote", "container"}
    assert sorted(set(re.findall(r"\w+", text)) & words) == []
    assert not re.search(r"https?://", text)


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from joblib import load",
        "import urllib.request",
        "from torch import load",
        "import torch\nx = torch.load('x.pt')",
        "import yaml\nyaml.load(text, Loader=yaml.FullLoader)",
        "from yaml import load",
        "eval('1')",
        "f = exec",
        "frame.eval('a + b')",
        "frame.query('a > b')",
        "import numpy as np\nnp.load('x.npy', allow_pickle=True)",
        "import socket\nsocket.socket()",
        "import subprocess\nsubprocess.run('ls', shell=True)",
    ],
)
def test_the_check_finds_what_it_looks_for(text):
    assert list(findings(text))
