"""Rules against each other on the same splits of a table, with honest intervals.

Every rule has the same budget, rows, validation rows and initial weights. The screened rule
trains several candidates and keeps the best on validation, so beside it stands a control with
the same number of tries: equal dimensions started anew each time, the best on validation kept.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from embedalloc.arrays import Floats
from embedalloc.data.case import Case, Outcome, cardinality_dimensions, make_case, set_limits
from embedalloc.data.network import TabularModel, TabularSettings, train_tabular
from embedalloc.data.rules import data_rule
from embedalloc.data.screening import sample_rows, split_rows
from embedalloc.data.table import FieldData, find_task, learn_encoding
from embedalloc.intervals import nadeau_bengio_share, t_interval
from embedalloc.problem import build_problem

#: Share of the rows on which the rules are judged.
TEST_SHARE = 0.25
#: Name of the control in results.
RESTARTS = "equal, restarts"


@dataclass(frozen=True)
class Difference:
    """A rule's mean loss minus that of equal dimensions, paired over splits.

    Attributes
    ----------
    mean
        Below 0 where the rule is better.
    interval
        By Student's t, as if the splits were independent.
    corrected
        After Nadeau and Bengio (2003), who allow for the overlap of the training rows.
    """

    mean: float
    interval: tuple[float, float]
    corrected: tuple[float, float]


@dataclass(frozen=True)
class Comparison:
    """Held-out losses of rules.

    Attributes
    ----------
    budget
        The same for all.
    losses
        One row per split, one column per rule; the control is called ``equal, restarts``.
    parameters
        Embedding parameters spent, in the same form.
    tries
        Networks among which the screened rule and the control chose, by split.
    test_ratio
        Test rows over training rows.
    """

    budget: int
    losses: pd.DataFrame
    parameters: pd.DataFrame
    tries: tuple[int, ...]
    test_ratio: float

    def difference(self, rule: str) -> Difference:
        """Return a rule's loss minus that of equal dimensions."""
        return paired_difference(
            self.losses[rule].to_numpy() - self.losses["equal"].to_numpy(), self.test_ratio
        )


def paired_difference(differences: Floats, test_ratio: float) -> Difference:
    """Return mean and intervals of differences over splits."""
    mean = float(differences.mean())
    count = len(differences)
    if count < 2:
        unknown = (math.nan, math.nan)
        return Difference(mean, unknown, unknown)
    corrected = t_interval(differences, nadeau_bengio_share(count, test_ratio))
    return Difference(mean, t_interval(differences), corrected)


def compare_rules(
    frame: pd.DataFrame,
    target: NDArray[Any],
    categorical: Sequence[str],
    budget: int,
    rules: Sequence[str],
    *,
    splits: int = 10,
    seed: int = 0,
    task: str = "auto",
    min_frequency: int = 1,
    max_rows: int = 200_000,
    epochs: int = 40,
    done: Callable[[], None] = lambda: None,
    **limits: Any,
) -> Comparison:
    """Train every rule's dimensions on random splits and measure the loss on held-out rows.

    Which rows a split holds out follows their order in the data.

    Parameters
    ----------
    frame, target, categorical
        The data; columns that are not categorical are numbers.
    budget
        Embedding parameters for every rule.
    rules
        Names of rules; equal dimensions are always among them.
    splits
        Random splits into three quarters for training (a fifth of that for validation) and a
        quarter for judging.
    seed, task, min_frequency, max_rows, epochs, **limits
        As in `embedalloc.data.estimator.EmbeddingAllocator`.
    done
        Called after each rule of each split.
    """
    names = list(dict.fromkeys(["equal", *rules]))
    for name in names:
        data_rule(name)
    kind = find_task(target, task)
    _, whole = learn_encoding(frame, target, categorical, task=kind, min_frequency=min_frequency)
    permitted = set_limits(whole.cardinality(), **limits)
    build_problem(whole.cardinality(), budget, **permitted.constraints(whole.names))
    encoded = kind.encode(target)
    losses, parameters, tries, ratio = [], [], [], 0.0
    for split in range(splits):
        kept, held_out = split_rows(encoded, kind, TEST_SHARE, seed=seed, label=f"split {split}")
        encoder, data = learn_encoding(
            frame.iloc[kept], target[kept], categorical, task=kind, min_frequency=min_frequency
        )
        test = encoder.encode(frame.iloc[held_out], target[held_out])
        case = make_case(
            sample_rows(data, max_rows, seed=seed),
            set_limits(data.cardinality(), **limits),
            seed=seed * 100_003 + split,
            settings=TabularSettings(epochs=epochs),
        )
        found = {}
        for name in names:
            rule = data_rule(name)
            found[name] = rule.decide(case, rule.gather(case), budget)
            done()
        row, spent = _test_losses(case, found, test)
        if "screened" in names:
            tries.append(len(found["screened"].candidates))
            row[RESTARTS] = _best_restart(case, budget, tries[-1], test)
            spent[RESTARTS] = spent["equal"]
            done()
        losses.append(row)
        parameters.append(spent)
        ratio = len(held_out) / len(kept)
    return Comparison(budget, pd.DataFrame(losses), pd.DataFrame(parameters), tuple(tries), ratio)


def _test_losses(
    case: Case, found: Mapping[str, Outcome], test: FieldData
) -> tuple[dict[str, float], dict[str, int]]:
    """Return test loss and cost of every rule's dimensions; equal dimensions are trained once."""
    trained: dict[tuple[int, ...], float] = {}
    losses, spent = {}, {}
    for name, outcome in found.items():
        key = tuple(outcome.allocation.dimensions[each] for each in case.names)
        if key not in trained:
            trained[key] = _loss(_train(case, outcome.allocation.dimensions, "candidate"), test)
        losses[name], spent[name] = trained[key], outcome.allocation.cost
    return losses, spent


def _best_restart(case: Case, budget: int, tries: int, test: FieldData) -> float:
    """Return the test loss of the best of so many equal networks on validation."""
    dimensions = cardinality_dimensions(case, "equal", budget).dimensions
    labels = ["candidate", *(f"restart {k}" for k in range(1, tries))]
    best = min(
        (_train(case, dimensions, label) for label in labels),
        key=lambda model: model.validation_loss,
    )
    return _loss(best, test)


def _train(case: Case, dimensions: Mapping[str, int], label: str) -> TabularModel:
    return train_tabular(
        case.training,
        case.validation,
        dimensions,
        seed=case.seed,
        label=label,
        settings=case.settings,
    )


def _loss(model: TabularModel, test: FieldData) -> float:
    return float(model.losses(test).mean())
