"""Run Theorem 1's scheme from several starts and write its tables."""

from embedalloc.study.settings.common import Cell
from embedalloc.study.settings.theory import Alternating
from embedalloc.study.theory.contracts import PATHS, RUNS
from embedalloc.study.theory.theorem1 import simulate
from embedalloc.study.workflow.simulation import simulate_cell

if __name__ == "__main__":
    simulate_cell(snakemake, Cell[Alternating], simulate, paths=PATHS, runs=RUNS)
