"""The command `embedalloc compare`: what rules are worth on the table in a file."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from embedalloc.command_line import InputError
from embedalloc.command_line.data_file import read_data_file
from embedalloc.command_line.plan import check_rule, data_options, parse_amount, parse_fixed
from embedalloc.data.comparison import RESTARTS, Comparison, compare_rules
from embedalloc.intervals import CONFIDENCE
from embedalloc.text import cut_name, text_table

#: Longer names of rules are cut, so that the table has 80 columns.
LONGEST_NAME = 18


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
    drop_allowed: bool,
    multiple_of: int,
    min_frequency: int,
    task: str,
    seed: int,
    rules: str,
    splits: int,
    as_json: bool,
) -> None:
    """Compare allocation rules on DATA at the same budget.

    In every random split each rule chooses dimensions on three quarters of the rows, and the
    network trained with them is judged on the rest. Differences to equal dimensions are paired
    over splits. As a control, equal dimensions have as many tries as the screened rule.
    """
    if budget == "auto":
        raise InputError("--budget auto: a comparison needs one number for all rules")
    amount = parse_amount(budget, memory, dtype, optimizer)
    names = [name.strip() for name in rules.split(",") if name.strip()]
    for name in names:
        check_rule(name)
    table = read_data_file(data, target, categorical=categorical, numeric=numeric, ignore=ignore)
    per_split = len({"equal", *names}) + ("screened" in names)
    with click.progressbar(
        length=per_split * splits,
        label="training",
        file=sys.stderr,
        hidden=not sys.stderr.isatty(),
    ) as bar:
        try:
            found = compare_rules(
                table.frame,
                table.target,
                table.categorical,
                amount,
                names,
                splits=splits,
                seed=seed,
                task=task,
                min_frequency=min_frequency,
                done=lambda: bar.update(1),
                fixed=parse_fixed(fixed, table.categorical),
                drop_allowed=drop_allowed,
                multiple_of=multiple_of,
            )
        except ValueError as error:
            raise InputError(f"{data}: {error}") from None
    click.echo(_as_json(found) if as_json else as_text(found))


def as_text(found: Comparison) -> str:
    """Return the comparison as a table of at most 80 columns, and the result in words."""
    percent = f"{100 * CONFIDENCE:.0f} %"
    head = ["rule", "loss", "mean", f"{percent} (t)", f"{percent} corrected", "params"]
    base = float(found.losses["equal"].mean())
    rows = []
    for name in found.losses.mean().sort_values(kind="stable").index:
        each = found.difference(name)
        intervals = [_interval(ends, base) for ends in (each.interval, each.corrected)]
        against_equal = [f"{100 * each.mean / base:+.2f}", *intervals]
        rows.append(
            [
                cut_name(name, LONGEST_NAME),
                f"{found.losses[name].mean():.5f}",
                *(["", "", ""] if name == "equal" else against_equal),
                f"{found.parameters[name].mean():,.0f}",
            ]
        )
    lines = [
        text_table(head, rows),
        "",
        "mean and intervals: difference to equal, in % of its loss",
        f"held-out loss over {len(found.losses)} splits, budget {found.budget:,} for every rule",
    ]
    if found.tries:
        mean = sum(found.tries) / len(found.tries)
        lines.append(f"{RESTARTS}: equal with as many tries as screened ({mean:.1f} on average)")
    return "\n".join([*lines, "", result_in_words(found)])


def result_in_words(found: Comparison) -> str:
    """Say which rules differ from equal dimensions by their corrected intervals."""
    better, worse = [], []
    for name in found.losses.columns:
        if name == "equal":
            continue
        low, high = found.difference(name).corrected
        if high < 0:
            better.append(name)
        elif low > 0:
            worse.append(name)
    if not better and not worse:
        return "No rule differs clearly from equal dimensions here."
    words = []
    if better:
        words.append(f"Better than equal dimensions: {', '.join(better)}.")
    if worse:
        words.append(f"Worse than equal dimensions: {', '.join(worse)}.")
    return "\n".join(words)


def _interval(interval: tuple[float, float], base: float) -> str:
    low, high = (100 * each / base for each in interval)
    return f"{low:+.2f} to {high:+.2f}"


def _as_json(found: Comparison) -> str:
    def plain(value: float) -> float | None:
        return value if value == value else None

    differences: dict[str, Any] = {}
    for name in found.losses.columns:
        each = found.difference(name)
        differences[name] = {
            "mean": each.mean,
            "interval": [plain(end) for end in each.interval],
            "corrected": [plain(end) for end in each.corrected],
        }
    return json.dumps(
        {
            "budget": found.budget,
            "losses": found.losses.to_dict("list"),
            "parameters": found.parameters.to_dict("list"),
            "tries": list(found.tries),
            "differences": differences,
        },
        indent=2,
        allow_nan=False,
    )
