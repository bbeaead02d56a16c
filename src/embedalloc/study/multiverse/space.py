"""The multiverse: all settings that the paper leaves open, and points of that space.

`workflow/multiverse.yaml` lists the open choices with their plausible values. A setting takes one
value of each. Four kinds of points are computed: the default setting, every single change of it,
every pair of changes where that is not too much, and random draws, some of them again with another
seed to show the noise of a verdict itself.
"""

import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import pandas as pd
import yaml
from pydantic import dataclasses

from embedalloc.streams import stream
from embedalloc.study.claims.finding import Findings
from embedalloc.study.claims.ledger import Claim
from embedalloc.study.claims.verdicts import OUTCOMES
from embedalloc.study.settings.common import AtLeast1, AtLeast2, Cell, Settings, Several
from embedalloc.study.settings.errors import ConfigError
from embedalloc.study.settings.words import check
from embedalloc.study.workflow.tables import Column, Contract, TableError

#: An outcome is settled where resamples of its replications give a repetition at least this chance
#: of the same outcome.
SETTLED = 0.95
KINDS = ("default", "single", "pair", "draw")
#: Kinds of points that take more replications until they are settled. A change of the default has
#: the first ones only, and is evidence where these settle it.
GROWING = ("default", "draw")
B = TypeVar("B", bound=Settings)
#: Value of each choice by the choice's name.
Setting = Mapping[str, str]
Tables = tuple[pd.DataFrame, ...]
#: Chance that a repetition gives a claim the same outcome, in a reading.
Steadiness = Callable[[Claim, str], float]

POINT_OUTCOMES = Contract(
    "multiverse_outcomes",
    {
        "experiment": Column("text", "part of the study"),
        "kind": Column("text", "default, one or two changes of it, or random draw", values=KINDS),
        "number": Column("integer", "number within its kind", low=0),
        "repeat": Column("integer", "0, or 1 for the run with another seed", low=0, high=1),
        "seed": Column("integer", "seed of the simulation", low=0),
        "replications": Column("integer", "replications or splits behind the outcome", low=1),
        "setting": Column("text", "value of every choice, as JSON"),
        "changes": Column("integer", "choices that differ from the default", low=0),
        "claim": Column("text", "id of the claim in workflow/claims.yaml"),
        "reading": Column("text", "reading under which it is decided"),
        "outcome": Column("text", "by the claim's own rule", values=OUTCOMES),
        "steadiness": Column(
            "number", "chance of the same outcome again, by resamples", low=0.0, high=1.0
        ),
        "estimate": Column("number", "the deciding statistic", may_be_missing=True),
        "low": Column("number", "lower end of its 95 % interval", may_be_missing=True),
        "high": Column("number", "upper end of its 95 % interval", may_be_missing=True),
    },
    key=("experiment", "kind", "number", "repeat", "claim"),
)


class SpaceError(TableError):
    """An entry of workflow/multiverse.yaml is wrong."""


@dataclass(frozen=True)
class Choice:
    """One open choice.

    Attributes
    ----------
    name, default
        Its name, and the label of its default value.
    options
        Label of each value, with the settings that it makes: path in the block, then value.
        Readings make none.
    reading
        Whether the values name readings instead.
    """

    name: str
    default: str
    options: Mapping[str, Mapping[str, Any]]
    reading: bool


