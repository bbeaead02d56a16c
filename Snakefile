"""The whole study: `snakemake --cores 8` makes every figure and table of the paper."""

import os

from snakemake.utils import min_version

from embedalloc.study.cells import claims_cell, exp1_cell, exp2_cell, exp3_cell, parts
from embedalloc.study.cells import (
    heart_cell,
    heart_folds_cell,
    split_blocks,
    theory_cell,
)
from embedalloc.study.config import ConfigError, check_config
from embedalloc.study.dependencies import imports_of

min_version("9.0")


configfile: f"{workflow.basedir}/config.yaml"


try:
    check_config(config, f"{workflow.basedir}/workflow/schemas/config.schema.yaml")
except ConfigError as error:
    raise WorkflowError(str(error))

# One thread per job whatever the user's environment says: numbers must not depend on it.
os.environ.update(
    dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
)
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
include: "workflow/rules/multiverse.smk"
