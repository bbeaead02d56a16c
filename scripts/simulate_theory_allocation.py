"""Compare Theorem 3, its integer projection and the optimum, and write their tables."""

from embedalloc.study.settings.common import Cell
from embedalloc.study.settings.theory import AllocationProblems
from embedalloc.study.theory.theorem3 import BUDGETS, INSTANCES, simulate
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table

if __name__ == "__main__":
    with job(snakemake.log[0]):
        cell = Cell[AllocationProblems].model_validate(snakemake.params.cell)
        budgets, instances = simulate(cell)
        about = {"settings": cell.plain(), "seed": cell.seed}
        write_table(snakemake.output.budgets, budgets, BUDGETS, **about)
        write_table(snakemake.output.instances, instances, INSTANCES, **about)
