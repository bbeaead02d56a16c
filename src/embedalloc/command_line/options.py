"""Options and checks that several commands share; none of them needs a heavy import."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import click
from click.shell_completion import CompletionItem

from embedalloc.checks import whole_number
from embedalloc.command_line import InputError
from embedalloc.memory import BYTES_PER_VALUE, STATE_VALUES, parse_budget

Command = Callable[..., None]
Option = Callable[[Command], Command]

#: What options for fields take, and options for one field or all.
PAIR, NUMBER_OR_PAIR = "NAME=NUMBER", "[NAME=]NUMBER"


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
            "--budget",
            metavar="NUMBER",
            help=f'Parameters of all tables together, or "64 MB" for --bytes.{note}',
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
) -> int:
    """Return the number of parameters that one of --budget and --bytes allows.

    A budget with a unit is memory too, as everywhere in the library.
    """
    if (budget is None) == (memory is None):
        raise InputError("give either --budget (parameters) or --bytes (memory)")
    try:
        if memory is not None:
            size = memory if memory.strip()[-1:].isalpha() else f"{memory} B"
            return parse_budget(size, dtype=dtype or "float32", optimizer=optimizer)
        assert budget is not None
        if budget.strip()[-1:].isalpha():
            return parse_budget(budget, dtype=dtype or "float32", optimizer=optimizer)
        if dtype is not None or optimizer is not None:
            raise InputError("--dtype and --optimizer matter for memory only, such as --bytes 1MB")
        return parse_budget(budget)
    except ValueError as error:
        raise InputError(f"--{error}" if memory is None else str(error)) from None


def refuse_two_outputs(as_json: bool, export: str | None) -> None:
    """Refuse --json beside --export."""
    if as_json and export is not None:
        raise InputError("--json and --export both want the output: choose one")


def read_pairs(texts: Sequence[str], option: str) -> dict[str, Any]:
    """Return numbers by name from words such as user=943."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals or not name:
            raise InputError(f"{option} {text}: write it as {PAIR}, such as user=943")
        if name in found:
            raise InputError(f"{option}: {name!r} is named twice")
        found[name] = read_number(value, f"{option} {text}")
    return found


def read_limits(
    texts: Sequence[str], names: Iterable[str], option: str, *, otherwise: float | None
) -> Any:
    """Return one number for all, or numbers by name; a lone number counts for the others."""
    lone = [text for text in texts if "=" not in text]
    if len(lone) > 1:
        raise InputError(f"{option}: {' and '.join(lone)} are both for all; give one of them")
    named = read_pairs(tuple(text for text in texts if "=" in text), option)
    common = read_number(lone[0], option) if lone else otherwise
    if not named:
        return common
    return named if not lone else dict.fromkeys(names, common) | named


def read_number(text: str, place: str) -> int | float:
    """Return a number, whole where it is written so."""
    for kind in (int, float) if text.isascii() else ():
        with suppress(ValueError):
            return kind(text)
    raise InputError(f"{place}: {text!r} is not a number")


def read_whole(text: str, place: str) -> int:
    """Return a whole number of at least 0."""
    return whole_number(read_number(text, place), place, least=0)
