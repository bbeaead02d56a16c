# Experiment 3 (Section 3.3): allocation rules under a fixed embedding budget
# reads:  config exp3
# writes: results/exp3/n{observations}/performance{part}.parquet
#         figures/exp3_performance, exp3_performance_samplesize, exp3_allocations (pdf and png)

EXP3_FIGURES = [figure for figure in FIGURES if figure.startswith("exp3_")]
EXP3_TIMINGS = [
    *expand(
        "results/timings/simulate_exp3/n{observations}_{part}.tsv",
        observations=SETTINGS.exp3.observations,
        part=SETTINGS.exp3.parts,
    ),
    *expand("results/timings/plot_{figure}.tsv", figure=EXP3_FIGURES),
]


rule exp3:
    """Every figure of Experiment 3."""
    input:
        expand("figures/{figure}.pdf", figure=EXP3_FIGURES),


rule simulate_exp3:
    """Simulate one training sample size of Experiment 3, all rules on the same draws."""
    output:
        performance="results/exp3/n{observations}/performance{part}.parquet",
    log:
        "results/logs/simulate_exp3/n{observations}_{part}.log",
    benchmark:
        "results/timings/simulate_exp3/n{observations}_{part}.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_of("simulate_exp3"),
        cell=lambda wildcards: SETTINGS.exp3.cell(
            SETTINGS.seed,
            int(wildcards.observations),
            SETTINGS.exp3.parts[int(wildcards.part)],
        ).plain(),
    script:
        "../../scripts/simulate_exp3.py"


rule plot_exp3_performance:
    """Figure exp3_performance: out-of-sample MSE over the budget for the four rules."""
    input:
        performance=expand(
            "results/exp3/n{observations}/performance{part}.parquet",
            observations=SETTINGS.exp3.budget_observations,
            part=SETTINGS.exp3.parts,
        ),
    output:
        pdf=report(
            "figures/exp3_performance.pdf",
            caption="../report/exp3_performance.rst",
            category="Experiment 3",
            labels={"figure": "exp3_performance"},
        ),
        png="figures/exp3_performance.png",
    log:
        "results/logs/plot_exp3_performance.log",
    benchmark:
        "results/timings/plot_exp3_performance.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("plot_exp3_performance"),
        budgets=SETTINGS.exp3.budgets,
        response_noise=SETTINGS.exp3.response_noise,
    script:
        "../../scripts/plot_exp3_performance.py"


rule plot_exp3_performance_samplesize:
    """Figure exp3_performance_samplesize: out-of-sample MSE over n at one budget."""
    input:
        performance=expand(
            "results/exp3/n{observations}/performance{part}.parquet",
            observations=SETTINGS.exp3.curve_observations,
            part=SETTINGS.exp3.parts,
        ),
    output:
        pdf=report(
            "figures/exp3_performance_samplesize.pdf",
            caption="../report/exp3_performance_samplesize.rst",
            category="Experiment 3",
            labels={"figure": "exp3_performance_samplesize"},
        ),
        png="figures/exp3_performance_samplesize.png",
    log:
        "results/logs/plot_exp3_performance_samplesize.log",
    benchmark:
        "results/timings/plot_exp3_performance_samplesize.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("plot_exp3_performance_samplesize"),
        budget=SETTINGS.exp3.curve_budget,
        response_noise=SETTINGS.exp3.response_noise,
    script:
        "../../scripts/plot_exp3_performance_samplesize.py"


rule plot_exp3_allocations:
    """Figure exp3_allocations: dimensions by predictor over budgets for the four rules."""
    input:
        performance=expand(
            "results/exp3/n{observations}/performance{part}.parquet",
            observations=SETTINGS.exp3.budget_observations,
            part=SETTINGS.exp3.parts,
        ),
    output:
        pdf=report(
            "figures/exp3_allocations.pdf",
            caption="../report/exp3_allocations.rst",
            category="Experiment 3",
            labels={"figure": "exp3_allocations"},
        ),
        png="figures/exp3_allocations.png",
    log:
        "results/logs/plot_exp3_allocations.log",
    benchmark:
        "results/timings/plot_exp3_allocations.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("plot_exp3_allocations"),
        budgets=SETTINGS.exp3.budgets,
        cardinalities=SETTINGS.exp3.cardinalities,
    script:
        "../../scripts/plot_exp3_allocations.py"
