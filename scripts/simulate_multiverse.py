"""Run some points of the multiverse of Experiment 1, 2 or 3 and decide their claims."""

from typing import Any

from embedalloc.study.claims.ledger import read_ledger
from embedalloc.study.multiverse.runs import run_points
from embedalloc.study.multiverse.space import POINT_OUTCOMES, Point, read_spaces
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table


def main(cell: dict[str, Any], choices: str, ledger: str, outcomes: str) -> None:
    """Run the points that the cell lists."""
    frame = run_points(
        read_spaces(choices)[cell["experiment"]],
        [Point(**point) for point in cell["points"]],
        {claim.id: claim for claim in read_ledger(ledger)},
        **{key: cell[key] for key in ("block", "replications", "at_most", "resamples")},
    )
    write_table(outcomes, frame, POINT_OUTCOMES, settings=cell, seed=cell["seed"])


if __name__ == "__main__":
    with job(snakemake.log[0]):
        main(
            snakemake.params.cell,
            snakemake.input.choices,
            snakemake.input.ledger,
            snakemake.output.outcomes,
        )
