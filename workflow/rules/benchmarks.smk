# Benchmarks: the program beside its peers, in turns; not part of the paper
# reads:  config benchmarks, and the settings of the experiments that it measures
# writes: results/benchmarks/{work}.parquet, figures/benchmarks.md, figures/benchmarks (pdf and png)

from embedalloc.study.settings.benchmarks import BENCHMARKS
from tests.benchmarks.cells import benchmark_cell

BENCHMARKS_TIMINGS = [
    *expand("results/timings/measure_benchmark/{work}.tsv", work=BENCHMARKS),
    "results/timings/tabulate_benchmarks.tsv",
    "results/timings/plot_benchmarks.tsv",
]


rule benchmarks:
    """Times and memory beside the peers: a table and a figure of growth curves."""
    input:
        "figures/benchmarks.md",
        "figures/benchmarks.pdf",
        "figures/targets_benchmarks.md",


rule measure_benchmark:
    """Measure one row of the table, alone on the machine."""
    output:
        measurements="results/benchmarks/{work}.parquet",
    log:
        "results/logs/measure_benchmark/{work}.log",
    benchmark:
        "results/timings/measure_benchmark/{work}.tsv"
    conda:
        "../../environment.yml"
    threads: ALL_CORES
    params:
        code=code_of("measure_benchmark"),
        cell=lambda wildcards: benchmark_cell(SETTINGS, wildcards.work),
    script:
        "../../scripts/measure_benchmark.py"


rule tabulate_benchmarks:
    """Table of ratios with their spread and aims."""
    input:
        measurements=expand("results/benchmarks/{work}.parquet", work=BENCHMARKS),
    output:
        page="figures/benchmarks.md",
    log:
        "results/logs/tabulate_benchmarks.log",
    benchmark:
        "results/timings/tabulate_benchmarks.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("tabulate_benchmarks"),
    script:
        "../../scripts/tabulate_benchmarks.py"


rule plot_benchmarks:
    """Figure benchmarks: CPU time over sizes with fitted exponents, and the ratios with aims."""
    input:
        measurements=expand("results/benchmarks/{work}.parquet", work=BENCHMARKS),
    output:
        pdf="figures/benchmarks.pdf",
        png="figures/benchmarks.png",
    log:
        "results/logs/plot_benchmarks.log",
    benchmark:
        "results/timings/plot_benchmarks.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("plot_benchmarks"),
    script:
        "../../scripts/plot_benchmarks.py"
