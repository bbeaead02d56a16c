"""Text for terminals of 80 columns: tables with bars and wrapped paragraphs."""

import sys
import textwrap
from collections.abc import Iterable, Mapping

from embedalloc.allocation import Allocation

COLUMNS = 80
LONGEST_NAME = 24
#: Eighths of a block, from none to the whole.
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def bar(share: float, width: int) -> str:
    """Return a bar for a share between 0 and 1, in eighths of a character.

    Examples
    --------
    >>> bar(0.5, 5), bar(0.01, 5), bar(0.0, 5)
    ('██▌', '▏', '')
    """
    eighths = round(share * width * 8)
    if share > 0:
        eighths = max(eighths, 1)  # little is not nothing
    text = "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
    return text if _can_print(text) else "#" * round(share * width)


def allocation_table(allocation: Allocation, notes: Mapping[str, str] | None = None) -> str:
    """Return one line per predictor: categories, dimension, parameters, share of the budget.

    Notes by predictor stand before the bars.
    """
    notes = {} if notes is None else notes
    shown = {name: short(name) for name in allocation.dimensions}
    width = max(9, *map(len, shown.values()))
    noted = max([0, *(len(note) + 2 for note in notes.values())])
    lines = [f"{'predictor':<{width}}  categories  dimension    parameters  share"]
    for name, dimension in allocation.dimensions.items():
        share = allocation.parameters[name] / max(allocation.budget, 1)
        numbers = (
            f"{shown[name]:<{width}}  {allocation.cardinalities[name]:>10,}  {dimension:>9,}  "
            f"{allocation.parameters[name]:>12,}  {share:>5.1%}  {notes.get(name, ''):<{noted}}"
        )
        lines.append((numbers + bar(share, max(COLUMNS - len(numbers), 4))).rstrip())
    return "\n".join(lines)


def short(name: str) -> str:
    """Return a name on one line, no longer than a column allows."""
    name = " ".join(name.split())
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 3] + "..."


def listed(names: Iterable[str], most: int = 8) -> str:
    """Return names as a list, the first ones if there are many.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed("abcdef", most=3)
    ('a, b, c', 'a, b, c and 3 more')
    """
    every = [short(name) for name in names]
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more


def paragraph(text: str, indent: str = "") -> str:
    """Return text wrapped to the width of the terminal, further lines indented."""
    return textwrap.fill(
        text, COLUMNS, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )


def _can_print(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True
