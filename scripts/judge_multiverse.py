"""Say how often each claim holds over the settings, what decides it and what overturns it."""

from embedalloc.study.claims.ledger import read_ledger
from embedalloc.study.multiverse.space import OUTCOMES, read_spaces
from embedalloc.study.multiverse.summary import EFFECTS, SHARES, as_markdown, effects, shares
from embedalloc.study.workflow.files import whole_file
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_tables, write_table

if __name__ == "__main__":
    with job(snakemake.log[0]):
        outcomes = read_tables(snakemake.input.outcomes, OUTCOMES)
        spaces = read_spaces(snakemake.input.choices)
        claims = {claim.id: claim for claim in read_ledger(snakemake.input.ledger)}
        table, choices = shares(outcomes, spaces, claims), effects(outcomes, spaces)
        seed = snakemake.params.seed
        write_table(snakemake.output.shares, table, SHARES, settings={}, seed=seed)
        write_table(snakemake.output.effects, choices, EFFECTS, settings={}, seed=seed)
        with whole_file(snakemake.output.page) as partial:
            partial.write_text(as_markdown(table, choices), encoding="utf-8")
