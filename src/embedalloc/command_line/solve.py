"""The command `embedalloc solve`: dimensions from cardinalities and a budget, at once."""

import json
import math
from functools import partial
from pathlib import Path
from typing import Any, cast

import click

from embedalloc.allocation_json import to_json
from embedalloc.checks import list_names
from embedalloc.command_line import InputError
from embedalloc.command_line.options import (
    NUMBER_OR_PAIR,
    PAIR,
    budget_options,
    complete_words,
    count_parameters,
    read_limits,
    read_number,
    read_pairs,
    read_whole,
    refuse_two_outputs,
)
from embedalloc.command_line.outputs import check_place, print_or_write
from embedalloc.exporters import EXPORTERS, export_text
from embedalloc.from_cardinalities import allocate, useful_maximum
from embedalloc.memory import bytes_per_parameter
from embedalloc.proportional import Leftover
from embedalloc.result import Allocation
from embedalloc.rules import RULES, find_rule
from embedalloc.text import bar, count_columns, cut_name, find_width, pad, paragraph, text_table

_pairs = partial(click.option, multiple=True, metavar=PAIR)
_numbers_or_pairs = partial(click.option, multiple=True, metavar=NUMBER_OR_PAIR)

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
@click.option(
    "--leftover",
    metavar="spent|floored",
    default="spent",
    help="What becomes of a proportional rule's rest: floored keeps equal dimensions the same.",
)
@click.option("--width", metavar="NUMBER", help="Project every table to so many columns.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option(
    "--export",
    metavar="NAME",
    shell_complete=complete_words(*EXPORTERS),
    help=f"Print the dimensions for {', '.join(EXPORTERS)}; for torch and keras a program.",
)
@click.option("--output", type=click.Path(path_type=Path), help="Write to a file what is printed.")
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
    leftover: str,
    width: str | None,
    as_json: bool,
    export: str | None,
    output: Path | None,
) -> None:
    """Choose embedding dimensions from cardinalities and a budget. No data needed."""
    refuse_two_outputs(as_json, export)
    check_place(output, "--output")
    named = read_pairs(cardinalities, "--cardinality")
    if not named:
        raise InputError("no table: name at least one, such as --cardinality user=943")
    constraints: dict[str, Any] = {
        "minimum": read_limits(minimum, named, "--minimum", otherwise=1),
        "maximum": read_limits(maximum, named, "--maximum", otherwise=None),
        "multiple_of": read_number(multiple_of, "--multiple-of"),
    }
    settled = read_pairs(fixed, "--fixed")
    try:
        if rule is not None and find_rule(rule).needs in ("masses", "data"):
            raise InputError(f"--rule {rule} needs more than solve takes: see `embedalloc rules`")
        found = allocate(
            named,
            count_parameters(budget, memory, dtype, optimizer),
            rule=rule,
            coefficients=read_pairs(coefficients, "--coefficient") or None,
            frequencies=read_pairs(frequencies, "--frequency") or None,
            fixed=settled,
            width=None if width is None else read_whole(width, "--width"),
            leftover=cast(Leftover, leftover),  # which `allocate` checks
            **constraints,
        )
        ranks = {name: count - 1 for name, count in found.cardinalities.items()}
        largest = useful_maximum(ranks, **constraints)
        if found.width is not None:
            largest = {name: min(most, found.width) for name, most in largest.items()}
        if export is not None:
            print_or_write(export_text(found, export), output)
            return
    except ValueError as error:
        raise InputError(str(error)) from None
    step = constraints["multiple_of"]
    free = [name for name in found.dimensions if name not in settled]
    full = [name for name in free if found.dimensions[name] >= largest[name] // step * step]
    binds = len(full) < len(free)
    if as_json:
        state = {"cost": found.cost, "saturated": full, "budget_binds": binds}
        print_or_write(json.dumps(json.loads(to_json(found)) | state, indent=2), output)
        return
    notes = dict.fromkeys(settled, "fixed") | dict.fromkeys(full, "full")
    lines = [_draw_table(found, notes), found.sum_up()]
    if memory is not None:
        each = bytes_per_parameter(dtype or "float32", optimizer)
        lines.append(f"{memory}: {found.cost * each:,} bytes used, {each} per parameter")
    print_or_write("\n".join([*lines, _explain(found, full, binds)]), output)


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
    width = max(map(count_columns, lines))
    bars = [bar(share, max(find_width() - width - 2, 4)) for share in shares.values()]
    return "\n".join(
        f"{pad(line, width)}  {each}".rstrip()
        for line, each in zip(lines, ["", *bars], strict=True)
    )
