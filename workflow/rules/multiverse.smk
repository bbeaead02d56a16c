# How far the findings reach: random settings, the oracle in Experiment 3 and rules beyond the paper
# reads:  workflow/{multiverse,claims}.yaml, config multiverse and the blocks of the experiments;
#         results/claims.parquet, whose verdicts stand beside the shares
# writes: results/multiverse/{experiment}/outcomes{part}.parquet, regret{part}.parquet,
#         shares.parquet, choices.parquet; results/exp3_regret/n{n}.parquet
#         figures/multiverse.html, multiverse.md, multiverse_curves, multiverse_choices,
#         exp3_regret (pdf, png, md)

from embedalloc.study.multiverse.cells import multiverse_cell, multiverse_parts
from embedalloc.study.multiverse.cells import regret_cell
from embedalloc.study.multiverse.space import read_spaces

SPACES = read_spaces(in_project("workflow/multiverse.yaml"))
with open(
    in_project("workflow/report/figures_multiverse.yaml"), encoding="utf-8"
) as listed:
    BEYOND = list(yaml.safe_load(listed))
MULTIVERSE_TIMINGS = [
    *(
        f"results/timings/simulate_multiverse/{experiment}_{part}.tsv"
        for experiment in ("exp1", "exp2", "exp3")
        for part in multiverse_parts(SETTINGS, SPACES[experiment])
    ),
    *expand(
        "results/timings/train_multiverse/{part}.tsv",
        part=multiverse_parts(SETTINGS, SPACES["heart"]),
    ),
    *expand(
        "results/timings/simulate_exp3_regret/n{observations}.tsv",
        observations=SETTINGS.exp3.observations,
    ),
    *expand(
        "results/timings/simulate_multiverse_regret/{part}.tsv",
        part=SETTINGS.multiverse.regret_parts,
    ),
    "results/timings/judge_multiverse.tsv",
    "results/timings/tabulate_exp3_regret.tsv",
    *expand("results/timings/plot_{figure}.tsv", figure=BEYOND),
    "results/timings/write_multiverse.tsv",
]


rule multiverse:
    """How far the findings reach: the multiverse and the regret, not part of `all`."""
    input:
        expand("figures/{figure}.pdf", figure=BEYOND),
        "figures/multiverse.md",
        "figures/exp3_regret.md",
        "figures/multiverse.html",
        "figures/targets_multiverse.md",


rule simulate_multiverse:
    """Run some settings of Experiment 1, 2 or 3 and decide their claims."""
    input:
        choices=in_project("workflow/multiverse.yaml"),
        ledger=in_project("workflow/claims.yaml"),
    output:
        outcomes="results/multiverse/{experiment}/outcomes{part}.parquet",
    log:
        "results/logs/simulate_multiverse/{experiment}_{part}.log",
    benchmark:
        "results/timings/simulate_multiverse/{experiment}_{part}.tsv"
    wildcard_constraints:
        experiment="exp[123]",
    conda:
        "../../environment.yml"
    params:
        code=code_of("simulate_multiverse"),
        cell=lambda wildcards: multiverse_cell(
            SETTINGS, SPACES[wildcards.experiment], int(wildcards.part)
        ).plain(),
    script:
        "../../scripts/simulate_multiverse.py"


rule train_multiverse:
    """Train the networks of some settings of the heart-disease study and decide their claims."""
    input:
        data=rules.prepare_heart.input.data,
        compiled="results/heart/trainer.compiled",
        choices=in_project("workflow/multiverse.yaml"),
        ledger=in_project("workflow/claims.yaml"),
    output:
        outcomes="results/multiverse/heart/outcomes{part}.parquet",
    log:
        "results/logs/train_multiverse/{part}.log",
    benchmark:
        "results/timings/train_multiverse/{part}.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_of("train_multiverse"),
        cell=lambda wildcards: multiverse_cell(
            SETTINGS, SPACES["heart"], int(wildcards.part)
        ).plain(),
    script:
        "../../scripts/train_multiverse.py"


rule simulate_exp3_regret:
    """Compute every rule's excess over the oracle at one sample size of Experiment 3."""
    output:
        regret="results/exp3_regret/n{observations}.parquet",
    log:
        "results/logs/simulate_exp3_regret/n{observations}.log",
    benchmark:
        "results/timings/simulate_exp3_regret/n{observations}.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_of("simulate_exp3_regret"),
        cell=lambda wildcards: SETTINGS.exp3.cell(
            SETTINGS.seed,
            int(wildcards.observations),
            range(SETTINGS.multiverse.regret.replications),
            sorted(SETTINGS.exp3.budgets),
        ).plain(),
    script:
        "../../scripts/simulate_exp3_regret.py"


rule simulate_multiverse_regret:
    """Compute every rule's excess over the oracle for random settings of Experiment 3."""
    input:
        choices=in_project("workflow/multiverse.yaml"),
    output:
        regret="results/multiverse/regret{part}.parquet",
    log:
        "results/logs/simulate_multiverse_regret/{part}.log",
    benchmark:
        "results/timings/simulate_multiverse_regret/{part}.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_of("simulate_multiverse_regret"),
        cell=lambda wildcards: regret_cell(
            SETTINGS, SPACES["exp3"], int(wildcards.part)
        ).plain(),
    script:
        "../../scripts/simulate_multiverse_regret.py"


