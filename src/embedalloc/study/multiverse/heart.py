"""Runs of the multiverse for the heart-disease study: its own training, metrics and claims."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from embedalloc.streams import stream
from embedalloc.study.claims.finding import Finding, Findings
from embedalloc.study.claims.heart import RIVALS, paired_findings
from embedalloc.study.claims.ledger import Claim
from embedalloc.study.heart.metrics import score
from embedalloc.study.heart.paired import compare, rows_judged, split_differences
from embedalloc.study.heart.patients import read_patients
from embedalloc.study.heart.splits import run_splits
from embedalloc.study.multiverse.space import (
    Point,
    PointsCell,
    Space,
    Steadiness,
    Tables,
    decide_points,
)
from embedalloc.study.settings.heart import HeartCell, HeartChoices

#: Resamples of the splits that show how steady an outcome is.
RESAMPLES = 100


def run_heart_points(
    space: Space, cell: PointsCell[HeartChoices], claims: Mapping[str, Claim], data: str | Path
) -> pd.DataFrame:
    """Return the outcomes of some points of the heart-disease study, by the ledger's claims by id.

    The files of the study are as in `embedalloc.study.heart.patients.read_patients`.
    """

    def simulate(point: Point, heart: HeartChoices, splits: range) -> Tables:
        zeros = heart.cholesterol_zero_is_missing
        patients = read_patients(data, cholesterol_zero_is_missing=zeros)
        readings = space.readings(point.setting)
        return score_splits(patients, heart.cell(point.seed, splits), readings)

    def find(point: Point, _: HeartChoices, tables: Tables) -> tuple[Findings, Steadiness]:
        found, *again = resampled_findings(*tables, seed=point.seed)

        def steadiness(claim: Claim, reading: str) -> float:
            first, *others = (each[claim.id][reading] for each in (found, *again))
            return share_of_same_outcomes(claim, first, others)

        return found, steadiness

    return decide_points(space, cell, claims, simulate, find)


def share_of_same_outcomes(claim: Claim, finding: Finding, others: Sequence[Finding]) -> float:
    """Return the share of other findings that decide the claim as the first does."""
    outcome = claim.outcome(finding)
    return sum(claim.outcome(other) == outcome for other in others) / len(others)


def score_splits(
    patients: pd.DataFrame, cell: HeartCell, readings: Sequence[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the scores of the models that the readings look at, and their splits.

    Other models are not trained. The cardinality heuristic goes by that name in either reading.
    """
    heuristic = "cardinality_per_dimension" if "per_dimension" in readings else "cardinality"
    rivals = next(rivals for tries, rivals in RIVALS.items() if tries in readings)
    models = ["proposed", *(heuristic if each == "cardinality" else each for each in rivals)]
    trained, splits, _ = run_splits(patients, cell, models=models)
    scores, _ = score(trained, splits, patients, models)
    return scores.assign(model=scores["model"].replace(heuristic, "cardinality")), splits


def resampled_findings(
    scores: pd.DataFrame, splits: pd.DataFrame, *, seed: int
) -> Iterator[Findings]:
    """Yield the findings on the paired comparison of Table 1, then those of resampled splits."""
    sizes = rows_judged(splits)
    rivals, differences = split_differences(scores)
    yield paired_findings(compare(rivals, differences, **sizes))
    rng = stream(seed, "multiverse", "heart", "resamples")
    count = len(differences)
    for _ in range(RESAMPLES):
        drawn = differences[rng.integers(count, size=count)]
        yield paired_findings(compare(rivals, drawn, **sizes))
