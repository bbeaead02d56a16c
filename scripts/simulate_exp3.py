"""Simulate one cell of Experiment 3 and write its table."""

from embedalloc.study.exp3 import simulate
from embedalloc.study.exp3_contracts import PERFORMANCE
from embedalloc.study.settings.exp3 import Exp3Cell
from embedalloc.study.workflow.simulation import simulate_cell

if __name__ == "__main__":
    simulate_cell(snakemake, Exp3Cell, simulate, performance=PERFORMANCE)
