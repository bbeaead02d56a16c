"""Compute the excess of every rule over the oracle at one sample size of Experiment 3."""

from embedalloc.study.multiverse.regret import REGRET, simulate
from embedalloc.study.settings.exp3 import Exp3Cell
from embedalloc.study.workflow.simulation import simulate_cell

if __name__ == "__main__":
    simulate_cell(snakemake, Exp3Cell, simulate, regret=REGRET)
