"""Which edits change what a job does, read from the text of scripts and modules."""

import ast
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import pytest

from embedalloc.study.workflow.dependencies import code_of, in_project, modules_of
from tests.places import ROOT
from tests.workflow.runner import copy_study

SCRIPTS = sorted(path.stem for path in (ROOT / "scripts").glob("*.py"))


def test_direct_and_indirect_imports_are_found():
    exp1, exp3 = modules_of("simulate_exp1"), modules_of("simulate_exp3")
    study = "embedalloc.study"
    assert {"simulate_exp1", f"{study}.exp1", f"{study}.latent", "embedalloc.streams"} <= {*exp1}
    assert {f"{study}.exp3", "embedalloc.allocation", "embedalloc.greedy"} <= {*exp3}
    assert "embedalloc.allocation" not in exp1
    assert f"{study}.workflow.style" not in {*exp1, *exp3}
    # What the package at the top names is loaded when asked for, and nobody here asks.
    assert "embedalloc" not in {*exp1, *exp3}


#: Runs the imports of every script in a fork of its own; what all of them need from outside the
#: package is loaded once, before the forks.
PROBE = """
import gc, os, runpy, sys
import matplotlib.figure, numba, numpy, pandas, pyarrow.parquet, scipy.stats, seaborn, torch
import jinja2, markdown_it, pydantic, snakemake.utils, sklearn.ensemble, sklearn.linear_model, yaml
import sklearn.neural_network, sklearn.preprocessing
from pydantic import BaseModel, ConfigDict, Field, dataclasses, model_validator
gc.freeze()
for script in sys.argv[1:]:
    sys.stdout.flush()
    if os.fork() == 0:
        runpy.run_path(f"scripts/{script}.py", run_name="probe")
        for name in list(sys.modules):
            if name.split(".")[0] in ("embedalloc", "tests"):
                print(script, name)
        sys.stdout.flush()
        os._exit(0)
    assert os.wait()[1] == 0, script
"""


#: Imported by functions: torch's layers, so that the core does without torch, and settings that
#: `tests.places` reads, so that tests of the core do without them.
LATE = ("embedalloc.torch_inputs", "embedalloc.study.settings.")


@pytest.mark.slow  # imports every script
def test_equal_to_what_python_really_loads():
    """The modules found in the text are those that the imports load and that do something."""
    command = [sys.executable, "-c", PROBE, *SCRIPTS]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    loaded: dict[str, set[str]] = {script: set() for script in SCRIPTS}
    for line in done.stdout.splitlines():
        script, module = line.split(" ")
        loaded[script].add(module)
    for script in SCRIPTS:
        found = {*modules_of(script)} - {script}
        found -= {name for name in found - loaded[script] if name.startswith(LATE)}
        assert found <= loaded[script], script
        packages = {name for name in loaded[script] - found if f"{name}." in " ".join(found)}
        assert loaded[script] == found | packages, script


def small_project(folder: Path, script: str, **modules: str) -> Path:
    """Write a project of one script and some modules."""
    (folder / "scripts").mkdir()
    (folder / "scripts/draw.py").write_text(script)
    (folder / "src/embedalloc").mkdir(parents=True)
    for name in ("__init__", *modules):
        (folder / f"src/embedalloc/{name}.py").write_text(modules.get(name, ""))
    return folder


def test_imports_inside_functions_count_and_those_for_type_checkers_do_not(tmp_path):
    text = (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import embedalloc.a\n"
        "else:\n    import embedalloc.b\n"
        "def late():\n    from embedalloc import c\n"
    )
    project = small_project(tmp_path, text, a="x = 1", b="x = 1", c="x = 1")
    assert {*modules_of("draw", project)} == {"draw", "embedalloc.b", "embedalloc.c"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("from . import other", "import '..other' by the full name of the module"),
        ("from embedalloc import allocate", "import 'embedalloc.allocate' by the full name"),
        ("import embedalloc", "import 'embedalloc' by the full name of the module"),
    ],
)
def test_imports_that_hide_where_code_lives_are_refused(tmp_path, line, message):
    with pytest.raises(ValueError, match=rf"^scripts/draw\.py:2: {message}"):
        code_of("draw", small_project(tmp_path, f"# why\n{line}\n"))


