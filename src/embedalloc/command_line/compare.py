"""The command `embedalloc compare`: what rules are worth on the table in a file."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from embedalloc.command_line import InputError
from embedalloc.command_line.data_file import check_rule, naming, read_data_file
from embedalloc.command_line.options import (
    DEFAULT_BUDGET,
    count_parameters,
    data_options,
    parse_fixed,
)
from embedalloc.data.comparison import compare_rules


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
    seed: int,
    rules: str,
    splits: int,
    as_json: bool,
    **limits: Any,
) -> None:
    """Compare allocation rules on DATA at the same budget.

    In every random split each rule chooses dimensions on three quarters of the rows, and the
    network trained with them is judged on the rest. Differences to equal dimensions are paired
    over splits. As a control, equal dimensions have as many tries as the screened rule.
    """
    if budget == "auto":
        raise InputError("--budget auto: a comparison needs one number for all rules")
    amount = count_parameters(budget, memory, dtype, optimizer, default=DEFAULT_BUDGET)
    names = [name.strip() for name in rules.split(",") if name.strip()]
    for name in names:
        check_rule(name)
    per_split = len({"equal", *names}) + ("screened" in names)
    with naming(data):
        table = read_data_file(
            data, target, categorical=categorical, numeric=numeric, ignore=ignore
        )
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
                amount,
                names,
                splits=splits,
                seed=seed,
                done=lambda: bar.update(1),
                fixed=parse_fixed(fixed, table.categorical),
                **limits,
            )
    click.echo(json.dumps(found.to_dict(), indent=2, allow_nan=False) if as_json else str(found))
