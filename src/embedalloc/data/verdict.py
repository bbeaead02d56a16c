"""Two questions about a plan, answered in per cent of the loss.

Does it beat equal dimensions here, and does it matter how dimensions are split? The answers rest
on validation rows and on several trainings of each contender.
"""

import json
from dataclasses import dataclass
from importlib import resources
from typing import Literal

import numpy as np

from embedalloc.data.decision import Decision
from embedalloc.data.planned import CLEAR_ERRORS, FEWEST_VALIDATING, Candidate, compare
from embedalloc.text import write_change

Verdict = Literal["yes", "no", "cannot tell"]

#: A gain below this share of the loss is none that matters.
SMALL_GAIN = 0.01
#: A model without embeddings is better if it leads by so many standard errors.
CLEAR_LEAD = 2.0
#: How often verdicts were right on real tables, as `snakemake tables` counted.
TRACK_RECORD = "track_record.json"

#: What each kind of plan adds to the one before it.
_ADDED = {
    "pruned": "dropping and pooling",
    "effects": "effects as inputs",
}


@dataclass(frozen=True)
class Answer:
    """The answer to one question.

    Attributes
    ----------
    verdict
        Yes, no, or cannot tell.
    gain, low, high
        Reduction of the validation loss as a share of it, and its 80 % interval over rows and
        initial weights; None if it was not measured.
    reason
        One sentence, without its full stop.
    """

    verdict: Verdict
    gain: float | None
    low: float | None
    high: float | None
    reason: str


def measure_gain(before: Candidate, after: Candidate) -> tuple[float, float, float]:
    """Return the gain of one candidate over another with its interval, as shares of the loss."""
    gain, error = compare(before, after)
    loss = before.loss or 1.0
    reach = CLEAR_ERRORS * error
    return gain / loss, (gain - reach) / loss, (gain + reach) / loss


def answer_beats_equal(decision: Decision) -> Answer:
    """Say whether the plan beats equal dimensions, and by what."""
    equal = decision.find("equal")
    if not decision.candidates:
        return Answer(
            "cannot tell", None, None, None, "this rule does not test it; the rule screened does"
        )
    if equal is None:
        reason = "the budget cannot pay one dimension for every level, so nothing is compared"
        return Answer("cannot tell", None, None, None, reason)
    rows = len(equal.losses[0])
    if rows < FEWEST_VALIDATING:
        reason = f"{rows} rows to validate on are too few; the plan is equal dimensions"
        return Answer("cannot tell", None, None, None, reason)
    winner = decision.winner
    if winner is equal:
        return Answer("no", 0.0, 0.0, 0.0, _explain_equal(decision, equal))
    gain, low, high = measure_gain(equal, winner)
    reason = (
        f"it changes the validation loss by {write_change(-gain)} ({write_change(-high)} to "
        f"{write_change(-low)}): {_list_parts(decision)}"
    )
    as_good = sum(
        float(one.mean()) <= float(other.mean())
        for one, other in zip(equal.losses, winner.losses, strict=False)
    )
    if as_good:
        reason += f"; equal dimensions did as well in {as_good} of {winner.tries} trainings"
    return Answer("yes", gain, low, high, reason)


def _explain_equal(decision: Decision, equal: Candidate) -> str:
    """Say that the plan is equal dimensions, and what better ones are not ruled out."""
    others = [each for each in decision.candidates if each.label not in ("equal", "split")]
    highest = max((measure_gain(equal, each)[2] for each in others), default=0.0)
    reason = "the plan is equal dimensions; nothing else that was tried is clearly better"
    if highest <= SMALL_GAIN:
        return reason
    return f"{reason}, though a change of the loss by {write_change(-highest)} is not ruled out"


def _list_parts(decision: Decision) -> str:
    """Say how each step from equal dimensions to the plan changed the loss."""
    words = []
    before = decision.find("equal")
    for label, what in _ADDED.items():
        step = decision.find(label)
        if before is None or step is None:
            continue
        change = compare(step, before).mean / before.loss
        words.append(f"{what} {write_change(change)}")
        before = step
        if label == decision.winner.label:
            break
    return ", ".join(words)


def answer_splitting(decision: Decision, *, pays_for_all: bool) -> Answer:
    """Say whether unequal dimensions for the same tables change the loss."""
    if pays_for_all:
        reason = "the budget pays for full rank in every table"
        return Answer("no", 0.0, 0.0, 0.0, reason)
    split = decision.find("split")
    base = _find_base(decision)
    if not decision.candidates:
        return Answer(
            "cannot tell", None, None, None, "this rule does not test it; the rule screened does"
        )
    if split is None or base is None:
        return Answer("no", 0.0, 0.0, 0.0, "dimensions by what each field explains are the same")
    gain, low, high = measure_gain(base, split)
    reason = (
        f"dimensions by what each field explains, instead of equal ones, change the "
        f"validation loss by {write_change(-gain)} ({write_change(-high)} to {write_change(-low)})"
    )
    if high < SMALL_GAIN:
        return Answer("no", gain, low, high, reason)
    return Answer("yes" if low > 0 else "cannot tell", gain, low, high, reason)


def _find_base(decision: Decision) -> Candidate | None:
    """Return the candidate whose tables were split."""
    split = decision.find("split")
    if split is None:
        return None

    def tables(candidate: Candidate) -> list[tuple[int, int]]:
        fields = candidate.plan.fields.values()
        return [(field.kept, field.effect_columns) for field in fields]

    return next(
        each for each in decision.candidates if each is not split and tables(each) == tables(split)
    )


def find_better_reference(decision: Decision) -> tuple[str, float] | None:
    """Return the model without embeddings that clearly beats the plan, and its lead."""
    if not decision.references or not decision.candidates:
        return None
    name, losses = min(decision.references.items(), key=lambda item: float(item[1].mean()))
    winner = decision.winner
    lead = winner.losses[0] - losses  # the same validation rows
    error = float(lead.std(ddof=1)) / np.sqrt(len(lead))
    if lead.mean() <= CLEAR_LEAD * error:
        return None
    return name, float(lead.mean()) / float(winner.losses[0].mean())


def recall(question: str, verdict: Verdict) -> tuple[int, int] | None:
    """Return how often such a verdict was right on real tables, and of how many."""
    home = resources.files("embedalloc.data") / TRACK_RECORD
    if not home.is_file():
        return None
    record = json.loads(home.read_text(encoding="utf-8"))["verdicts"]
    entry = record.get(question, {}).get(verdict)
    return None if entry is None else (entry["right"], entry["of"])
