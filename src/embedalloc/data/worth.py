"""What a field is worth: how much worse a model predicts that is not told it."""

from typing import Any

import numpy as np
from sklearn.linear_model import Ridge
from threadpoolctl import threadpool_limits

from embedalloc.arrays import Floats
from embedalloc.data.case import DataCase
from embedalloc.data.references import (
    join_inputs,
    make_logistic,
    measure_losses,
    unconverged,
)

#: Rows that are enough to fit one coefficient per field.
MOST_ROWS = 20_000


def measure_worth(case: DataCase) -> dict[str, float]:
    """Return by what share of it the validation loss rises without each field.

    The model is linear in the numbers and in the shrunken effect of every field's level. Without
    a field it is given 0, the effect of a level of which nothing is known. Nothing is fitted
    again, so what two fields tell alike is missed in both.
    """
    known, new = case.training, case.validation
    if known.task.kind != "regression" and len(np.unique(known.target)) < 2:
        return {}  # the other classes are so rare that no training row has one
    rows = np.sort(known.shuffle(case.seed, "worth")[:MOST_ROWS])
    columns = len(case.names) * case.design.intercept.size
    told = [case.validation_effects[name] for name in case.names]
    some = known.take(rows)
    learnt = (case.training_effects[name][rows] for name in case.names)
    inputs = join_inputs(some, learnt, columns)
    regression = known.task.kind == "regression"
    model: Any = Ridge() if regression else make_logistic(inputs.size * known.task.outputs)
    with threadpool_limits(1), unconverged():
        model.fit(inputs, some.target, sample_weight=some.weights)

        def loss(effects: list[Floats]) -> float:
            inputs = join_inputs(new, effects, columns)
            return float(new.weigh(measure_losses(model, inputs, new)).mean())

        least = loss(told)
        without = {
            name: loss([*told[:place], np.zeros_like(told[place]), *told[place + 1 :]])
            for place, name in enumerate(case.names)
        }
    return {name: (each - least) / (least or 1.0) for name, each in without.items()}
