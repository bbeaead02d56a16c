"""The bench of one split: its rows, prepared once, and every network that is trained on them.

All networks of a split share its rows, and all networks of one restart share row orders and
dropout masks; initial weights depend on split, restart and shape alone. So models differ by their
dimensions and by nothing else, and equal dimensions give the same network to the last bit.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from embedalloc.allocation import solve_by_paper
from embedalloc.arrays import Floats
from embedalloc.problem import BudgetProblem, build_problem
from embedalloc.spectra import fit_coefficient, singular_values, spectral_tails
from embedalloc.streams import stream
from embedalloc.study.heart.patients import CATEGORICAL, NUMERIC
from embedalloc.study.heart.preprocess import Preprocessor, RowNumbers, stratified_split
from embedalloc.study.heart.trainer.network import (
    NetworkShape,
    Rows,
    Schedule,
    TrainedNetwork,
    draw_schedule,
    draw_weights,
    split_weights,
    train,
)
from embedalloc.study.settings.heart import HeartProtocol

#: Dimension of each predictor; none for one-hot inputs.
Dimensions = tuple[int, ...] | None
#: A random stream by the rest of its name.
Named = Callable[..., np.random.Generator]


class Parts(NamedTuple):
    """The patients of one split."""

    training: RowNumbers
    validation: RowNumbers
    test: RowNumbers


class Bench:
    """The rows of one split, ready to train networks of any dimensions on."""

    def __init__(
        self,
        patients: pd.DataFrame,
        training: RowNumbers,
        validation: RowNumbers,
        settings: HeartProtocol,
        named: Named,
    ) -> None:
        self.patients, self.settings, self._named = patients, settings, named
        self._preprocessor = Preprocessor(patients.iloc[training])
        self.cardinalities = self._preprocessor.cardinalities
        self.observed = patients.iloc[training][list(CATEGORICAL)].notna().sum().to_numpy()
        self.training, self.validation = self.rows(training), self.rows(validation)
        self._schedules: dict[int, Schedule] = {}
        self._known: dict[tuple[Dimensions, int], TrainedNetwork] = {}

    def rows(self, numbers: RowNumbers) -> Rows:
        """Return these patients as the network takes them."""
        frame = self.patients.iloc[numbers]
        return Rows(
            self._preprocessor.codes(frame),
            self._preprocessor.numbers(frame),
            frame["disease"].to_numpy(),
        )

    def shape(self, dimensions: Dimensions) -> NetworkShape:
        """Return the network's shape for these dimensions."""
        first, second = self.settings.hidden
        return NetworkShape(self.cardinalities, dimensions, len(NUMERIC), (first, second))

    def start(self, dimensions: Dimensions, restart: int) -> Floats:
        """Return initial weights, a function of split, restart and shape."""
        rng = self._named("weights", restart)
        return draw_weights(self.shape(dimensions), rng, self.settings.embedding_sd)

    def schedule(self, restart: int) -> Schedule:
        """Return the row orders and dropout masks that all networks of a restart share."""
        if restart not in self._schedules:
            rows, settings = len(self.training.numbers), self.settings
            rng, hidden = self._named("plan", restart), self.shape(None).hidden
            drawn = draw_schedule(rng, rows, settings.epochs, hidden, settings.dropout)
            self._schedules[restart] = drawn
        return self._schedules[restart]

    def fit(self, dimensions: Dimensions, restart: int = 0) -> TrainedNetwork:
        """Train a network, or return the one trained before with the same dimensions."""
        key = (dimensions, restart)
        if key not in self._known:
            self._known[key] = train(
                self.shape(dimensions),
                self.start(dimensions, restart),
                self.schedule(restart),
                self.training,
                self.validation,
                self.settings,
            )
        return self._known[key]

    def coefficients(self, dimensions: Dimensions, weights: Floats) -> Floats:
        """Return the approximation coefficients of a network's tables (Algorithm 1, step 2)."""
        tables, _ = split_weights(self.shape(dimensions), weights)
        method = self.settings.coefficient_fit
        return np.array(
            [fit_coefficient(spectral_tails(singular_values(t)), method=method) for t in tables]
        )

    def weigh(self, coefficients: Floats) -> Floats:
        """Return the coefficients that enter the allocation, with or without the sample sizes.

        A predictor's sample size is the number of training rows in which it was recorded.
        """
        # NOTE[PAPER] heart-sample-sizes: not used by default; what they are is not said.
        use = self.settings.sample_sizes
        if use == "none":
            return coefficients
        return coefficients * self.observed if use == "multiply" else coefficients / self.observed

    def propose(self, coefficients: Floats, budget: int) -> tuple[int, ...]:
        """Return the paper's dimensions for these coefficients."""
        return tuple(solve_by_paper(self.problem(budget), coefficients).dimensions.tolist())

    def problem(self, budget: int) -> BudgetProblem:
        """Return the problem that all rules solve at one budget."""
        return build_problem(self.cardinalities, budget, maximum=self.caps)

    @property
    def caps(self) -> list[int] | None:
        """Largest dimension of each predictor, if there is one."""
        cap = self.settings.rank_cap
        if cap == "none":
            return None
        return [n if cap == "cardinality" else n - 1 for n in self.cardinalities]

    def validation_logloss(self, network: TrainedNetwork) -> float:
        """Return the validation logloss at the epoch whose weights were kept."""
        kept = network.best_epoch if self.settings.restore_best else network.epochs_run
        return float(network.validation_logloss[kept - 1])


def split_patients(
    patients: pd.DataFrame, settings: HeartProtocol, rng: np.random.Generator
) -> Parts:
    """Return training, validation and test rows of one split, stratified by the disease."""
    labels = patients["disease"].to_numpy()
    rest, test = stratified_split(rng, np.arange(len(labels)), labels, settings.test_share)
    training, validation = stratified_split(rng, rest, labels, settings.validation_share)
    return Parts(training, validation, test)


def prepare_split(
    patients: pd.DataFrame, settings: HeartProtocol, *, seed: int, split: int
) -> tuple[Bench, Parts]:
    """Split the patients by the split's own stream, and prepare their rows."""
    named = partial(stream, seed, "heart", split)
    parts = split_patients(patients, settings, named("rows"))
    return Bench(patients, parts.training, parts.validation, settings, named), parts
