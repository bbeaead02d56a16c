"""The whole study: `snakemake --cores 8` makes every figure and table of the paper."""

import sys

# This project's own code, whatever else is installed; `prepare` does the same for the jobs.
sys.path[:0] = [f"{workflow.basedir}/src", workflow.basedir]

import yaml
from snakemake.utils import min_version

# The first that reads profile.yaml and keeps its records as ours expect.
min_version("9.19")
try:
    from embedalloc.study.settings.errors import ConfigError
    from embedalloc.study.workflow.dependencies import code_when_planned as code_of
    from embedalloc.study.workflow.dependencies import in_project
    from embedalloc.study.workflow.progress import show_progress
    from embedalloc.study.workflow.start import check_sources, prepare
    from embedalloc.study.workflow.tables import digest_of
except ModuleNotFoundError as missing:
    raise WorkflowError(
        f"Snakemake's own environment lacks {missing.name}: pip install -r requirements.lock"
    )

show_progress(workflow)
try:
    check_sources(workflow)
except ConfigError as error:
    raise WorkflowError(str(error))


configfile: f"{workflow.basedir}/config.yaml"


try:
    SETTINGS = prepare(workflow, config)
except ConfigError as error:
    raise WorkflowError(str(error))

# For jobs that need the machine for themselves. None are given to `--report`, `--dag` and the like.
ALL_CORES = workflow.resource_settings.cores or 1

# Every figure by name, in the paper's order.
with open(in_project("workflow/report/figures.yaml"), encoding="utf-8") as listed:
    FIGURES = list(yaml.safe_load(listed))


rule all:
    """Every figure and table in the paper's order, and the page that judges them."""
    default_target: True
    input:
        expand("figures/{figure}.pdf", figure=FIGURES),
        "figures/table1.md",
        "figures/table1_audit.md",
        "figures/claims.md",
        "figures/report.html",
        "figures/targets.md",


include: "workflow/rules/theory.smk"
include: "workflow/rules/exp1.smk"
include: "workflow/rules/exp2.smk"
include: "workflow/rules/exp3.smk"
include: "workflow/rules/heart.smk"
include: "workflow/rules/claims.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/archive.smk"
include: "workflow/rules/benchmarks.smk"
include: "workflow/rules/multiverse.smk"
include: "workflow/rules/targets.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/sweep.smk"
