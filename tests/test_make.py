"""What `make` says where it cannot begin."""

import shutil
import subprocess

import pytest

from tests.places import ROOT


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        ("version_info", "embedalloc needs Python 3.11 or newer, but './python' is Python 3.9"),
        ("ensurepip", "on Debian and Ubuntu: sudo apt install python3-venv"),
    ],
)
def test_a_python_that_will_not_do_is_refused_in_one_line(tmp_path, refused, message):
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "Python 3.9"\ncase "$*" in *{refused}*) exit 1; esac\n')
    python.chmod(0o755)
    done = subprocess.run(
        ["make", "PYTHON=./python", "test"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode
    assert message in done.stderr
    assert not (tmp_path / ".venv").exists()
