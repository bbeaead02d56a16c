"""The command `embedalloc plan`: dimensions for the table in a file."""

import importlib
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from embedalloc.command_line import InputError
from embedalloc.command_line.data_options import check_rule, data_options
from embedalloc.command_line.options import refuse_two_outputs
from embedalloc.exporters import EXPORTERS, export_text
from embedalloc.extras import needed_for

if TYPE_CHECKING:
    from embedalloc.command_line.data_file import DataFile
    from embedalloc.data.report import Report


@click.command()
@data_options
@click.option("--rule", default="screened", help="See `embedalloc rules`.  [default: screened]")
@click.option(
    "--max-rows",
    type=click.IntRange(20),
    default=200_000,
    help="Train on a sample of at most so many rows.  [default: 200000]",
)
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
@click.option("--plot", type=click.Path(path_type=Path), help="Write a figure (.png or .pdf).")
def plan(
    budget: int | str | None,
    read: Callable[[], "DataFile"],
    seed: int,
    rule: str,
    as_json: bool,
    export: str | None,
    plot: Path | None,
    **words: Any,
) -> None:
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
    _check_plot(plot)
    table = read()
    from embedalloc.data.estimator import EmbeddingAllocator  # heavy: mistakes are told before

    amount = table.settle_budget(budget)
    with _show_progress() as progress:
        allocator = EmbeddingAllocator(
            amount,
            rule,
            columns=table.categorical,
            random_state=seed,
            progress=progress,
            **table.limits,
            **words,
        ).fit(table.frame, table.target)
    if export is not None:
        click.echo(export_text(allocator.allocation_, export))
    elif as_json:
        found = {"dimensions": allocator.dimensions_} | allocator.report_.to_dict()
        click.echo(json.dumps(found, indent=2, allow_nan=False))
    else:
        click.echo(str(allocator.report_))
    if plot is not None:
        _draw(allocator.report_, plot)


def _check_plot(plot: Path | None) -> None:
    """Refuse a figure that cannot be written, before the work starts."""
    if plot is None:
        return
    if plot.suffix.lower() not in (".png", ".pdf"):
        raise InputError(f"--plot: {plot} is neither .png nor .pdf")
    if not plot.parent.is_dir():
        raise InputError(f"--plot: {plot.parent} is not a folder")
    if plot.exists() and not plot.is_file():
        raise InputError(f"--plot: {plot} is there and is not a file")
    if not os.access(plot.parent, os.W_OK):
        raise InputError(f"--plot: {plot.parent} cannot be written to")
    with needed_for("--plot"):
        importlib.import_module("matplotlib")


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


@contextmanager
def _show_progress() -> Iterator[Callable[[int, int], None]]:
    """Show a bar on standard error that learns on the way how many trainings there are."""
    with click.progressbar(
        length=1000,
        label="training",
        file=sys.stderr,
        hidden=not sys.stderr.isatty(),
        show_pos=False,
    ) as bar:
        # Never back: the number of trainings is known only at most.
        yield lambda done, most: bar.update(max(0, int(1000 * done / (most + 1)) - bar.pos))
        bar.update(1000 - bar.pos)
