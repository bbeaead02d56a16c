"""The command `embedalloc compare`: what rules are worth on the table in a file."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from embedalloc.command_line import InputError
from embedalloc.command_line.data_file import read_data_file
from embedalloc.command_line.plan import check_rule, data_options, parse_amount, parse_fixed
from embedalloc.data.comparison import CONFIDENCE, RESTARTS, Comparison, compare_rules

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
    width = min(max(len(name) for name in found.losses.columns), LONGEST_NAME)
    percent = f"{100 * CONFIDENCE:.0f} %"
    lines = [
        f"{'':<{width}}  {'':>7}  {'difference to equal, in % of its loss':>39}",
        f"{'rule':<{width}}  {'loss':>7}  {'mean':>7}  {percent + ' (t)':>16}  "
        f"{percent + ' corrected':>16}  {'params':>6}",
    ]
    base = float(found.losses["equal"].mean())
    order = found.losses.mean().sort_values(kind="stable").index
    for name in order:
        shown = name if len(name) <= width else name[: width - 1] + "…"
        line = f"{shown:<{width}}  {found.losses[name].mean():>7.5f}  "
        if name == "equal":
            line += f"{'':>7}  {'':>16}  {'':>16}  "
        else:
            each = found.difference(name)
            line += (
                f"{100 * each.mean / base:>+7.2f}  {_interval(each.interval, base):>16}  "
                f"{_interval(each.corrected, base):>16}  "
            )
        lines.append(line + f"{found.parameters[name].mean():>6,.0f}")
    lines.append("")
    splits = len(found.losses)
    lines.append(f"held-out loss over {splits} splits, budget {found.budget:,} for every rule")
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
