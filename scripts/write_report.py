"""Write the report page from tables, figures and ledgers."""

from pathlib import Path
from typing import Any

import yaml

from embedalloc.study.claims.verdicts import CLAIMS
from embedalloc.study.heart.table1 import PAIRED, TABLE
from embedalloc.study.multiverse.summary import SHARES, share_words
from embedalloc.study.page.report import (
    compact_table,
    count_verdicts,
    file_digests,
    full_table,
    git_commit,
    markdown_blocks,
    notes_below,
    package_versions,
    paired_comparison,
    places,
    read_claims,
    read_pictures,
    read_timings,
    render_page,
    summary_sentence,
)
from embedalloc.study.workflow.files import whole_file
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_table


def text_of(path: str) -> str:
    """Return the content of a text file."""
    return Path(path).read_text(encoding="utf-8")


def main(source: Any, params: Any, project: Path) -> str:
    """Return the page.

    Parameters
    ----------
    source
        Files by name, as in rule `write_report`.
    params
        Seed, and digests of this run's whole configuration and of the default one.
    project
        Folder of the workflow, which may be a git checkout.
    """
    paper, beyond = (yaml.safe_load(text_of(path)) for path in source.listed)
    built = {Path(path).stem for path in source.figures}
    listed = paper | {name: entry for name, entry in beyond.items() if name in built}
    pictures = read_pictures(listed, source.figures, source.captions)
    anchors = places(pictures)
    claims = read_claims(read_table(source.claims, CLAIMS), anchors)
    table = read_table(source.table1, TABLE)
    counts = count_verdicts(claims)
    return render_page(
        source.template,
        paper=yaml.safe_load(text_of(source.citation))["references"][0],
        summary=summary_sentence(counts),
        counts=counts,
        claims=claims,
        shares=share_words(read_table(source.shares[0], SHARES)) if source.shares else {},
        anchors=anchors,
        pictures=pictures,
        compact=compact_table(table),
        full=full_table(table),
        table_notes=notes_below(text_of(source.table1_text)),
        paired=paired_comparison(read_table(source.paired, PAIRED)),
        paired_notes=notes_below(text_of(source.paired_text)),
        audit=markdown_blocks(text_of(source.audit)),
        reach=[block for path in source.reach for block in markdown_blocks(text_of(path))],
        choices=yaml.safe_load(text_of(source.choices)),
        timings=read_timings(source.timings),
        versions=package_versions(),
        digests=file_digests(source.data),
        commit=git_commit(project),
        seed=params.seed,
        config_digest=params.config_digest,
        default=params.default_digest == params.config_digest,
    )


if __name__ == "__main__":
    with job(snakemake.log[0]):
        page = main(snakemake.input, snakemake.params, Path(snakemake.scriptdir).parent)
        with whole_file(snakemake.output.page) as partial:
            partial.write_text(page, encoding="utf-8")
