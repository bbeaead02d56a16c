"""Run some points of the multiverse of the heart-disease study and decide their claims."""

import os

from embedalloc.study.claims.ledger import read_ledger
from embedalloc.study.multiverse.heart import run_heart_points
from embedalloc.study.multiverse.space import POINT_OUTCOMES, PointsCell, read_spaces
from embedalloc.study.settings.heart import HeartChoices
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table

if __name__ == "__main__":
    with job(snakemake):
        cell = PointsCell[HeartChoices].model_validate(snakemake.params.cell)
        data = snakemake.input.data
        claims = {claim.id: claim for claim in read_ledger(snakemake.input.ledger)}
        frame = run_heart_points(
            read_spaces(snakemake.input.choices)["heart"],
            cell,
            claims,
            data if isinstance(data, str) else os.path.dirname(data[0]),
        )
        write_table(
            snakemake.output.outcomes, frame, POINT_OUTCOMES, settings=cell.plain(), seed=cell.seed
        )
