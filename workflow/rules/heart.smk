# Heart disease (Section 3.4): Table 1 on many splits
# reads:  config heart and audit, workflow/resources/{heart_disease,paper_table1.csv}
# writes: results/heart/patients.parquet, {trained,splits,coefficients,folds}/{block}.parquet,
#         scores.parquet, losses.parquet, times.parquet; results/audit.{parquet,json}
#         figures/table1.*, table1_audit, final_allocation, heart_budget, heart_metrics, heart_pilot

from embedalloc.study.heart.patients import files_of
from embedalloc.study.settings.heart import HeartChoices

HEART = in_project(SETTINGS.heart.data)
BLOCKS, FOLD_BLOCKS = SETTINGS.heart.blocks, SETTINGS.heart.fold_blocks
HEART_FIGURES = [f for f in FIGURES if f.startswith(("heart_", "final_"))]
TABLE1_TIMINGS = [
    "results/timings/prepare_heart.tsv",
    "results/timings/compile_heart.tsv",
    *expand("results/timings/train_heart/{block}.tsv", block=BLOCKS),
    *expand("results/timings/select_heart/{block}.tsv", block=FOLD_BLOCKS),
    "results/timings/score_heart.tsv",
    "results/timings/time_heart.tsv",
    "results/timings/tabulate_heart.tsv",
]
HEART_TIMINGS = [
    *TABLE1_TIMINGS,
    "results/timings/audit_table1.tsv",
    *expand("results/timings/plot_{figure}.tsv", figure=HEART_FIGURES),
]


rule heart:
    """Table 1, its audit and every figure of the heart-disease study."""
    input:
        "figures/table1.md",
        "figures/table1_audit.md",
        expand("figures/{figure}.pdf", figure=HEART_FIGURES),


rule prepare_heart:
    """Check, parse and join the heart-disease files."""
    input:
        data=files_of(HEART),
    output:
        patients="results/heart/patients.parquet",
    log:
        "results/logs/prepare_heart.log",
    benchmark:
        "results/timings/prepare_heart.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("prepare_heart"),
        settings={
            "cholesterol_zero_is_missing": SETTINGS.heart.cholesterol_zero_is_missing
        },
    script:
        "../../scripts/prepare_heart.py"


rule compile_heart:
    """Compile the trainer once, before many jobs need it at the same time."""
    output:
        compiled="results/heart/trainer.compiled",
    log:
        "results/logs/compile_heart.log",
    benchmark:
        "results/timings/compile_heart.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("compile_heart"),
    script:
        "../../scripts/compile_heart.py"


rule train_heart:
    """Train every network of a block of splits and cache its probabilities."""
    input:
        patients="results/heart/patients.parquet",
        compiled="results/heart/trainer.compiled",
    output:
        trained="results/heart/trained/{block}.parquet",
        splits="results/heart/splits/{block}.parquet",
        coefficients="results/heart/coefficients/{block}.parquet",
    log:
        "results/logs/train_heart/{block}.log",
    benchmark:
        "results/timings/train_heart/{block}.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_of("train_heart"),
        cell=lambda wildcards: SETTINGS.heart.cell(
            SETTINGS.seed, SETTINGS.heart.blocks[int(wildcards.block)]
        ).plain(),
    script:
        "../../scripts/train_heart.py"


rule select_heart:
    """Select the budget by Algorithm 2 (K folds, one standard error) on a block of splits."""
    input:
        patients="results/heart/patients.parquet",
        compiled="results/heart/trainer.compiled",
    output:
        folds="results/heart/folds/{block}.parquet",
    log:
        "results/logs/select_heart/{block}.log",
    benchmark:
        "results/timings/select_heart/{block}.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_of("select_heart"),
        cell=lambda wildcards: SETTINGS.heart.folds_cell(
            SETTINGS.seed, SETTINGS.heart.fold_blocks[int(wildcards.block)]
        ).plain(),
    script:
        "../../scripts/select_heart.py"


rule score_heart:
    """Compute every metric from the cached probabilities."""
    input:
        trained=expand("results/heart/trained/{block}.parquet", block=BLOCKS),
        splits=expand("results/heart/splits/{block}.parquet", block=BLOCKS),
        patients="results/heart/patients.parquet",
    output:
        scores="results/heart/scores.parquet",
        losses="results/heart/losses.parquet",
    log:
        "results/logs/score_heart.log",
    benchmark:
        "results/timings/score_heart.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_of("score_heart"),
        seed=SETTINGS.seed,
        settings=HeartChoices.taken_from(SETTINGS.heart).plain()
        | {"splits": SETTINGS.heart.splits},
    script:
        "../../scripts/score_heart.py"


