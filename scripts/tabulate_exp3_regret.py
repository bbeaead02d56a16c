"""Write the regret of every rule of Experiment 3 as tables."""

from embedalloc.study.multiverse import regret as exp3_regret
from embedalloc.study.multiverse import runs as multiverse_runs
from embedalloc.study.multiverse.regret_table import as_markdown
from embedalloc.study.workflow.files import whole_file
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_tables

if __name__ == "__main__":
    with job(snakemake.log[0]):
        text = as_markdown(
            read_tables(snakemake.input.regret, exp3_regret.REGRET),
            read_tables(snakemake.input.draws, multiverse_runs.REGRET),
            budget_observations=snakemake.params.budget_observations,
        )
        with whole_file(snakemake.output.page) as partial:
            partial.write_text(text, encoding="utf-8")
