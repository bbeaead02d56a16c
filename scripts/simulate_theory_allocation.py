"""Compare Theorem 3, its integer projection and the optimum, and write their tables."""

from embedalloc.study.settings.common import Cell
from embedalloc.study.settings.theory import AllocationProblems
from embedalloc.study.theory.contracts import BUDGETS, INSTANCES
from embedalloc.study.theory.theorem3 import simulate
from embedalloc.study.workflow.simulation import simulate_cell

if __name__ == "__main__":
    simulate_cell(
        snakemake, Cell[AllocationProblems], simulate, budgets=BUDGETS, instances=INSTANCES
    )
