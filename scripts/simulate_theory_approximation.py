"""Compute exact errors and bounds of Proposition 2 and write their table."""

from embedalloc.study.settings.common import Cell
from embedalloc.study.settings.theory import Approximation
from embedalloc.study.theory.contracts import ERRORS
from embedalloc.study.theory.proposition2 import simulate
from embedalloc.study.workflow.simulation import simulate_cell

if __name__ == "__main__":
    simulate_cell(snakemake, Cell[Approximation], simulate, errors=ERRORS)
