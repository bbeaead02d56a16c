"""The ledger of claims: read it, decide every reading by its written rule, and print it."""

import math
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pandas as pd
import yaml

from embedalloc.arrays import Floats
from embedalloc.study.claims.finding import Finding, Findings
from embedalloc.study.claims.verdicts import SECTIONS, count_verdicts
from embedalloc.study.workflow.document import Part
from embedalloc.study.workflow.tables import TableError

_CONDITION = re.compile(r"(estimate|low|high) (<=|>=|<|>) ([-+0-9.e]+)")
_COMPARE = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
_NEEDED = {"id", "section", "place", "statement", "statistic", "data", "figure"}
_OPTIONAL = {"holds", "partly", "readings", "not_testable"}
_VERDICTS = {"holds": "reproduced", "partly": "partly", "fails": "not reproduced"}


class LedgerError(TableError):
    """An entry of the ledger is incomplete, or its evidence is missing."""


@dataclass(frozen=True)
class Condition:
    """One comparison of a reading's estimate, or of an end of its interval, with a threshold."""

    quantity: str
    sign: str
    threshold: float

    @classmethod
    def parse(cls, text: str, place: str) -> "Condition":
        """Read a condition such as `low > 0`."""
        match = _CONDITION.fullmatch(text)
        if match is None:
            raise LedgerError(
                f"{place}: {text!r} is not a condition; write estimate, low or high, then "
                "<=, >=, < or >, then a number"
            )
        quantity, sign, number = match.groups()
        return cls(quantity, sign, float(number))

    def met_by(self, finding: Finding, place: str) -> bool:
        """Return whether a finding meets the condition."""
        value = finding.numbers()[self.quantity]
        if math.isnan(value):
            raise LedgerError(
                f"{place}: the decision needs {self.quantity}, which was not computed"
            )
        return bool(_COMPARE[self.sign](value, self.threshold))

    def chance(self, resampled: Floats) -> float:
        """Return how likely a repetition meets the condition, were this run's data everything.

        For the estimate that is the share of the resamples that meet it. The lower end exceeds a
        threshold where 97.5 % of the resamples do, which takes a margin of 1.96 standard errors,
        and a repetition's margin differs by one standard error. A share of 1 among a thousand
        resamples counts as certain: there an end is met with a chance of 0.9 or more.
        """
        share = float(_COMPARE[self.sign](resampled, self.threshold).mean())
        if self.quantity == "estimate" or share in (0.0, 1.0):
            return share
        normal = NormalDist()
        margin = normal.inv_cdf(0.975)
        # The near end is the harder one to bring past the threshold, the far end the easier one.
        near = (self.quantity == "low") == self.sign.startswith(">")
        return normal.cdf(normal.inv_cdf(share) + (-margin if near else margin))

    def __str__(self) -> str:
        return (
            f"{self.quantity} {self.sign.replace('<=', '≤').replace('>=', '≥')} {self.threshold:g}"
        )


@dataclass(frozen=True)
class Claim:
    """One entry of the ledger; see workflow/claims.yaml for the meaning of each part."""

    id: str
    section: str
    place: str
    statement: str
    statistic: str
    data: tuple[str, ...]
    figure: str
    readings: Mapping[str, str]
    holds: tuple[Condition, ...]
    partly: tuple[Condition, ...]
    not_testable: str

    @property
    def decision(self) -> str:
        """The decision rule in words."""
        if self.not_testable:
            return "none"
        words = f"holds if {' and '.join(map(str, self.holds))}"
        if self.partly:
            words += f"; partly if {' and '.join(map(str, self.partly))}"
        return f"{words}; fails otherwise"

    def outcome(self, finding: Finding) -> str:
        """Return the outcome of one reading."""
        if self.not_testable or math.isnan(finding.estimate):
            return "not testable"
        for name, conditions in (("holds", self.holds), ("partly", self.partly)):
            if conditions and all(each.met_by(finding, self.id) for each in conditions):
                return name
        return "fails"

    def steadiness(self, finding: Finding) -> float:
        """Return how likely a repetition has the same outcome, were this run's data everything."""
        outcome = self.outcome(finding)
        if outcome == "not testable":
            return 1.0
        if finding.resampled is None:
            raise LedgerError(f"{self.id}: the steadiness needs resamples of the replications")
        resampled = finding.resampled
        holds = min(each.chance(resampled) for each in self.holds)
        partly = min((each.chance(resampled) for each in self.partly), default=holds)
        at_least_partly = max(holds, partly)
        return {
            "holds": holds,
            "partly": at_least_partly - holds,
            "fails": 1 - at_least_partly,
        }[outcome]


def read_ledger(path: str | Path) -> list[Claim]:
    """Read the claims, or name the entry and the key that is wrong."""
    entries = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    claims = [_read_entry(entry, f"{path}, entry {number}") for number, entry in enumerate(entries)]
    names = [claim.id for claim in claims]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise LedgerError(f"{path}: more than one claim with the id {repeated[0]!r}")
    return claims