@dataclass(frozen=True)
class Space:
    """The open choices of one experiment and the claims whose outcome is followed."""

    experiment: str
    claims: tuple[str, ...]
    choices: tuple[Choice, ...]

    @property
    def default(self) -> dict[str, str]:
        """The default setting."""
        return {choice.name: choice.default for choice in self.choices}

    def singles(self) -> list[dict[str, str]]:
        """Return every setting that differs from the default in one choice."""
        return [
            self.default | {choice.name: label}
            for choice in self.choices
            for label in choice.options
            if label != choice.default
        ]

    def pairs(self) -> list[dict[str, str]]:
        """Return every setting that differs from the default in two choices."""
        return [
            one | {name: other[name]}
            for one, other in itertools.combinations(self.singles(), 2)
            for name in self.changes(other)
            if name not in self.changes(one)
        ]

    def draw(self, seed: int, number: int) -> dict[str, str]:
        """Draw a setting: every value of every choice is equally likely."""
        rng = stream(seed, "multiverse", self.experiment, number)
        return {
            choice.name: list(choice.options)[int(rng.integers(len(choice.options)))]
            for choice in self.choices
        }

    def changes(self, setting: Setting) -> list[str]:
        """Return the choices in which a setting differs from the default."""
        return [name for name, label in self.default.items() if setting[name] != label]

    def readings(self, setting: Setting) -> list[str]:
        """Return the readings that a setting takes."""
        return [setting[choice.name] for choice in self.choices if choice.reading]

    def block(self, block: B, setting: Setting) -> B:
        """Return the experiment's block of the configuration with the setting's values."""
        changed = block.plain()
        for choice in self.choices:
            for path, value in choice.options[setting[choice.name]].items():
                _put(changed, path.split("."), value, f"{self.experiment}.{path}")
        try:
            return check(type(block), changed, self.experiment)
        except ConfigError as error:
            raise SpaceError(f"workflow/multiverse.yaml: {error}") from None


@dataclasses.dataclass(frozen=True)
class Point:
    """One run: a setting and the seed of its simulation."""

    kind: str
    number: int
    repeat: int
    seed: int
    setting: dict[str, str]


class DrawsCell(Cell[B], Generic[B]):
    """What one job needs that simulates some points; its settings are the default ones."""

    points: Several[Point]
    """the runs"""
    replications: AtLeast2
    """Monte Carlo replications of a setting at first, or splits of the patients"""


class PointsCell(DrawsCell[B], Generic[B]):
    """What one job needs that decides the claims at some points of an experiment."""

    experiment: str
    """the experiment's name"""
    at_most: AtLeast2
    """replications or splits that default and random settings may take until settled"""
    resamples: AtLeast1
    """bootstrap resamples behind each interval"""


def read_spaces(path: str | Path) -> dict[str, Space]:
    """Read the open choices of every experiment."""
    content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    return {
        experiment: Space(
            experiment,
            tuple(entry["claims"]),
            tuple(
                _read_choice(name, choice, f"{path}: {experiment}.{name}")
                for name, choice in entry["choices"].items()
            ),
        )
        for experiment, entry in content.items()
    }


def _read_choice(name: str, entry: Mapping[str, Any], place: str) -> Choice:
    if sum(kind in entry for kind in ("key", "options", "reading")) != 1:
        raise SpaceError(f"{place}: give one of key, options and reading")
    options: dict[str, Mapping[str, Any]]
    if "options" in entry:
        options = {label_of(label): settings for label, settings in entry["options"].items()}
    else:
        key = entry.get("key")
        options = {label_of(v): {key: v} if key else {} for v in entry["values"]}
    default = label_of(entry["default"])
    if default not in options or len(options) < 2:
        raise SpaceError(f"{place}: {default!r} must be one of at least two values")
    return Choice(name, default, options, "reading" in entry)