rule judge_multiverse:
    """Say how often each claim holds over the settings, what decides it and what overturns it."""
    input:
        outcomes=[
            f"results/multiverse/{space.experiment}/outcomes{part}.parquet"
            for space in SPACES.values()
            for part in multiverse_parts(SETTINGS, space)
        ],
        choices=in_project("workflow/multiverse.yaml"),
        ledger=in_project("workflow/claims.yaml"),
    output:
        shares="results/multiverse/shares.parquet",
        effects="results/multiverse/choices.parquet",
        page="figures/multiverse.md",
    log:
        "results/logs/judge_multiverse.log",
    benchmark:
        "results/timings/judge_multiverse.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("judge_multiverse"),
        seed=SETTINGS.seed,
    script:
        "../../scripts/judge_multiverse.py"


rule plot_multiverse_curves:
    """Figure multiverse_curves: every claim's statistic over the settings, in rising order."""
    input:
        outcomes=rules.judge_multiverse.input.outcomes,
        shares="results/multiverse/shares.parquet",
        ledger=in_project("workflow/claims.yaml"),
    output:
        pdf=report(
            "figures/multiverse_curves.pdf",
            caption="../report/multiverse_curves.rst",
            category="How far the findings reach",
            labels={"what": "each claim over random settings"},
        ),
        png="figures/multiverse_curves.png",
    log:
        "results/logs/plot_multiverse_curves.log",
    benchmark:
        "results/timings/plot_multiverse_curves.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("plot_multiverse_curves"),
    script:
        "../../scripts/plot_multiverse_curves.py"


rule plot_multiverse_choices:
    """Figure multiverse_choices: how much of each claim's outcome every choice explains."""
    input:
        effects="results/multiverse/choices.parquet",
    output:
        pdf=report(
            "figures/multiverse_choices.pdf",
            caption="../report/multiverse_choices.rst",
            category="How far the findings reach",
            labels={"what": "which choice decides"},
        ),
        png="figures/multiverse_choices.png",
    log:
        "results/logs/plot_multiverse_choices.log",
    benchmark:
        "results/timings/plot_multiverse_choices.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("plot_multiverse_choices"),
    script:
        "../../scripts/plot_multiverse_choices.py"


rule tabulate_exp3_regret:
    """Tables of every rule's excess over the oracle, over budgets, sample sizes and settings."""
    input:
        regret=expand(
            "results/exp3_regret/n{observations}.parquet",
            observations=SETTINGS.exp3.observations,
        ),
        draws=expand(
            "results/multiverse/regret{part}.parquet",
            part=SETTINGS.multiverse.regret_parts,
        ),
    output:
        page="figures/exp3_regret.md",
    log:
        "results/logs/tabulate_exp3_regret.log",
    benchmark:
        "results/timings/tabulate_exp3_regret.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("tabulate_exp3_regret"),
        budget_observations=SETTINGS.exp3.budget_observations,
    script:
        "../../scripts/tabulate_exp3_regret.py"


rule plot_exp3_regret:
    """Figure exp3_regret: excess of every rule over the oracle."""
    input:
        regret=rules.tabulate_exp3_regret.input.regret,
        draws=rules.tabulate_exp3_regret.input.draws,
    output:
        pdf=report(
            "figures/exp3_regret.pdf",
            caption="../report/exp3_regret.rst",
            category="How far the findings reach",
            labels={"what": "excess over the best allocation"},
        ),
        png="figures/exp3_regret.png",
    log:
        "results/logs/plot_exp3_regret.log",
    benchmark:
        "results/timings/plot_exp3_regret.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("plot_exp3_regret"),
        budget_observations=SETTINGS.exp3.budget_observations,
    script:
        "../../scripts/plot_exp3_regret.py"


rule write_multiverse:
    """The multiverse's page: shares beside verdicts, figures and tables, in one file."""
    input:
        claims="results/claims.parquet",
        shares="results/multiverse/shares.parquet",
        effects="results/multiverse/choices.parquet",
        regret=rules.tabulate_exp3_regret.input.regret,
        draws=rules.tabulate_exp3_regret.input.draws,
        figures=expand("figures/{figure}.png", figure=BEYOND),
        captions=expand(in_project("workflow/report/{figure}.rst"), figure=BEYOND),
        listed=in_project("workflow/report/figures_multiverse.yaml"),
        template=in_project("workflow/report/multiverse.html"),
        included=expand(
            in_project("workflow/report/{name}"),
            name=["base.html", "macros.html", "page.css", "scroll.js"],
        ),
        citation=in_project("CITATION.cff"),
    output:
        page=report(
            "figures/multiverse.html",
            caption="../report/multiverse.rst",
            category="How far the findings reach",
            labels={"what": "everything on one page"},
        ),
    log:
        "results/logs/write_multiverse.log",
    benchmark:
        "results/timings/write_multiverse.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        **ABOUT_THE_RUN,
        code=code_of("write_multiverse"),
        budget_observations=SETTINGS.exp3.budget_observations,
    script:
        "../../scripts/write_multiverse.py"
