"""Time the plain training loop per epoch for each model of Table 1."""

import pandas as pd

from embedalloc.study.heart.bench import prepare_split
from embedalloc.study.heart.metrics import SCORES
from embedalloc.study.heart.patients import PATIENTS
from embedalloc.study.heart.table1 import MODELS, TIMES
from embedalloc.study.heart.trainer.plain import time_in_turns
from embedalloc.study.settings.heart import HeartCell
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_table, write_table


def time_models(
    patients: pd.DataFrame, scores: pd.DataFrame, cell: HeartCell, turns: int
) -> pd.DataFrame:
    """Time the networks that the first split selected, on its training rows.

    Networks of the same dimensions share one time.
    """
    bench, _ = prepare_split(patients, cell.settings, seed=cell.seed, split=0)
    first = scores[scores["split"] == 0].set_index("model")["dimensions"]
    chosen = {model: tuple(first[model].tolist()) for model in MODELS}
    different = sorted(set(chosen.values()))
    shapes = [bench.shape(dimensions or None) for dimensions in different]
    timed = time_in_turns(shapes, bench.training, cell.settings, turns)
    times = dict(zip(different, timed, strict=True))
    rows = [(model, first[model], times[chosen[model]]) for model in MODELS]
    return pd.DataFrame(rows, columns=list(TIMES.columns))


if __name__ == "__main__":
    with job(snakemake):
        cell = HeartCell.model_validate(snakemake.params.cell)
        turns = snakemake.params.timed_epochs
        patients = read_table(snakemake.input.patients, PATIENTS)
        times = time_models(patients, read_table(snakemake.input.scores, SCORES), cell, turns)
        settings = cell.plain() | {"timed_epochs": turns}
        write_table(snakemake.output.times, times, TIMES, settings=settings, seed=cell.seed)
