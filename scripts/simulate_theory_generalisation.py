"""Measure Theorem 2's gap over the grid and write its tables."""

from embedalloc.study.settings.common import Cell
from embedalloc.study.settings.theory import Generalisation
from embedalloc.study.theory.contracts import GAPS, SCALING
from embedalloc.study.theory.theorem2 import simulate
from embedalloc.study.workflow.simulation import simulate_cell

if __name__ == "__main__":
    simulate_cell(snakemake, Cell[Generalisation], simulate, gaps=GAPS, scaling=SCALING)
