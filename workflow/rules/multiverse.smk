# How far the findings reach: random settings, the oracle in Experiment 3 and rules beyond the paper
# reads:  workflow/{multiverse,claims}.yaml, config multiverse and the blocks of the experiments
# writes: results/multiverse/{experiment}/outcomes{part}.parquet, regret{part}.parquet,
#         shares.parquet, choices.parquet, overturns.parquet; results/exp3_regret/n{n}.parquet
#         figures/multiverse.md, multiverse_curves, multiverse_choices, exp3_regret (pdf, png, md)

from embedalloc.study.multiverse import read_spaces
from embedalloc.study.multiverse_cells import exp3_regret_cell, multiverse_cell
from embedalloc.study.multiverse_cells import multiverse_parts, multiverse_regret_cell
from embedalloc.study.multiverse_cells import regret_parts

SPACES = read_spaces(f"{workflow.basedir}/workflow/multiverse.yaml")


rule multiverse:
    """How far the findings reach: the multiverse and the regret, not part of `all`."""
    input:
        "figures/multiverse.md",
        "figures/multiverse_curves.pdf",
        "figures/multiverse_choices.pdf",
        "figures/exp3_regret.pdf",
        "figures/exp3_regret.md",


rule simulate_multiverse:
    """Run some settings of Experiment 1, 2 or 3 and decide their claims."""
    input:
        choices=f"{workflow.basedir}/workflow/multiverse.yaml",
        ledger=f"{workflow.basedir}/workflow/claims.yaml",
        code=imports_of(f"{SCRIPTS}/simulate_multiverse.py"),
    output:
        outcomes="results/multiverse/{experiment}/outcomes{part}.parquet",
    log:
        "results/logs/simulate_multiverse/{experiment}_{part}.log",
    benchmark:
        "results/timings/simulate_multiverse/{experiment}_{part}.tsv"
    wildcard_constraints:
        experiment="exp[123]",
    params:
        cell=lambda wildcards: multiverse_cell(
            config, SPACES[wildcards.experiment], int(wildcards.part)
        ),
    script:
        "../../scripts/simulate_multiverse.py"


rule train_multiverse:
    """Train the networks of some settings of the heart-disease study and decide their claims."""
    input:
        data=(
            expand(f"{HEART}/processed.{{source}}.data", source=SOURCES)
            if os.path.isdir(HEART)
            else HEART
        ),
        compiled="results/heart/compiled.txt",
        choices=f"{workflow.basedir}/workflow/multiverse.yaml",
        ledger=f"{workflow.basedir}/workflow/claims.yaml",
        code=imports_of(f"{SCRIPTS}/train_multiverse.py"),
    output:
        outcomes="results/multiverse/heart/outcomes{part}.parquet",
    log:
        "results/logs/train_multiverse/{part}.log",
    benchmark:
        "results/timings/train_multiverse/{part}.tsv"
    params:
        cell=lambda wildcards: multiverse_cell(
            config, SPACES["heart"], int(wildcards.part)
        ),
    script:
        "../../scripts/train_multiverse.py"


rule simulate_exp3_regret:
    """Compute every rule's excess over the oracle at one sample size of Experiment 3."""
    input:
        code=imports_of(f"{SCRIPTS}/simulate_exp3_regret.py"),
    output:
        regret="results/exp3_regret/n{observations}.parquet",
    log:
        "results/logs/simulate_exp3_regret/n{observations}.log",
    benchmark:
        "results/timings/simulate_exp3_regret/n{observations}.tsv"
    params:
        cell=lambda wildcards: exp3_regret_cell(config, int(wildcards.observations)),
    script:
        "../../scripts/simulate_exp3_regret.py"


rule simulate_multiverse_regret:
    """Compute every rule's excess over the oracle for random settings of Experiment 3."""
    input:
        choices=f"{workflow.basedir}/workflow/multiverse.yaml",
        code=imports_of(f"{SCRIPTS}/simulate_multiverse_regret.py"),
    output:
        regret="results/multiverse/regret{part}.parquet",
    log:
        "results/logs/simulate_multiverse_regret/{part}.log",
    benchmark:
        "results/timings/simulate_multiverse_regret/{part}.tsv"
    params:
        cell=lambda wildcards: multiverse_regret_cell(
            config, SPACES["exp3"], int(wildcards.part)
        ),
    script:
        "../../scripts/simulate_multiverse_regret.py"
