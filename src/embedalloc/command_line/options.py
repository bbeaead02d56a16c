"""Options and checks that several commands share; none of them needs a heavy import."""

from collections.abc import Callable, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from embedalloc.command_line import InputError
from embedalloc.memory import BYTES_PER_VALUE, STATE_VALUES, parse_budget

Command = Callable[..., None]
Option = Callable[[Command], Command]


def complete_words(*words: str) -> Any:
    """Return what completes an option that takes one of these words."""

    def complete(
        ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]

    return complete


def budget_options(command: Command) -> Command:
    """Add the options that say how many parameters may be spent."""
    return add_options(command, list_budget_options())


def list_budget_options(note: str = "") -> list[Option]:
    """Return the options that say how many parameters may be spent."""
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


def add_options(command: Command, options: Sequence[Option]) -> Command:
    """Add options to a command, in this order."""
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


def refuse_two_outputs(as_json: bool, export: str | None) -> None:
    """Refuse --json beside --export."""
    if as_json and export is not None:
        raise InputError("--json and --export both want the output: choose one")
