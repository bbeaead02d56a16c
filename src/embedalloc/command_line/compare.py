"""The command `embedalloc compare`: what rules are worth on the table in a file."""

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from embedalloc.command_line import InputError
from embedalloc.command_line.data_options import check_rule, data_options

if TYPE_CHECKING:
    from embedalloc.command_line.data_file import DataFile


@click.command()
@data_options
@click.option(
    "--rules",
    default="equal,paper,screened",
    help="Names with commas.  [default: equal,paper,screened]",
)
@click.option("--splits", type=click.IntRange(1), default=10, help="Random splits.  [default: 10]")
@click.option("--json", "as_json", is_flag=True, help="Print the losses of every split as JSON.")
def compare(
    budget: int | str | None,
    read: Callable[[], "DataFile"],
    rules: str,
    splits: int,
    as_json: bool,
    **words: Any,
) -> None:
    """Compare allocation rules on DATA at the same budget.

    In every random split each rule chooses dimensions on three quarters of the rows, and the
    network trained with them is judged on the rest. Differences to equal dimensions are paired
    over splits. As a control, equal dimensions have as many tries as the screened rule.
    """
    if budget == "auto":
        raise InputError("--budget auto: a comparison needs one number for all rules")
    names = [name.strip() for name in rules.split(",") if name.strip()]
    for name in names:
        check_rule(name)
    per_split = len({"equal", *names}) + ("screened" in names)
    table = read()
    from embedalloc.data.comparison import compare_rules  # heavy: mistakes are told before

    with click.progressbar(
        length=per_split * splits,
        label="training",
        file=sys.stderr,
        hidden=not sys.stderr.isatty(),
    ) as bar:
        found = compare_rules(
            table.frame,
            table.target,
            table.categorical,
            table.settle_budget(budget),
            names,
            splits=splits,
            done=lambda: bar.update(1),
            **table.limits,
            **words,
        )
    click.echo(json.dumps(found.to_dict(), indent=2, allow_nan=False) if as_json else str(found))
