# The archive: one zip of the finished run, for others to check
# reads:  what `all` makes but for measured costs, results/receipts, the project's own files
# writes: results/archive.zip

from embedalloc.study.archive.contents import digest_source


rule pack_archive:
    """Put the finished run into one zip, with configuration, receipts and source."""
    input:
        run=[file for file in rules.all.input if file != "figures/targets.md"],
        citation=in_project("CITATION.cff"),
        figures=in_project("workflow/report/figures.yaml"),
    output:
        archive="results/archive.zip",
    log:
        "results/logs/pack_archive.log",
    benchmark:
        "results/timings/pack_archive.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("pack_archive"),
        configuration=dict(config),
        # All of the project's files go in, and only now are they all looked at.
        source=lambda wildcards: digest_source(in_project(".")),
    script:
        "../../scripts/pack_archive.py"
