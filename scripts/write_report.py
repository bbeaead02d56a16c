"""Write the report page from tables, figures and ledgers."""

import json
from pathlib import Path
from typing import Any

import yaml

from embedalloc.study.claims.verdicts import CLAIMS, SECTIONS, VERDICTS, count_verdicts
from embedalloc.study.heart.table1 import PAIRED, TABLE
from embedalloc.study.page import report
from embedalloc.study.page.provenance import describe_run
from embedalloc.study.page.render import read_pictures, render_page
from embedalloc.study.workflow.files import write_text
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.receipts import digest_files, trace
from embedalloc.study.workflow.tables import read_table


def read_yaml(path: str) -> Any:
    """Return the content of a YAML file."""
    return yaml.safe_load(Path(path).read_text(encoding="utf-8"))


def read_json(path: str) -> Any:
    """Return the content of a JSON file."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


def main(source: Any, *about: Any) -> str:
    """Return the page from files by name, as in rule `write_report`; see `describe_run`."""
    pictures = read_pictures(
        read_yaml(source.listed), source.figures, source.captions, sections=SECTIONS
    )
    anchors = report.find_places(pictures)
    judged = read_table(source.claims, CLAIMS)
    table = read_table(source.table1, TABLE)
    counts = count_verdicts(judged)
    paired = read_table(source.paired, PAIRED)
    return render_page(
        source.template,
        **describe_run(source.citation, *about),
        sections=SECTIONS,
        verdicts=VERDICTS,
        summary=report.summarise(counts),
        first=report.FIRST,
        others=[each for each in VERDICTS if counts[each] and each not in report.FIRST],
        counts=counts,
        claims=report.group_readings(judged, anchors),
        anchors=anchors,
        pictures=pictures,
        compact=report.tabulate_paper(table),
        full=report.tabulate_everything(table),
        paired=report.count_paired(paired),
        worth=report.weigh_differences(paired),
        notes=read_json(source.notes),
        audit=read_json(source.audit),
        choices=read_yaml(source.choices),
        digests={Path(name).name: value for name, value in digest_files(source.data).items()},
    )


if __name__ == "__main__":
    with job(snakemake):
        project, behind = Path(snakemake.scriptdir).parent, trace(digest_files(snakemake.input))
        page = main(snakemake.input, snakemake.params, project, behind)
        write_text(snakemake.output.page, page)