def label_of(value: Any) -> str:
    """Return a value as it is written in tables and figures."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "/".join(map(label_of, value))
    return f"{value:,.6g}" if isinstance(value, (int, float)) else str(value)


def _put(node: Any, path: Sequence[str | int], value: Any, place: str) -> None:
    """Set the value at a path; * stands for every entry, and a list is dealt out to them."""
    step, rest = path[0], path[1:]
    keys = list(node) if isinstance(node, dict) else list(range(len(node)))
    if step == "*":
        values = value if isinstance(value, list) else [value] * len(keys)
        for key, each in zip(keys, values, strict=True):
            _put(node, [key, *rest], each, place)
    elif step not in keys:
        raise SpaceError(f"{place}: the configuration has no {step!r}")
    elif rest:
        _put(node[step], rest, value, place)
    else:
        node[step] = value


def list_points(space: Space, seed: int, *, pairs: bool, draws: int, repeated: int) -> list[Point]:
    """Return all runs of one experiment; more draws only add to the end of the list.

    The default and its changes share the configuration's seed, so that only the change
    makes a difference. Every draw has a seed of its own.

    Parameters
    ----------
    space, seed
        Open choices and the configuration's seed.
    pairs
        Whether every pair of changes is run.
    draws
        Number of random settings.
    repeated
        Number of draws, the first ones, that run again with another seed, as the default does.
    """

    def other(*parts: str | int) -> int:
        return int(stream(seed, "multiverse", space.experiment, *parts).integers(2**31))

    found = [Point("default", 0, 0, seed, space.default)]
    found.append(Point("default", 0, 1, other("default", 1), space.default))
    found += [Point("single", i, 0, seed, each) for i, each in enumerate(space.singles())]
    if pairs:
        found += [Point("pair", i, 0, seed, each) for i, each in enumerate(space.pairs())]
    for number in range(draws):
        setting = space.draw(seed, number)
        times = 2 if number < repeated else 1
        found += [Point("draw", number, k, other("draw", number, k), setting) for k in range(times)]
    return found


def write_setting(setting: Setting) -> str:
    """Return a setting as JSON."""
    return json.dumps(dict(setting), ensure_ascii=False)


def decide_points(
    space: Space,
    cell: PointsCell[B],
    claims: Mapping[str, Claim],
    simulate: Callable[[Point, B, range], Tables],
    find: Callable[[Point, B, Tables], tuple[Findings, Steadiness]],
) -> pd.DataFrame:
    """Return the outcomes of a job's points, decided by the claims' own rules.

    Parameters
    ----------
    space, cell, claims
        Open choices, what the job needs, and the ledger's claims by id.
    simulate
        Tables of some replications of a point, from its settings.
    find
        What these tables say, by claim and reading, and how steady that is.
    """
    rows: list[dict[str, Any]] = []
    for point in cell.points:
        settings = space.block(cell.settings, point.setting)
        at_most = cell.at_most if point.kind in GROWING else cell.replications
        rows += until_settled(
            partial(simulate, point, settings),
            partial(_decide, space, point, claims, partial(find, point, settings)),
            cell.replications,
            at_most,
        )
    return pd.DataFrame(rows)[list(POINT_OUTCOMES.columns)]


def _decide(
    space: Space,
    point: Point,
    claims: Mapping[str, Claim],
    find: Callable[[Tables], tuple[Findings, Steadiness]],
    tables: Tables,
) -> list[dict[str, Any]]:
    """Decide the followed claims in the readings that the point takes."""
    found, steadiness = find(tables)
    about = asdict(point) | {
        "experiment": space.experiment,
        "setting": write_setting(point.setting),
        "changes": len(space.changes(point.setting)),
    }
    rows = []
    for name in space.claims:
        claim = claims[name]
        reading = reading_of(claim, space.readings(point.setting))
        finding = found[name][reading]
        decided = {
            "claim": name,
            "reading": reading,
            "outcome": claim.outcome(finding),
            "steadiness": steadiness(claim, reading),
        }
        rows.append(about | decided | finding.numbers())
    return rows


def until_settled(
    simulate: Callable[[range], Tables],
    decide: Callable[[Tables], list[dict[str, Any]]],
    replications: int,
    at_most: int,
) -> list[dict[str, Any]]:
    """Return a point's outcome rows with as many replications as settle them.

    Parameters
    ----------
    simulate
        Tables of some replications.
    decide
        Outcome rows from the tables of all replications.
    replications, at_most
        Replications at first, then twice as many as before until every outcome is settled, and
        the most replications that there are.
    """
    parts: list[Tables] = []
    count = 0
    while True:
        wanted = min(max(replications, 2 * count), at_most)
        parts.append(simulate(range(count, wanted)))
        count = wanted
        tables = tuple(pd.concat(each, ignore_index=True) for each in zip(*parts, strict=True))
        rows = [row | {"replications": count} for row in decide(tables)]
        if count >= at_most or all(row["steadiness"] >= SETTLED for row in rows):
            return rows


def find_settled(outcomes: pd.DataFrame) -> "pd.Series[bool]":
    """Return which outcomes are settled."""
    return outcomes["steadiness"] >= SETTLED


def reading_of(claim: Claim, readings: Iterable[str]) -> str:
    """Return the claim's reading that a setting takes; a claim with one reading has no choice."""
    if len(claim.readings) == 1:
        return next(iter(claim.readings))
    taken = [reading for reading in readings if reading in claim.readings]
    if len(taken) != 1:
        raise SpaceError(f"{claim.id}: no choice says which of {list(claim.readings)} is meant")
    return taken[0]
