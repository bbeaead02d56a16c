"""The command `embedalloc compare`: what rules are worth on the table in a file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from embedalloc.command_line import InputError
from embedalloc.command_line.data_options import check_rule, data_options
from embedalloc.command_line.outputs import print_or_write
from embedalloc.command_line.progress import show_progress, tell_warnings

if TYPE_CHECKING:
    from embedalloc.command_line.data_file import DataFile


@click.command()
@data_options
@click.option(
    "--rules",
    default="equal,paper,screened",
    help="Names with commas.  [default: equal,paper,screened]",
)
@click.option("--splits", type=click.IntRange(1), default=10, help="Splits.  [default: 10]")
@click.option("--json", "as_json", is_flag=True, help="Print the losses of every split as JSON.")
def compare(
    budget: int | str | None,
    read: Callable[[], "DataFile"],
    rules: str,
    splits: int,
    as_json: bool,
    output: Path | None,
    **words: Any,
) -> int:
    """Compare allocation rules on DATA at the same budget.

    In every split each rule chooses dimensions on three quarters of the rows, and the network
    trained with them is judged on the rest. Differences to equal dimensions are paired over
    splits. Yardsticks: equal dimensions with as many tries as the rule that has most, and three
    models without embeddings.
    """
    if budget == "auto":
        raise InputError("--budget auto: a comparison needs one number for all rules")
    names = [name.strip() for name in rules.split(",") if name.strip()]
    for name in names:
        check_rule(name)
    table = read()
    from embedalloc.data.comparison import compare_rules  # heavy: mistakes are told before

    amount = table.settle_budget(budget)
    with show_progress("step") as progress, tell_warnings():
        found = compare_rules(
            table.frame,
            table.rows.target,
            table.categorical,
            amount,
            names,
            splits=splits,
            done=progress,
            **table.rows.about,
            **table.limits,
            **words,
        )
    if as_json:
        click.echo(found.conclusions, err=True)
    text = json.dumps(found.to_dict(), indent=2, allow_nan=False) if as_json else str(found)
    print_or_write(text, output)
    return int(amount)
