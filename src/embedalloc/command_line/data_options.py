"""The options of the commands that read a table; the heavy imports wait for the file."""

from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from embedalloc.command_line import InputError
from embedalloc.command_line.config_file import list_config_options, write_config
from embedalloc.command_line.options import (
    NUMBER_OR_PAIR,
    Command,
    Option,
    add_options,
    count_parameters,
    list_budget_options,
)
from embedalloc.command_line.outputs import check_place
from embedalloc.input_file import read_content
from embedalloc.rules import TABLE_RULES, find_rule

if TYPE_CHECKING:
    from embedalloc.command_line.data_file import DataFile

#: Options that say how the file is read and what its columns are.
FILE_OPTIONS = (
    *("target", "categorical", "numeric", "ignore", "task", "weight", "group", "time"),
    *("fixed", "minimum", "maximum", "separator", "encoding", "missing"),
)


def data_options(
    command: Callable[..., int | None], *, of_model: Callable[..., None] | None = None
) -> Command:
    """Add the options that say what is in the file and which dimensions are permitted.

    The command is called with the `budget` (a number, "auto" or None) and with `read`, which
    returns the `DataFile` when it is called; the other options are words of
    `EmbeddingAllocator`. It returns the budget that it used. A command that also works for a
    file of weights names what is called then, with the path and all other options.
    """
    repeatable = partial(click.option, multiple=True, metavar="NAME")
    options: list[Option] = [
        click.argument("data", type=click.Path(path_type=Path)),
        click.option("--target", required=of_model is None, help="Column to predict."),
        *list_budget_options("  [default: what pays 3 dimensions of every field]"),
        repeatable("--categorical", help="Column of categories, such as codes; may be repeated."),
        repeatable("--numeric", help="Column of numbers, such as counts; may be repeated."),
        repeatable("--ignore", help="Column to leave out; may be repeated."),
        repeatable(
            "--missing",
            metavar="WORD",
            help="Word for a missing value, beside the empty cell; may be repeated.",
        ),
        click.option("--weight", metavar="NAME", help="Column that says what each row counts."),
        click.option(
            "--group",
            metavar="NAME",
            help="Column of users, shops, …: whole groups validate, as new ones will come.",
        ),
        click.option(
            "--time", metavar="NAME", help="Column of dates or numbers: the last rows validate."
        ),
        click.option("--separator", metavar="SIGN", help="Between cells.  [default: guessed]"),
        click.option("--encoding", help="Of the text.  [default: UTF-8, or else guessed]"),
        repeatable(
            "--fixed", metavar="NAME=DIM", help="Settled dimension of a field; may be repeated."
        ),
        repeatable(
            "--minimum", metavar=NUMBER_OR_PAIR, help="Smallest dimension, of all or of one field."
        ),
        repeatable(
            "--maximum", metavar=NUMBER_OR_PAIR, help="Largest dimension; else N - 1 of N levels."
        ),
        click.option(
            "--drop-allowed/--keep-all",
            default=True,
            help="Whether fields without signal may go without embedding.  [default: allowed]",
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
            "--pool-allowed/--keep-levels",
            default=True,
            help="Whether a rule may pool rare levels.  [default: allowed]",
        ),
        click.option(
            "--epochs",
            type=click.IntRange(1),
            default=40,
            help="Most passes over the rows per training.  [default: 40]",
        ),
        click.option(
            "--task",
            type=click.Choice(["auto", "classification", "regression"]),
            default="auto",
            help="By default text and few whole numbers are classes.",
        ),
        click.option(
            "--max-rows",
            type=click.IntRange(20),
            default=200_000,
            help="Train on a sample of at most so many rows.  [default: 200000]",
        ),
        click.option(
            "--minutes",
            type=click.FloatRange(min=0, min_open=True),
            help="About how long it may take; the rest is left out with a word.",
        ),
        click.option(
            "--jobs",
            type=click.IntRange(1),
            default=1,
            help="Processes at a time, for the same result.  [default: 1]",
        ),
        click.option("--seed", type=click.IntRange(0), default=0, help="Seed of all randomness."),
        click.option(
            "--output", type=click.Path(path_type=Path), help="Write to a file what is printed."
        ),
        *list_config_options(),
    ]

    @wraps(command)
    def run(
        *,
        data: Path,
        budget: str | None,
        memory: str | None,
        dtype: str | None,
        optimizer: str | None,
        save_config: Path | None,
        **words: Any,
    ) -> None:
        file_words = {name: words.pop(name) for name in FILE_OPTIONS}
        amount: int | str | None = budget
        if budget != "auto" and (budget, memory, dtype, optimizer) != (None,) * 4:
            amount = count_parameters(budget, memory, dtype, optimizer)
        check_place(words["output"], "--output")
        check_place(save_config, "--save-config")
        if of_model is not None and file_words["target"] is None:
            of_model(data, budget=amount, **words)
            return
        tables: list[DataFile] = []

        def read() -> "DataFile":
            tables.append(_read(data, **file_words))
            return tables[0]

        try:
            used = command(budget=amount, read=read, task=file_words["task"], **words)
        except ValueError as error:
            raise InputError(f"{data}: {error}") from None
        if save_config is not None:
            memory_words = dict.fromkeys(("memory", "dtype", "optimizer"))
            settled = tables[0].list_guesses() | memory_words | {"budget": used}
            write_config(save_config, click.get_current_context(), settled)

    return add_options(run, options)


def check_rule(name: str) -> None:
    """Refuse a rule that does not exist."""
    try:
        find_rule(name, among=TABLE_RULES)
    except ValueError as error:
        raise InputError(str(error)) from None


def _read(path: Path, **words: Any) -> "DataFile":
    """Read a file; one that is not there is told before pandas is imported."""
    try:
        content = read_content(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    from embedalloc.command_line.data_file import read_data_file

    return read_data_file(content, path, **words)
