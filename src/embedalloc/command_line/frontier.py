"""The command `embedalloc frontier`: what smaller budgets cost, on a table or by a model."""

import importlib
import json
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from embedalloc.command_line import InputError
from embedalloc.command_line.data_options import check_rule, data_options
from embedalloc.command_line.outputs import check_place, print_or_write
from embedalloc.command_line.progress import show_progress, tell_warnings
from embedalloc.extras import needed_for
from embedalloc.frontier import Frontier
from embedalloc.memory import parse_budget
from embedalloc.text import paragraph

if TYPE_CHECKING:
    from embedalloc.command_line.data_file import DataFile

#: Files of weights, which need no target.
WEIGHTS = (".safetensors", ".npy")


def _show_model(
    path: Path,
    *,
    budget: int | str | None,
    budgets: str | None,
    margin: float,
    plot: Path | None,
    as_json: bool,
    output: Path | None,
    **words: Any,
) -> None:
    """Show surrogate curves for the tables in a file of weights."""
    if path.suffix.lower() not in WEIGHTS and not path.is_dir():
        raise InputError(f"--target: which column of {path} is to be predicted?")
    amounts = _read_budgets(budget, budgets)
    _prepare(plot)
    from embedalloc.model_frontier import frontier_from_model, model_spectra

    try:
        spectra = model_spectra(path)
        found = frontier_from_model(path, amounts, margin=margin, spectra=spectra)
    except ValueError as error:
        raise InputError(str(error)) from None
    tables = {
        name: {"rows": each.rows, "columns": each.columns,
               "information_abundance": each.information_abundance,
               "singular_values": each.singular_values.tolist()}
        for name, each in spectra.items()
    }  # fmt: skip
    text = json.dumps(found.to_dict() | {"tables": tables}, indent=2)
    note = paragraph(
        "abundance: sum of the singular values over the largest; near 1 a table has collapsed"
    )
    _show(found, text if as_json else f"{spectra}\n{note}\n\n{found}", plot, output)


@click.command()
@partial(data_options, of_model=_show_model)
@click.option(
    "--budgets", help="Numbers with commas.  [default: 1, 2, 4, …, 32 dimensions of every field]"
)
@click.option("--rule", default="screened", help="Beside equal dimensions.  [default: screened]")
@click.option("--splits", type=click.IntRange(1), default=5, help="Splits.  [default: 5]")
@click.option(
    "--margin",
    type=click.FloatRange(0, 1),
    default=0.01,
    help="Share of the loss that a smaller budget may cost.  [default: 0.01]",
)
@click.option("--json", "as_json", is_flag=True, help="Print all losses as JSON.")
@click.option(
    "--plot", type=click.Path(path_type=Path), help="Write a figure (.png, .pdf or .svg)."
)
def frontier(
    budget: int | str | None,
    read: Callable[[], "DataFile"],
    budgets: str | None,
    rule: str,
    as_json: bool,
    plot: Path | None,
    output: Path | None,
    **words: Any,
) -> None:
    """Show held-out loss over budgets, for a plan and for equal dimensions.

    In every split the rule plans at every budget on three quarters of the rows, and the network
    trained with its plan is judged on the rest. The last lines say which is the smallest budget
    that is as good as the largest one. Without --target DATA is a file of weights (.safetensors or
    .npy, or a folder of such): the curves are then surrogates, and nothing is trained.
    """
    check_rule(rule)
    amounts = _read_budgets(budget, budgets)
    _prepare(plot)
    table = read()
    from embedalloc.data.frontier import measure_frontier  # heavy: mistakes are told before

    with show_progress("budget") as progress, tell_warnings():
        found = measure_frontier(
            table.frame,
            table.rows.target,
            table.categorical,
            amounts,
            rule=rule,
            done=progress,
            **table.rows.about,
            **table.limits,
            **words,
        )
    if as_json:
        click.echo(found.conclusions, err=True)
    text = json.dumps(found.to_dict(), indent=2) if as_json else str(found)
    _show(found, text, plot, output)


def _read_budgets(budget: int | str | None, budgets: str | None) -> list[int] | None:
    """Return numbers from text with commas; one budget alone is no curve."""
    if budget is not None:
        raise InputError("--budget: a curve has several; name them with --budgets 1000,2000,4000")
    if budgets is None:
        return None
    try:
        return [parse_budget(each) for each in budgets.split(",")]
    except ValueError as error:
        raise InputError(f"--budgets: {error}") from None


def _prepare(plot: Path | None) -> None:
    """Refuse a figure that cannot be drawn or written, before the work starts."""
    check_place(plot, "--plot", (".png", ".pdf", ".svg"))
    if plot is not None:
        with needed_for("--plot"):
            importlib.import_module("matplotlib")


def _show(found: Frontier, text: str, plot: Path | None, output: Path | None) -> None:
    """Print the result and write the whole figure or none."""
    print_or_write(text, output)
    if plot is None:
        return
    from embedalloc.data.frontier_figure import draw_frontier

    try:
        with tempfile.TemporaryDirectory(dir=plot.parent, prefix=".plot") as folder:
            draw_frontier(found, Path(folder) / plot.name)
            os.replace(Path(folder) / plot.name, plot)
    except OSError as error:
        raise InputError(f"--plot: {plot}: {error.strerror or error}; there is no figure") from None