MEANING = '''"""Words."""
import math


class Shape:
    """More words."""

    side: float = 1.0
    """The length."""

    def area(self) -> float:
        """Return it."""
        return self.side**2  # squared
'''


@pytest.mark.parametrize(
    ("before", "after", "counts"),
    [
        ("Words", "Other words", False),
        ("# squared", "# to the second power", False),
        ('    """The length."""\n', "", False),
        ('        """Return it."""\n', "\n\n", False),
        ("self.side**2", "(self.side ** 2)", False),
        ("self.side**2", "self.side**3", True),
        ("float = 1.0", "float = 2.0", True),
        ("float = 1.0", "int = 1.0", True),
        ("import math\n", "import math\nimport os\n", True),
    ],
)
def test_what_counts_is_what_a_module_does(tmp_path, before, after, counts):
    project = small_project(tmp_path, "import embedalloc.a", a=MEANING)
    digest = code_of("draw", project)
    assert before in MEANING
    (project / "src/embedalloc/a.py").write_text(MEANING.replace(before, after))
    assert (code_of("draw", project) != digest) == counts


def test_paths_are_seen_from_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert in_project("workflow/claims.yaml") == "workflow/claims.yaml"
    monkeypatch.chdir(tmp_path)
    assert Path(in_project("workflow/claims.yaml")).resolve() == ROOT / "workflow/claims.yaml"


# The table of edits.


def add_code(path: str) -> Callable[[Path], None]:
    """Return an edit that adds a line of code to a module."""

    def edit(project: Path) -> None:
        file = project / path
        file.write_text(file.read_text() + "\nEDITED = True\n")

    return edit


def reword(path: str, before: str) -> Callable[[Path], None]:
    """Return an edit that changes some words in a string of a module."""

    def edit(project: Path) -> None:
        file = project / path
        assert before in file.read_text(), f"{path} no longer says {before!r}"
        file.write_text(file.read_text().replace(before, "other words"))

    return edit


def sources(project: Path) -> list[Path]:
    return [path for part in ("src", "scripts", "tests") for path in (project / part).rglob("*.py")]


def comment_everything(project: Path) -> None:
    """Add a comment to every file and change every docstring."""
    for path in sources(project):
        text = re.sub(r'^( *)"""(?=\w)', r'\1"""Edited. ', path.read_text(), flags=re.MULTILINE)
        path.write_text(f"# A comment.\n{text}# Another one.\n")


def reformat_everything(project: Path) -> None:
    """Write every file anew, without its comments and with another layout."""
    for path in sources(project):
        path.write_text(ast.unparse(ast.parse(path.read_text())))


def rules(*words: str) -> set[str]:
    return {script for script in SCRIPTS if any(word in script for word in words)}


#: Benchmarks, multiverse and verdicts use most of the code: looked at where nothing may change.
ELSEWHERE = rules("benchmark", "multiverse", "regret") | {"judge_claims", "write_report"}
#: The study of real tables, which uses the library as its users do.
TABLES = {"judge_tables"}
#: Sweeps over a user's table, which use it in the same way.
SWEEPS = {"judge_sweep", "tabulate_sweep", "plot_sweep"}
ELSEWHERE |= TABLES | SWEEPS
EXP1, EXP2, EXP3 = rules("exp1"), rules("exp2"), rules("exp3") - ELSEWHERE
HEART = rules("heart", "final_allocation") - {"compile_heart"}
DRAWN = rules("plot_") - ELSEWHERE
THEORY = rules("simulate_theory")
TRAINED = {"train_heart", "select_heart"}
#: What runs again after a rule in any case, for it reads what the rule writes.
FOLLOWERS = {
    "simulate_exp1": EXP1,
    "simulate_exp2": EXP2,
    "simulate_exp3": EXP3,
    "prepare_heart": HEART,
    "train_heart": HEART - {"prepare_heart"},
} | {rule: rules(rule.removeprefix("simulate_")) for rule in THEORY}
PACKAGE, STUDY = "src/embedalloc", "src/embedalloc/study"

