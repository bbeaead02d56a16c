"""The report page: what was found, put together from tables, figures and ledgers.

Everything on the page is read from files. This module turns them into what the template shows,
and refuses a page with a hole: a claim without evidence, or one that points at a figure that is
not there.
"""

import base64
import csv
import hashlib
import platform
import re
import struct
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from embedalloc.study.claims.verdicts import OUTCOMES, SECTIONS, VERDICTS
from embedalloc.study.heart.table1 import (
    METRIC_LABELS,
    METRICS,
    MODEL_LABELS,
    PAPER,
    PAPER_METRICS,
    SECONDS,
)
from embedalloc.study.workflow.tables import TableError

#: Each verdict inside a sentence that begins with a number of claims: one, several.
_WORDS = {
    "reproduced": ("is reproduced", "are reproduced"),
    "partly": ("holds in part", "hold in part"),
    "not reproduced": ("is not reproduced", "are not reproduced"),
    "depends on an unstated choice": (
        "depends on a choice that the paper leaves open",
        "depend on a choice that the paper leaves open",
    ),
    "not testable": ("cannot be tested", "cannot be tested"),
}
#: Sections that figures belong to: those of the claims, and what goes beyond the paper.
PICTURE_SECTIONS = {**SECTIONS, "multiverse": "How far the findings reach"}
#: Level of the adjusted p-values at which a paired difference is counted.
LEVEL = 0.05


@dataclass(frozen=True)
class Place:
    """A part of the page that a claim can point at."""

    id: str
    title: str


TABLES = {
    "claims": Place("claims", "Claims"),
    "table1": Place("table1", "Table 1 with intervals"),
    "table1_paired": Place(
        "paired", "The proposed model against each other one, paired over splits"
    ),
    "table1_audit": Place("audit", "Audit of the printed table"),
}


@dataclass(frozen=True)
class Reading:
    """One reading of a claim: outcome, estimate with interval, and what was found."""

    name: str
    outcome: str
    estimate: float | None
    interval: tuple[float, float] | None
    evidence: str


@dataclass(frozen=True)
class Claim:
    """One claim of the paper with its verdict and its readings."""

    id: str
    section: str
    place: str
    statement: str
    statistic: str
    decision: str
    verdict: str
    why: str
    data: tuple[str, ...]
    shown: tuple[str, ...]
    readings: tuple[Reading, ...]


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


