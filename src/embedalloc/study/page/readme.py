"""The README's verdicts, costs and pictures, refreshed from the results by `make readme`."""

import re
from pathlib import Path

import pandas as pd
import yaml
from PIL import Image

from embedalloc.study.claims.verdicts import CLAIMS, SECTIONS, VERDICTS, count_verdicts
from embedalloc.study.workflow.document import markdown_table
from embedalloc.study.workflow.files import write_text
from embedalloc.study.workflow.tables import digest_of, read_table

BEGIN, END = "<!-- verdicts", "<!-- end of verdicts -->"
COSTS_BEGIN, COSTS_END = "<!-- costs -->", "<!-- end of costs -->"
#: Targets beside `all`, each with a table of costs of its own.
BESIDE_ALL = ("multiverse", "benchmarks")
PICTURES = ("exp3_performance.png", "heart_metrics.png")
#: Blocks of the configuration that no claim depends on.
BESIDE_THE_STUDY = ("benchmarks", "multiverse")
PICTURE_FOLDER = Path("workflow/report/pictures")
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


def write_block(claims: pd.DataFrame, root: Path) -> str:
    """Return the README's part between the markers, markers included."""
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


def find_block(readme: str, begin: str = BEGIN, end: str = END) -> str:
    """Return the present part between two markers."""
    found = re.search(rf"{re.escape(begin)}.*?{re.escape(end)}", readme, flags=re.DOTALL)
    if found is None:
        raise ValueError(f"README.md: no part from {begin!r} to {end!r}")
    return found.group()


def refresh(root: Path) -> None:
    """Write verdicts and costs of the present results into the README and copy its pictures."""
    readme = root / "README.md"
    text = readme.read_text("utf-8")
    claims = read_table(root / "results/claims.parquet", CLAIMS)
    text = text.replace(find_block(text), write_block(claims, root))
    costs = find_block(text, COSTS_BEGIN, COSTS_END)
    write_text(readme, text.replace(costs, tabulate_costs(root / "figures")))
    (root / PICTURE_FOLDER).mkdir(parents=True, exist_ok=True)
    for name in PICTURES:
        picture = Image.open(root / "figures" / name).convert("RGB")
        picture.quantize(COLORS).save(root / PICTURE_FOLDER / name, optimize=True)


if __name__ == "__main__":
    refresh(Path.cwd())
