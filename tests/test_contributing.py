"""CONTRIBUTING.md names files and targets that exist."""

import re

from tests.places import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text()
#: The made-up figure of the example.
EXAMPLE = "exp2_gap"


def test_files_exist():
    named = re.findall(r"`((?:src|scripts|workflow|tests)/[\w./]*)`", TEXT)
    assert len(named) > 15
    missing = [name for name in named if EXAMPLE not in name and not (ROOT / name).exists()]
    assert missing == []


def test_targets_exist():
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert set(re.findall(r"`make (\w+)`", TEXT)) <= set(targets)
