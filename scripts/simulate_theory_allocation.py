"""Compare Theorem 3, its integer projection and the optimum, and write their tables."""

from embedalloc.study.settings.common import Cell
from embedalloc.study.settings.theory import AllocationProblems
from embedalloc.study.theory.theorem3 import BUDGETS, INSTANCES, simulate
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table


def main(cell: Cell[AllocationProblems], budgets: str, instances: str) -> None:
    """Run the computation that the cell describes."""
    budgets_frame, instances_frame = simulate(cell)
    write_table(budgets, budgets_frame, BUDGETS, settings=cell.plain(), seed=cell.seed)
    write_table(instances, instances_frame, INSTANCES, settings=cell.plain(), seed=cell.seed)


if __name__ == "__main__":
    with job(snakemake.log[0]):
        main(Cell[AllocationProblems].model_validate(snakemake.params.cell), **snakemake.output)
