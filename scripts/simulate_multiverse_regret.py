"""Compute the excess of every rule over the oracle for random settings of Experiment 3."""

from embedalloc.study.multiverse.runs import DRAWN_REGRET, regret_of_points
from embedalloc.study.multiverse.space import Point, read_spaces
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table

if __name__ == "__main__":
    with job(snakemake.log[0]):
        cell = snakemake.params.cell
        frame = regret_of_points(
            read_spaces(snakemake.input.choices)["exp3"],
            [Point(**point) for point in cell["points"]],
            block=cell["block"],
            replications=cell["replications"],
        )
        write_table(snakemake.output.regret, frame, DRAWN_REGRET, settings=cell, seed=cell["seed"])
