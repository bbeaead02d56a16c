"""Text for terminals of 80 columns and for Markdown: tables, bars, paragraphs."""

import sys
import textwrap
from collections.abc import Iterable, Sequence

COLUMNS = 80
LONGEST_NAME = 24
#: Eighths of a block, from none to the whole.
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def text_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, align: str | None = None
) -> str:
    """Return a plain table whose columns are as wide as their longest cell.

    Parameters
    ----------
    head, rows
        The cells, as they are to be printed.
    align
        One sign per column, `<` for left and `>` for right; by default the first column is left.

    Examples
    --------
    >>> print(text_table(["field", "rows"], [["user", "943"], ["item", "1,682"]]))
    field   rows
    user     943
    item   1,682
    """
    signs = align or "<" + ">" * (len(head) - 1)
    lines = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            f"{cell:{sign}{width}}" for cell, sign, width in zip(line, signs, widths, strict=True)
        ).rstrip()
        for line in lines
    )


def markdown_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, align: Sequence[str] | None = None
) -> str:
    """Return a Markdown table.

    Parameters
    ----------
    head, rows
        The cells, as Markdown.
    align
        What stands below each cell of the head, such as `---` (the default), `---:` or ` --- `.

    Examples
    --------
    >>> print(markdown_table(["a", "b"], [["1", "2"]], align=["---", "---:"]))
    | a | b |
    |---|---:|
    | 1 | 2 |
    """
    ruler = "|".join(["---"] * len(head) if align is None else align)
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join([lines[0], f"|{ruler}|", *lines[1:]])


def cut_name(name: str, longest: int = LONGEST_NAME) -> str:
    """Return a name on one line, no longer than a column allows.

    Examples
    --------
    >>> cut_name("postal code of the place of birth")
    'postal code of the plac…'
    """
    name = " ".join(name.split())
    return name if len(name) <= longest else name[: longest - 1] + "…"


def paragraph(text: str, indent: str = "") -> str:
    """Return text wrapped to the width of the terminal, further lines indented."""
    return textwrap.fill(
        text, COLUMNS, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )


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
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return "#" * round(share * width)
    return text
