"""What all pages share: figures with their words, numbers as they are printed, the template."""

import base64
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from embedalloc.study.workflow.tables import TableError

#: Bold and code; anything else that looks like Markdown is shown as it stands.
_MARKDOWN = MarkdownIt("zero").enable(["emphasis", "backticks"])


@dataclass(frozen=True)
class Picture:
    """One figure: its words and its pixels as a data address."""

    name: str
    section: str
    title: str
    alt: str
    caption: str
    source: str
    width: int
    height: int


def read_pictures(
    listed: Mapping[str, Mapping[str, str]],
    images: Iterable[str | Path],
    captions: Iterable[str | Path],
    sections: Iterable[str],
) -> list[Picture]:
    """Return the listed figures in order, each with its image and its caption.

    Parameters
    ----------
    listed
        Section, title and description by name, as in workflow/report/figures.yaml.
    images, captions
        PNG files and plain-text captions, named after the figures.
    sections
        Where a figure can stand.
    """
    by_name = {Path(path).stem: Path(path) for path in images}
    words = {Path(path).stem: Path(path) for path in captions}
    pictures = []
    for name, entry in listed.items():
        if entry["section"] not in sections:
            raise TableError(f"figure {name!r}: unknown section {entry['section']!r}")
        for kind, found in (("image", by_name), ("caption", words)):
            if name not in found or not found[name].exists():
                raise TableError(f"figure {name!r}: its {kind} is missing")
        content = by_name[name].read_bytes()
        if not content.startswith(b"\x89PNG\r\n\x1a\n"):
            raise TableError(f"{by_name[name]}: not a PNG image")
        width, height = struct.unpack(">II", content[16:24])
        pictures.append(
            Picture(
                name=name,
                **entry,
                caption=" ".join(words[name].read_text(encoding="utf-8").split()),
                source="data:image/png;base64," + base64.b64encode(content).decode("ascii"),
                width=width,
                height=height,
            )
        )
    return pictures


def slug(text: str) -> str:
    """Return a text as a name for addresses and classes."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def emphasise(text: str) -> Markup:
    """Return a line of our Markdown as markup: escaped, with its bold parts and its code."""
    return Markup(_MARKDOWN.renderInline(text))


def print_significant(value: float) -> str:
    """Return a number with four significant digits, in plain notation where that is short.

    Examples
    --------
    >>> print_significant(0.00123456), print_significant(1234.56), print_significant(-2.0)
    ('0.001235', '1,235', '−2')
    """
    text = f"{value:,.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:.4g}"
    return text.replace("-", "−")


def print_fixed(value: float, decimals: int = 3, *, sign: bool = False) -> str:
    """Return a number with fixed decimals, a comma after its thousands and a true minus."""
    return f"{value:{'+' if sign else ''},.{decimals}f}".replace("-", "−")


def render_page(template: str | Path, **content: Any) -> str:
    """Return the page; every text is escaped, and a name that is missing is an error."""
    path = Path(template)
    environment = Environment(
        loader=FileSystemLoader(path.parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "slug": slug,
        "emphasise": emphasise,
        "significant": print_significant,
        "fixed": print_fixed,
    }
    environment.tests["known"] = pd.notna
    return environment.get_template(path.name).render(**content)
