"""Run some points of the multiverse of Experiment 1, 2 or 3 and decide their claims."""

from embedalloc.study.claims.ledger import read_ledger
from embedalloc.study.multiverse.runs import ExperimentCell, run_points
from embedalloc.study.multiverse.space import POINT_OUTCOMES, read_spaces
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table

if __name__ == "__main__":
    with job(snakemake):
        cell = ExperimentCell.model_validate(snakemake.params.cell)
        space = read_spaces(snakemake.input.choices)[cell.experiment]
        claims = {claim.id: claim for claim in read_ledger(snakemake.input.ledger)}
        frame = run_points(space, cell, claims)
        about = {"settings": cell.plain(), "seed": cell.seed}
        write_table(snakemake.output.outcomes, frame, POINT_OUTCOMES, **about)
