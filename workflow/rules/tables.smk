# Real tables: every rule at the same budget, judged by a network that did not plan; not part of the paper
# reads:  workflow/tables.yaml (the protocol, fixed before the outcome), workflow/resources/tables/
# writes: results/tables/{table}/losses{split}.parquet, decoys{split}.parquet, differences.parquet,
#         verdicts.parquet, track_record.json; figures/tables.md, figures/tables (pdf and png)

from embedalloc.study.tables.protocol import read_protocol

PROTOCOL = read_protocol(in_project("workflow/tables.yaml"))


rule tables:
    """The track record on real tables: a table, a figure and how often verdicts were right."""
    input:
        "figures/tables.md",
        "figures/tables.pdf",


rule judge_tables:
    """Plan one split of a table with every rule and judge the plans on its test rows."""
    input:
        protocol=in_project("workflow/tables.yaml"),
        data=lambda wildcards: (
            rules.prepare_heart.input.data
            if wildcards.table == "heart"
            else in_project(f"workflow/resources/tables/{wildcards.table}.parquet")
        ),
    output:
        losses="results/tables/{table}/losses{split}.parquet",
        decoys="results/tables/{table}/decoys{split}.parquet",
    log:
        "results/logs/judge_tables/{table}_{split}.log",
    benchmark:
        "results/timings/judge_tables/{table}_{split}.tsv"
    wildcard_constraints:
        split=r"\d+",
    conda:
        "../../environment.yml"
    params:
        code=code_of("judge_tables"),
    script:
        "../../scripts/judge_tables.py"


rule tabulate_tables:
    """Tables of the differences to equal dimensions, of verdicts against truth, and of decoys."""
    input:
        protocol=in_project("workflow/tables.yaml"),
        losses=expand(
            "results/tables/{table}/losses{split}.parquet",
            table=PROTOCOL.tables,
            split=range(PROTOCOL.splits),
        ),
        decoys=expand(
            "results/tables/{table}/decoys{split}.parquet",
            table=PROTOCOL.tables,
            split=range(PROTOCOL.splits),
        ),
    output:
        differences="results/tables/differences.parquet",
        verdicts="results/tables/verdicts.parquet",
        record="results/tables/track_record.json",
        page="figures/tables.md",
    log:
        "results/logs/tabulate_tables.log",
    benchmark:
        "results/timings/tabulate_tables.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("tabulate_tables"),
    script:
        "../../scripts/tabulate_tables.py"


rule plot_tables:
    """Figure tables: every contestant's mean difference to equal dimensions."""
    input:
        differences="results/tables/differences.parquet",
    output:
        pdf="figures/tables.pdf",
        png="figures/tables.png",
    log:
        "results/logs/plot_tables.log",
    benchmark:
        "results/timings/plot_tables.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("plot_tables"),
    script:
        "../../scripts/plot_tables.py"
