"""A printed table of metrics, as a file holds it."""

import csv
import io
import re
from pathlib import Path
from typing import NamedTuple

from embedalloc.input_file import read_content

METRICS = ("accuracy", "precision", "recall", "f1", "mcc")
ALIASES = {
    "acc": "accuracy",
    "prec": "precision",
    "ppv": "precision",
    "rec": "recall",
    "sensitivity": "recall",
    "tpr": "recall",
    "f1score": "f1",
    **{m: m for m in METRICS},
}
#: Bytes of a file; a printed table is small.
LARGEST_FILE = 10_000_000
NOT_REPORTED = {"-", "\N{EN DASH}", "\N{EM DASH}"}


class AuditError(ValueError):
    """A table or an option that cannot be audited; the message says where and what is allowed.

    Examples
    --------
    >>> from embedalloc.audit import audit_table
    >>> audit_table({"forest": {"accuracy": "80.3"}})
    Traceback (most recent call last):
        ...
    embedalloc.audit.metrics_file.AuditError: row 'forest', column 'accuracy', value '80.3': 0 to 1
    is allowed; values in percent need the option percent
    """


class MetricsTable(NamedTuple):
    """Printed text by model and metric, and the columns that were left out."""

    rows: dict[str, dict[str, str]]
    ignored: tuple[str, ...]


def find_metric(header: str) -> str | None:
    """Return the metric that a column's header names."""
    return ALIASES.get(re.sub(r"[\s_-]", "", header).lower())


def read_metrics_table(path: str | Path) -> MetricsTable:
    r"""Read a CSV file with a header, the model name first and one metric per column.

    Case, blanks and hyphens in headers do not matter; `ALIASES` lists the names. Columns with
    other names are left out. A dash in a cell means "not reported".

    Parameters
    ----------
    path
        The file, or ``"-"`` for the standard input.

    Returns
    -------
    MetricsTable
        Its ``rows`` are what `audit_table` takes; ``ignored`` are the columns left out.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "printed.csv"
    >>> _ = path.write_text("model,Accuracy,Recall,time\nforest,0.803,0.750,3 s\n")
    >>> read_metrics_table(path)
    MetricsTable(rows={'forest': {'accuracy': '0.803', 'recall': '0.750'}}, ignored=('time',))
    """
    try:
        content = read_content(path, most=LARGEST_FILE)
        text = content.decode("utf-8").removeprefix("\N{BYTE ORDER MARK}")
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        lines = [(reader.line_num, [cell.strip() for cell in line]) for line in reader if line]
    except UnicodeDecodeError as error:
        raise AuditError(f"{path}: byte {error.start} is not UTF-8 text") from error
    except csv.Error as error:
        raise AuditError(f"{path}: not readable as CSV ({error})") from error
    if len(lines) < 2:
        raise AuditError(f"{path}: empty; a header and at least one row are needed")
    header = lines[0][1]
    metrics = [None, *map(find_metric, header[1:])]
    if len(set(metrics)) == 1:
        raise AuditError(
            f"{path}: no metric after the first of the columns {header}; "
            f"known are {', '.join(ALIASES)}"
        )
    for metric in METRICS:
        if metrics.count(metric) > 1:
            raise AuditError(f"{path}: more than one column for {metric}")
    rows: dict[str, dict[str, str]] = {}
    for number, line in lines[1:]:
        if len(line) != len(header):
            raise AuditError(
                f"{path}: line {number} (row {line[0]!r}) has {len(line)} cells, "
                f"the header has {len(header)}"
            )
        if not line[0] or line[0] in rows or not line[0].isprintable():
            raise AuditError(
                f"{path}: line {number}: model name {line[0]!r} is empty, used before "
                "or not printable; each row needs its own"
            )
        cells = zip(metrics, line, strict=True)
        rows[line[0]] = {m: cell for m, cell in cells if m and cell not in NOT_REPORTED}
    return MetricsTable(rows, tuple(h for h in header[1:] if find_metric(h) is None))
