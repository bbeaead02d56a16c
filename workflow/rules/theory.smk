# Section 2: the statements about approximation, estimation, generalisation and allocation
# reads:  config theory; for theory_allocation also the predictors and budgets of exp3
# writes: results/theory/{approximation_errors,alternating_paths,alternating_runs}.parquet
#         results/theory/{generalisation_gaps,generalisation_scaling}.parquet
#         results/theory/{allocation_budgets,allocation_instances}.parquet
#         figures/theory_approximation, theory_alternating, theory_generalisation,
#         theory_allocation (pdf and png)

from embedalloc.study.settings.common import Cell

THEORY_FIGURES = [figure for figure in FIGURES if figure.startswith("theory_")]
THEORY_TIMINGS = [
    *expand("results/timings/simulate_{figure}.tsv", figure=THEORY_FIGURES),
    *expand("results/timings/plot_{figure}.tsv", figure=THEORY_FIGURES),
]


rule theory:
    """Every figure of Section 2."""
    input:
        expand("figures/{figure}.pdf", figure=THEORY_FIGURES),


rule simulate_theory_approximation:
    """Compute exact errors and bounds of Proposition 2 for two kinds of probabilities."""
    output:
        errors="results/theory/approximation_errors.parquet",
    log:
        "results/logs/simulate_theory_approximation.log",
    benchmark:
        "results/timings/simulate_theory_approximation.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_of("simulate_theory_approximation"),
        cell=Cell(settings=SETTINGS.theory.approximation, seed=SETTINGS.seed).plain(),
    script:
        "../../scripts/simulate_theory_approximation.py"


rule plot_theory_approximation:
    """Figure theory_approximation: exact error and bound of Proposition 2 over the dimension."""
    input:
        errors="results/theory/approximation_errors.parquet",
    output:
        pdf=report(
            "figures/theory_approximation.pdf",
            caption="../report/theory_approximation.rst",
            category="Theory",
            labels={"figure": "theory_approximation"},
        ),
        png="figures/theory_approximation.png",
    log:
        "results/logs/plot_theory_approximation.log",
    benchmark:
        "results/timings/plot_theory_approximation.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("plot_theory_approximation"),
    script:
        "../../scripts/plot_theory_approximation.py"


rule simulate_theory_alternating:
    """Run the alternating scheme of Theorem 1 from several starts, for both losses."""
    output:
        paths="results/theory/alternating_paths.parquet",
        runs="results/theory/alternating_runs.parquet",
    log:
        "results/logs/simulate_theory_alternating.log",
    benchmark:
        "results/timings/simulate_theory_alternating.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_of("simulate_theory_alternating"),
        cell=Cell(settings=SETTINGS.theory.alternating, seed=SETTINGS.seed).plain(),
    script:
        "../../scripts/simulate_theory_alternating.py"


rule plot_theory_alternating:
    """Figure theory_alternating: objective and gradient of Theorem 1's scheme over its rounds."""
    input:
        paths="results/theory/alternating_paths.parquet",
        runs="results/theory/alternating_runs.parquet",
    output:
        pdf=report(
            "figures/theory_alternating.pdf",
            caption="../report/theory_alternating.rst",
            category="Theory",
            labels={"figure": "theory_alternating"},
        ),
        png="figures/theory_alternating.png",
    log:
        "results/logs/plot_theory_alternating.log",
    benchmark:
        "results/timings/plot_theory_alternating.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("plot_theory_alternating"),
        tolerance=SETTINGS.theory.alternating.tolerance,
    script:
        "../../scripts/plot_theory_alternating.py"


rule simulate_theory_generalisation:
    """Measure the generalisation gap of Theorem 2 over a grid of sizes."""
    output:
        gaps="results/theory/generalisation_gaps.parquet",
        scaling="results/theory/generalisation_scaling.parquet",
    log:
        "results/logs/simulate_theory_generalisation.log",
    benchmark:
        "results/timings/simulate_theory_generalisation.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_of("simulate_theory_generalisation"),
        cell=Cell(settings=SETTINGS.theory.generalisation, seed=SETTINGS.seed).plain(),
    script:
        "../../scripts/simulate_theory_generalisation.py"


rule plot_theory_generalisation:
    """Figure theory_generalisation: measured generalisation gap beside the form of Theorem 2's bound."""
    input:
        gaps="results/theory/generalisation_gaps.parquet",
        scaling="results/theory/generalisation_scaling.parquet",
    output:
        pdf=report(
            "figures/theory_generalisation.pdf",
            caption="../report/theory_generalisation.rst",
            category="Theory",
            labels={"figure": "theory_generalisation"},
        ),
        png="figures/theory_generalisation.png",
    log:
        "results/logs/plot_theory_generalisation.log",
    benchmark:
        "results/timings/plot_theory_generalisation.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("plot_theory_generalisation"),
    script:
        "../../scripts/plot_theory_generalisation.py"


rule simulate_theory_allocation:
    """Solve Theorem 3's problem over budgets and on random instances, three ways."""
    output:
        budgets="results/theory/allocation_budgets.parquet",
        instances="results/theory/allocation_instances.parquet",
    log:
        "results/logs/simulate_theory_allocation.log",
    benchmark:
        "results/timings/simulate_theory_allocation.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_of("simulate_theory_allocation"),
        cell=SETTINGS.allocation_cell().plain(),
    script:
        "../../scripts/simulate_theory_allocation.py"


rule plot_theory_allocation:
    """Figure theory_allocation: closed form, integer projection and optimum over budgets."""
    input:
        budgets="results/theory/allocation_budgets.parquet",
        instances="results/theory/allocation_instances.parquet",
    output:
        pdf=report(
            "figures/theory_allocation.pdf",
            caption="../report/theory_allocation.rst",
            category="Theory",
            labels={"figure": "theory_allocation"},
        ),
        png="figures/theory_allocation.png",
    log:
        "results/logs/plot_theory_allocation.log",
    benchmark:
        "results/timings/plot_theory_allocation.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("plot_theory_allocation"),
        predictors=[each.plain() for each in SETTINGS.exp3.predictors],
        budgets=SETTINGS.exp3.budgets,
    script:
        "../../scripts/plot_theory_allocation.py"
