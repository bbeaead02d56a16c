"""A report as one page of HTML, light or dark as the reader's screen, and as a part of one."""

from html import escape
from typing import TYPE_CHECKING

from embedalloc import __version__
from embedalloc.data.report_text import (
    list_answers,
    list_columns,
    list_legends,
    list_steps,
    write_facts,
    write_tries,
)
from embedalloc.text import cut_name
from embedalloc.visible import make_visible

if TYPE_CHECKING:
    from embedalloc.data.report import Report

#: Of more fields than this only the most expensive are drawn.
MOST_BARS = 40
_ROW, _NAMES, _WIDTH = 22, 190, 720

#: Colours are those of the page or notebook around, dark or light; `div` outdoes its own rules.
_STYLE = """
div.embedalloc { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: auto;
  padding: 1rem; color: inherit; background: none; }
div.embedalloc table { border-collapse: collapse; width: 100%; margin: 0; font-size: 14px; }
div.embedalloc th, div.embedalloc td { padding: .25rem .6rem; border-bottom: 1px solid #8886;
  text-align: left !important; min-width: 7rem; overflow-wrap: anywhere; color: inherit; }
div.embedalloc .number { min-width: 0; text-align: right !important;
  font-variant-numeric: tabular-nums; white-space: nowrap; }
div.embedalloc pre { white-space: pre-wrap; font: 13px/1.5 ui-monospace, monospace; color: inherit;
  background: none; }
div.embedalloc svg { max-width: 100%; height: auto; }
div.embedalloc svg text { fill: currentColor; font: 13px system-ui, sans-serif; }
div.embedalloc svg rect { fill: #2e8bc9; }
div.embedalloc .wide { overflow-x: auto; }
div.embedalloc .small { font-size: 13px; opacity: .8; }
"""
_PAGE_STYLE = """
:root { color-scheme: light dark; }
body { margin: 0; color: #1b1b1b; background: #ffffff; }
@media (prefers-color-scheme: dark) { body { color: #e6e6e6; background: #16181b; } }
"""


def write_page(report: "Report") -> str:
    """Return a page that needs no other file."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Embedding plan</title>\n<style>{_PAGE_STYLE}</style>\n</head>\n<body>\n"
        f"{write_fragment(report)}\n</body>\n</html>\n"
    )


def write_fragment(report: "Report") -> str:
    """Return table, picture and verdicts, for a notebook or a page."""
    verdicts = "\n".join(f"<p>{_one_line(text)}</p>" for text in list_answers(report))
    heads = {head.strip() for head, _, _ in list_columns(report)}
    legends = " ".join(list_legends(report, heads))
    facts = "\n".join([*write_facts(report), "", *write_tries(report)]).rstrip()
    return "\n".join(
        [
            f'<div class="embedalloc"><style>{_STYLE}</style>',
            "<h1>Embedding plan</h1>",
            verdicts,
            _write_table(report),
            f'<p class="small">{escape(legends)}</p>',
            _draw_bars(report),
            f"<pre>{escape(facts)}</pre>",
            f"<p>{_one_line(' '.join(list_steps(report)))}</p>",
            f'<p class="small">embedalloc {escape(__version__)}</p></div>',
        ]
    )


def _one_line(text: str) -> str:
    text = make_visible(" ".join(text.split()))
    return escape(text.replace(" %", "\N{NO-BREAK SPACE}%"))


def _write_table(report: "Report") -> str:
    columns = list_columns(report)
    head = "".join(
        f'<th{_kind(sign)} scope="col">{escape(name.strip())}</th>' for name, sign, _ in columns
    )
    lines = []
    for place, field in enumerate(report.fields):
        cells = "".join(f"<td{_kind(sign)}>{escape(c[place])}</td>" for _, sign, c in columns)
        name = f'<th scope="row">{_one_line(field.name)}</th>'
        lines.append(f"<tr>{name}{cells}<td>{escape(field.why)}</td></tr>")
    return (
        f'<div class="wide"><table><thead><tr><th scope="col">field</th>{head}'
        '<th scope="col">decision</th></tr></thead>\n<tbody>'
        + "\n".join(lines)
        + "</tbody></table></div>"
    )


def _kind(sign: str) -> str:
    return ' class="number"' if sign == ">" else ""


def _draw_bars(report: "Report") -> str:
    """Return a bar per field for its share of the budget."""
    fields = sorted(report.fields, key=lambda each: -each.parameters)[:MOST_BARS]
    largest = max(each.share for each in fields) or 1.0
    longest = _WIDTH - _NAMES - 110
    shapes = []
    for place, each in enumerate(fields):
        y, width = place * _ROW, longest * each.share / largest
        shapes.append(
            f'<text x="{_NAMES - 8}" y="{y + 15}" text-anchor="end">'
            f"{escape(cut_name(each.name))}</text>"
            f'<rect x="{_NAMES}" y="{y + 3}" width="{width:.1f}" height="{_ROW - 7}"/>'
            f'<text x="{_NAMES + width + 6:.1f}" y="{y + 15}">{each.parameters:,}</text>'
        )
    height = _ROW * len(fields)
    return (
        "<h2>Where the parameters go</h2>\n"
        f'<svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" role="img" '
        f'aria-label="Parameters by field">{"".join(shapes)}</svg>'
    )
