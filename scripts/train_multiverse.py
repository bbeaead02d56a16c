"""Run some points of the multiverse of the heart-disease study and decide their claims."""

import os
from typing import Any

from embedalloc.study.claims.ledger import read_ledger
from embedalloc.study.multiverse.heart import run_heart_points
from embedalloc.study.multiverse.space import POINT_OUTCOMES, Point, read_spaces
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table


def main(
    cell: dict[str, Any], data: list[str] | str, choices: str, ledger: str, outcomes: str
) -> None:
    """Run the points that the cell lists."""
    frame = run_heart_points(
        read_spaces(choices)["heart"],
        [Point(**point) for point in cell["points"]],
        {claim.id: claim for claim in read_ledger(ledger)},
        data if isinstance(data, str) else os.path.dirname(data[0]),
        block=cell["block"],
        splits=cell["replications"],
        at_most=cell["at_most"],
    )
    write_table(outcomes, frame, POINT_OUTCOMES, settings=cell, seed=cell["seed"])


if __name__ == "__main__":
    with job(snakemake.log[0]):
        main(
            snakemake.params.cell,
            snakemake.input.data,
            snakemake.input.choices,
            snakemake.input.ledger,
            snakemake.output.outcomes,
        )
