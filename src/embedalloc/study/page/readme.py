"""What README.md and docs/reproduction.md take from results, refreshed by `make readme`."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from PIL import Image

from embedalloc.intervals import wilson
from embedalloc.study.claims.verdicts import CLAIMS, SECTIONS, VERDICTS, count_verdicts
from embedalloc.study.workflow.document import markdown_table
from embedalloc.study.workflow.files import write_text
from embedalloc.study.workflow.tables import digest_of, read_table

BEGIN, END = "<!-- verdicts", "<!-- end of verdicts -->"
LINE_BEGIN, LINE_END = "<!-- verdict in a line -->", "<!-- end of verdict in a line -->"
RECORD_BEGIN, RECORD_END = "<!-- track record -->", "<!-- end of track record -->"
COSTS_BEGIN, COSTS_END = "<!-- costs -->", "<!-- end of costs -->"
#: Targets beside `all`, each with a table of costs of its own.
BESIDE_ALL = ("multiverse", "benchmarks")
PICTURES = ("exp3_performance.png", "heart_metrics.png")
#: Blocks of the configuration that no claim depends on.
BESIDE_THE_STUDY = ("benchmarks", "multiverse")
PICTURE_FOLDER = Path("docs/pictures")
README, REPRODUCTION = Path("README.md"), Path("docs/reproduction.md")
#: What reports quote, and the README with them.
TRACK_RECORD = Path("src/embedalloc/data/track_record.json")
#: As many as a figure needs; the file is a third of the figure's.
COLORS = 64


def tabulate_verdicts(claims: pd.DataFrame) -> str:
    """Return the number of claims by section and verdict, and the ones that fail, in Markdown."""
    rows = [
        [title, *map(str, count_verdicts(claims[claims["section"] == section]).values())]
        for section, title in SECTIONS.items()
        if section in set(claims["section"])
    ]
    rows.append(["**all**", *map(str, count_verdicts(claims).values())])
    text = markdown_table(["claims on", *VERDICTS], rows)
    each = claims.drop_duplicates("claim")
    failed = each[each["verdict"] == "not reproduced"]["statement"]
    if len(failed):
        text += "\n".join(["\n\nNot reproduced:\n", *(f"- {statement}" for statement in failed)])
    return text


def digest_source(root: Path) -> str:
    """Return a fingerprint of what decides the verdicts: the study's settings and the ledger."""
    config, ledger = (
        yaml.safe_load((root / name).read_text("utf-8"))
        for name in ("config.yaml", "workflow/claims.yaml")
    )
    study = {name: part for name, part in config.items() if name not in BESIDE_THE_STUDY}
    return digest_of([study, ledger])[:16]


def write_line(claims: pd.DataFrame) -> str:
    """Return the verdict in short, markers included."""
    counts = count_verdicts(claims)
    text = (
        f"{counts['reproduced']} of {sum(counts.values())} claims are reproduced, "
        f"{counts['not reproduced']} are not. {counts['depends on an unstated choice']} depend on "
        "a choice that the paper does not state."
    )
    return f"{LINE_BEGIN}\n{text}\n{LINE_END}"


def write_track_record(record: Mapping[str, Any]) -> str:
    """Return what the planner was worth on real tables, markers included."""
    told = record["verdicts"]["beats_equal"]["yes"]
    right, runs = told["right"], told["of"]
    low, high = (round(100 * share) for share in wilson(right, runs))
    gain, restarts = record["gain"], record["gain_of_restarts"]
    sentences = [
        f"On {len(record['tables'])} tables, {record['splits']} random splits each, the plan's "
        f"test loss is {gain['mean']:.1f} % lower than that of equal dimensions "
        f"({gain['low']:.1f} to {gain['high']:.1f} %).",
        f"The best of as many trainings of equal dimensions is {restarts['mean']:.1f} % lower.",
        f"The report said “yes, it beats equal dimensions” {runs} times and was right {right} "
        f"times, by the 95 % interval in {low} to {high} % of such cases.",
        "The rule was developed on these tables, so unseen ones may do worse.",
    ]
    return "\n".join([RECORD_BEGIN, *sentences, RECORD_END]).replace("(-", "(−")


def write_block(claims: pd.DataFrame, root: Path) -> str:
    """Return the part of docs/reproduction.md between the markers, markers included."""
    return f"{BEGIN} of {digest_source(root)} -->\n{tabulate_verdicts(claims)}\n{END}"


def tabulate_costs(figures: Path) -> str:
    """Return the costs of all targets in Markdown; of what was not run here it says so."""
    lines = read_rows(figures / "targets.md")
    for target in BESIDE_ALL:
        page = figures / f"targets_{target}.md"
        lines += read_rows(page)[2:] if page.exists() else [f"| `{target}` | not run here | | | |"]
    return "\n".join([COSTS_BEGIN, *lines, COSTS_END])


def read_rows(page: Path) -> list[str]:
    """Return the lines of the table on a page."""
    return [line for line in page.read_text("utf-8").splitlines() if line.startswith("|")]


def find_block(page: str, begin: str = BEGIN, end: str = END) -> str:
    """Return the present part between two markers."""
    found = re.search(rf"{re.escape(begin)}.*?{re.escape(end)}", page, flags=re.DOTALL)
    if found is None:
        raise ValueError(f"no part from {begin!r} to {end!r}")
    return found.group()


def replace_block(page: str, new: str, begin: str, end: str) -> str:
    """Return a page with another part between two markers."""
    return page.replace(find_block(page, begin, end), new)


def refresh_track_record(root: Path) -> None:
    """Write what the planner was worth into the README; this needs no results of the study."""
    page = (root / README).read_text("utf-8")
    record = write_track_record(json.loads((root / TRACK_RECORD).read_text("utf-8")))
    write_text(root / README, replace_block(page, record, RECORD_BEGIN, RECORD_END))


def refresh(root: Path) -> None:
    """Write what the present results say into the pages and copy the pictures."""
    claims = read_table(root / "results/claims.parquet", CLAIMS)
    page = (root / REPRODUCTION).read_text("utf-8")
    page = replace_block(page, write_block(claims, root), BEGIN, END)
    costs = tabulate_costs(root / "figures")
    write_text(root / REPRODUCTION, replace_block(page, costs, COSTS_BEGIN, COSTS_END))
    page = (root / README).read_text("utf-8")
    write_text(root / README, replace_block(page, write_line(claims), LINE_BEGIN, LINE_END))
    refresh_track_record(root)
    (root / PICTURE_FOLDER).mkdir(parents=True, exist_ok=True)
    for name in PICTURES:
        picture = Image.open(root / "figures" / name).convert("RGB")
        picture.quantize(COLORS).save(root / PICTURE_FOLDER / name, optimize=True)


if __name__ == "__main__":
    refresh(Path.cwd())
