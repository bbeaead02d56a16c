"""Time the plain training loop per epoch for each model of Table 1."""

from statistics import median
from typing import Any

import pandas as pd

from embedalloc.streams import stream
from embedalloc.study.heart.metrics import SCORES
from embedalloc.study.heart.patients import PATIENTS
from embedalloc.study.heart.splits import Bench, split_patients, training_settings
from embedalloc.study.heart.table1 import MODELS, TIMES
from embedalloc.study.heart.trainer.plain import EpochSeconds, seconds_per_epoch
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_table, write_table


def main(cell: dict[str, Any], timed_epochs: int, patients: str, scores: str, times: str) -> None:
    """Time the networks that the first split selected, on its training rows."""
    frame, seed = read_table(patients, PATIENTS), cell["seed"]

    def named(*parts: str | int) -> Any:
        return stream(seed, "heart", 0, *parts)

    training, validation, _ = split_patients(frame, cell["settings"], named("rows"))
    bench = Bench(frame, training, validation, cell["settings"], named)
    chosen = read_table(scores, SCORES)
    chosen = chosen[chosen["split"] == 0].set_index("model")["dimensions"]
    times_of = time_in_turns(bench, sorted(set(chosen)), timed_epochs)
    rows = [(model, chosen[model], *times_of[chosen[model]]) for model in MODELS]
    table = pd.DataFrame(rows, columns=list(TIMES.columns))
    write_table(times, table, TIMES, settings=cell, seed=seed)


def dimensions_of(text: str) -> tuple[int, ...] | None:
    """Return dimensions from their written form."""
    return None if text == "one-hot" else tuple(map(int, text.split("-")))


def time_in_turns(bench: Bench, written: list[str], rounds: int) -> dict[str, tuple[float, float]]:
    """Return the median wall-clock and CPU seconds per epoch of each network.

    The networks take turns, so that whatever else the machine does slows all of them alike, and
    networks of the same dimensions share one time.
    """
    settings = training_settings(bench.settings)
    times: dict[str, list[EpochSeconds]] = {text: [] for text in written}
    for turn in range(rounds):
        for text, mine in times.items():
            shape = bench.shape(dimensions_of(text))
            rng = stream(0, "timing", turn)
            mine.append(
                seconds_per_epoch(shape, bench.training, settings=settings, epochs=2, rng=rng)
            )
    return {
        text: (median(t.wall for t in mine), median(t.cpu for t in mine))
        for text, mine in times.items()
    }


if __name__ == "__main__":
    with job(snakemake.log[0]):
        main(
            snakemake.params.cell,
            snakemake.params.timed_epochs,
            snakemake.input.patients,
            snakemake.input.scores,
            snakemake.output.times,
        )
