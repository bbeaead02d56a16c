"""A short document in parts: data that is written as Markdown and shown on a page."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """One part of a document; what is empty is left out.

    Attributes
    ----------
    title, level
        Heading and its depth.
    paragraphs, notes
        Words above the table and a list below it, with Markdown's bold and code.
    head, rows, align
        The table's cells, and what Markdown writes below its head.
    """

    title: str = ""
    level: int = 2
    paragraphs: Sequence[str] = ()
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    align: Sequence[str] | None = None
    notes: Sequence[str] = ()


def as_markdown(parts: Iterable[Part]) -> str:
    r"""Return a document as Markdown.

    Examples
    --------
    >>> as_markdown([Part("Title", 1, ["Words."]), Part("Part", notes=["x", "y"])])
    '# Title\n\nWords.\n\n## Part\n\n- x\n- y\n'
    """
    blocks: list[str] = []
    for part in parts:
        if part.title:
            blocks.append(f"{'#' * part.level} {part.title}")
        blocks += part.paragraphs
        if part.head:
            blocks.append(markdown_table(part.head, part.rows, align=part.align))
        if part.notes:
            blocks.append("\n".join(f"- {note}" for note in part.notes))
    return "\n\n".join(blocks) + "\n"


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
