"""Which files a script depends on, read from its text."""

import sys
from pathlib import Path

import pytest

from embedalloc.study.dependencies import SOURCE, imports_of

ROOT = Path(__file__).resolve().parents[1]


def names(script):
    return {
        Path(path).resolve().relative_to(SOURCE / "embedalloc").as_posix()
        for path in imports_of(script)
    }


def test_direct_and_indirect_imports_are_found():
    exp1, exp3 = names(ROOT / "scripts/simulate_exp1.py"), names(ROOT / "scripts/simulate_exp3.py")
    assert {"study/exp1.py", "study/latent.py", "study/streams.py", "spectra.py"} <= exp1
    assert {"allocation.py", "heuristics.py", "priorities.py", "problem.py"} <= exp3
    assert "allocation.py" not in exp1
    assert "study/exp3.py" not in exp1
    assert "study/style.py" not in exp1 | exp3


@pytest.mark.parametrize("script", sorted(p.name for p in (ROOT / "scripts").glob("*.py")))
def test_equal_to_what_python_really_loads(script):
    """The list read from the text must hold every package file that running the imports loads."""
    import subprocess

    probe = (
        "import runpy, sys; runpy.run_path(sys.argv[1], run_name='probe');"
        "print('\\n'.join(m.__file__ for n, m in sys.modules.items()"
        " if n.split('.')[0] == 'embedalloc'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe, str(ROOT / "scripts" / script)],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {
        Path(line).relative_to(SOURCE / "embedalloc").as_posix() for line in done.stdout.split()
    }
    assert names(ROOT / "scripts" / script) == loaded


def test_imports_inside_functions_count_and_those_for_type_checkers_do_not(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import embedalloc.budget\n"
        "else:\n    import embedalloc.spectra\n"
        "def late():\n    from embedalloc import problem\n"
    )
    assert names(script) == {"__init__.py", "spectra.py", "problem.py"}


def test_relative_imports_are_refused(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("from . import other\n")
    with pytest.raises(ValueError, match=r"script\.py:1: write the import with its full name"):
        imports_of(script)
