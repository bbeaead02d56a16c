"""Whether the figures printed in Table 1 can be true together, as a table and in words."""

from itertools import groupby
from pathlib import Path

import pandas as pd

from embedalloc.audit.metrics_file import AuditError, MetricsTable, read_metrics_table
from embedalloc.audit.printed import Audit, Solution, audit_table, implied_metrics
from embedalloc.study.workflow.document import Part
from embedalloc.study.workflow.tables import Column, Contract, TableError

AUDIT = Contract(
    "audit",
    {
        "n": Column("integer", "patients in the test set", low=1),
        "positives": Column("integer", "patients with disease in the test set", low=0),
        "model": Column("text", "row of Table 1"),
        "tp": Column("integer", "true positives", low=0),
        "fp": Column("integer", "false positives", low=0),
        "fn": Column("integer", "false negatives", low=0),
        "tn": Column("integer", "true negatives", low=0),
        "unexplained": Column("integer", "printed cells of the row that contradict it", low=0),
        "cells": Column("text", "these cells with the values implied, or nothing"),
    },
    key=("n", "positives", "model", "tp", "fp"),
)
HEADS = {"accuracy": "Acc", "f1": "F1", "precision": "Prec", "recall": "Rec", "mcc": "MCC"}


def audit_printed(path: str | Path, largest_test_set: int) -> tuple[MetricsTable, Audit]:
    """Return the printed figures and all test sets that leave the fewest cells unexplained."""
    try:
        printed = read_metrics_table(path)
        audit = audit_table(printed.rows, n_max=largest_test_set, max_unexplained=len(printed.rows))
    except AuditError as error:
        raise TableError(f"the printed table cannot be audited: {error}") from None
    if not audit.solutions or not all(all(s.matrices.values()) for s in audit.solutions):
        raise TableError(
            f"{path}: no test set of at most {largest_test_set} explains the table with one wrong "
            "cell per row; raise audit.largest_test_set"
        )
    return printed, audit


def tabulate_audit(audit: Audit) -> pd.DataFrame:
    """Return one row per test set, model and matrix, the smallest test set first."""
    rows = []
    for solution in audit.solutions:
        for model, matrices in solution.matrices.items():
            for matrix in matrices:
                cells = [
                    str(cell)
                    for cell in solution.unexplained
                    if (cell.row, cell.matrix) == (model, matrix)
                ]
                words = "; ".join(cells)
                rows.append((solution.n, solution.positives, model, *matrix, len(cells), words))
    return pd.DataFrame(rows, columns=list(AUDIT.columns))


def describe_audit(printed: MetricsTable, audit: Audit) -> list[Part]:
    """Return the findings as a short document."""
    smallest = audit.solutions[0]
    explained = audit.n_cells - audit.n_unexplained
    verdict = (
        f"Some test sets explain all {audit.n_cells} printed cells."
        if not audit.n_unexplained
        else f"No test set of at most {audit.n_max:,} patients explains all {audit.n_cells} "
        f"printed cells; the best explain {explained}."
    )
    single = all(len(matrices) == 1 for matrices in smallest.matrices.values())
    head, *rows = _matrix_table(printed, smallest)
    return [
        Part(
            "Can the figures of Table 1 be true together?",
            1,
            [
                "Accuracy, F1, precision and MCC of a row all come from one confusion matrix, and "
                "all rows share one test set. For every test set of "
                f"{audit.n_min} to {audit.n_max:,} patients and every number of positives, an "
                "exact search looked for matrices whose metrics round to the printed figures. F1 "
                "and precision are taken as those of the positive class, and every figure as that "
                "of one test set, not as a mean over several.",
                f"**{verdict}** The smallest of these has {smallest.n} patients, "
                f"{smallest.positives} of them positive, with "
                + (
                    "a single matrix per row:"
                    if single
                    else "these matrices (the first of several):"
                ),
            ],
            head,
            rows,
            [" --- ", *[" ---: "] * (len(head) - 1)],
            [*_unexplained(smallest), _other_sizes(audit)],
        )
    ]


def _matrix_table(printed: MetricsTable, solution: Solution) -> list[list[str]]:
    metrics = [m for m in HEADS if any(m in row for row in printed.rows.values())]
    wrong = {(cell.row, cell.column): cell.printed for cell in solution.of_first_matrices()}
    lines = [["model", "TP", "FP", "FN", "TN", *(HEADS[metric] for metric in metrics)]]
    for model, (matrix, *_) in solution.matrices.items():
        implied = implied_metrics(*matrix)
        cells = []
        for metric in metrics:
            value = implied[metric]
            shown = "undefined" if value is None else f"{float(value):.3f}"
            # Bold where the matrix contradicts what is printed.
            if (model, metric) in wrong:
                shown = f"**{shown}** (printed {wrong[model, metric]})"
            cells.append(shown)
        lines.append([model.replace("_", " "), *map(str, matrix), *cells])
    return lines


def _unexplained(solution: Solution) -> list[str]:
    """Say of each contradicted cell what the matrix implies, to one more decimal."""
    return [
        f"{cell.row.replace('_', ' ').capitalize()}, {HEADS[cell.column]}: printed {cell.printed}, "
        + ("undefined" if cell.implied is None else f"but {cell.implied:.4f}")
        + " by the matrix that gives the other figures of the row."
        for cell in solution.of_first_matrices()
    ]


def _other_sizes(audit: Audit) -> str:
    """Say how many other test sets do as well, and whether they blame the same cells."""
    first, *others = audit.solutions
    if not others:
        return f"No other test set of at most {audit.n_max:,} patients does as well."
    listed = ", ".join(
        f"{n:,} ({' or '.join(f'{s.positives:,}' for s in group)})"
        for n, group in groupby(others, key=lambda solution: solution.n)
    )
    count = f"{len(others)}{'' if audit.complete else ' or more'}"
    subject, verb = ("test set", "does") if count == "1" else ("test sets", "do")
    blamed = {(cell.row, cell.column) for cell in first.unexplained}
    same = all({(c.row, c.column) for c in s.unexplained} == blamed for s in others)
    return (
        f"{count} other {subject} of at most {audit.n_max:,} patients {verb} as well, "
        + ("with the same cells unexplained" if same else "some with other cells unexplained")
        + f"; patients (positives): {listed}."
    )
