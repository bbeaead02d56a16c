"""Write the multiverse's page: shares beside verdicts, figures and tables."""

from pathlib import Path
from typing import Any

import yaml

from embedalloc.study.claims.verdicts import CLAIMS, SECTIONS
from embedalloc.study.multiverse import summary
from embedalloc.study.multiverse.regret import REGRET
from embedalloc.study.multiverse.regret_table import describe_regret
from embedalloc.study.multiverse.runs import DRAWN_REGRET
from embedalloc.study.page.provenance import describe_run
from embedalloc.study.page.render import read_pictures, render_page
from embedalloc.study.workflow.files import write_text
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.receipts import digest_files, trace
from embedalloc.study.workflow.tables import read_table, read_tables


def main(source: Any, params: Any, *about: Any) -> str:
    """Return the page from files by name, as in rule `write_multiverse`; see `describe_run`."""
    judged = read_table(source.claims, CLAIMS).drop_duplicates("claim").set_index("claim")
    shares = read_table(source.shares, summary.SHARES)
    listed = yaml.safe_load(Path(source.listed).read_text(encoding="utf-8"))
    return render_page(
        source.template,
        **describe_run(source.citation, params, *about),
        summary=f"{len(shares)} of the paper’s {len(judged)} claims, each decided over random "
        "settings of everything that the paper leaves open.",
        sections=SECTIONS,
        claims=judged.loc[shares["claim"]].reset_index().to_dict("records"),
        shares=summary.print_shares(shares),
        pictures=read_pictures(listed, source.figures, source.captions, sections=["multiverse"]),
        multiverse=summary.describe_multiverse(shares, read_table(source.effects, summary.EFFECTS)),
        regret=describe_regret(
            read_tables(source.regret, REGRET),
            read_tables(source.draws, DRAWN_REGRET),
            budget_observations=params.budget_observations,
        ),
    )


if __name__ == "__main__":
    with job(snakemake):
        project, behind = Path(snakemake.scriptdir).parent, trace(digest_files(snakemake.input))
        page = main(snakemake.input, snakemake.params, project, behind)
        write_text(snakemake.output.page, page)
