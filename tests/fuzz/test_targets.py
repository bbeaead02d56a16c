"""The bounded run: the same examples each time, all targets together within a minute."""

import pytest

from embedalloc.command_line import COMMANDS
from tests.fuzz.__main__ import main
from tests.fuzz.targets import TARGETS, Target, attack

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", TARGETS)
def test_generated_inputs_are_used_or_refused(name):
    attack(name, seed=1, examples=TARGETS[name].examples)


def test_every_command_is_a_target():
    assert set(COMMANDS) <= set(TARGETS)


def test_a_failure_names_the_command_that_brings_it_back(monkeypatch, capsys):
    def refuse_large(value):
        assert value < 1000

    monkeypatch.setitem(TARGETS, "rules", Target(TARGETS["rules"].values, refuse_large, 5))
    code = main(["--target", "rules", "--seed", "7", "--examples", "50"])
    said = capsys.readouterr()
    assert code == 1
    assert "python -m tests.fuzz --target rules --seed 7 --examples 50" in said.out
    assert "value=1000" in said.out
