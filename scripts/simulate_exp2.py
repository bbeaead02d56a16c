"""Simulate one cell of Experiment 2 and write its tables."""

from embedalloc.study.exp2 import simulate
from embedalloc.study.exp2_contracts import PROFILES
from embedalloc.study.settings.exp2 import Exp2Cell
from embedalloc.study.workflow.simulation import simulate_cell

if __name__ == "__main__":
    simulate_cell(snakemake, Exp2Cell, simulate, profiles=PROFILES)