rule time_heart:
    """Time the plain training loop per epoch for each model of Table 1."""
    input:
        patients="results/heart/patients.parquet",
        scores="results/heart/scores.parquet",
    output:
        times="results/heart/times.parquet",
    log:
        "results/logs/time_heart.log",
    benchmark:
        "results/timings/time_heart.tsv"
    conda:
        "../../environment.yml"
    threads: ALL_CORES
    params:
        code=code_of("time_heart"),
        cell=SETTINGS.heart.cell(SETTINGS.seed, SETTINGS.heart.blocks[0]).plain(),
        timed_epochs=SETTINGS.heart.timed_epochs,
    script:
        "../../scripts/time_heart.py"


rule tabulate_heart:
    """Table 1 with intervals and the paired comparison, in four formats, and their notes."""
    input:
        scores="results/heart/scores.parquet",
        times="results/heart/times.parquet",
        splits=expand("results/heart/splits/{block}.parquet", block=BLOCKS),
        coefficients=expand("results/heart/coefficients/{block}.parquet", block=BLOCKS),
        folds=expand("results/heart/folds/{block}.parquet", block=FOLD_BLOCKS),
    output:
        multiext("figures/table1", ".parquet", ".csv", ".tex", "_wide.tex"),
        report(
            "figures/table1.md",
            caption="../report/table1.rst",
            category="Heart disease",
            labels={"figure": "table1"},
        ),
        multiext("figures/table1_paired", ".parquet", ".csv", ".tex"),
        report(
            "figures/table1_paired.md",
            caption="../report/table1_paired.rst",
            category="Heart disease",
            labels={"figure": "table1_paired"},
        ),
        notes="figures/table1_notes.json",
    log:
        "results/logs/tabulate_heart.log",
    benchmark:
        "results/timings/tabulate_heart.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("tabulate_heart"),
        seed=SETTINGS.seed,
        settings=SETTINGS.heart.plain(),
    script:
        "../../scripts/tabulate_heart.py"


rule audit_table1:
    """Confusion matrices and test sets behind the paper's Table 1, and cells that none explains."""
    input:
        printed=in_project("workflow/resources/paper_table1.csv"),
    output:
        audit="results/audit.parquet",
        parts="results/audit.json",
        report=report(
            "figures/table1_audit.md",
            caption="../report/table1_audit.rst",
            category="Heart disease",
            labels={"figure": "table1_audit"},
        ),
    log:
        "results/logs/audit_table1.log",
    benchmark:
        "results/timings/audit_table1.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("audit_table1"),
        largest_test_set=SETTINGS.audit.largest_test_set,
    script:
        "../../scripts/audit_table1.py"


rule plot_final_allocation:
    """Figure final_allocation: dimensions by predictor at the selected budget."""
    input:
        scores="results/heart/scores.parquet",
        coefficients=expand("results/heart/coefficients/{block}.parquet", block=BLOCKS),
    output:
        pdf=report(
            "figures/final_allocation.pdf",
            caption="../report/final_allocation.rst",
            category="Heart disease",
            labels={"figure": "final_allocation"},
        ),
        png="figures/final_allocation.png",
    log:
        "results/logs/plot_final_allocation.log",
    benchmark:
        "results/timings/plot_final_allocation.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("plot_final_allocation"),
    script:
        "../../scripts/plot_final_allocation.py"


rule plot_heart_budget:
    """Figure heart_budget: validation and test logloss over the candidate budgets."""
    input:
        losses="results/heart/losses.parquet",
    output:
        pdf=report(
            "figures/heart_budget.pdf",
            caption="../report/heart_budget.rst",
            category="Heart disease",
            labels={"figure": "heart_budget"},
        ),
        png="figures/heart_budget.png",
    log:
        "results/logs/plot_heart_budget.log",
    benchmark:
        "results/timings/plot_heart_budget.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("plot_heart_budget"),
    script:
        "../../scripts/plot_heart_budget.py"


rule plot_heart_metrics:
    """Figure heart_metrics: distribution of each metric over splits, with the paper's value."""
    input:
        scores="results/heart/scores.parquet",
    output:
        pdf=report(
            "figures/heart_metrics.pdf",
            caption="../report/heart_metrics.rst",
            category="Heart disease",
            labels={"figure": "heart_metrics"},
        ),
        png="figures/heart_metrics.png",
    log:
        "results/logs/plot_heart_metrics.log",
    benchmark:
        "results/timings/plot_heart_metrics.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("plot_heart_metrics"),
    script:
        "../../scripts/plot_heart_metrics.py"


rule plot_heart_pilot:
    """Figure heart_pilot: coefficients of the pilot after training against before."""
    input:
        coefficients=expand("results/heart/coefficients/{block}.parquet", block=BLOCKS),
    output:
        pdf=report(
            "figures/heart_pilot.pdf",
            caption="../report/heart_pilot.rst",
            category="Heart disease",
            labels={"figure": "heart_pilot"},
        ),
        png="figures/heart_pilot.png",
    log:
        "results/logs/plot_heart_pilot.log",
    benchmark:
        "results/timings/plot_heart_pilot.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("plot_heart_pilot"),
    script:
        "../../scripts/plot_heart_pilot.py"
