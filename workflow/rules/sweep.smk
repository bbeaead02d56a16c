# A sweep over a user's table: what `compare` and `frontier` do, as jobs; not part of the paper
# reads:  workflow/sweep.yaml and the file that it names
# writes: results/sweep/{split}_{dimensions}.parquet, curves.json; figures/sweep.md, figures/sweep
#         (pdf and png)

from embedalloc.study.sweep.protocol import read_sweep

try:
    SWEEP = read_sweep(in_project("workflow/sweep.yaml"))
except ConfigError as error:
    raise WorkflowError(str(error))
SWEEP_LOSSES = expand(
    "results/sweep/{split}_{dimensions}.parquet",
    split=range(SWEEP.splits),
    dimensions=SWEEP.budgets,
)


rule sweep:
    """Every rule on every split of your table at every budget: a page, a figure and JSON."""
    input:
        "figures/sweep.md",
        "figures/sweep.pdf",


rule judge_sweep:
    """Judge every rule on one split of the table at one budget."""
    input:
        data=in_project(SWEEP.data),
    output:
        losses="results/sweep/{split}_{dimensions}.parquet",
    log:
        "results/logs/judge_sweep/{split}_{dimensions}.log",
    benchmark:
        "results/timings/judge_sweep/{split}_{dimensions}.tsv"
    wildcard_constraints:
        split=r"\d+",
        dimensions=r"\d+\.\d+",
    conda:
        "../../environment.yml"
    params:
        code=code_of("judge_sweep"),
        cell=SWEEP.plain_cell(),
    script:
        "../../scripts/judge_sweep.py"


rule tabulate_sweep:
    """Curves as JSON, and a page with a comparison at every budget."""
    input:
        sweep=in_project("workflow/sweep.yaml"),
        losses=SWEEP_LOSSES,
    output:
        curves="results/sweep/curves.json",
        page="figures/sweep.md",
    log:
        "results/logs/tabulate_sweep.log",
    benchmark:
        "results/timings/tabulate_sweep.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("tabulate_sweep"),
    script:
        "../../scripts/tabulate_sweep.py"


rule plot_sweep:
    """Figure sweep: the loss over budgets against that at the largest one."""
    input:
        sweep=in_project("workflow/sweep.yaml"),
        losses=SWEEP_LOSSES,
    output:
        pdf="figures/sweep.pdf",
        png="figures/sweep.png",
    log:
        "results/logs/plot_sweep.log",
    benchmark:
        "results/timings/plot_sweep.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code_of("plot_sweep"),
    script:
        "../../scripts/plot_sweep.py"
