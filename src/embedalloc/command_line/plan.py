"""The command `embedalloc plan`: dimensions for the table in a file."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from embedalloc.budgets import BYTES_PER_VALUE, STATE_VALUES
from embedalloc.command_line import InputError
from embedalloc.command_line.data_file import read_data_file
from embedalloc.command_line.solve import parameters_allowed
from embedalloc.data.estimator import EmbeddingAllocator
from embedalloc.data.rules import TABLE_RULES
from embedalloc.exporters import EXPORTERS, export_text
from embedalloc.rules import find_rule

DEFAULT_BUDGET = "4096"


def data_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say what is in the file and which dimensions are permitted."""
    options = [
        click.argument("data", type=click.Path(path_type=Path)),
        click.option("--target", required=True, help="Column to predict."),
        click.option(
            "--budget", metavar="NUMBER", help="Embedding parameters in all.  [default: 4096]"
        ),
        click.option("--bytes", "memory", metavar="SIZE", help='Memory instead, such as "64 MB".'),
        click.option(
            "--dtype",
            type=click.Choice(list(BYTES_PER_VALUE)),
            help="With --bytes.  [default: float32]",
        ),
        click.option(
            "--optimizer",
            type=click.Choice(list(STATE_VALUES)),
            help="With --bytes: also make room for its state.",
        ),
        click.option(
            "--categorical",
            multiple=True,
            metavar="NAME",
            help="Column of numbers that are categories; may be repeated.",
        ),
        click.option(
            "--numeric",
            multiple=True,
            metavar="NAME",
            help="Column of numbers that the file holds as text; may be repeated.",
        ),
        click.option(
            "--ignore", multiple=True, metavar="NAME", help="Column to leave out; may be repeated."
        ),
        click.option(
            "--fixed",
            multiple=True,
            metavar="NAME=DIM",
            help="Settled dimension of a column; may be repeated.",
        ),
        click.option(
            "--drop-allowed/--keep-all",
            default=True,
            help="Whether columns without signal may go without embedding.  [default: allowed]",
        ),
        click.option(
            "--multiple-of", type=click.IntRange(1), default=1, help="Round dimensions to this."
        ),
        click.option(
            "--min-frequency",
            type=click.IntRange(1),
            default=1,
            help="Pool levels with fewer rows into one.",
        ),
        click.option(
            "--task",
            type=click.Choice(["auto", "classification", "regression"]),
            default="auto",
            help="By default text and few whole numbers are classes.",
        ),
        click.option("--seed", type=click.IntRange(0), default=0, help="Seed of all randomness."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@data_options
@click.option("--rule", default="screened", help="See `embedalloc rules`.  [default: screened]")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option(
    "--export",
    type=click.Choice(list(EXPORTERS)),
    help="Print the dimensions in the words of another library.",
)
@click.option("--plot", type=click.Path(path_type=Path), help="Write a figure (.png or .pdf).")
def plan(
    data: Path,
    target: str,
    budget: str | None,
    memory: str | None,
    dtype: str | None,
    optimizer: str | None,
    categorical: tuple[str, ...],
    numeric: tuple[str, ...],
    ignore: tuple[str, ...],
    fixed: tuple[str, ...],
    drop_allowed: bool,
    multiple_of: int,
    min_frequency: int,
    task: str,
    seed: int,
    rule: str,
    as_json: bool,
    export: str | None,
    plot: Path | None,
) -> None:
    """Choose an embedding dimension for every categorical column of DATA.

    DATA is a CSV file with a header or a parquet file. Columns of text, categories or booleans
    are categorical; other columns are numbers. Small networks are trained on the data (a sample
    of it beyond 200,000 rows); the budget is never exceeded, and with --budget auto it is
    selected too. The last lines say whether allocation matters for this table at all.
    """
    if as_json and export is not None:
        raise InputError("--json and --export both want the output: choose one")
    amount = "auto" if budget == "auto" else parse_amount(budget, memory, dtype, optimizer)
    check_rule(rule)
    check_plot(plot)
    table = read_data_file(data, target, categorical=categorical, numeric=numeric, ignore=ignore)
    with _Bar(hidden=not sys.stderr.isatty()) as bar:
        allocator = EmbeddingAllocator(
            amount,
            rule,
            columns=table.categorical,
            fixed=parse_fixed(fixed, table.categorical),
            drop_allowed=drop_allowed,
            multiple_of=multiple_of,
            min_frequency=min_frequency,
            task=task,
            random_state=seed,
            progress=bar.update,
        )
        try:
            allocator.fit(table.frame, table.target)
        except ValueError as error:
            raise InputError(f"{data}: {error}") from None
    if plot is not None:
        from embedalloc.data.figure import draw_plan

        draw_plan(allocator.report_, plot)
    if export is not None:
        click.echo(export_text(allocator.allocation_, export))
    elif as_json:
        found = {"dimensions": allocator.dimensions_} | allocator.report_.to_dict()
        click.echo(json.dumps(found, indent=2, allow_nan=False, ensure_ascii=False))
    else:
        click.echo(str(allocator.report_))


def parse_amount(
    budget: str | None, memory: str | None, dtype: str | None, optimizer: str | None
) -> int:
    """Return the parameters that --budget or --bytes allow."""
    try:
        if budget is None and memory is None:
            budget = DEFAULT_BUDGET
        return parameters_allowed(budget, memory, dtype, optimizer)
    except ValueError as error:
        raise InputError(f"--{error}" if memory is None else str(error)) from None


def parse_fixed(fixed: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    """Return settled dimensions from NAME=DIM."""
    settled = {}
    for each in fixed:
        name, equals, dimension = each.rpartition("=")
        if not equals or not dimension.strip().isdecimal():
            raise InputError(f"--fixed: {each!r} is not NAME=DIM with a whole number")
        if name not in names:
            raise InputError(f"--fixed: {name!r} is not a categorical column")
        settled[name] = int(dimension)
    return settled


def check_rule(name: str) -> None:
    """Refuse a rule that does not exist."""
    try:
        find_rule(name, among=TABLE_RULES)
    except ValueError as error:
        raise InputError(str(error)) from None


def check_plot(plot: Path | None) -> None:
    """Refuse a figure that cannot be written, before the work starts."""
    if plot is None:
        return
    if plot.suffix.lower() not in (".png", ".pdf"):
        raise InputError(f"--plot: {plot} is neither .png nor .pdf")
    if not plot.parent.is_dir():
        raise InputError(f"--plot: {plot.parent} is not a folder")


class _Bar:
    """A bar on standard error that learns on the way how many trainings there are."""

    def __init__(self, *, hidden: bool) -> None:
        self._bar: Any = click.progressbar(
            length=1000, label="training", file=sys.stderr, hidden=hidden, show_pos=False
        )

    def __enter__(self) -> "_Bar":
        self._bar.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if error[0] is None:
            self._bar.update(self._bar.length - self._bar.pos)
        self._bar.__exit__(*error)

    def update(self, done: int, most: int) -> None:
        """Move on, never back: the number of trainings is known only at most."""
        self._bar.update(max(0, int(1000 * done / (most + 1)) - self._bar.pos))
