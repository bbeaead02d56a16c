"""Options and checks that several commands share; none of them needs a heavy import."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from embedalloc.command_line import InputError
from embedalloc.memory import BYTES_PER_VALUE, STATE_VALUES, parse_budget

Command = Callable[..., None]
Option = Callable[[Command], Command]

#: Parameters where a command that reads data is given neither --budget nor --bytes.
DEFAULT_BUDGET = "4096"


def complete_words(*words: str) -> Any:
    """Return what completes an option that takes one of these words."""

    def complete(
        ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]

    return complete


def budget_options(command: Command) -> Command:
    """Add the options that say how many parameters may be spent."""
    return _add_options(command, _list_budget_options())


def data_options(command: Command) -> Command:
    """Add the options that say what is in the file and which dimensions are permitted."""
    options: list[Option] = [
        click.argument("data", type=click.Path(path_type=Path)),
        click.option("--target", required=True, help="Column to predict."),
        *_list_budget_options(f"  [default: {DEFAULT_BUDGET}]"),
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
            help="Settled dimension of a field; may be repeated.",
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
            "--task",
            type=click.Choice(["auto", "classification", "regression"]),
            default="auto",
            help="By default text and few whole numbers are classes.",
        ),
        click.option("--seed", type=click.IntRange(0), default=0, help="Seed of all randomness."),
    ]
    return _add_options(command, options)


def _list_budget_options(note: str = "") -> list[Option]:
    return [
        click.option(
            "--budget", metavar="NUMBER", help=f"Parameters of all tables together.{note}"
        ),
        click.option(
            "--bytes",
            "memory",
            metavar="SIZE",
            help='Memory of all tables together, such as "64 MB" or "1.5 GiB".',
        ),
        click.option(
            "--dtype",
            metavar="DTYPE",
            shell_complete=complete_words(*BYTES_PER_VALUE),
            help=f"With --bytes: {', '.join(BYTES_PER_VALUE)}.  [default: float32]",
        ),
        click.option(
            "--optimizer",
            metavar="NAME",
            shell_complete=complete_words(*STATE_VALUES),
            help=f"With --bytes: also make room for the state of {', '.join(STATE_VALUES)}.",
        ),
    ]


def _add_options(command: Command, options: Sequence[Option]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def count_parameters(
    budget: str | None,
    memory: str | None,
    dtype: str | None,
    optimizer: str | None,
    *,
    default: str | None = None,
) -> int:
    """Return the number of parameters that one of --budget and --bytes allows."""
    if budget is None and memory is None:
        budget = default
    if (budget is None) == (memory is None):
        raise InputError("give either --budget (parameters) or --bytes (memory)")
    try:
        if memory is not None:
            size = memory if memory.strip()[-1:].isalpha() else f"{memory} B"
            return parse_budget(size, dtype=dtype or "float32", optimizer=optimizer)
        if dtype is not None or optimizer is not None:
            raise InputError("--dtype and --optimizer matter for --bytes only")
        assert budget is not None
        if budget.strip()[-1:].isalpha():
            raise InputError(f"--budget {budget}: it counts parameters; for memory use --bytes")
        return parse_budget(budget)
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


def refuse_two_outputs(as_json: bool, export: str | None) -> None:
    """Refuse --json beside --export."""
    if as_json and export is not None:
        raise InputError("--json and --export both want the output: choose one")