#: An edit, and the rules that do something else after it; those that follow them may, too.
EDITS: dict[str, tuple[Callable[[Path], None], set[str]]] = {
    "a comment and a docstring everywhere": (comment_everything, set()),
    "another layout everywhere": (reformat_everything, set()),
    "a name at the top of the package": (add_code(f"{PACKAGE}/__init__.py"), set()),
    "an exporter": (add_code(f"{PACKAGE}/exporters.py"), TABLES),
    "a command's wording": (reword(f"{PACKAGE}/command_line/plan.py", "budget"), set()),
    "a rule's description": (
        reword(f"{PACKAGE}/rules.py", "Searches for the whole dimensions"),
        TABLES,
    ),
    "the wording of a budget error": (
        add_code(f"{PACKAGE}/problem.py"),
        {"simulate_exp3", "simulate_theory_allocation"} | TRAINED,
    ),
    "the greedy step": (
        add_code(f"{PACKAGE}/greedy.py"),
        {"simulate_exp3", "simulate_theory_allocation"} | TRAINED,
    ),
    "the exact optimum": (add_code(f"{PACKAGE}/optimum.py"), {"simulate_theory_allocation"}),
    "spectra": (
        add_code(f"{PACKAGE}/spectra.py"),
        {"simulate_exp1", "simulate_exp3", "simulate_theory_allocation"}
        | {"simulate_theory_approximation"}
        | TRAINED,
    ),
    "a budget in words": (add_code(f"{PACKAGE}/memory.py"), TABLES),
    "tables for terminals": (add_code(f"{PACKAGE}/text.py"), TABLES),
    "the choice of a budget": (add_code(f"{PACKAGE}/budgets.py"), TRAINED),
    "random numbers": (
        add_code(f"{PACKAGE}/streams.py"),
        {"simulate_exp1", "simulate_exp2", "simulate_exp3"} | THEORY | TRAINED,
    ),
    "the audit": (add_code(f"{PACKAGE}/audit/matrices.py"), {"audit_table1"}),
    "Experiment 2": (add_code(f"{STUDY}/exp2.py"), {"simulate_exp2"}),
    "Theorem 3": (add_code(f"{STUDY}/theory/theorem3.py"), {"simulate_theory_allocation"}),
    "the trainer": (add_code(f"{STUDY}/heart/trainer/kernel.py"), TRAINED | {"compile_heart"}),
    "the patients": (add_code(f"{STUDY}/heart/patients.py"), TRAINED | {"prepare_heart"}),
    "a claim": (add_code(f"{STUDY}/claims/exp1.py"), {"judge_claims"}),
    "the page": (add_code(f"{STUDY}/page/report.py"), {"write_report"}),
    "the look of all figures": (add_code(f"{STUDY}/workflow/style.py"), DRAWN),
    "the looks of Experiment 1": (add_code(f"{STUDY}/exp1_looks.py"), EXP1 & DRAWN),
    "the looks of Experiment 3": (
        add_code(f"{STUDY}/exp3_looks.py"),
        EXP3 & DRAWN | {"plot_theory_allocation"},
    ),
    "the looks of Table 1's models, and the names of its predictors": (
        add_code(f"{STUDY}/heart/looks.py"),
        {"plot_heart_budget", "plot_heart_metrics", "plot_heart_pilot", "plot_final_allocation"},
    ),
    "a figure's script": (add_code("scripts/plot_exp1_gap.py"), {"plot_exp1_gap"}),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project, to be edited."""
    return copy_study(tmp_path_factory.mktemp("edited"))


@contextmanager
def edited(project, edit):
    """Edit a project and take it back."""
    before = {path: path.read_text() for path in sources(project)}
    edit(project)
    try:
        yield
    finally:
        for path, text in before.items():
            if path.read_text() != text:
                path.write_text(text)


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_reaches_what_uses_it_and_nothing_else(project, name):
    edit, expected = EDITS[name]
    with edited(project, edit):
        changed = {script for script in SCRIPTS if code_of(script, project) != code_of(script)}
    assert expected <= changed
    allowed = expected.union(ELSEWHERE, *(FOLLOWERS.get(rule, ()) for rule in expected))
    assert changed <= (allowed if expected else set())
