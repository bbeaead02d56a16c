"""The command `embedalloc audit`: whether the figures of a printed table can be true together."""

import dataclasses
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from embedalloc.audit import Audit, AuditError, audit_table, read_metrics_table
from embedalloc.audit.metrics_file import MetricsTable
from embedalloc.audit.printed import ConfusionMatrix
from embedalloc.command_line import InputError
from embedalloc.visible import make_visible


@click.command()
@click.argument("table", type=click.Path(path_type=Path))
@click.option("--n", type=int, help="Size of the test set, where it is known.")
@click.option("--positives", type=int, help="Positives in the test set, where known.")
@click.option("--n-min", type=int, help="Smallest test set tried.  [default: 1]")
@click.option("--n-max", type=int, help="Largest test set tried.  [default: 2000]")
@click.option(
    "--max-matrices",
    type=int,
    default=100_000,
    show_default=True,
    help="Cut the list of test sets where their matrices are more than this.",
)
@click.option("--percent", is_flag=True, help="Values are in percent (83.7 for 0.837).")
@click.option("--json", "as_json", is_flag=True, help="Print every solution as JSON.")
def audit(
    table: Path,
    n: int | None,
    positives: int | None,
    n_min: int | None,
    n_max: int | None,
    max_matrices: int,
    percent: bool,
    as_json: bool,
) -> None:
    """Find the confusion matrices behind the metrics printed in TABLE.

    TABLE is a CSV file with a header: the model's name first, then accuracy, precision, recall,
    F1 and MCC as printed, with all decimals; accuracy or two of the others are enough. A dash
    means "not reported", and other columns are left out. All rows share one test set.

    Without --n, the search ends where more than one cell per row stays unexplained; it takes
    seconds for a table that fits some test set and a minute or more for one that fits none.
    """
    if n is not None and (n_min is not None or n_max is not None):
        raise InputError("--n names one size: give no --n-min or --n-max beside it")
    n_min, n_max = (1 if n_min is None else n_min), (2000 if n_max is None else n_max)
    try:
        printed = read_metrics_table(table)
        with _show_progress(1 if n is not None else n_max - n_min + 1) as progress:
            result = audit_table(
                printed.rows,
                n_min=n_min,
                n_max=n_max,
                n=n,
                positives=positives,
                percent=percent,
                max_matrices=max_matrices,
                max_unexplained=len(printed.rows) if n is None else None,
                progress=progress,
            )
    except AuditError as error:
        raise InputError(str(error)) from None
    except OSError as error:
        raise InputError(f"{table}: {error.strerror or error}") from None
    click.echo(_write_json(result, printed) if as_json else _write_text(result, printed))


@contextmanager
def _show_progress(sizes: int) -> Iterator[Callable[[int], None] | None]:
    """Show a bar of the sizes searched, on a terminal only; it goes before the result comes."""
    if not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=sizes, label="test sets", file=sys.stderr) as bar:
        yield bar.update


def _write_text(result: Audit, printed: MetricsTable) -> str:
    lines = [str(result)]
    if not result.solutions:
        lines.append("give --n for the best matrices of one size; do the rows share a test set?")
    if printed.ignored:
        lines.append(f"columns left out: {', '.join(map(make_visible, printed.ignored))}")
    return "\n".join(lines)


def _write_json(result: Audit, printed: MetricsTable) -> str:
    found = _name_counts(dataclasses.asdict(result))
    solutions = found.pop("solutions")
    found |= {"columns_left_out": list(printed.ignored), "solutions": solutions}
    return json.dumps(found, indent=2, allow_nan=False)


def _name_counts(value: Any) -> Any:
    """Return the same with matrices as dictionaries, all the way down."""
    if isinstance(value, ConfusionMatrix):
        return value._asdict()
    if isinstance(value, dict):
        return {key: _name_counts(each) for key, each in value.items()}
    return [_name_counts(each) for each in value] if isinstance(value, tuple) else value
