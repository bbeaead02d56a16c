# Experiment 2 (Section 3.2): approximation-estimation tradeoff
# reads:  config exp2
# writes: results/exp2/n{observations}/profiles{part}.parquet
#         figures/exp2_train_test, exp2_decomposition, exp2_optimal_dimension (pdf and png)

EXP2_FIGURES = [figure for figure in FIGURES if figure.startswith("exp2_")]
EXP2_TIMINGS = [
    *expand(
        "results/timings/simulate_exp2/n{observations}_{part}.tsv",
        observations=SETTINGS.exp2.observations,
        part=SETTINGS.exp2.parts,
    ),
    *expand("results/timings/plot_{figure}.tsv", figure=EXP2_FIGURES),
]


rule exp2:
    """Every figure of Experiment 2."""
    input:
        expand("figures/{figure}.pdf", figure=EXP2_FIGURES),


rule simulate_exp2:
    """Simulate one training sample size of Experiment 2."""
    output:
        profiles="results/exp2/n{observations}/profiles{part}.parquet",
    log:
        "results/logs/simulate_exp2/n{observations}_{part}.log",
    benchmark:
        "results/timings/simulate_exp2/n{observations}_{part}.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_of("simulate_exp2"),
        cell=lambda wildcards: SETTINGS.exp2.cell(
            SETTINGS.seed,
            int(wildcards.observations),
            SETTINGS.exp2.parts[int(wildcards.part)],
        ).plain(),
    script:
        "../../scripts/simulate_exp2.py"


rule plot_exp2_train_test:
    """Figure exp2_train_test: training and test MSE over d for three sample sizes."""
    input:
        profiles=expand(
            "results/exp2/n{observations}/profiles{part}.parquet",
            observations=SETTINGS.exp2.panel_observations,
            part=SETTINGS.exp2.parts,
        ),
    output:
        pdf=report(
            "figures/exp2_train_test.pdf",
            caption="../report/exp2_train_test.rst",
            category="Experiment 2",
            labels={"figure": "exp2_train_test"},
        ),
        png="figures/exp2_train_test.png",
    log:
        "results/logs/plot_exp2_train_test.log",
    benchmark:
        "results/timings/plot_exp2_train_test.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("plot_exp2_train_test"),
    script:
        "../../scripts/plot_exp2_train_test.py"


rule plot_exp2_decomposition:
    """Figure exp2_decomposition: approximation, estimation and total error over d."""
    input:
        profiles=expand(
            "results/exp2/n{observations}/profiles{part}.parquet",
            observations=SETTINGS.exp2.panel_observations,
            part=SETTINGS.exp2.parts,
        ),
    output:
        pdf=report(
            "figures/exp2_decomposition.pdf",
            caption="../report/exp2_decomposition.rst",
            category="Experiment 2",
            labels={"figure": "exp2_decomposition"},
        ),
        png="figures/exp2_decomposition.png",
    log:
        "results/logs/plot_exp2_decomposition.log",
    benchmark:
        "results/timings/plot_exp2_decomposition.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("plot_exp2_decomposition"),
    script:
        "../../scripts/plot_exp2_decomposition.py"


rule plot_exp2_optimal_dimension:
    """Figure exp2_optimal_dimension: empirically optimal dimension over n."""
    input:
        profiles=expand(
            "results/exp2/n{observations}/profiles{part}.parquet",
            observations=SETTINGS.exp2.curve_observations,
            part=SETTINGS.exp2.parts,
        ),
    output:
        pdf=report(
            "figures/exp2_optimal_dimension.pdf",
            caption="../report/exp2_optimal_dimension.rst",
            category="Experiment 2",
            labels={"figure": "exp2_optimal_dimension"},
        ),
        png="figures/exp2_optimal_dimension.png",
    log:
        "results/logs/plot_exp2_optimal_dimension.log",
    benchmark:
        "results/timings/plot_exp2_optimal_dimension.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("plot_exp2_optimal_dimension"),
    script:
        "../../scripts/plot_exp2_optimal_dimension.py"
