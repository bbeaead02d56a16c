"""Table 1 in LaTeX: what stands in it, and that it goes into a paper as it is."""

import re
import shutil
import subprocess

import pytest

from embedalloc.study.heart.table1 import METRICS, MODELS, PAPER, PAPER_METRICS
from embedalloc.study.heart.table1_latex import escape, narrow_table, paired_table, wide_table
from tests.oracles.report_like import paired_frame, table1_frame
from tests.programs import require

NOTES = ["Ours: 50 % of a_b & c.", "Paper: #1 {x}.", "s/epoch: ~2 s.", "A comment."]
TEXTS = {
    "narrow": narrow_table(table1_frame(), 300),
    "wide": wide_table(table1_frame(), NOTES),
    "paired": paired_table(paired_frame(), NOTES),
}
PAGE = r"""\documentclass{article}
\usepackage{booktabs,longtable,pdflscape}
\begin{document}
Words, so that the first page is not empty.
%s
\end{document}
"""


def test_the_narrow_table_has_the_papers_rows_and_columns():
    rows = re.findall(r"^(?:[a-z-]+)? & (ours|paper) & (.*) \\\\$", TEXTS["narrow"], re.MULTILINE)
    assert [source for source, _ in rows] == ["ours", "paper"] * len(PAPER)
    for (_, printed), values in zip(rows[1::2], PAPER.values(), strict=True):
        assert [float(cell) for cell in printed.split(" & ")] == list(values)
    means = table1_frame().set_index(["model", "metric"])["mean"]
    for (_, ours), model in zip(rows[::2], PAPER, strict=True):
        cells = ours.split(" & ")
        assert cells[:-1] == [f"{means[model, metric]:.3f}" for metric in PAPER_METRICS]
    assert "over 300 stratified splits" in TEXTS["narrow"]


def test_the_wide_table_and_the_pairs_leave_nothing_out():
    assert TEXTS["wide"].count("& ours &") == len(MODELS)
    assert TEXTS["wide"].count("& paper &") == len(PAPER)
    assert TEXTS["wide"].count(r"(.400,\,.600)") == len(METRICS)  # of the first model
    assert TEXTS["paired"].count("$+0.0100$") == (len(MODELS) - 1) * len(METRICS)


def test_specials_are_escaped():
    assert escape("100 % of a_b & {c} #1 $ ^ ~ \\ − –") == (
        r"100 \% of a\_b \& \{c\} \#1 \$ \textasciicircum{} \textasciitilde{} "
        r"\textbackslash{} $-$ --"
    )
    for text in TEXTS.values():
        assert not re.search(r"(?<!\\)%(?! )", text)
    assert r"Ours: 50 \% of a\_b \& c. Paper: \#1 \{x\}." in TEXTS["wide"]


@pytest.mark.parametrize("name", TEXTS)
def test_a_paper_takes_each_table_as_it_is(tmp_path, name):
    compile_page(tmp_path, TEXTS[name])


def compile_page(folder, text):
    """Compile a page with a table; nothing may stand out of the text block."""
    program = shutil.which("pdflatex")
    require(
        program,
        "no LaTeX here; on Debian and Ubuntu: "
        "apt-get install texlive-latex-base texlive-latex-recommended",
    )
    (folder / "page.tex").write_text(PAGE % text, encoding="utf-8")
    for _ in range(3):  # longtable settles its columns over some runs
        done = subprocess.run(
            [program, "-interaction=nonstopmode", "-halt-on-error", "page.tex"],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-2000:]
    log = (folder / "page.log").read_text(errors="replace")
    assert not re.findall(r"Overfull .*|Float too large.*|undefined.*", log)
    assert (folder / "page.pdf").read_bytes().startswith(b"%PDF")