def _read_entry(entry: Mapping[str, Any], place: str) -> Claim:
    place = f"{place} ({entry.get('id', 'without id')})"
    keys = set(entry)
    if missing := _NEEDED - keys:
        raise LedgerError(f"{place}: lacks {', '.join(sorted(missing))}")
    if unknown := keys - _NEEDED - _OPTIONAL:
        raise LedgerError(f"{place}: unknown key {', '.join(sorted(unknown))}")
    if entry["section"] not in SECTIONS:
        raise LedgerError(f"{place}: section {entry['section']!r} is not one of {list(SECTIONS)}")
    if ("holds" in keys) == ("not_testable" in keys):
        raise LedgerError(f"{place}: give either holds or not_testable")
    if not entry["data"] or not entry["figure"]:
        raise LedgerError(f"{place}: a claim needs data and a figure as evidence")
    conditions = {
        name: tuple(Condition.parse(text, place) for text in entry.get(name, ()))
        for name in ("holds", "partly")
    }
    readings = entry.get("readings") or {"as stated": "as stated"}
    lists = {"data": tuple(entry["data"]), "readings": readings, **conditions}
    return Claim(**{"not_testable": "", **entry, **lists})


def check_evidence(claims: Iterable[Claim], files: Iterable[str]) -> None:
    """Refuse a claim whose data or figure is not among the files that were made."""
    made = list(map(str, files))
    for claim in claims:
        for pattern in (*claim.data, claim.figure):
            if not any(fnmatch(file, pattern) for file in made):
                raise LedgerError(f"{claim.id}: its evidence {pattern} does not exist")


def judge(claims: Iterable[Claim], findings: Findings) -> pd.DataFrame:
    """Return the table of claims: one row per reading, the verdict over all readings beside it."""
    claims = list(claims)
    if unclaimed := set(findings) - {claim.id for claim in claims}:
        raise LedgerError(f"findings without a claim: {', '.join(sorted(unclaimed))}")
    rows = [row for claim in claims for row in _judge_one(claim, findings.get(claim.id, {}))]
    return pd.DataFrame(rows)


def _judge_one(claim: Claim, found: Mapping[str, Finding]) -> list[dict[str, Any]]:
    if set(found) != set(claim.readings):
        raise LedgerError(
            f"{claim.id}: readings {sorted(claim.readings)} in the ledger, "
            f"but findings for {sorted(found)}"
        )
    outcomes = {reading: claim.outcome(found[reading]) for reading in claim.readings}
    verdict = verdict_of(outcomes.values())
    written = ("section", "place", "statement", "statistic", "decision")
    about = {
        "claim": claim.id,
        **{name: getattr(claim, name) for name in written},
        "verdict": verdict,
        "why": _explain(claim, found, outcomes, verdict),
        "data": " ".join(claim.data),
        "figure": claim.figure,
    }
    return [
        about
        | {"reading": meaning, "outcome": outcomes[reading]}
        | found[reading].numbers()
        | {"evidence": found[reading].evidence}
        for reading, meaning in claim.readings.items()
    ]


def verdict_of(outcomes: Iterable[str]) -> str:
    """Return the verdict on a claim from the outcomes of its readings."""
    different = set(outcomes)
    if len(different) > 1:
        return "depends on an unstated choice"
    (outcome,) = different
    return _VERDICTS.get(outcome, "not testable")


def _explain(
    claim: Claim, found: Mapping[str, Finding], outcomes: Mapping[str, str], verdict: str
) -> str:
    if claim.not_testable:
        return claim.not_testable
    if verdict == "not testable":
        return next(iter(found.values())).evidence
    parts = []
    for reading, meaning in claim.readings.items():
        finding = found[reading]
        words = f"{outcomes[reading]}, {finding.estimate:.3g}"
        if not math.isnan(finding.low):
            words += f" ({finding.low:.3g} to {finding.high:.3g})"
        parts.append(words if len(claim.readings) == 1 else f"{meaning}: {words}")
    return "; ".join(parts)


def describe_claims(judged: pd.DataFrame) -> list[Part]:
    """Return the ledger as a document: counts, one table per section, then the evidence.

    Parameters
    ----------
    judged
        The claims with their verdicts, as `judge` returns them.
    """
    counts = "; ".join(f"{verdict} {count}" for verdict, count in count_verdicts(judged).items())
    total = judged["claim"].nunique()
    each = judged.drop_duplicates("claim")
    tables = [
        Part(
            SECTIONS[section],
            head=["claim", "verdict", "estimate (95 % interval)"],
            rows=[
                [claim["statement"], f"**{claim['verdict']}**", claim["why"]]
                for claim in each[each["section"] == section].to_dict("records")
            ],
        )
        for section in SECTIONS
        if section in set(each["section"])
    ]
    evidence = [
        _describe_evidence(rows.to_dict("records"))
        for _, rows in judged.groupby("claim", sort=False)
    ]
    about = [f"{total} claims: {counts}."]
    return [Part("The paper's claims", 1, about), *tables, Part("Evidence"), *evidence]


def _describe_evidence(readings: Sequence[Mapping[Any, Any]]) -> Part:
    claim = readings[0]
    return Part(
        claim["claim"],
        3,
        [f"{claim['statement']} ({claim['place']})"],
        notes=[
            f"Statistic: {claim['statistic']}",
            f"Decision: {claim['decision']}",
            *(f"{row['reading']}: **{row['outcome']}**. {row['evidence']}." for row in readings),
            f"Data: {claim['data']}; shown in {claim['figure']}",
        ],
    )
