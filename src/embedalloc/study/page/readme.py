"""The README's verdict table and pictures, refreshed from the results by `make readme`."""

import re
import shutil
from pathlib import Path

import pandas as pd
import yaml

from embedalloc.study.claims.verdicts import CLAIMS, SECTIONS, VERDICTS
from embedalloc.study.workflow.files import whole_file
from embedalloc.study.workflow.tables import digest_of, read_table

BEGIN, END = "<!-- verdicts", "<!-- end of verdicts -->"
PICTURES = ("exp3_performance.png", "heart_metrics.png")
#: Blocks of the configuration that no claim depends on.
BESIDE_THE_STUDY = ("benchmarks", "multiverse")
PICTURE_FOLDER = Path("workflow/report/pictures")


def verdict_table(claims: pd.DataFrame) -> str:
    """Return the number of claims by section and verdict, and the ones that fail, in Markdown."""
    each = claims.drop_duplicates("claim")
    counts = pd.crosstab(each["section"], each["verdict"]).reindex(
        index=[name for name in SECTIONS if name in set(each["section"])],
        columns=VERDICTS,
        fill_value=0,
    )
    counts.loc["all"] = counts.sum()
    titles = {**SECTIONS, "all": "**all**"}
    lines = [f"| claims on | {' | '.join(VERDICTS)} |", "|---|" + "---|" * len(VERDICTS)]
    for section, row in counts.iterrows():
        lines.append(f"| {titles[str(section)]} | {' | '.join(str(n) for n in row)} |")
    failed = each[each["verdict"] == "not reproduced"]["statement"]
    if len(failed):
        lines += ["", "Not reproduced:", "", *(f"- {statement}" for statement in failed)]
    return "\n".join(lines)


def source_digest(root: Path) -> str:
    """Return a fingerprint of what decides the verdicts: the study's settings and the ledger."""
    config, ledger = (
        yaml.safe_load((root / name).read_text("utf-8"))
        for name in ("config.yaml", "workflow/claims.yaml")
    )
    study = {name: part for name, part in config.items() if name not in BESIDE_THE_STUDY}
    return digest_of([study, ledger])[:16]


def block(claims: pd.DataFrame, root: Path) -> str:
    """Return the README's part between the markers, markers included."""
    return f"{BEGIN} of {source_digest(root)} -->\n{verdict_table(claims)}\n{END}"


def block_of(readme: str) -> str:
    """Return the present part between the markers."""
    found = re.search(rf"{re.escape(BEGIN)}.*?{re.escape(END)}", readme, flags=re.DOTALL)
    if found is None:
        raise ValueError(f"README.md: no part from {BEGIN!r} to {END!r}")
    return found.group()


def refresh(root: Path) -> None:
    """Write the verdicts of the present results into the README and copy its pictures."""
    readme = root / "README.md"
    text = readme.read_text("utf-8")
    claims = read_table(root / "results/claims.parquet", CLAIMS)
    with whole_file(readme) as partial:
        partial.write_text(text.replace(block_of(text), block(claims, root)), encoding="utf-8")
    (root / PICTURE_FOLDER).mkdir(parents=True, exist_ok=True)
    for name in PICTURES:
        shutil.copyfile(root / "figures" / name, root / PICTURE_FOLDER / name)


if __name__ == "__main__":
    refresh(Path.cwd())
