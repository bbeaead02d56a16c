"""Compile the trainer once, before many jobs need it at the same time."""

import numpy as np

from embedalloc.study.heart.trainer.network import (
    NetworkShape,
    Rows,
    TrainingSettings,
    draw_schedule,
    initial_weights,
    predict,
    train,
)
from embedalloc.study.workflow.files import whole_file
from embedalloc.study.workflow.job import job


def main(compiled: str) -> None:
    """Train tiny networks of both kinds, which compiles and caches the kernel."""
    rng = np.random.default_rng(0)
    rows = Rows(rng.integers(0, 3, (40, 1)), rng.normal(size=(40, 1)), np.arange(40) % 2)
    settings = TrainingSettings(epochs=1)
    for dimensions in ((2,), None):
        shape = NetworkShape((3,), dimensions, 1)
        schedule = draw_schedule(rng, 40, 1, shape.hidden, settings.dropout)
        predict(train(shape, initial_weights(shape, rng), schedule, rows, rows, settings), rows)
    with whole_file(compiled) as partial:
        partial.write_text("the trainer is compiled\n", encoding="utf-8")


if __name__ == "__main__":
    with job(snakemake.log[0]):
        main(snakemake.output.compiled)
