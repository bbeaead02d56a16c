"""What the study of real tables found: differences to equal dimensions, verdicts, decoys."""

import numpy as np
import pandas as pd

from embedalloc.intervals import nadeau_bengio_share, t_interval, wilson
from embedalloc.study.tables.outcomes import RESTARTS, SPLIT
from embedalloc.study.workflow.tables import Column, Contract

#: The contestant that all others are compared with, and the one whose verdicts are judged.
BASE, JUDGED = "equal", "screened"
#: The initialisation that decides whether a verdict was right.
DECIDING = "small"
PER_MILLE = 1000.0
#: Validation gains from which on "yes" may count, and how often it should be right.
SMALLEST_GAINS, GOAL = (0.0, 0.005, 0.01, 0.02, 0.04), 0.85

DIFFERENCES = Contract(
    "tables_differences",
    {
        "contestant": Column("text", "rule or control"),
        "initialisation": Column("text", "how the judge's embeddings start"),
        "mean": Column("number", "per mille of the test loss against equal, mean over tables"),
        "error": Column("number", "standard error over tables", low=0, may_be_missing=True),
        "better": Column("integer", "cells (table and budget) whose interval lies below 0", low=0),
        "worse": Column("integer", "cells whose interval lies above 0", low=0),
        "cells": Column("integer", "cells", low=1),
        "trainings": Column("number", "networks trained to plan, mean", low=0),
        "seconds": Column("number", "time to plan, mean", low=0),
    },
    key=("contestant", "initialisation"),
)
VERDICTS = Contract(
    "tables_verdicts",
    {
        "question": Column("text", "what was asked"),
        "verdict": Column("text", "what the plan answered"),
        "right": Column("integer", "runs in which the judge agrees", low=0),
        "runs": Column("integer", "runs with this answer", low=1),
    },
    key=("question", "verdict"),
)


def pair_with(base: str, losses: pd.DataFrame) -> pd.DataFrame:
    """Return the losses with their difference to a contestant, in per mille of its loss."""
    keys = ["table", "split", "budget", "initialisation"]
    compared = losses[losses["contestant"] == base].set_index(keys)["loss"]
    own = losses.join(compared.rename("base"), on=keys)
    return own.assign(difference=PER_MILLE * (own["loss"] / own["base"] - 1)).drop(columns="base")


def summarise_differences(losses: pd.DataFrame, judged_over_trained: float) -> pd.DataFrame:
    """Return one row per contestant and initialisation.

    A cell is a table at a budget. Its interval over splits is that of Nadeau and Bengio, as the
    splits share rows.
    """
    paired = pair_with(BASE, losses)
    rows = []
    for (contestant, start), own in paired.groupby(["contestant", "initialisation"], sort=False):
        cells = [
            _locate(each.to_numpy(), judged_over_trained)
            for _, each in own.groupby(["table", "budget"])["difference"]
        ]
        by_table = own.groupby("table")["difference"].mean()
        rows.append(
            {
                "contestant": contestant,
                "initialisation": start,
                "mean": float(by_table.mean()),
                "error": float(by_table.std(ddof=1) / np.sqrt(len(by_table))),
                "better": cells.count(-1),
                "worse": cells.count(1),
                "cells": len(cells),
                "trainings": float(own["trainings"].mean()),
                "seconds": float(own["seconds"].mean()),
            }
        )
    return pd.DataFrame(rows).sort_values(["initialisation", "mean"], ignore_index=True)


def _locate(differences: "np.ndarray[tuple[int], np.dtype[np.float64]]", ratio: float) -> int:
    """Return −1 or 1 if the interval of a cell lies below or above 0, else 0."""
    if len(differences) < 2 or not differences.any():
        return 0
    low, high = t_interval(differences, nadeau_bengio_share(len(differences), ratio))
    return -1 if high < 0 else int(low > 0)


