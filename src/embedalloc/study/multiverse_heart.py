"""Runs of the multiverse for the heart-disease study: its own training, metrics and claims."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from embedalloc.study.cells import heart_cell
from embedalloc.study.claims.finding import Finding
from embedalloc.study.claims.heart import paired_findings
from embedalloc.study.claims.ledger import Claim
from embedalloc.study.heart import run_splits
from embedalloc.study.heart_data import read_patients
from embedalloc.study.heart_metrics import score
from embedalloc.study.heart_table import paired_table
from embedalloc.study.multiverse import Point, Space, outcome_frame, outcome_rows


def run_heart_points(
    space: Space,
    chosen: Sequence[Point],
    claims: Mapping[str, Claim],
    data: str | Path,
    *,
    block: Mapping[str, Any],
    splits: int,
) -> pd.DataFrame:
    """Return the outcomes of some points of the heart-disease study.

    Parameters
    ----------
    space, chosen, claims
        Open choices, the points to run, and the ledger's claims by id.
    data
        The heart-disease files, as in `embedalloc.study.heart_data.read_patients`.
    block
        The study's block of the configuration.
    splits
        Splits of the patients for a point.
    """
    rows = []
    for point in chosen:
        readings = space.readings(point.setting)
        size = {"splits": splits, "splits_per_job": splits}
        heart = space.block(block, point.setting) | size
        if "one_try" in readings:
            heart["restarts"] = 1  # the further tries would not be looked at
        found = find_heart({"seed": point.seed, "heart": heart}, readings, data)
        rows += outcome_rows(space, point, claims, found)
    return outcome_frame(rows)


def find_heart(
    config: Mapping[str, Any], readings: Sequence[str], data: str | Path
) -> dict[str, dict[str, Finding]]:
    """Return the findings on the paired comparison of Table 1 under a configuration."""
    zeros = config["heart"]["cholesterol_zero_is_missing"]
    patients = read_patients(data, cholesterol_zero_is_missing=zeros)
    trained, splits, _ = run_splits(patients, **heart_cell(config, 0))
    scores, _ = score(trained, splits, patients)
    if "per_dimension" in readings:
        scores = with_other_heuristic(scores)
    first = splits.iloc[0]
    paired = paired_table(
        scores,
        test=(len(first["test"]), len(first["training"]) + len(first["validation"])),
        validation=(len(first["validation"]), len(first["training"])),
    )
    return paired_findings(paired)


def with_other_heuristic(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the scores with the two readings of the cardinality heuristic exchanged."""
    other = {
        "cardinality": "cardinality_per_dimension",
        "cardinality_per_dimension": "cardinality",
    }
    return scores.assign(model=scores["model"].replace(other))
