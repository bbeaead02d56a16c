r"""Table 1 and its paired comparison as LaTeX, ready for a paper: a caption, a label, booktabs.

Each text is read with `\input`; its first lines say which packages it needs. The narrow table
fits the text block of the article class, the wide one its landscape page.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from textwrap import wrap
from typing import Any

import pandas as pd

from embedalloc.study.heart.table1 import (
    METRIC_LABELS,
    METRICS,
    MODEL_LABELS,
    MODELS,
    PAPER,
    PAPER_METRICS,
    SECONDS,
)

Row = Mapping[Hashable, Any]
_SPECIAL: dict[str, str | int | None] = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "−": "$-$",
    "–": "--",
}


def escape(text: str) -> str:
    r"""Return a text as LaTeX prints it.

    Examples
    --------
    >>> escape("95 % of {a_b} – c")
    '95 \\% of \\{a\\_b\\} -- c'
    """
    return text.translate(str.maketrans(_SPECIAL))


def narrow_table(means: pd.DataFrame, splits: int) -> str:
    """Return the paper's rows and columns: for each model our mean and the paper's figure."""
    cells = means.set_index(["model", "metric"])
    metrics = (*PAPER_METRICS, SECONDS)
    body = []
    for model in PAPER:
        rows = cells.loc[model].loc[list(metrics)]
        for name, source, values in (
            (escape(MODEL_LABELS[model]), "ours", rows["mean"]),
            ("", "paper", rows["paper"]),
        ):
            body.append(_row([name, source, *(f"{value:.3f}" for value in values)]))
        body.append(r"\addlinespace")
    caption = (
        f"Table 1 of the paper: our mean over {splits} stratified splits above the figure that the "
        "paper prints for one split."
    )
    head = _row(["", "", *(escape(METRIC_LABELS[metric]) for metric in metrics)])
    tabular = _tabular("ll" + "r" * len(metrics), head, body[:-1])
    return _float(
        ["booktabs"], [], caption, "table1", r"\small\setlength{\tabcolsep}{3pt}", tabular
    )


def wide_table(means: pd.DataFrame, notes: Sequence[str]) -> str:
    """Return all models and metrics with intervals, and the percentiles of the paper's figures."""
    cells = {(row["model"], row["metric"]): row for row in means.to_dict("records")}
    metrics, fastest = (*METRICS, SECONDS), cells["one_hot", SECONDS]
    body = []
    for model in MODELS:
        mine = [cells[model, metric] for metric in metrics]
        name, more = _two_lines(MODEL_LABELS[model], 18)
        body.append(_row([name, "ours", *(f"{cell['mean']:.3f}" for cell in mine)]))
        below = [_interval(cell["low"], cell["high"]) for cell in mine[:-1]]
        body.append(_row([more, "", *below, _ratio(mine[-1], fastest, "mean")]))
        if model in PAPER:
            printed = [_printed(cell["paper"], cell["percentile"]) for cell in mine[:-1]]
            seconds = f"{mine[-1]['paper']:.3f} {_ratio(mine[-1], fastest, 'paper')}"
            body.append(_row(["", "paper", *printed, seconds]))
        body.append(r"\addlinespace")
    heads = zip(*(_two_lines(METRIC_LABELS[metric], 8) for metric in metrics), strict=True)
    head = "\n".join(_row(["", "", *line]) for line in heads)
    tabular = _tabular("ll" + "r" * len(metrics), head, body[:-1])
    size = r"\scriptsize\setlength{\tabcolsep}{1.8pt}"
    caption = " ".join(("Table 1 with intervals and further models.", *notes[:3]))
    table = _float(["booktabs", "pdflscape"], notes[3:], caption, "table1-wide", size, tabular)
    first = table.index(r"\begin{table}")
    return f"{table[:first]}\\begin{{landscape}}\n{table[first:]}\\end{{landscape}}\n"


def paired_table(paired: pd.DataFrame, notes: Sequence[str]) -> str:
    """Return the paired comparison, a block of rows per rival over several pages."""
    columns = ["", "difference", r"95 \% interval", "Nadeau--Bengio", "$p$"]
    head = _row([*columns, "$p$ (Holm)", r"won", r"tied"])
    body = []
    for rival, rows in paired.groupby("rival", sort=False):
        title = escape(MODEL_LABELS[str(rival)])
        body.append(rf"\multicolumn{{8}}{{@{{}}l}}{{\emph{{against {title}}}}} \\*")
        for row in rows.to_dict("records"):
            cells = [
                escape(METRIC_LABELS[row["metric"]]),
                f"${row['difference']:+.4f}$",
                f"$({row['low']:+.4f},\\ {row['high']:+.4f})$",
                f"$({row['corrected_low']:+.4f},\\ {row['corrected_high']:+.4f})$",
                f"{row['p_value']:.3f}",
                f"{row['p_holm']:.3f}",
                rf"{100 * row['won']:.0f} \%",
                rf"{100 * row['tied']:.0f} \%",
            ]
            body.append(_row(cells) + "*")
        body[-1] = body[-1].removesuffix("*")  # a page may end here
        body.append(r"\addlinespace")
    caption = escape(" ".join(("The proposed model minus each other one.", *notes)))
    return _lines(
        _needs(["booktabs", "longtable"]),
        r"{\scriptsize\setlength{\tabcolsep}{2.5pt}",
        r"\begin{longtable}{@{}lrrrrrrr@{}}",
        rf"\caption{{{caption}}}\label{{tab:table1-paired}}\\",
        *(r"\toprule", head, r"\midrule", r"\endfirsthead"),
        *(r"\toprule", head, r"\midrule", r"\endhead", r"\bottomrule", r"\endfoot"),
        *body[:-1],
        r"\end{longtable}}",
    )


def _row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _two_lines(text: str, width: int) -> tuple[str, str]:
    """Return a label in two parts, the second one empty where the first is short enough."""
    first, *rest = wrap(text, width)
    return escape(first), escape(" ".join(rest))


def _interval(low: float, high: float) -> str:
    """Return an interval without the zeros before its points, which would not fit."""
    first, last = (f"{end:.3f}".replace("0.", ".", 1).replace("-", "$-$") for end in (low, high))
    return rf"({first},\,{last})"


def _printed(figure: float, percentile: float) -> str:
    return "" if pd.isna(figure) else f"{figure:.3f} [{percentile:.0f}]"


def _ratio(seconds: Row, fastest: Row, whose: str) -> str:
    return rf"({seconds[whose] / fastest[whose]:.1f}$\times$)"


def _tabular(columns: str, head: str, body: Sequence[str]) -> list[str]:
    rules = [r"\toprule", head, r"\midrule", *body, r"\bottomrule"]
    return [rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}", *rules, r"\end{tabular}"]


def _float(
    packages: list[str],
    notes: Iterable[str],
    caption: str,
    label: str,
    size: str,
    tabular: list[str],
) -> str:
    return _lines(
        _needs(packages),
        *(f"% {note}" for note in notes),
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape(caption)}}}\label{{tab:{label}}}",
        r"\medskip",
        size,
        *tabular,
        r"\end{table}",
    )


def _needs(packages: list[str]) -> str:
    return rf"% needs \usepackage{{{','.join(packages)}}}"


def _lines(*lines: str) -> str:
    return "\n".join(lines) + "\n"
