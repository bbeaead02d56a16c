"""What the multiverse says of each claim: how often it holds, what decides and overturns it."""

import json
import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from embedalloc.intervals import wilson
from embedalloc.study.claims.ledger import Claim
from embedalloc.study.claims.verdicts import OUTCOMES
from embedalloc.study.multiverse.space import SETTLED, Space, find_settled
from embedalloc.study.workflow.document import Part
from embedalloc.study.workflow.tables import Column, Contract

#: Outcomes as numbers, where one number is needed.
OUTCOME_SCORES = {"holds": 1.0, "partly": 0.5, "fails": 0.0}


def _share(meaning: str, *, may_be_missing: bool = False) -> Column:
    return Column("number", meaning, low=0.0, high=1.0, may_be_missing=may_be_missing)


SHARES = Contract(
    "multiverse_shares",
    {
        "claim": Column("text", "id of the claim in workflow/claims.yaml"),
        "experiment": Column("text", "part of the study"),
        "statement": Column("text", "the claim in our words"),
        "default": Column("text", "outcome at the default setting", values=OUTCOMES),
        "default_settled": Column("flag", "whether that outcome is settled"),
        "draws": Column("integer", "random settings in which it can be tested", low=0),
        "settled": Column("integer", "of those, with a settled outcome", low=0),
        "share": _share("settings in which it holds", may_be_missing=True),
        "low": _share("Wilson's 95 % interval", may_be_missing=True),
        "high": _share("Wilson's 95 % interval", may_be_missing=True),
        "partly": _share("settings in which it holds or partly holds", may_be_missing=True),
        "partly_low": _share("Wilson's 95 % interval", may_be_missing=True),
        "partly_high": _share("Wilson's 95 % interval", may_be_missing=True),
        "repetitions": Column("integer", "runs repeated with another seed", low=1),
        "same": _share("of those, with the same outcome"),
        "settled_repetitions": Column("integer", "repeated runs that are settled twice", low=0),
        "same_settled": _share("of those, with the same outcome", may_be_missing=True),
        "singles": Column("integer", "single changes of the default", low=1),
        "settled_singles": Column("integer", "of those, with a settled outcome", low=0),
        "overturning": Column("integer", "of those, with another one than the default", low=0),
        "pairs": Column("integer", "pairs of changes, 0 where they were not run", low=0),
        "settled_pairs": Column("integer", "of those, with a settled outcome", low=0),
        "overturning_pairs": Column(
            "integer", "of those, with another one than the default", low=0
        ),
        "fewest": Column("integer", "fewest changes with another settled outcome, or 0", low=0),
        "overturned_by": Column("text", "those changes, with the outcome"),
    },
    key=("claim",),
)
EFFECTS = Contract(
    "multiverse_choices",
    {
        "claim": Column("text", "id of the claim in workflow/claims.yaml"),
        "experiment": Column("text", "part of the study"),
        "choice": Column("text", "open choice"),
        "value": Column("text", "one of its values"),
        "is_default": Column("flag", "whether that is the default"),
        "draws": Column("integer", "random settings with that value", low=0),
        "share": _share("of those, with the claim holding", may_be_missing=True),
        "low": _share("Wilson's 95 % interval", may_be_missing=True),
        "high": _share("Wilson's 95 % interval", may_be_missing=True),
        "score": _share("mean outcome: holds 1, partly ½, fails 0", may_be_missing=True),
        "variance_share": _share("of the outcome, explained by the choice", may_be_missing=True),
    },
    key=("claim", "choice", "value"),
)


def count_shares(
    outcomes: pd.DataFrame, spaces: Mapping[str, Space], claims: Mapping[str, Claim]
) -> pd.DataFrame:
    """Return one row per followed claim, in the order of the paper."""
    rows = []
    for experiment, space in spaces.items():
        for claim in space.claims:
            mine = outcomes[outcomes["claim"] == claim]
            drawn, default = _first(mine, "draw"), _first(mine, "default")
            # A setting that lacks what the claim is about says nothing of it.
            drawn = drawn[drawn["outcome"] != "not testable"]
            partly = drawn["outcome"].isin(["holds", "partly"])
            rows.append(
                {
                    "claim": claim,
                    "experiment": experiment,
                    "statement": claims[claim].statement,
                    "default": str(default["outcome"].iloc[0]),
                    "default_settled": bool(find_settled(default).iloc[0]),
                    "draws": len(drawn),
                    "settled": int(find_settled(drawn).sum()),
                    **_count_held(drawn["outcome"] == "holds", "share", "low", "high"),
                    **_count_held(partly, "partly", "partly_low", "partly_high"),
                    **_count_repetitions(mine),
                    **_find_overturns(mine, space),
                }
            )
    return pd.DataFrame(rows)


