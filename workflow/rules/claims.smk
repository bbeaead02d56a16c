# The verdict: every claim of Sections 2 and 3, decided from the results
# reads:  workflow/claims.yaml, config claims, the results and figures of all parts
# writes: results/claims.parquet, figures/claims.md


rule judge_claims:
    """Decide every claim of the paper by the rule written in workflow/claims.yaml."""
    input:
        ledger=in_project("workflow/claims.yaml"),
        approximation="results/theory/approximation_errors.parquet",
        paths="results/theory/alternating_paths.parquet",
        runs="results/theory/alternating_runs.parquet",
        gaps="results/theory/generalisation_gaps.parquet",
        scaling="results/theory/generalisation_scaling.parquet",
        budgets="results/theory/allocation_budgets.parquet",
        exp1_profiles=EXP1_PROFILES,
        exp1_fits=EXP1_FITS,
        exp2_profiles=expand(
            "results/exp2/n{observations}/profiles{part}.parquet",
            observations=SETTINGS.exp2.observations,
            part=SETTINGS.exp2.parts,
        ),
        exp3_performance=expand(
            "results/exp3/n{observations}/performance{part}.parquet",
            observations=SETTINGS.exp3.observations,
            part=SETTINGS.exp3.parts,
        ),
        table1="figures/table1.parquet",
        paired="figures/table1_paired.parquet",
        coefficients=expand("results/heart/coefficients/{block}.parquet", block=BLOCKS),
        losses="results/heart/losses.parquet",
        audit="results/audit.parquet",
        patients="results/heart/patients.parquet",
        # What the ledger shows as evidence; a claim whose figure is not here stops the job.
        shown=[
            *expand("figures/{figure}.pdf", figure=FIGURES),
            "figures/table1.md",
            "figures/table1_paired.md",
            "figures/table1_audit.md",
        ],
    output:
        claims="results/claims.parquet",
        page=report(
            "figures/claims.md",
            caption="../report/claims.rst",
            category="Verdict",
            labels={"what": "every claim with its verdict and evidence"},
        ),
    log:
        "results/logs/judge_claims.log",
    benchmark:
        "results/timings/judge_claims.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("judge_claims"),
        cell=SETTINGS.claims_cell().plain(),
    script:
        "../../scripts/judge_claims.py"
