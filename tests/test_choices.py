"""The choices ledger and the code point at each other."""

import re

import yaml

from tests.places import ROOT

LEDGER = yaml.safe_load((ROOT / "workflow/choices.yaml").read_text())


def test_every_entry_says_everything_once():
    assert len({entry["id"] for entry in LEDGER}) == len(LEDGER)
    for entry in LEDGER:
        assert set(entry) == {"id", "section", "paper", "chosen", "why", "alternatives", "where"}
        assert all(entry.values()), entry["id"]


def test_notes_in_the_code_and_entries_match():
    places = [*ROOT.glob("src/**/*.py"), *ROOT.glob("scripts/*.py"), ROOT / "config.yaml"]
    noted = {
        (match, str(path.relative_to(ROOT)))
        for path in places
        for match in re.findall(r"NOTE\[PAPER\] ([a-z0-9-]+)", path.read_text())
    }
    assert noted == {(entry["id"], entry["where"]) for entry in LEDGER}
