# The page: verdicts, evidence, figures, tables, choices and provenance in one file
# reads:  results/claims.parquet, audit.json, receipts; figures/*.png, table1*; workflow/choices.yaml;
#         workflow/report: templates, captions and list of figures; CITATION.cff
# writes: figures/report.html

with open(in_project("config.yaml"), encoding="utf-8") as default:
    # Digests, not the file as an input: the order of its keys and its comments do not count.
    ABOUT_THE_RUN = {
        "seed": SETTINGS.seed,
        "config_digest": digest_of(config),
        "default_digest": digest_of(yaml.safe_load(default)),
    }
# A benchmark file is a product of its rule and can be asked for like any other.
CLAIMS_TIMINGS = [
    *THEORY_TIMINGS,
    *EXP1_TIMINGS,
    *EXP2_TIMINGS,
    *EXP3_TIMINGS,
    *HEART_TIMINGS,
    "results/timings/judge_claims.tsv",
]


rule write_report:
    """The report page: every verdict with its evidence, in one file that needs no network."""
    input:
        claims="results/claims.parquet",
        table1="figures/table1.parquet",
        paired="figures/table1_paired.parquet",
        notes="figures/table1_notes.json",
        audit="results/audit.json",
        figures=expand("figures/{figure}.png", figure=FIGURES),
        captions=expand(in_project("workflow/report/{figure}.rst"), figure=FIGURES),
        listed=in_project("workflow/report/figures.yaml"),
        template=in_project("workflow/report/report.html"),
        included=expand(
            in_project("workflow/report/{name}"),
            name=["base.html", "macros.html", "page.css", "report.js", "scroll.js"],
        ),
        choices=in_project("workflow/choices.yaml"),
        citation=in_project("CITATION.cff"),
        data=list(rules.prepare_heart.input),
    output:
        page=report(
            "figures/report.html",
            caption="../report/report.rst",
            category="Verdict",
            labels={"what": "everything on one page"},
        ),
    log:
        "results/logs/write_report.log",
    benchmark:
        "results/timings/write_report.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        **ABOUT_THE_RUN,
        code=code_of("write_report"),
    script:
        "../../scripts/write_report.py"
