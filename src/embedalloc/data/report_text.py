"""A report in words, for someone who has not read the paper."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from embedalloc.data.verdict import Answer, recall
from embedalloc.text import (
    bar,
    count_columns,
    cut_name,
    find_width,
    paragraph,
    text_table,
    write_change,
)
from embedalloc.visible import make_visible

if TYPE_CHECKING:
    from embedalloc.data.report import FieldReport, Report

#: What the loss of each task is called.
LOSSES = {
    "binary": "log loss",
    "multiclass": "log loss",
    "regression": "squared error of the standardised target",
}
#: What columns of the table mean, said once below it.
LEGENDS = {
    "rows": "rows: levels with a row of their own in the table, and one row for all others.",
    "effect": "effect: the mean target of a row's level, pulled towards the overall mean where "
    "the level is rare, is a numeric input.",
    "trials": "trials: smallest and largest dimension if one trial network alone had decided.",
    "worth": "worth: by how many per cent the {loss} of rows that validate rises if a linear "
    "model of all columns is not told the field.",
}
_BAR = 10
_SHORTEST_NAME = 8


def write_text(report: "Report") -> str:
    """Return the whole report."""
    heads, table = _write_table(report)
    legends = [paragraph(text) for text in list_legends(report, heads)]
    parts = [[table], legends, write_facts(report), write_tries(report), list_answers(report)]
    return "\n\n".join("\n".join(part) for part in (*parts, list_steps(report)) if part)


def _write_table(report: "Report") -> tuple[list[str], str]:
    """Return the heads, and a line per field; columns that would be empty are left out."""
    fields = report.fields
    columns, whole = list_columns(report), find_width()
    columns.append(("decision", "<", [each.why for each in fields]))
    taken = sum(1 + max(map(count_columns, [head, *cells])) for head, _, cells in columns)
    longest = max(count_columns(cut_name(each.name, whole)) for each in fields)
    width = max(_SHORTEST_NAME, min(longest, whole - taken))
    if width + taken + _BAR < whole:  # bars are the first that a narrow terminal can miss
        largest = max(each.share for each in fields) or 1.0
        bars = (" " * _BAR, "<", [bar(each.share / largest, _BAR) for each in fields])
        columns.insert(-1, bars)
    names = ("field", "<", [cut_name(each.name, width) for each in fields])
    heads, signs, cells = zip(names, *columns, strict=True)
    text = text_table(heads, list(zip(*cells, strict=True)), align="".join(signs), gap=" ")
    return [head.strip() for head in heads], text


def list_legends(report: "Report", heads: Collection[str]) -> list[str]:
    """Return what the columns of the table mean that need a word."""
    loss = LOSSES[report.task]
    return [text.format(loss=loss) for head, text in LEGENDS.items() if head in heads]


def list_columns(report: "Report") -> list[tuple[str, str, list[str]]]:
    """Return head, alignment and cells of the columns between name and decision."""
    fields = report.fields
    columns = [(" levels", ">", [f"{each.levels:,}" for each in fields])]
    if any(each.dimension and each.table_rows < each.levels for each in fields):
        columns.append(("rows", ">", [f"{each.table_rows:,}" for each in fields]))
    columns.append((" dim", ">", [f"{each.dimension:,}" for each in fields]))
    if any(each.smallest is not None for each in fields):
        columns.append(("trials", ">", [_write_range(each) for each in fields]))
    if any(each.effect for each in fields):
        columns.append(("effect", "<", ["yes" if each.effect else "" for each in fields]))
    columns.append((" params", ">", [f"{each.parameters:,}" for each in fields]))
    if any(each.worth is not None for each in fields):
        columns.append(("worth", ">", [_write_percent(each.worth) for each in fields]))
    return columns


def write_facts(report: "Report") -> list[str]:
    """Return what was spent, and on how many rows it rests."""
    share = 100 * report.spent / report.budget if report.budget else 0.0
    more = "with more, tables would grow" if report.budget_binds else "more would not be used"
    spent = (
        f"rule {report.allocation_rule}: {report.spent:,} of {report.budget:,} parameters spent "
        f"({share:.0f} %); {more}"
    )
    lines = [paragraph(spent)]
    if report.rows_used < report.rows:
        lines.append(f"trained on a sample of {report.rows_used:,} of {report.rows:,} rows")
    if report.rounds_left_out:
        lines.append(
            paragraph(
                "the time was up before all trainings were done, so the verdicts rest on fewer; "
                f"rounds left out: {report.rounds_left_out}"
            )
        )
    if report.budgets:
        lines.append("budgets that were tried with equal dimensions, and their validation loss:")
        for each in report.budgets:
            loss = "no time" if each.validation_loss is None else f"{each.validation_loss:.5f}"
            mark = "*" if each.budget == report.budget else " "
            lines.append(f"  {loss:>7} {mark} {each.budget:,} parameters")
        lines.append("  * the smallest that is about as good as the best")
    if report.spectrum_ratio is not None:
        news = (
            "hardly differ from the random numbers that they started from, so these dimensions "
            "say little about the data"
            if report.spectrum_is_initialisation
            else "have learnt something: their weights are "
            f"{report.spectrum_ratio:.2f} times those that they started from"
        )
        lines.append(paragraph(f"the tables of the trial networks {news}"))
    return lines


def write_tries(report: "Report") -> list[str]:
    """Return what was trained, by the names of fields, and its loss."""
    if not report.candidates:
        return []
    lines = [paragraph(f"Tried, with the {LOSSES[report.task]} of rows that validate:")]
    for place, each in enumerate(report.candidates):
        times = "once" if each.trainings == 1 else f"{each.trainings} times"
        words = f"{each.description}; {each.parameters:,} parameters, trained {times}"
        mark = "*" if each.label == report.chosen else " "
        # Each training has validation rows of its own, so losses compare where both had it.
        loss = write_change(each.change) if place else f"{each.validation_loss:.5f}"
        lines += _hang(f"  {loss:>8} {mark} ", words)
    for reference in report.references:
        change = write_change(reference.change)
        lines += _hang(f"  {change:>8}   ", f"{reference.label}, without embeddings")
    if report.references and report.task == "multiclass":
        lines += _hang(" " * 13, "(with hundreds of classes, gradient boosting takes fewer rounds)")
    return [*lines, "  * the plan; changes are against the first line"]


def _hang(start: str, words: str) -> list[str]:
    """Return a paragraph whose further lines stand below its first word."""
    lines = paragraph(make_visible(words), " " * len(start)).split("\n")
    return [start + lines[0].lstrip(), *lines[1:]]


def list_answers(report: "Report") -> list[str]:
    """Return the verdicts, a paragraph each."""
    answers = [
        _write_answer("beats_equal", "Does the plan beat equal dimensions?", report.beats_equal),
        _write_answer("splitting", "Does splitting dimensions matter?", report.splitting),
    ]
    if report.better_reference is not None:
        lead = 100 * (report.better_reference_lead or 0.0)
        answers.append(
            f"A model without embeddings does better here: {report.better_reference}, with a "
            f"validation loss {lead:.1f} % lower than the planned network's."
        )
    return [paragraph(words) for words in answers]


def list_steps(report: "Report") -> list[str]:
    """Return what to do next."""
    steps = [
        "`embedalloc plan … --export torch` (or keras) prints a program that trains this network;",
        "`embedalloc compare …` judges rules on rows that were held out of everything.",
    ]
    if report.better_reference is not None:
        steps.insert(0, f"try {report.better_reference} before a network;")
    elif report.beats_equal.verdict == "no":
        steps.insert(0, "equal dimensions are as good as any here: take them;")
    return [paragraph("Next: " + " ".join(steps))]


def _write_answer(key: str, question: str, answer: Answer) -> str:
    text = f"{question} {answer.verdict.capitalize()}: {answer.reason}."
    record = recall(key, answer.verdict)
    if record is None or answer.gain is None:
        return text
    return (
        f"{text} This answer was right in {record[0]} of {record[1]} runs on the tables that the "
        "rule was developed on; elsewhere expect less."
    )


def _write_percent(share: float | None) -> str:
    text = "" if share is None else f"{100 * share:.1f} %"
    return "0.0 %" if text == "-0.0 %" else text.replace("-", "−")


def _write_range(field: "FieldReport") -> str:
    if field.smallest is None:
        return ""
    same = field.smallest == field.largest
    return f"{field.smallest}" if same else f"{field.smallest}–{field.largest}"