def slug(text: str) -> str:
    """Return a text as a name for addresses and classes."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def read_pictures(
    listed: Mapping[str, Mapping[str, str]],
    images: Iterable[str | Path],
    captions: Iterable[str | Path],
) -> list[Picture]:
    """Return the listed figures in order, each with its image and its caption.

    Parameters
    ----------
    listed
        Section, title and description by name, as in workflow/report/figures.yaml.
    images, captions
        PNG files and plain-text captions, named after the figures.
    """
    by_name = {Path(path).stem: Path(path) for path in images}
    words = {Path(path).stem: Path(path) for path in captions}
    pictures = []
    for name, entry in listed.items():
        if entry["section"] not in PICTURE_SECTIONS:
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
                section=entry["section"],
                title=entry["title"],
                alt=entry["alt"],
                caption=" ".join(words[name].read_text(encoding="utf-8").split()),
                source="data:image/png;base64," + base64.b64encode(content).decode("ascii"),
                width=width,
                height=height,
            )
        )
    return pictures


def places(pictures: Iterable[Picture]) -> dict[str, Place]:
    """Return where each figure and table stands on the page, by the stem of its file."""
    return {
        picture.name: Place(f"figure-{picture.name}", picture.title) for picture in pictures
    } | TABLES


def read_claims(frame: pd.DataFrame, anchors: Mapping[str, Place]) -> list[Claim]:
    """Return the claims in the paper's order, each with all its readings.

    Parameters
    ----------
    frame
        As in the contract `CLAIMS`.
    anchors
        Where each figure or table stands on the page.
    """
    claims = []
    for name, rows in frame.groupby("claim", sort=False):
        first = rows.iloc[0]
        for column in ("statement", "statistic", "decision", "why", "data", "evidence"):
            if not rows[column].str.strip().all():
                raise TableError(f"claim {name!r}: nothing in column {column!r}")
        shown = tuple(Path(entry).stem for entry in re.split(r"[\s,;]+", first["figure"].strip()))
        for stem in shown:
            if stem not in anchors:
                raise TableError(f"claim {name!r}: figure {stem!r} is not on the page")
        claims.append(
            Claim(
                id=str(name),
                shown=shown,
                data=tuple(first["data"].split()),
                readings=tuple(_reading(row) for row in rows.to_dict("records")),
                **{
                    column: first[column]
                    for column in (
                        "section",
                        "place",
                        "statement",
                        "statistic",
                        "decision",
                        "verdict",
                        "why",
                    )
                },
            )
        )
    order = list(SECTIONS)
    return sorted(claims, key=lambda claim: order.index(claim.section))


def _reading(row: Mapping[Any, Any]) -> Reading:
    bounds = (row["low"], row["high"])
    return Reading(
        name=row["reading"],
        outcome=row["outcome"],
        estimate=None if pd.isna(row["estimate"]) else float(row["estimate"]),
        interval=None if any(map(pd.isna, bounds)) else (float(bounds[0]), float(bounds[1])),
        evidence=row["evidence"],
    )


def count_verdicts(claims: Sequence[Claim]) -> dict[str, int]:
    """Return how many claims have each verdict, also where none has."""
    return {verdict: sum(claim.verdict == verdict for claim in claims) for verdict in VERDICTS}


def summary_sentence(counts: Mapping[str, int]) -> str:
    """Return the whole reproduction in one sentence.

    Examples
    --------
    >>> summary_sentence({"reproduced": 3, "partly": 1, "not testable": 1})
    'Of the paper’s 5 claims, 3 are reproduced, 1 holds in part and 1 cannot be tested.'
    """
    total = sum(counts.values())
    parts = [
        f"{counts[verdict]} {_WORDS[verdict][counts[verdict] > 1]}"
        for verdict in VERDICTS
        if counts.get(verdict)
    ]
    if len(parts) == 1:
        (whole,) = (verdict for verdict in VERDICTS if counts.get(verdict))
        return (
            f"All {total} claims {_WORDS[whole][1]}." if total > 1 else f"The claim {parts[0][2:]}."
        )
    return f"Of the paper’s {total} claims, {', '.join(parts[:-1])} and {parts[-1]}."


def compact_table(table: pd.DataFrame) -> dict[str, Any]:
    """Return the paper's models and metrics, ours beside the paper's, the best of each marked.

    Ties at three decimals are all marked. A metric that the run lacks is left out.
    """
    known = set(table["metric"])
    metrics = [metric for metric in (*PAPER_METRICS, SECONDS) if metric in known]
    cells: dict[Any, Any] = table.set_index(["model", "metric"]).to_dict("index")
    models = [model for model in PAPER if model in set(table["model"])]
    more_is_better = [METRICS.get(metric, False) for metric in metrics]

    def best(metric: str, column: str, more: bool) -> float:
        values = [round(cells[model, metric][column], 3) for model in models]
        return max(values) if more else min(values)

    def cell(model: str, metric: str, column: str, more: bool) -> dict[str, Any]:
        value = cells[model, metric][column]
        return {"value": value, "best": round(value, 3) == best(metric, column, more)}

    return {
        "heads": [METRIC_LABELS[metric] for metric in metrics],
        "better": ["higher" if more else "lower" for more in more_is_better],
        "rows": [
            {
                "label": MODEL_LABELS[model],
                "cells": [
                    {column: cell(model, metric, column, more) for column in ("mean", "paper")}
                    for metric, more in zip(metrics, more_is_better, strict=True)
                ],
            }
            for model in models
        ],
    }


def full_table(table: pd.DataFrame) -> dict[str, Any]:
    """Return all models and metrics with intervals, and the paper's figures where it has them."""
    known = set(table["metric"])
    metrics = [metric for metric in METRIC_LABELS if metric in known]
    cells: dict[Any, Any] = table.set_index(["model", "metric"]).to_dict("index")
    models = [model for model in MODEL_LABELS if model in set(table["model"])]
    return {
        "heads": [METRIC_LABELS[metric] for metric in metrics],
        "rows": [
            {
                "label": MODEL_LABELS[model],
                "printed": model in PAPER,
                "cells": [cells.get((model, metric)) for metric in metrics],
            }
            for model in models
        ],
    }


