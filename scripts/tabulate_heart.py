"""Table 1 with intervals and the paired comparison, in four formats, and their notes."""

import json

import pandas as pd

from embedalloc.study.heart import table1_latex, table1_text
from embedalloc.study.heart.metrics import SCORES
from embedalloc.study.heart.networks import COEFFICIENTS, FOLDS, SPLITS
from embedalloc.study.heart.paired import rows_judged, tabulate_means, tabulate_pairs
from embedalloc.study.heart.table1 import PAIRED, TABLE, TIMES
from embedalloc.study.workflow.document import Part, as_markdown
from embedalloc.study.workflow.files import write_text
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import Contract, read_table, read_tables, write_table


def write_formats(stem: str, frame: pd.DataFrame, contract: Contract, printed: Part) -> None:
    """Write a table for programs (parquet, CSV) and for readers (Markdown)."""
    settings, seed = snakemake.params.settings, snakemake.params.seed
    write_table(f"{stem}.parquet", frame, contract, settings=settings, seed=seed)
    write_text(f"{stem}.csv", frame.to_csv(index=False))
    write_text(f"{stem}.md", as_markdown([printed]))


if __name__ == "__main__":
    with job(snakemake):
        scores = read_table(snakemake.input.scores, SCORES)
        splits = read_tables(snakemake.input.splits, SPLITS)
        means = tabulate_means(scores, read_table(snakemake.input.times, TIMES))
        pairs = tabulate_pairs(scores, **rows_judged(splits))
        notes = {
            "table": table1_text.table_notes(
                splits,
                read_tables(snakemake.input.folds, FOLDS),
                read_tables(snakemake.input.coefficients, COEFFICIENTS),
                budgets=snakemake.params.settings["budgets"],
                restarts=snakemake.params.settings["restarts"],
            ),
            "paired": table1_text.paired_notes(splits),
        }
        stem = snakemake.output.notes.removesuffix("_notes.json")
        write_formats(stem, means, TABLE, table1_text.print_means(means, notes["table"]))
        write_formats(
            f"{stem}_paired", pairs, PAIRED, table1_text.print_pairs(pairs, notes["paired"])
        )
        write_text(f"{stem}.tex", table1_latex.narrow_table(means, len(splits)))
        write_text(f"{stem}_wide.tex", table1_latex.wide_table(means, notes["table"]))
        write_text(f"{stem}_paired.tex", table1_latex.paired_table(pairs, notes["paired"]))
        write_text(snakemake.output.notes, json.dumps(notes, ensure_ascii=False, indent=1) + "\n")