def _count_held(held: "pd.Series[bool]", *columns: str) -> dict[str, float]:
    """Return the share of settings that hold and Wilson's interval; nan where there are none."""
    if held.empty:
        return dict.fromkeys(columns, math.nan)
    count = int(held.sum())
    return dict(zip(columns, (count / len(held), *wilson(count, len(held))), strict=True))


def _first(rows: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return the runs of one kind without their repetitions."""
    return rows[(rows["kind"] == kind) & (rows["repeat"] == 0)]


def _count_repetitions(rows: pd.DataFrame) -> dict[str, Any]:
    """Return how often a repeated run has the outcome of the first, and a settled one has it."""
    first = rows[rows["repeat"] == 0].set_index(["kind", "number"])
    again = rows[rows["repeat"] > 0].set_index(["kind", "number"])
    first = first.loc[again.index]
    same = again["outcome"] == first["outcome"]
    twice = find_settled(first) & find_settled(again)
    return {
        "repetitions": len(same),
        "same": float(same.mean()),
        "settled_repetitions": int(twice.sum()),
        "same_settled": float(same[twice].mean()) if twice.any() else math.nan,
    }


def _find_overturns(rows: pd.DataFrame, space: Space) -> dict[str, Any]:
    """Return the smallest changes of the default seen to change the outcome.

    Single changes first; where none of them does, pairs, and else the draws with the fewest
    changes. An outcome that is not settled does not count: chance may have made it.
    """
    default = _first(rows, "default")["outcome"].iloc[0]
    runs = {kind: _first(rows, kind) for kind in ("single", "pair", "draw")}
    firm = {kind: mine[find_settled(mine)] for kind, mine in runs.items()}
    other = {kind: mine[mine["outcome"] != default] for kind, mine in firm.items()}
    overturning = next((mine for mine in other.values() if len(mine)), other["draw"])
    fewest = int(overturning["changes"].min()) if len(overturning) else 0
    smallest = overturning[overturning["changes"] == fewest]
    words = []
    for text, outcome in zip(smallest["setting"], smallest["outcome"], strict=True):
        setting = json.loads(text)
        changes = ", ".join(f"{name} {setting[name]}" for name in space.changes(setting))
        words.append(f"{changes} ({outcome})")
    return {
        "singles": len(runs["single"]),
        "settled_singles": len(firm["single"]),
        "overturning": len(other["single"]),
        "pairs": len(runs["pair"]),
        "settled_pairs": len(firm["pair"]),
        "overturning_pairs": len(other["pair"]),
        "fewest": fewest,
        "overturned_by": "; ".join(words),
    }


def measure_effects(outcomes: pd.DataFrame, spaces: Mapping[str, Space]) -> pd.DataFrame:
    """Return the share of holding settings by value of each choice, and what the choice explains.

    Choices are drawn independently of each other, so the main effects do not borrow from one
    another and a one-way decomposition serves for each.
    """
    rows = []
    for experiment, space in spaces.items():
        for claim in space.claims:
            drawn = _first(outcomes[outcomes["claim"] == claim], "draw").reset_index(drop=True)
            settings = pd.DataFrame([json.loads(text) for text in drawn["setting"]])
            scores = drawn["outcome"].map(OUTCOME_SCORES)
            for choice in space.choices:
                explained = measure_variance_share(scores, settings[choice.name])
                for value in choice.options:
                    here = settings[choice.name] == value
                    held = drawn["outcome"][here] == "holds"
                    rows.append(
                        {
                            "claim": claim,
                            "experiment": experiment,
                            "choice": choice.name,
                            "value": value,
                            "is_default": value == choice.default,
                            "draws": int(here.sum()),
                            **_count_held(held, "share", "low", "high"),
                            "score": float(scores[here].mean()),
                            "variance_share": explained,
                        }
                    )
    return pd.DataFrame(rows)


def measure_variance_share(scores: "pd.Series[float]", groups: "pd.Series[str]") -> float:
    """Return the share of the variance between groups, without what chance alone would give (ε²).

    Nan where the scores do not vary; never below 0.
    """
    total = float(((scores - scores.mean()) ** 2).sum())
    means = scores.groupby(groups).transform("mean")
    within = float(((scores - means) ** 2).sum())
    count = groups.nunique()
    freedom = len(scores) - count
    if total == 0 or freedom < 1:
        return math.nan
    return max(0.0, (total - within - (count - 1) * within / freedom) / total)


def print_shares(table: pd.DataFrame) -> dict[str, str]:
    """Return for each followed claim how often it holds, in a few words."""
    words = {}
    for row in table.to_dict("records"):
        unsettled = row["draws"] - row["settled"]
        if not row["draws"]:
            words[row["claim"]] = "not testable in any setting"
            continue
        words[row["claim"]] = (
            f"holds in {100 * row['share']:.0f} % of {row['draws']} settings "
            f"({100 * row['low']:.0f} to {100 * row['high']:.0f} %)"
            + (f", {unsettled} of them unsettled" if unsettled else "")
        )
    return words


def describe_multiverse(table: pd.DataFrame, choices: pd.DataFrame) -> list[Part]:
    """Return the document: shares, what overturns the default, and what decides.

    Parameters
    ----------
    table, choices
        As in the contracts `SHARES` and `EFFECTS`.
    """
    rows = table.to_dict("records")
    return [
        Part(
            "How far the findings reach",
            1,
            [
                "Every choice that the paper leaves open takes one of its plausible values "
                "(`workflow/multiverse.yaml`), all equally likely and independent of each other; "
                "each setting goes through the experiment's own simulation and the claim's own "
                "rule (`workflow/claims.yaml`). Shares are of the settings, with Wilson's 95 % "
                "interval. A setting takes more and more replications until its outcomes are "
                "settled, that is, until by resamples of its replications a repetition has the "
                f"same outcome in {100 * SETTLED:.0f} % of cases; what the most replications of "
                "the configuration do not settle lies close to a threshold, and counts in the "
                "shares as it came out. “Same again” says how many runs with another seed have the "
                "same outcome, in brackets where both runs are settled."
            ],
            ["claim", "default", "holds in", "holds or partly", "settled", "same again"],
            [
                [
                    f"{row['statement']} (`{row['claim']}`)",
                    _default(row),
                    _percent(row, "share", "low", "high"),
                    _percent(row, "partly", "partly_low", "partly_high"),
                    f"{row['settled']} of {row['draws']}",
                    _again_words(row),
                ]
                for row in rows
            ],
        ),
        Part(
            "What overturns the default",
            paragraphs=[
                "The smallest change of the default setting seen to give another outcome. Changes "
                "take no further replications, so fewer are settled, and only settled ones count."
            ],
            head=["claim", "default", "smallest change"],
            rows=[[f"`{row['claim']}`", _default(row), describe_overturns(row)] for row in rows],
        ),
        Part(
            "What decides",
            paragraphs=[
                "For each claim the choices that explain at least a tenth of its outcome (holds 1, "
                "partly ½, fails 0): share of the variance between their values beyond chance, and "
                "in brackets the mean outcome with each value. Draws are not balanced, so a choice "
                "that does not matter can seem to explain a few per cent."
            ],
            head=["claim", "choices, most important first"],
            rows=[
                [f"`{claim}`", _deciding_words(values)]
                for claim, values in choices.groupby("claim", sort=False)
            ],
        ),
    ]


def _percent(row: Mapping[Any, Any], share: str, low: str, high: str) -> str:
    if not row["draws"]:
        return "not testable"
    return f"{100 * row[share]:.0f} % ({100 * row[low]:.0f} to {100 * row[high]:.0f})"


def _default(row: Mapping[Any, Any]) -> str:
    return str(row["default"]) + ("" if row["default_settled"] else ", unsettled")


def _again_words(row: Mapping[Any, Any]) -> str:
    words = f"{row['same'] * row['repetitions']:.0f} of {row['repetitions']}"
    if row["settled_repetitions"]:
        same = row["same_settled"] * row["settled_repetitions"]
        words += f" ({same:.0f} of {row['settled_repetitions']})"
    return words


#: Changes that overturn a claim are shown up to this many.
SHOWN = 12


def describe_overturns(row: Mapping[Any, Any]) -> str:
    """Return the smallest change that overturns the default outcome, in words."""
    if not row["default_settled"]:
        return "the default itself is not settled"
    changes = row["overturned_by"].split("; ")
    shown = "; ".join(changes[:SHOWN])
    if len(changes) > SHOWN:
        shown += f"; and {len(changes) - SHOWN} more"
    singles = f"{row['settled_singles']} settled single changes ({row['singles']} in all)"
    if row["overturning"]:
        return f"{row['overturning']} of {singles}: {shown}"
    none = f"none of {singles}"
    pairs = f"{row['settled_pairs']} settled pairs ({row['pairs']} in all)"
    if row["overturning_pairs"]:
        return f"{none}; {row['overturning_pairs']} of {pairs}: {shown}"
    if row["pairs"]:
        none += f" and none of {pairs}"
    if not row["fewest"]:
        return f"{none}, and no settled draw"
    return f"{none}; a draw with {row['fewest']} changes: {shown}"


def _deciding_words(rows: pd.DataFrame, most: int = 3) -> str:
    explained = rows.drop_duplicates("choice").set_index("choice")["variance_share"]
    ordered = explained.sort_values(ascending=False, kind="stable")
    parts = []
    for choice, share in ordered[ordered >= 0.1].head(most).items():
        values = rows[(rows["choice"] == choice) & (rows["draws"] > 0)]
        each = ", ".join(
            f"{value}: {score:.2f}"
            for value, score in zip(values["value"], values["score"], strict=True)
        )
        parts.append(f"{choice} {100 * share:.0f} % ({each})")
    if not parts:
        return "no single one" if explained.notna().any() else "always the same outcome"
    return "; ".join(parts)
