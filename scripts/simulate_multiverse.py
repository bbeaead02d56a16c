"""Run some points of the multiverse of Experiment 1, 2 or 3 and decide their claims."""

from embedalloc.study.claims.ledger import read_ledger
from embedalloc.study.multiverse.runs import ExperimentCell, run_points
from embedalloc.study.multiverse.space import POINT_OUTCOMES, read_spaces
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table


def main(cell: ExperimentCell, choices: str, ledger: str, outcomes: str) -> None:
    """Run the points that the cell lists."""
    claims = {claim.id: claim for claim in read_ledger(ledger)}
    frame = run_points(read_spaces(choices)[cell.experiment], cell, claims)
    write_table(outcomes, frame, POINT_OUTCOMES, settings=cell.plain(), seed=cell.seed)


if __name__ == "__main__":
    with job(snakemake.log[0]):
        main(
            ExperimentCell.model_validate(snakemake.params.cell),
            snakemake.input.choices,
            snakemake.input.ledger,
            snakemake.output.outcomes,
        )
