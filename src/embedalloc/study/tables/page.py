"""The page of the study of real tables."""

import pandas as pd

from embedalloc.study.tables.protocol import Protocol
from embedalloc.study.tables.summary import GOAL, tabulate, tabulate_decoys
from embedalloc.study.workflow.document import Part

#: What was asked, in words.
QUESTIONS = {
    "beats_equal": "does the plan beat equal dimensions?",
    "splitting": "does splitting dimensions matter?",
}


def describe_tables(
    protocol: Protocol,
    differences: pd.DataFrame,
    verdicts: pd.DataFrame,
    calibrated: tuple[int, int],
    decoys: pd.DataFrame,
) -> list[Part]:
    """Return the page's parts: differences, verdicts and decoys."""
    right, of = calibrated
    budgets = ", ".join(f"{budget:g}" for budget in protocol.budgets)
    starts = ", ".join(f"{name} ({sd:g})" for name, sd in protocol.initialisations.items())
    return [
        Part(
            "Real tables",
            1,
            [
                f"{len(protocol.tables)} tables ({', '.join(protocol.tables)}), at most "
                f"{protocol.rows:,} rows, {protocol.splits} random splits, budgets of {budgets} "
                "dimensions on average. A network that did not plan is trained on every plan; its "
                "embeddings start with two standard deviations: " + starts + ". The protocol "
                "(`workflow/tables.yaml`) was fixed before the outcome.",
            ],
        ),
        Part(
            "Difference to equal dimensions",
            paragraphs=["Per mille of the test loss; below zero is better."],
            head=["contestant", "initialisation", "mean", "SE over tables", "cells better / worse",
                  "trainings", "seconds"],
            rows=tabulate(differences),
            align=["---", "---", "---:", "---:", "---:", "---:", "---:"],
            notes=[
                "A cell is a table at a budget; better and worse by the Nadeau–Bengio interval "
                "over splits.",
                "Trainings are those of planning, or of the judge where a control chooses.",
            ],
        ),
        Part(
            "Answers and truth",
            head=["question", "answer", "right", "runs"],
            rows=[
                [QUESTIONS[row["question"]], row["verdict"],
                 "–" if row["verdict"] == "cannot tell" else str(row["right"]), str(row["runs"])]
                for row in verdicts.to_dict("records")
            ],
            align=["---", "---", "---:", "---:"],
            notes=[
                "Truth is the judge's test loss with small initialisation; for “no”, a gain of at "
                f"most {100 * protocol.no_difference:g} % is none.",
                "If the smallest validation gain that counts as “yes” to the first question is "
                "chosen on the other tables, so that it is right there in "
                f"{100 * GOAL:g} % of runs, it is right in {right} of {of} here.",
            ],
        ),
        Part(
            "Decoys that the recommended rule keeps",
            head=["copy of the largest field", "kept as", "runs", "95 % interval"],
            rows=tabulate_decoys(decoys),
            notes=[
                "Permuted: all values shuffled, no signal is left. Corrupted: "
                f"{100 * protocol.corrupted_share:g} % of the values shuffled. Combined: with the "
                "values of the field with the second most levels.",
            ],
        ),
    ]  # fmt: skip