def paired_comparison(paired: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the comparisons by rival, with how many favour which side after adjustment."""
    rivals = []
    for rival, rows in paired.groupby("rival", sort=False):
        records: list[dict[Any, Any]] = rows.to_dict("records")
        favours = [(row["difference"] > 0) == METRICS[row["metric"]] for row in records]
        clear = [row["p_holm"] < LEVEL and row["difference"] != 0 for row in records]
        rivals.append(
            {
                "label": MODEL_LABELS[str(rival)],
                "count": len(records),
                "proposed": sum(c and f for c, f in zip(clear, favours, strict=True)),
                "rival": sum(c and not f for c, f in zip(clear, favours, strict=True)),
                "rows": [
                    row | {"label": METRIC_LABELS[row["metric"]], "decided": c}
                    for row, c in zip(records, clear, strict=True)
                ],
            }
        )
    return rivals


def markdown_blocks(text: str) -> list[tuple[str, Any]]:
    r"""Return the blocks of our own Markdown: headings, paragraphs, lists and tables.

    Examples
    --------
    >>> markdown_blocks("# Title\n\nTwo\nlines.\n\n- x\n- y")
    [('heading', 'Title'), ('paragraph', 'Two lines.'), ('list', ['x', 'y'])]
    >>> markdown_blocks("| a | b |\n| --- | --- |\n| 1 | |")
    [('table', [['a', 'b'], ['1', '']])]
    """
    blocks: list[tuple[str, Any]] = []
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = block.splitlines()
        if lines[0].startswith("#"):
            blocks.append(("heading", lines[0].lstrip("# ")))
        elif all(line.startswith("|") for line in lines):
            rows = [[cell.strip() for cell in line.strip()[1:-1].split("|")] for line in lines]
            blocks.append(("table", [rows[0], *rows[2:]]))
        elif all(line.startswith("- ") for line in lines):
            blocks.append(("list", [line[2:] for line in lines]))
        else:
            blocks.append(("paragraph", " ".join(lines)))
    return blocks


def notes_below(text: str) -> list[str]:
    """Return the notes below a table in Markdown."""
    return [note for kind, notes in markdown_blocks(text) if kind == "list" for note in notes]


def emphasis(text: str) -> Markup:
    """Return a text of our Markdown as markup: escaped, with its bold parts and its code."""
    bold = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", str(escape(text)))
    return Markup(re.sub(r"`(.+?)`", r"<code>\1</code>", bold))


def read_timings(paths: Iterable[str | Path]) -> list[dict[str, Any]]:
    """Return jobs, CPU and wall-clock seconds and peak memory by rule, in the order given.

    Snakemake writes `-` or `NA` for what a short job was over too soon to measure; such a value
    counts as nothing.
    """
    rules: dict[str, dict[str, Any]] = {}
    for path in map(Path, paths):
        parts = path.with_suffix("").parts
        rule = parts[parts.index("timings") + 1]
        entry = rules.setdefault(
            rule, {"rule": rule, "jobs": 0, "cpu": 0.0, "seconds": 0.0, "megabytes": 0.0}
        )
        with path.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines, delimiter="\t"):
                entry["jobs"] += 1
                entry["cpu"] += _measured(row["cpu_time"])
                entry["seconds"] += _measured(row["s"])
                entry["megabytes"] = max(entry["megabytes"], _measured(row["max_rss"]))
    return list(rules.values())


def _measured(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if value == value else 0.0


def package_versions() -> dict[str, str]:
    """Return the versions of Python, of this package and of what it asks for, by name."""
    found = {"Python": platform.python_version()}
    try:
        found["embedalloc"] = version("embedalloc")
        wanted = [line for line in requires("embedalloc") or [] if "extra ==" not in line]
    except PackageNotFoundError:
        return found
    for line in wanted:
        name = re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0]
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def file_digests(paths: Iterable[str | Path]) -> dict[str, str]:
    """Return the SHA-256 of each file by its name."""
    return {Path(path).name: hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in paths}


def git_commit(project: str | Path) -> str | None:
    """Return the commit of a checkout, with what was changed since; nothing elsewhere."""

    def git(*arguments: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(project), *arguments],
                capture_output=True,
                text=True,
                check=False,
                timeout=10,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    top = git("rev-parse", "--show-toplevel")
    # A copy inside somebody else's checkout is not a checkout of this project.
    if top is None or Path(top).resolve() != Path(project).resolve():
        return None
    commit = git("rev-parse", "HEAD")
    if commit is None:
        return None
    return f"{commit} with uncommitted changes" if git("status", "--porcelain") else commit


def significant(value: float) -> str:
    """Return a number with four significant digits, in plain notation where that is short.

    Examples
    --------
    >>> significant(0.00123456), significant(12345.6), significant(-2.0)
    ('0.001235', '12,346', '−2')
    """
    text = f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"
    return text.replace("-", "−")


def fixed(value: float, decimals: int = 3, *, sign: bool = False) -> str:
    """Return a number with fixed decimals and a true minus."""
    return f"{value:{'+' if sign else ''}.{decimals}f}".replace("-", "−")


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
        "emphasis": emphasis,
        "significant": significant,
        "fixed": fixed,
    }
    # Style and program stand beside the template and go into the page as they are.
    styles = Markup(path.with_suffix(".css").read_text(encoding="utf-8"))
    program = Markup(path.with_suffix(".js").read_text(encoding="utf-8"))
    return environment.get_template(path.name).render(
        sections=SECTIONS,
        picture_sections=PICTURE_SECTIONS,
        verdicts=VERDICTS,
        outcomes=OUTCOMES,
        styles=styles,
        program=program,
        **content,
    )
