"""Time the plain training loop per epoch for each model of Table 1."""

from typing import Any

import pandas as pd

from embedalloc.network import NetworkShape
from embedalloc.study.heart import Bench, split_patients, training_settings
from embedalloc.study.heart_data import PATIENTS
from embedalloc.study.heart_metrics import MODELS, SCORES
from embedalloc.study.heart_table import TIMES
from embedalloc.study.job import job
from embedalloc.study.plain_network import seconds_per_epoch
from embedalloc.study.streams import stream
from embedalloc.study.tables import read_table, write_table


def main(cell: dict[str, Any], timed_epochs: int, patients: str, scores: str, times: str) -> None:
    """Time the networks that the first split selected, on its training rows."""
    frame, seed = read_table(patients, PATIENTS), cell["seed"]

    def named(*parts: str | int) -> Any:
        return stream(seed, "heart", 0, *parts)

    training, validation, _ = split_patients(frame, cell["settings"], named("rows"))
    bench = Bench(frame, training, validation, cell["settings"], named)
    chosen = read_table(scores, SCORES)
    chosen = chosen[chosen["split"] == 0].set_index("model")["dimensions"]
    rows = []
    for model in MODELS:
        shape = bench.shape(dimensions_of(chosen[model]))
        wall, cpu = time_shape(shape, bench, timed_epochs)
        rows.append((model, chosen[model], wall, cpu))
    table = pd.DataFrame(rows, columns=list(TIMES.columns))
    write_table(times, table, TIMES, settings=cell, seed=seed)


def dimensions_of(text: str) -> tuple[int, ...] | None:
    """Return dimensions from their written form."""
    return None if text == "one-hot" else tuple(map(int, text.split("-")))


def time_shape(shape: NetworkShape, bench: Bench, epochs: int) -> tuple[float, float]:
    """Return wall-clock and CPU seconds per epoch of a network of this shape."""
    return seconds_per_epoch(
        shape,
        bench.training,
        settings=training_settings(bench.settings),
        epochs=epochs,
        rng=stream(0, "timing"),
    )


if __name__ == "__main__":
    with job(snakemake.log[0]):
        main(
            snakemake.params.cell,
            snakemake.params.timed_epochs,
            snakemake.input.patients,
            snakemake.input.scores,
            snakemake.output.times,
        )
