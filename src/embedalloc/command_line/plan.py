"""The command `embedalloc plan`: dimensions for the table in a file."""

import importlib
import json
import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from embedalloc.command_line import InputError
from embedalloc.command_line.data_options import check_rule, data_options
from embedalloc.command_line.options import refuse_two_outputs
from embedalloc.command_line.outputs import check_place, print_or_write, write_whole
from embedalloc.command_line.progress import show_progress, tell_warnings
from embedalloc.exporters import EXPORTERS, export_text
from embedalloc.extras import needed_for

if TYPE_CHECKING:
    from embedalloc.command_line.data_file import DataFile
    from embedalloc.data.report import Report


@click.command()
@data_options
@click.option("--rule", default="screened", help="See `embedalloc rules`.  [default: screened]")
@click.option(
    "--pilots",
    type=click.IntRange(1),
    default=2,
    help="Pilots that the spectral rules average over.  [default: 2]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option(
    "--export",
    type=click.Choice(list(EXPORTERS)),
    help="Print the dimensions in the words of another library.",
)
@click.option(
    "--html", type=click.Path(path_type=Path), help="Write a page with table, picture and verdict."
)
@click.option(
    "--plot", type=click.Path(path_type=Path), help="Write a figure (.png, .pdf or .svg)."
)
def plan(
    budget: int | str | None,
    read: Callable[[], "DataFile"],
    seed: int,
    rule: str,
    as_json: bool,
    export: str | None,
    html: Path | None,
    plot: Path | None,
    output: Path | None,
    **words: Any,
) -> int:
    """Choose an embedding dimension for every categorical field of DATA.

    DATA is a table with a header: CSV, parquet, feather, JSON lines or Excel, compressed or not;
    - is the standard input. What each column is taken for is listed first: text, few whole numbers
    and codes are categorical, dates become parts, identifiers are left out. Only the empty cell is
    a missing value.
    Small networks are trained on the data (a sample of it beyond 200,000 rows); the budget is
    never exceeded, and with --budget auto it is selected too. The last lines say whether
    allocation matters for this table at all.
    """
    refuse_two_outputs(as_json, export)
    check_rule(rule)
    check_place(plot, "--plot", (".png", ".pdf", ".svg"))
    check_place(html, "--html", (".html", ".htm"))
    if plot is not None:
        with needed_for("--plot"):
            importlib.import_module("matplotlib")
    table = read()
    from embedalloc.data.estimator import EmbeddingAllocator  # heavy: mistakes are told before

    amount = table.settle_budget(budget)
    with show_progress("training") as progress, tell_warnings():
        allocator = EmbeddingAllocator(
            amount,
            rule,
            columns=table.categorical,
            random_state=seed,
            progress=progress,
            **table.limits,
            **words,
        ).fit(table.frame, table.rows.target, **table.rows.about)
    report = allocator.report_
    if export is not None or as_json:
        click.echo(report.conclusions, err=True)
    if export is not None:
        text = export_text(allocator, export, table.describe_rows(allocator.plan_, words))
    elif as_json:
        found = {"dimensions": allocator.dimensions_} | report.to_dict()
        text = json.dumps(found, indent=2, allow_nan=False)
    else:
        text = str(report)
    print_or_write(text, output)
    if html is not None:
        from embedalloc.data.page import write_page

        write_whole(html, write_page(report), "--html")
    if plot is not None:
        _draw(report, plot)
    return int(allocator.budget_)


def _draw(report: "Report", plot: Path) -> None:
    """Write the whole figure or none; by now the plan is printed, whatever happens here."""
    from embedalloc.data.figure import draw_report

    try:
        with (
            tempfile.TemporaryDirectory(dir=plot.parent, prefix=".plot") as folder,
            warnings.catch_warnings(record=True) as caught,
        ):
            draw_report(report, Path(folder) / plot.name)
            os.replace(Path(folder) / plot.name, plot)
    except (OSError, ValueError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise InputError(
            f"--plot: {plot}: {reason or error}; there is no figure, but the plan is complete"
        ) from None
    if any("missing from font" in str(each.message) for each in caught):
        click.echo("--plot: some signs of the names are not in the font; see the boxes", err=True)
