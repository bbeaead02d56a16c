# Experiment 1 (Section 3.1): approximation error under finite-sample estimation
# reads:  config exp1
# writes: results/exp1/{design}/{profiles,fits}{part}.parquet
#         figures/exp1_main, exp1_gap, exp1_loglog (pdf and png)

from embedalloc.study.settings.exp1 import Exp1Designs

EXP1_PROFILES, EXP1_FITS = (
    expand(path, design=SETTINGS.exp1.designs, part=SETTINGS.exp1.parts)
    for path in (
        "results/exp1/{design}/profiles{part}.parquet",
        "results/exp1/{design}/fits{part}.parquet",
    )
)
EXP1_FIGURES = [figure for figure in FIGURES if figure.startswith("exp1_")]
EXP1_TIMINGS = [
    *expand(
        "results/timings/simulate_exp1/{design}_{part}.tsv",
        design=SETTINGS.exp1.designs,
        part=SETTINGS.exp1.parts,
    ),
    *expand("results/timings/plot_{figure}.tsv", figure=EXP1_FIGURES),
]


rule exp1:
    """Every figure of Experiment 1."""
    input:
        expand("figures/{figure}.pdf", figure=EXP1_FIGURES),


rule simulate_exp1:
    """Simulate one spectral design of Experiment 1."""
    output:
        profiles="results/exp1/{design}/profiles{part}.parquet",
        fits="results/exp1/{design}/fits{part}.parquet",
    log:
        "results/logs/simulate_exp1/{design}_{part}.log",
    benchmark:
        "results/timings/simulate_exp1/{design}_{part}.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_of("simulate_exp1"),
        cell=lambda wildcards: SETTINGS.exp1.cell(
            SETTINGS.seed, wildcards.design, SETTINGS.exp1.parts[int(wildcards.part)]
        ).plain(),
    script:
        "../../scripts/simulate_exp1.py"


rule plot_exp1_main:
    """Figure exp1_main: approximation error over d for the three spectral designs."""
    input:
        profiles=EXP1_PROFILES,
    output:
        pdf=report(
            "figures/exp1_main.pdf",
            caption="../report/exp1_main.rst",
            category="Experiment 1",
            labels={"figure": "exp1_main"},
        ),
        png="figures/exp1_main.png",
    log:
        "results/logs/plot_exp1_main.log",
    benchmark:
        "results/timings/plot_exp1_main.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("plot_exp1_main"),
        cell=Exp1Designs.taken_from(SETTINGS.exp1).plain(),
    script:
        "../../scripts/plot_exp1_main.py"


rule plot_exp1_gap:
    """Figure exp1_gap: empirical tail minus population error over d."""
    input:
        profiles=EXP1_PROFILES,
    output:
        pdf=report(
            "figures/exp1_gap.pdf",
            caption="../report/exp1_gap.rst",
            category="Experiment 1",
            labels={"figure": "exp1_gap"},
        ),
        png="figures/exp1_gap.png",
    log:
        "results/logs/plot_exp1_gap.log",
    benchmark:
        "results/timings/plot_exp1_gap.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("plot_exp1_gap"),
        cell=Exp1Designs.taken_from(SETTINGS.exp1).plain(),
    script:
        "../../scripts/plot_exp1_gap.py"


rule plot_exp1_loglog:
    """Figure exp1_loglog: tails and predictive error on log axes, and the fit of a/d."""
    input:
        profiles=EXP1_PROFILES,
        fits=EXP1_FITS,
    output:
        pdf=report(
            "figures/exp1_loglog.pdf",
            caption="../report/exp1_loglog.rst",
            category="Experiment 1",
            labels={"figure": "exp1_loglog"},
        ),
        png="figures/exp1_loglog.png",
    log:
        "results/logs/plot_exp1_loglog.log",
    benchmark:
        "results/timings/plot_exp1_loglog.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("plot_exp1_loglog"),
        cell=Exp1Designs.taken_from(SETTINGS.exp1).plain(),
    script:
        "../../scripts/plot_exp1_loglog.py"
