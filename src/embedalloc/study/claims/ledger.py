"""The ledger of claims: read it, decide every reading by its written rule, and print it."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from statistics import NormalDist
from typing import Any, Literal

import pandas as pd
import yaml

from embedalloc.arrays import Floats
from embedalloc.study.claims.finding import Finding
from embedalloc.study.claims.verdicts import CLAIMS, SECTIONS, VERDICTS
from embedalloc.study.workflow.tables import TableError

_CONDITION = re.compile(r"(estimate|low|high) (<=|>=|<|>) ([-+0-9.e]+)")
_COMPARE = {
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
}
_NEEDED = {"id", "section", "place", "statement", "statistic", "data", "figure"}
_OPTIONAL = {"holds", "partly", "readings", "not_testable"}
_WORDS = {"holds": "reproduced", "partly": "partly", "fails": "not reproduced"}


class LedgerError(TableError):
    """An entry of the ledger is incomplete, or its evidence is missing."""


@dataclass(frozen=True)
class Condition:
    """One comparison of a reading's estimate, or of an end of its interval, with a threshold."""

    quantity: Literal["estimate", "low", "high"]
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
        return cls(quantity, sign, float(number))  # type: ignore[arg-type]  # by the pattern

    def met_by(self, finding: Finding, place: str) -> bool:
        """Return whether a finding meets the condition."""
        value = getattr(finding, self.quantity)
        if value is None or math.isnan(value):
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
    for name in names:
        if names.count(name) > 1:
            raise LedgerError(f"{path}: more than one claim with the id {name!r}")
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
    return Claim(
        id=entry["id"],
        section=entry["section"],
        place=entry["place"],
        statement=entry["statement"],
        statistic=entry["statistic"],
        data=tuple(entry["data"]),
        figure=entry["figure"],
        readings=entry.get("readings") or {"as stated": "as stated"},
        holds=tuple(Condition.parse(text, place) for text in entry.get("holds", ())),
        partly=tuple(Condition.parse(text, place) for text in entry.get("partly", ())),
        not_testable=entry.get("not_testable", ""),
    )


def check_evidence(claims: Iterable[Claim], files: Iterable[str]) -> None:
    """Refuse a claim whose data or figure is not among the files that were made."""
    made = list(map(str, files))
    for claim in claims:
        for pattern in (*claim.data, claim.figure):
            if not any(fnmatch(file, pattern) for file in made):
                raise LedgerError(f"{claim.id}: its evidence {pattern} does not exist")


def judge(claims: Iterable[Claim], findings: Mapping[str, Mapping[str, Finding]]) -> pd.DataFrame:
    """Return the table of claims: one row per reading, the verdict over all readings beside it."""
    claims = list(claims)
    if unclaimed := set(findings) - {claim.id for claim in claims}:
        raise LedgerError(f"findings without a claim: {', '.join(sorted(unclaimed))}")
    rows = [row for claim in claims for row in _judge_one(claim, findings.get(claim.id, {}))]
    return pd.DataFrame(rows)[list(CLAIMS.columns)]


def _judge_one(claim: Claim, found: Mapping[str, Finding]) -> list[dict[str, Any]]:
    if set(found) != set(claim.readings):
        raise LedgerError(
            f"{claim.id}: readings {sorted(claim.readings)} in the ledger, "
            f"but findings for {sorted(found)}"
        )
    outcomes = {reading: claim.outcome(found[reading]) for reading in claim.readings}
    verdict = verdict_of(outcomes.values())
    about = {
        "claim": claim.id,
        "section": claim.section,
        "place": claim.place,
        "statement": claim.statement,
        "statistic": claim.statistic,
        "decision": claim.decision,
        "verdict": verdict,
        "why": _why(claim, found, outcomes, verdict),
        "data": " ".join(claim.data),
        "figure": claim.figure,
    }
    return [
        about
        | {
            "reading": meaning,
            "outcome": outcomes[reading],
            "estimate": _number(found[reading].estimate),
            "low": _number(found[reading].low),
            "high": _number(found[reading].high),
            "evidence": found[reading].evidence,
        }
        for reading, meaning in claim.readings.items()
    ]


def verdict_of(outcomes: Iterable[str]) -> str:
    """Return the verdict on a claim from the outcomes of its readings."""
    different = set(outcomes)
    if len(different) > 1:
        return "depends on an unstated choice"
    (outcome,) = different
    return _WORDS.get(outcome, "not testable")


def _why(
    claim: Claim, found: Mapping[str, Finding], outcomes: Mapping[str, str], verdict: str
) -> str:
    if claim.not_testable:
        return claim.not_testable
    if verdict == "not testable":
        return next(iter(found.values())).evidence
    parts = []
    for reading, meaning in claim.readings.items():
        words = f"{outcomes[reading]}, {estimate_words(found[reading])}"
        parts.append(words if len(claim.readings) == 1 else f"{meaning}: {words}")
    return "; ".join(parts)


def estimate_words(finding: Finding) -> str:
    """Return the estimate with its interval, in a few digits."""
    if finding.low is None or finding.high is None:
        return f"{finding.estimate:.3g}"
    return f"{finding.estimate:.3g} ({finding.low:.3g} to {finding.high:.3g})"


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def counted(table: pd.DataFrame) -> dict[str, int]:
    """Return how many claims have each verdict."""
    verdicts = table.drop_duplicates("claim")["verdict"]
    return {verdict: int((verdicts == verdict).sum()) for verdict in VERDICTS}


def as_markdown(table: pd.DataFrame, shares: Mapping[str, str] | None = None) -> str:
    """Return the ledger as a page: counts, then one table per section, then the evidence.

    Parameters
    ----------
    table
        The claims with their verdicts, as `judge` returns them.
    shares
        For claims that the multiverse follows, how often they hold over its settings; shown
        beside the verdict.
    """
    shares = shares or {}
    counts = "; ".join(f"{verdict} {count}" for verdict, count in counted(table).items())
    total = table["claim"].nunique()
    lines = ["# The paper's claims", "", f"{total} claims: {counts}.", ""]
    for section, title in SECTIONS.items():
        rows = table[table["section"] == section]
        if rows.empty:
            continue
        followed = any(claim in shares for claim in rows["claim"])
        extra = " over open choices |" if followed else ""
        lines += [
            f"## {title}",
            "",
            f"| claim | verdict | estimate (95 % interval) |{extra}",
            "|---|---|---|" + "---|" * followed,
        ]
        for _, claim in rows.groupby("claim", sort=False):
            first = claim.iloc[0]
            share = f" {shares.get(first['claim'], '')} |" if followed else ""
            lines.append(
                f"| {first['statement']} | **{first['verdict']}** | {first['why']} |{share}"
            )
        lines.append("")
    lines += ["## Evidence", ""]
    for _, claim in table.groupby("claim", sort=False):
        first = claim.iloc[0]
        lines += [
            f"### {first['claim']}",
            "",
            f"{first['statement']} ({first['place']})",
            "",
            f"- Statistic: {first['statistic']}",
            f"- Decision: {first['decision']}",
            *(f"- {row['reading']}: **{row['outcome']}**. {row['evidence']}."
              for row in claim.to_dict("records")),
            f"- Data: {first['data']}; shown in {first['figure']}",
            "",
        ]  # fmt: skip
    return "\n".join(lines)
