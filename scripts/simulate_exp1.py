"""Simulate one cell of Experiment 1 and write its tables."""

from embedalloc.study.exp1 import simulate
from embedalloc.study.exp1_contracts import FITS, PROFILES
from embedalloc.study.settings.exp1 import Exp1Cell
from embedalloc.study.workflow.simulation import simulate_cell

if __name__ == "__main__":
    simulate_cell(snakemake, Exp1Cell, simulate, profiles=PROFILES, fits=FITS)
