"""The command `embedalloc solve`: dimensions from cardinalities and a budget, at once."""

import json
import math
from contextlib import suppress
from functools import partial
from typing import Any

import click

from embedalloc.checks import list_names
from embedalloc.command_line import InputError
from embedalloc.command_line.options import (
    budget_options,
    complete_words,
    count_parameters,
    refuse_two_outputs,
)
from embedalloc.exporters import EXPORTERS, export_text, to_json
from embedalloc.from_cardinalities import allocate, useful_maximum
from embedalloc.memory import bytes_per_parameter
from embedalloc.result import Allocation
from embedalloc.rules import RULES, find_rule
from embedalloc.text import COLUMNS, bar, cut_name, paragraph, text_table

_PAIR = "NAME=NUMBER"
_pairs = partial(click.option, multiple=True, metavar=_PAIR)
_numbers_or_pairs = partial(click.option, multiple=True, metavar="[NAME=]NUMBER")

_EXAMPLES = """\b
Examples:
  embedalloc solve --cardinality user=943 --cardinality item=1682 \\
      --budget 20000
  embedalloc solve --cardinality user=943 --cardinality item=1682 \\
      --coefficient user=2 --coefficient item=1 --bytes "64 kB" --export keras
"""


@click.command(epilog=_EXAMPLES)
@_pairs(
    "--cardinality",
    "cardinalities",
    help="Rows of a table, one for missing values included. Once per table.",
)
@budget_options
@click.option(
    "--rule",
    metavar="RULE",
    shell_complete=complete_words(*RULES),
    help="See `embedalloc rules`.  [default: paper with coefficients, else equal]",
)
@_pairs(
    "--coefficient",
    "coefficients",
    help="What dimensions are worth to a field: its error is about a/d.",
)
@_pairs("--frequency", "frequencies", help="Lookups per sample, for the rule popularity.")
@_pairs("--fixed", help="A dimension that is settled already; 0 leaves the field out.")
@_numbers_or_pairs("--minimum", help="Smallest dimension, of all or of one table; else 1.")
@_numbers_or_pairs("--maximum", help="Largest dimension, of all or of one table; else N - 1.")
@click.option(
    "--multiple-of", metavar="NUMBER", default="1", help="Make dimensions multiples of this number."
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option(
    "--export",
    metavar="NAME",
    shell_complete=complete_words(*EXPORTERS),
    help=f"Print the dimensions for {', '.join(EXPORTERS)}.",
)
def solve(
    cardinalities: tuple[str, ...],
    budget: str | None,
    memory: str | None,
    dtype: str | None,
    optimizer: str | None,
    rule: str | None,
    coefficients: tuple[str, ...],
    frequencies: tuple[str, ...],
    fixed: tuple[str, ...],
    minimum: tuple[str, ...],
    maximum: tuple[str, ...],
    multiple_of: str,
    as_json: bool,
    export: str | None,
) -> None:
    """Choose embedding dimensions from cardinalities and a budget. No data needed."""
    refuse_two_outputs(as_json, export)
    named = _read_pairs(cardinalities, "--cardinality")
    if not named:
        raise InputError("no table: name at least one, such as --cardinality user=943")
    constraints: dict[str, Any] = {
        "minimum": _read_limits(minimum, named, "--minimum", otherwise=1),
        "maximum": _read_limits(maximum, named, "--maximum", otherwise=None),
        "multiple_of": _read_number(multiple_of, "--multiple-of"),
    }
    settled = _read_pairs(fixed, "--fixed")
    try:
        if rule is not None and find_rule(rule).needs in ("masses", "data"):
            raise InputError(f"--rule {rule} needs more than solve takes: see `embedalloc rules`")
        found = allocate(
            named,
            count_parameters(budget, memory, dtype, optimizer),
            rule=rule,
            coefficients=_read_pairs(coefficients, "--coefficient") or None,
            frequencies=_read_pairs(frequencies, "--frequency") or None,
            fixed=settled,
            **constraints,
        )
        ranks = {name: count - 1 for name, count in found.cardinalities.items()}
        largest = useful_maximum(ranks, **constraints)
        if export is not None:
            click.echo(export_text(found, export))
            return
    except ValueError as error:
        raise InputError(str(error)) from None
    step = constraints["multiple_of"]
    free = [name for name in found.dimensions if name not in settled]
    full = [name for name in free if found.dimensions[name] >= largest[name] // step * step]
    binds = len(full) < len(free)
    if as_json:
        state = {"cost": found.cost, "saturated": full, "budget_binds": binds}
        click.echo(json.dumps(json.loads(to_json(found)) | state, indent=2))
    else:
        notes = dict.fromkeys(settled, "fixed") | dict.fromkeys(full, "full")
        click.echo(_draw_table(found, notes))
        click.echo(found.sum_up())
        if memory is not None:
            each = bytes_per_parameter(dtype or "float32", optimizer)
            click.echo(f"{memory}: {found.cost * each:,} bytes used, {each} per parameter")
        click.echo(_explain(found, full, binds))


def _explain(found: Allocation, full: list[str], binds: bool) -> str:
    """Return what the dimensions achieve and what stops them."""
    lines = []
    if found.objective is not None and math.isfinite(found.objective):
        gap = "" if found.gap is None else f", at most {found.gap:.4g} above the optimum"
        lines.append(f"sum of a/d: {found.objective:.6g}{gap}")
    if full:
        names = list_names(map(cut_name, full), most=8)
        lines.append(paragraph(f"full, at N - 1 or at the maximum: {names}"))
    lines.append(
        "the budget binds: more would give larger dimensions"
        if binds
        else f"the budget does not bind: {found.cost:,} parameters are enough"
    )
    return "\n".join(lines)


def _draw_table(found: Allocation, notes: dict[str, str]) -> str:
    """Return one line per field, with its note and a bar for its share of the budget."""
    shares = {name: spent / max(found.budget, 1) for name, spent in found.parameters.items()}
    head = ["field", "categories", "dimension", "parameters", "share", ""]
    rows = [
        [
            cut_name(name),
            f"{found.cardinalities[name]:,}",
            f"{dimension:,}",
            f"{found.parameters[name]:,}",
            f"{shares[name]:.1%}",
            notes.get(name, ""),
        ]
        for name, dimension in found.dimensions.items()
    ]
    lines = text_table(head, rows, align="<>>>><").splitlines()
    width = max(map(len, lines))
    bars = [bar(share, max(COLUMNS - width - 2, 4)) for share in shares.values()]
    return "\n".join(
        f"{line:<{width}}  {each}".rstrip() for line, each in zip(lines, ["", *bars], strict=True)
    )


def _read_pairs(texts: tuple[str, ...], option: str) -> dict[str, Any]:
    """Return numbers by name from words such as user=943."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals or not name:
            raise InputError(f"{option} {text}: write it as {_PAIR}, such as user=943")
        if name in found:
            raise InputError(f"{option}: {name!r} is named twice")
        found[name] = _read_number(value, f"{option} {text}")
    return found


def _read_limits(
    texts: tuple[str, ...], names: dict[str, Any], option: str, *, otherwise: int | None
) -> Any:
    """Return one number for all, or numbers by name; a lone number counts for the others."""
    lone = [text for text in texts if "=" not in text]
    if len(lone) > 1:
        raise InputError(f"{option}: {' and '.join(lone)} are both for all; give one of them")
    named = _read_pairs(tuple(text for text in texts if "=" in text), option)
    common = _read_number(lone[0], option) if lone else otherwise
    if not named:
        return common
    return named if not lone else dict.fromkeys(names, common) | named


def _read_number(text: str, place: str) -> int | float:
    for kind in (int, float) if text.isascii() else ():
        with suppress(ValueError):
            return kind(text)
    raise InputError(f"{place}: {text!r} is not a number")
