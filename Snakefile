"""The whole study: `snakemake --cores 8` makes every figure and table of the paper."""

import os

from snakemake.utils import min_version

from embedalloc.study.cells import claims_cell, exp1_cell, exp1_designs, exp2_cell
from embedalloc.study.cells import exp3_cell, heart_cell, heart_folds_cell, parts
from embedalloc.study.cells import split_blocks, theory_cell
from embedalloc.study.config import ConfigError
from embedalloc.study.dependencies import imports_of
from embedalloc.study.start import prepare

min_version("9.0")


configfile: f"{workflow.basedir}/config.yaml"


try:
    config = prepare(workflow, config)
except ConfigError as error:
    raise WorkflowError(str(error))

SCRIPTS = f"{workflow.basedir}/scripts"


rule all:
    """Every figure and table, in the paper's order."""
    default_target: True
    input:
        "figures/theory_approximation.pdf",
        "figures/theory_alternating.pdf",
        "figures/theory_generalisation.pdf",
        "figures/theory_allocation.pdf",
        "figures/exp1_main.pdf",
        "figures/exp1_gap.pdf",
        "figures/exp1_loglog.pdf",
        "figures/exp2_train_test.pdf",
        "figures/exp2_decomposition.pdf",
        "figures/exp2_optimal_dimension.pdf",
        "figures/exp3_performance.pdf",
        "figures/exp3_performance_samplesize.pdf",
        "figures/exp3_allocations.pdf",
        "figures/table1.md",
        "figures/table1_audit.md",
        "figures/final_allocation.pdf",
        "figures/heart_budget.pdf",
        "figures/heart_metrics.pdf",
        "figures/heart_pilot.pdf",
        "figures/claims.md",


include: "workflow/rules/theory.smk"
include: "workflow/rules/exp1.smk"
include: "workflow/rules/exp2.smk"
include: "workflow/rules/exp3.smk"
include: "workflow/rules/heart.smk"
include: "workflow/rules/claims.smk"
