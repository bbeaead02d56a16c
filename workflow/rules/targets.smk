# What each target costs: minutes, memory and disk, from the timings of its jobs
# reads:  results/timings, and the sizes of all that the jobs made
# writes: figures/targets.md, targets_multiverse.md, targets_benchmarks.md

from embedalloc.study.workflow.products import all_files, jobs_of

#: Of each table, the targets and the timings of all their jobs.
TARGETS = {
    "": {
        "all": [*CLAIMS_TIMINGS, "results/timings/write_report.tsv"],
        "theory": THEORY_TIMINGS,
        "exp1": EXP1_TIMINGS,
        "exp2": EXP2_TIMINGS,
        "exp3": EXP3_TIMINGS,
        "heart": HEART_TIMINGS,
        "figures/table1.md": TABLE1_TIMINGS,
        "figures/claims.md": CLAIMS_TIMINGS,
    },
    "_multiverse": {"multiverse": MULTIVERSE_TIMINGS},
    "_benchmarks": {"benchmarks": BENCHMARKS_TIMINGS},
}


rule tabulate_targets:
    """Table of the targets with their jobs, minutes, memory and disk on two cores."""
    input:
        lambda wildcards: all_files(jobs_of(workflow, TARGETS[wildcards.beyond])),
    output:
        page="figures/targets{beyond}.md",
    log:
        "results/logs/tabulate_targets{beyond}.log",
    benchmark:
        "results/timings/tabulate_targets{beyond}.tsv"
    wildcard_constraints:
        beyond="|".join(TARGETS),
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("tabulate_targets"),
        targets=lambda wildcards: jobs_of(workflow, TARGETS[wildcards.beyond]),
    script:
        "../../scripts/tabulate_targets.py"
