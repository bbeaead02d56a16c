"""Write the regret of every rule of Experiment 3 as tables."""

from embedalloc.study.multiverse.regret import REGRET
from embedalloc.study.multiverse.regret_table import describe_regret
from embedalloc.study.multiverse.runs import DRAWN_REGRET
from embedalloc.study.workflow.document import as_markdown
from embedalloc.study.workflow.files import write_text
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_tables

if __name__ == "__main__":
    with job(snakemake):
        parts = describe_regret(
            read_tables(snakemake.input.regret, REGRET),
            read_tables(snakemake.input.draws, DRAWN_REGRET),
            budget_observations=snakemake.params.budget_observations,
        )
        write_text(snakemake.output.page, as_markdown(parts))
