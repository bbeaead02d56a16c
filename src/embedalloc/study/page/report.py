"""The report page: what was found, put together from tables, figures and ledgers.

Everything on the page is read from files. This module turns them into what the template shows,
and refuses a page with a hole: a claim without evidence, or one that points at a figure that is
not there.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from embedalloc.study.claims.verdicts import SECTIONS, VERDICTS
from embedalloc.study.heart.table1 import (
    METRIC_LABELS,
    METRICS,
    MODEL_LABELS,
    PAPER,
    PAPER_METRICS,
    SECONDS,
)
from embedalloc.study.page.render import Picture
from embedalloc.study.workflow.tables import TableError

#: Each verdict inside a sentence that begins with a number of claims: one, several.
_WORDS = {
    "reproduced": ("is reproduced", "are reproduced"),
    "partly": ("holds in part", "hold in part"),
    "not reproduced": ("is not reproduced", "are not reproduced"),
    "depends on an unstated choice": (
        "depends on a choice that the paper leaves open",
        "depend on a choice that the paper leaves open",
    ),
    "not testable": ("cannot be tested", "cannot be tested"),
}
#: What a claim cannot go without.
_EVIDENCE = ("statement", "statistic", "decision", "why", "data", "evidence")
#: Verdicts whose numbers stand first; the others are told below them.
FIRST = ("reproduced", "not reproduced", "depends on an unstated choice")
#: Level of the adjusted p-values at which a paired difference is counted.
LEVEL = 0.05


class Place(NamedTuple):
    """A part of the page that a claim can point at."""

    id: str
    title: str


TABLES = {
    "claims": Place("claims", "Claims"),
    "table1": Place("table1", "Table 1 with intervals"),
    "table1_paired": Place(
        "paired", "The proposed model against each other one, paired over splits"
    ),
    "table1_audit": Place("audit", "Audit of the printed table"),
}


def find_places(pictures: Iterable[Picture]) -> dict[str, Place]:
    """Return where each figure and table stands on the page, by the stem of its file."""
    return {
        picture.name: Place(f"figure-{picture.name}", picture.title) for picture in pictures
    } | TABLES


def group_readings(judged: pd.DataFrame, anchors: Mapping[str, Place]) -> list[dict[Any, Any]]:
    """Return the claims in the paper's order: each one's first row, with all rows as `readings`.

    Parameters
    ----------
    judged
        As in the contract `CLAIMS`.
    anchors
        Where each figure or table stands on the page; `shown` is one of them.
    """
    claims = []
    for name, rows in judged.groupby("claim", sort=False):
        for column in _EVIDENCE:
            if not rows[column].str.strip().all():
                raise TableError(f"claim {name!r}: nothing in column {column!r}")
        readings = rows.to_dict("records")
        shown = Path(readings[0]["figure"]).stem
        if shown not in anchors:
            raise TableError(f"claim {name!r}: figure {shown!r} is not on the page")
        claims.append({**readings[0], "shown": shown, "readings": readings})
    order = list(SECTIONS)
    return sorted(claims, key=lambda claim: order.index(claim["section"]))


def summarise(counts: Mapping[str, int]) -> str:
    """Return the whole reproduction in one sentence with the three numbers that matter most.

    Examples
    --------
    >>> summarise({"reproduced": 3, "partly": 1, "not reproduced": 1})
    'Of the paper’s 5 claims, 3 are reproduced and 1 is not reproduced.'
    """
    total = sum(counts.values())
    found = [verdict for verdict in VERDICTS if counts.get(verdict)]
    if len(found) == 1:
        one, several = _WORDS[found[0]]
        return f"All {total} claims {several}." if total > 1 else f"The claim {one}."
    first = {verdict: counts[verdict] for verdict in found if verdict in FIRST}
    return f"Of the paper’s {total} claims, {_count_in_words(first or counts)}."


def _count_in_words(counts: Mapping[str, int]) -> str:
    found = [verdict for verdict in VERDICTS if counts.get(verdict)]
    *parts, last = (f"{counts[each]} {_WORDS[each][counts[each] > 1]}" for each in found)
    return f"{', '.join(parts)} and {last}" if parts else last


def tabulate_paper(table: pd.DataFrame) -> dict[str, Any]:
    """Return the paper's models and metrics, ours beside the paper's.

    No best is marked: `weigh_differences` says what the differences are worth. A metric that the
    run lacks is left out.
    """
    known = set(table["metric"])
    metrics = [metric for metric in (*PAPER_METRICS, SECONDS) if metric in known]
    cells: dict[Any, Any] = table.set_index(["model", "metric"]).to_dict("index")
    return {
        "heads": [METRIC_LABELS[metric] for metric in metrics],
        "better": ["higher" if METRICS.get(metric) else "lower" for metric in metrics],
        "rows": [
            {"label": MODEL_LABELS[model], "cells": [cells[model, metric] for metric in metrics]}
            for model in PAPER
            if model in set(table["model"])
        ],
    }


def weigh_differences(paired: pd.DataFrame) -> str:
    """Return how many differences in the paper's own table can be told from chance."""
    shown = paired[paired["rival"].isin(PAPER) & paired["metric"].isin(PAPER_METRICS)]
    decided = int(((shown["p_holm"] < LEVEL) & (shown["difference"] != 0)).sum())
    count = f"{decided} of the" if decided else "none of the"
    return (
        f"After Holm’s adjustment {count} {len(shown)} differences between the proposed model and "
        "the others can be told from chance, so no best is marked."
    )


def tabulate_everything(table: pd.DataFrame) -> dict[str, Any]:
    """Return all models and metrics with intervals, and the paper's figures where it has them."""
    known = set(table["metric"])
    metrics = [metric for metric in METRIC_LABELS if metric in known]
    cells: dict[Any, Any] = table.set_index(["model", "metric"]).to_dict("index")
    models = [model for model in MODEL_LABELS if model in set(table["model"])]
    return {
        "heads": [METRIC_LABELS[metric] for metric in metrics],
        "rows": [
            {
                "label": MODEL_LABELS[model],
                "printed": model in PAPER,
                "cells": [cells.get((model, metric)) for metric in metrics],
            }
            for model in models
        ],
    }


def count_paired(paired: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the comparisons by rival, with how many favour which side after adjustment."""
    favours = (paired["difference"] > 0) == paired["metric"].map(METRICS)
    decided = (paired["p_holm"] < LEVEL) & (paired["difference"] != 0)
    marked = paired.assign(
        label=paired["metric"].map(METRIC_LABELS),
        decided=decided,
        proposed=decided & favours,
        rival_better=decided & ~favours,
    )
    return [
        {
            "label": MODEL_LABELS[str(rival)],
            "count": len(rows),
            "proposed": int(rows["proposed"].sum()),
            "rival": int(rows["rival_better"].sum()),
            "rows": rows.to_dict("records"),
        }
        for rival, rows in marked.groupby("rival", sort=False)
    ]
