"""The command `embedalloc memory`: tables under a budget of bytes, from the counts of levels."""

import json
from pathlib import Path
from typing import Any

import click

from embedalloc.checks import show
from embedalloc.command_line import InputError
from embedalloc.command_line.options import (
    NUMBER_OR_PAIR,
    PAIR,
    complete_words,
    read_limits,
    read_pairs,
    read_whole,
    refuse_two_outputs,
)
from embedalloc.command_line.outputs import check_place, print_or_write
from embedalloc.extras import needed_for
from embedalloc.memory import parse_bytes
from embedalloc.memory_plan.menus import DIMENSIONS, SMOOTHING, build_memory_problem
from embedalloc.memory_plan.peers import compare_peers
from embedalloc.memory_plan.plan import (
    SERVING_FORMATS,
    TRAINING_FORMATS,
    solve_memory,
)
from embedalloc.memory_plan.prices import NUMBER_FORMATS, OPTIMIZERS, Prices
from embedalloc.memory_plan.result import MemoryPlan
from embedalloc.text import text_table

_EXAMPLES = """\b
Examples:
  embedalloc memory counts.parquet --budget "2 GB" --optimizer adam
  embedalloc memory counts.csv --budget "64 MB" --format int8 --width 16
"""


@click.command(epilog=_EXAMPLES)
@click.argument("counts", type=click.Path(path_type=Path))
@click.option("--budget", metavar="SIZE", required=True, help='Memory, such as "2 GB" or "64 MiB".')
@click.option(
    "--optimizer",
    metavar="NAME",
    shell_complete=complete_words(*OPTIMIZERS),
    help=f"Make room for the state of {', '.join(OPTIMIZERS)}.  [default: serving, no state]",
)
@click.option(
    "--format",
    "formats",
    metavar="NAME",
    multiple=True,
    shell_complete=complete_words(*NUMBER_FORMATS),
    help=f"Numbers to choose from: {', '.join(NUMBER_FORMATS)}. May be repeated.",
)
@click.option(
    "--dimension",
    "dimensions",
    metavar="NUMBER",
    multiple=True,
    help="Columns to choose from. May be repeated.  [default: 1 to 64]",
)
@click.option("--width", metavar="NUMBER", help="Project every table to so many columns.")
@click.option("--no-hashing", is_flag=True, help="Rare levels share one row, and not several.")
@click.option(
    "--key-bytes", metavar="NUMBER", default="0", help="Hash table, per level with its own row."
)
@click.option("--signal", "signals", metavar=PAIR, multiple=True, help="Loss without a field.")
@click.option(
    "--coefficient",
    "coefficients",
    metavar=PAIR,
    multiple=True,
    help="Loss of d columns is about a/d.",
)
@click.option(
    "--smoothing",
    metavar=NUMBER_OR_PAIR,
    multiple=True,
    help="Rows with which a level tells half of its effect.  [default: 20]",
)
@click.option("--compare", is_flag=True, help="Also what others would do with the same bytes.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option(
    "--export",
    metavar="NAME",
    shell_complete=complete_words("torchrec"),
    help="Print the tables for torchrec.",
)
@click.option("--output", type=click.Path(path_type=Path), help="Write to a file what is printed.")
def memory(
    counts: Path,
    budget: str,
    optimizer: str | None,
    formats: tuple[str, ...],
    dimensions: tuple[str, ...],
    width: str | None,
    no_hashing: bool,
    key_bytes: str,
    signals: tuple[str, ...],
    coefficients: tuple[str, ...],
    smoothing: tuple[str, ...],
    compare: bool,
    as_json: bool,
    export: str | None,
    output: Path | None,
) -> None:
    """Choose rows, columns and number formats of all tables under a budget of bytes.

    COUNTS is CSV, parquet or a folder of parquet files with a line per level: the columns field,
    level (may be left out) and rows. Frequent levels get rows of their own, the others share some.
    The choice is exact for a surrogate of the loss, which knows the counts alone unless you say
    more.
    """
    with needed_for("a file of counts"):
        from embedalloc.data.counts_file import read_counts

    refuse_two_outputs(as_json, export)
    check_place(output, "--output")
    if export not in (None, "torchrec"):
        raise InputError(
            f"--export: {show(export)} is not torchrec; for torch see MemoryPlan.to_torch"
        )
    if export is not None and compare:
        raise InputError("--export prints one plan: leave --compare out")
    try:
        amount = parse_bytes(budget)
        prices = Prices(
            optimizer,
            read_whole(key_bytes, "--key-bytes"),
            None if width is None else read_whole(width, "--width"),
        )
        found = read_counts(counts)
        problem = build_memory_problem(
            found,
            prices=prices,
            formats=formats or (SERVING_FORMATS if optimizer is None else TRAINING_FORMATS),
            dimensions=[read_whole(each, "--dimension") for each in dimensions] or DIMENSIONS,
            hashing=not no_hashing,
            signals=read_pairs(signals, "--signal") or None,
            coefficients=read_pairs(coefficients, "--coefficient") or None,
            smoothing=read_limits(smoothing, found, "--smoothing", otherwise=SMOOTHING),
        )
        plans: dict[str, MemoryPlan | None] = (
            compare_peers(problem, amount) if compare else {"exact": solve_memory(problem, amount)}
        )
    except ValueError as error:
        raise InputError(str(error)) from None
    print_or_write(_describe(plans, as_json, export), output)


def _describe(plans: dict[str, MemoryPlan | None], as_json: bool, export: str | None) -> str:
    """Return what is printed: the exact plan, and the others in a table."""
    exact = plans["exact"]
    assert exact is not None
    if export is not None:
        return json.dumps(exact.to_torchrec(), indent=2)
    if as_json:
        content: dict[str, Any] = exact.to_dict()
        if len(plans) > 1:
            content["peers"] = {
                name: None if plan is None else plan.to_dict() for name, plan in plans.items()
            }
        return json.dumps(content, indent=2)
    return str(exact) if len(plans) == 1 else f"{exact}\n\n{draw_peers(plans)}"


def draw_peers(plans: dict[str, MemoryPlan | None]) -> str:
    """Return one line per rule: bytes, rows, error."""
    rows = [
        [name, "does not fit", "", ""]
        if plan is None
        else [
            name,
            f"{plan.bytes:,}",
            f"{sum(table.rows for table in plan.tables.values()):,}",
            f"{plan.error:.5g}",
        ]
        for name, plan in plans.items()
    ]
    return text_table(["by the surrogate", "bytes", "rows", "error"], rows)
