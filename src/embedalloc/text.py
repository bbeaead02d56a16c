"""Text for terminals of 80 columns and more: tables, bars, paragraphs and long names."""

import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence

from embedalloc.visible import make_visible

#: What every terminal has, and what is read without losing the line.
FEWEST_COLUMNS, MOST_COLUMNS = 80, 120
LONGEST_NAME = 24
#: Eighths of a block, from none to the whole.
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def find_width() -> int:
    """Return the columns of the terminal within reason, and 80 where text goes elsewhere."""
    stdout = sys.stdout  # None where there is no console
    if stdout is None or not stdout.isatty():
        return FEWEST_COLUMNS
    return min(max(shutil.get_terminal_size().columns, FEWEST_COLUMNS), MOST_COLUMNS)


def text_table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    align: str | None = None,
    gap: str = "  ",
) -> str:
    """Return a plain table whose columns are as wide as their longest cell.

    Parameters
    ----------
    head, rows
        The cells; what does not print in them becomes visible marks.
    align
        One sign per column, `<` for left and `>` for right; by default the first column is left.
    gap
        What stands between columns.

    Examples
    --------
    >>> print(text_table(["field", "rows"], [["user", "943"], ["item", "1,682"]]))
    field   rows
    user     943
    item   1,682
    """
    signs = align or "<" + ">" * (len(head) - 1)
    lines = [[make_visible(cell) for cell in line] for line in (head, *rows)]
    widths = [max(map(count_columns, column)) for column in zip(*lines, strict=True)]
    return "\n".join(gap.join(map(pad, line, widths, signs)).rstrip() for line in lines)


def count_columns(text: str) -> int:
    """Return how many columns of a terminal a line takes: two for each Chinese sign.

    Examples
    --------
    >>> count_columns("town"), count_columns("大小")
    (4, 4)
    """
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(sign) in "WF" for sign in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))


def pad(text: str, width: int, sign: str = "<") -> str:
    """Return a line with blanks up to so many columns, on its right (`<`) or left (`>`)."""
    blanks = " " * (width - count_columns(text))
    return text + blanks if sign == "<" else blanks + text


def cut_name(name: str, longest: int = LONGEST_NAME) -> str:
    """Return a name on one line, no longer than a column allows.

    Examples
    --------
    >>> cut_name("postal code of the place of birth")
    'postal code of the plac…'
    """
    name = make_visible(" ".join(name.split()))
    mark = "…" if _can_print("…") else "."
    if count_columns(name) <= longest:
        return name
    while count_columns(name) >= longest:
        name = name[: longest - 1] if len(name) > longest else name[:-1]
    return name + mark


def paragraph(text: str, indent: str = "") -> str:
    """Return text wrapped to the width of the terminal, further lines indented.

    A number stays with its sign of per cent.

    Examples
    --------
    >>> [count_columns(line) for line in paragraph("大小大小 " * 10).splitlines()]
    [80, 8]
    """
    lines, line, width = [], indent, find_width()
    for word in re.split(r"\s+(?!%)", text.strip()):
        joined = f"{line} {word}" if line.strip() else f"{line}{word}"
        if count_columns(joined) > width and line.strip():
            lines.append(line)
            joined = f"{indent}{word}"
        while count_columns(joined) > width:  # a word that is longer than a line
            fits = next(k for k in range(width, 0, -1) if count_columns(joined[:k]) <= width)
            lines.append(joined[:fits])
            joined = f"{indent}{joined[fits:]}"
        line = joined
    return "\n".join([*lines, line])


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


def _can_print(text: str) -> bool:
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def write_change(share: float) -> str:
    """Return a change in per cent, with its sign.

    Examples
    --------
    >>> write_change(0.051), write_change(-0.0001)
    ('+5.1 %', '0.0 %')
    """
    text = f"{100 * share:+.1f} %"
    return "0.0 %" if text in ("+0.0 %", "-0.0 %") else text.replace("-", "−")
