"""What is tried, with how many examples in `make test`, and how one target is run."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as with_seed
from hypothesis.strategies import SearchStrategy

from tests.fuzz import core, files
from tests.oracles.odd_settings import odd_settings
from tests.study.settings.test_odd_settings import refused_or_bounded

#: Seconds after which one example counts as hanging.
PATIENCE = 300


@dataclass(frozen=True)
class Target:
    """Values to draw, what must hold of each, and how many are drawn in `make test`."""

    values: SearchStrategy[Any]
    check: Callable[[Any], object]
    examples: int


TARGETS = {
    "literal": Target(core.small_problems(), core.check_small_problem, 300),
    "huge": Target(core.huge_problems(), core.check_huge_problem, 300),
    "menu": Target(core.menus, core.check_menu, 200),
    "call": Target(core.odd_calls, core.check_odd_call, 1500),
    "limits": Target(core.limits, core.check_build, 500),
    "json": Target(core.plans, core.check_plan, 300),
    "model": Target(core.models(), core.check_model, 200),
    "matrices": Target(files.seeds, files.check_audit, 100),
    "printed": Target(files.seeds, files.check_printed_table, 1000),
    "patients": Target(files.seeds, files.check_patients, 60),
    "tables": Target(files.seeds, files.check_foreign_table, 200),
    "settings": Target(odd_settings(), refused_or_bounded, 100),
    "audit": Target(files.seeds, files.COMMAND_CHECKS["audit"], 500),
    "solve": Target(files.seeds, files.COMMAND_CHECKS["solve"], 600),
    "rules": Target(files.seeds, files.COMMAND_CHECKS["rules"], 20),
    "frontier": Target(files.seeds, files.COMMAND_CHECKS["frontier"], 60),
    "count": Target(files.seeds, files.COMMAND_CHECKS["count"], 150),
    "memory": Target(files.seeds, files.COMMAND_CHECKS["memory"], 200),
    "plan": Target(files.seeds, files.COMMAND_CHECKS["plan"], 250),
    "compare": Target(files.seeds, files.COMMAND_CHECKS["compare"], 100),
}


def attack(name: str, seed: int, examples: int) -> None:
    """Try so many examples of a target; Hypothesis shows the smallest that fails."""
    target = TARGETS[name]

    @with_seed(seed)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(target.values)
    def attempt(value: Any) -> None:
        with _patience():
            target.check(value)

    attempt()


@contextmanager
def _patience() -> Iterator[None]:
    def give_up(*_: object) -> None:
        raise AssertionError(f"no end after {PATIENCE} seconds")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