def judge_verdicts(losses: pd.DataFrame, no_difference: float) -> pd.DataFrame:
    """Return how often each answer to each question was right.

    "Yes" is right if the judge's loss is lower: that of the plan against equal dimensions, that
    of split dimensions against the plan. "No" is right if it is not lower by more than the share
    that counts as no difference. "Cannot tell" claims nothing: it is right always, and counted by
    itself.
    """
    keys = ["table", "split", "budget"]
    deciding = losses[losses["initialisation"] == DECIDING]
    said = deciding[deciding["contestant"] == JUDGED].set_index(keys)
    rows = []
    for question, column, base, judged in (
        ("beats_equal", "verdict", BASE, JUDGED),
        ("splitting", "splitting", JUDGED, SPLIT),
    ):
        paired = pair_with(base, deciding)
        measured = paired[paired["contestant"] == judged].set_index(keys)["difference"]
        own = said.join(measured)
        agrees = {
            "yes": own["difference"] < 0,
            "no": own["difference"] >= -PER_MILLE * no_difference,
            "cannot tell": own["difference"].notna(),
        }
        rows += [
            {
                "question": question,
                "verdict": verdict,
                "right": int((right & (own[column] == verdict)).sum()),
                "runs": int((own[column] == verdict).sum()),
            }
            for verdict, right in agrees.items()
            if (own[column] == verdict).any()
        ]
    return pd.DataFrame(rows)


def calibrate_yes(losses: pd.DataFrame) -> tuple[int, int]:
    """Return how often "yes" was right, and of how many, with a bar set on the other tables.

    The bar of a table is the smallest validation gain at which "yes" was right often enough on
    all others; its own answers below that do not count.
    """
    paired = pair_with(BASE, losses[losses["initialisation"] == DECIDING])
    yes = paired[(paired["contestant"] == JUDGED) & (paired["verdict"] == "yes")]
    right, of = 0, 0
    for table in yes["table"].unique():
        own, others = yes[yes["table"] == table], yes[yes["table"] != table]
        for bar in SMALLEST_GAINS:
            if (others.loc[others["gain"] >= bar, "difference"] < 0).mean() >= GOAL:
                break
        counted = own.loc[own["gain"] >= bar, "difference"]
        right, of = right + int((counted < 0).sum()), of + len(counted)
    return right, of


def track_record(verdicts: pd.DataFrame, losses: pd.DataFrame) -> dict[str, object]:
    """Return what reports and README quote: gains, and how often "yes" was right, and where.

    "No" to the first question is not quoted: the plan then is equal dimensions, and right by
    itself.
    """
    found: dict[str, dict[str, dict[str, int]]] = {}
    for row in verdicts.to_dict("records"):
        if row["verdict"] == "yes" or (row["question"], row["verdict"]) == ("splitting", "no"):
            entry = {"right": int(row["right"]), "of": int(row["runs"])}
            found.setdefault(row["question"], {})[row["verdict"]] = entry
    return {
        "tables": sorted(losses["table"].unique().tolist()),
        "splits": int(losses.groupby("table")["split"].nunique().min()),
        "gain": _measure_gain(losses, JUDGED),
        "gain_of_restarts": _measure_gain(losses, RESTARTS),
        "verdicts": found,
    }


def _measure_gain(losses: pd.DataFrame, contestant: str) -> dict[str, float]:
    """Return by how many per cent the loss is below equal dimensions', with its 95 % interval.

    The interval is over tables.
    """
    paired = pair_with(BASE, losses[losses["initialisation"] == DECIDING])
    own = paired[paired["contestant"] == contestant]
    gains = -own.groupby("table")["difference"].mean().to_numpy() / 10
    low, high = t_interval(gains)
    return {
        "mean": round(float(gains.mean()), 2),
        "low": round(float(low), 2),
        "high": round(float(high), 2),
    }


def tabulate(differences: pd.DataFrame) -> list[list[str]]:
    """Return the differences as cells of text, the best first."""
    return [
        [
            str(row["contestant"]),
            str(row["initialisation"]),
            f"{row['mean']:+.1f}",
            "–" if np.isnan(row["error"]) else f"{row['error']:.1f}",
            f"{row['better']} / {row['worse']} of {row['cells']}",
            f"{row['trainings']:.1f}",
            f"{row['seconds']:.1f}",
        ]
        for _, row in differences.iterrows()
    ]


def tabulate_decoys(decoys: pd.DataFrame) -> list[list[str]]:
    """Return how often decoys were kept, with Wilson's interval."""
    rows = []
    for decoy, own in decoys.groupby("decoy", sort=False):
        for column, what in (("has_table", "table"), ("has_effect", "effect")):
            kept, runs = int(own[column].sum()), len(own)
            low, high = wilson(kept, runs)
            share = f"{100 * low:.0f} to {100 * high:.0f} %"
            rows.append([str(decoy), what, f"{kept} of {runs}", share])
    return rows
