"""Say how often each claim holds over the settings, what decides it and what overturns it."""

from embedalloc.study.claims.ledger import read_ledger
from embedalloc.study.multiverse import summary
from embedalloc.study.multiverse.space import POINT_OUTCOMES, read_spaces
from embedalloc.study.workflow.document import as_markdown
from embedalloc.study.workflow.files import write_text
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_tables, write_table

if __name__ == "__main__":
    with job(snakemake):
        outcomes = read_tables(snakemake.input.outcomes, POINT_OUTCOMES)
        spaces = read_spaces(snakemake.input.choices)
        claims = {claim.id: claim for claim in read_ledger(snakemake.input.ledger)}
        shares = summary.count_shares(outcomes, spaces, claims)
        effects = summary.measure_effects(outcomes, spaces)
        seed = snakemake.params.seed
        write_table(snakemake.output.shares, shares, summary.SHARES, settings={}, seed=seed)
        write_table(snakemake.output.effects, effects, summary.EFFECTS, settings={}, seed=seed)
        write_text(snakemake.output.page, as_markdown(summary.describe_multiverse(shares, effects)))
