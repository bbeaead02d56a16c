"""The heart-disease study (Section 3.4): every model of Table 1 on many splits of the patients.

All networks of a split share its rows, and all networks of one restart share row orders and
dropout masks; initial weights depend on split, restart and shape alone. So models differ by their
dimensions and by nothing else, and equal dimensions give the same network to the last bit.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from embedalloc.allocation import solve_by_paper
from embedalloc.arrays import Floats, Ints
from embedalloc.budgets import BudgetSelection, select_budget, select_budget_by_holdout
from embedalloc.budgets import Rows as RowNumbers
from embedalloc.problem import BudgetProblem, build_problem
from embedalloc.proportional import (
    dimensions_by_priority,
    proportional_dimensions,
    weigh_equally,
)
from embedalloc.spectra import fit_coefficient, singular_values, spectral_tails
from embedalloc.streams import stream
from embedalloc.study.heart.patients import CATEGORICAL, NUMERIC
from embedalloc.study.heart.preprocess import fit_preprocessor, stratified_split
from embedalloc.study.heart.trainer.network import (
    NetworkShape,
    Plan,
    Rows,
    TrainedNetwork,
    TrainingSettings,
    draw_plan,
    initial_weights,
    predict,
    split_weights,
    train,
)
from embedalloc.study.workflow.tables import Column, Contract

#: Networks by how their dimensions are chosen.
NETWORKS = (
    "proposed",
    "uniform",
    "unit_coefficients",
    "cardinality",
    "cardinality_per_dimension",
    "unconstrained",
    "one_hot",
)
#: Models whose network is trained at every candidate budget, with the column of the selected one.
SEARCHED = {
    "proposed": ("proposed", "selected_budget"),
    "uniform_search": ("uniform", "selected_budget_uniform"),
    "unit_coefficients": ("unit_coefficients", "selected_budget_unit"),
}
_SPLIT = Column("integer", "split of the patients", low=0)
_PATIENTS = Column("integers", "patients in this part", low=0)

TRAINED = Contract(
    "heart_trained",
    {
        "split": _SPLIT,
        "network": Column("text", "who chose the dimensions", values=NETWORKS),
        "budget": Column("integer", "candidate budget, 0 without one", low=0),
        "restart": Column("integer", "restart, with its own weights and masks", low=0),
        "dimensions": Column("text", "d_1-d_2-…, or one-hot"),
        "embedding_parameters": Column("integer", "parameters in the tables", low=0),
        "best_epoch": Column("integer", "epoch whose weights were kept", low=1),
        "epochs_run": Column("integer", "epochs until training stopped", low=1),
        "validation_logloss": Column("number", "at that epoch", low=0),
        "validation_probabilities": Column("numbers", "of disease", low=0, high=1),
        "test_probabilities": Column("numbers", "of disease", low=0, high=1),
    },
    key=("split", "network", "budget", "restart"),
)
SPLITS = Contract(
    "heart_splits",
    {
        "split": _SPLIT,
        "training": _PATIENTS,
        "validation": _PATIENTS,
        "test": _PATIENTS,
        "selected_budget": Column("integer", "proposed rule, holdout with tolerance", low=1),
        "selected_budget_uniform": Column("integer", "uniform, by its own search", low=1),
        "selected_budget_unit": Column("integer", "unit coefficients, by its own search", low=1),
    },
    key=("split",),
)
COEFFICIENTS = Contract(
    "heart_coefficients",
    {
        "split": _SPLIT,
        "predictor": Column("text", "categorical predictor", values=CATEGORICAL),
        "cardinality": Column("integer", "codes, the reserved one included", low=2),
        "before": Column("number", "a of the pilot's table as initialised", low=0),
        "after": Column("number", "a of the pilot's table as trained", low=0),
    },
    key=("split", "predictor"),
)
FOLDS = Contract(
    "heart_folds",
    {
        "split": _SPLIT,
        "budget": Column("integer", "candidate budget", low=1),
        "mean_loss": Column("number", "mean validation logloss over folds", low=0),
        "standard_error": Column("number", "of that mean", low=0),
        "selected": Column("flag", "chosen by the one-standard-error rule"),
    },
    key=("split", "budget"),
)


class Bench:
    """The rows of one split, ready to train networks of any dimensions on."""

    def __init__(
        self,
        patients: pd.DataFrame,
        training: RowNumbers,
        validation: RowNumbers,
        settings: Mapping[str, Any],
        named: Callable[..., np.random.Generator],
    ) -> None:
        self.patients, self.settings, self._named = patients, settings, named
        self._preprocessor = fit_preprocessor(patients.iloc[training])
        self.cardinalities = self._preprocessor.cardinalities
        self.observed = patients.iloc[training][list(CATEGORICAL)].notna().sum().to_numpy()
        self.training, self.validation = self.rows(training), self.rows(validation)
        self._plans: dict[int, Plan] = {}
        self._known: dict[tuple[tuple[int, ...] | None, int], TrainedNetwork] = {}

    def rows(self, numbers: RowNumbers) -> Rows:
        """Return these patients as the network takes them."""
        frame = self.patients.iloc[numbers]
        return Rows(
            self._preprocessor.codes(frame),
            self._preprocessor.numbers(frame),
            frame["disease"].to_numpy(),
        )

    @property
    def named_cardinalities(self) -> dict[str, int]:
        """Cardinalities by predictor name."""
        return dict(zip(CATEGORICAL, self.cardinalities, strict=True))

    def shape(self, dimensions: tuple[int, ...] | None) -> NetworkShape:
        """Return the network's shape for these dimensions, None for one-hot."""
        hidden = tuple(self.settings["hidden"])
        return NetworkShape(self.cardinalities, dimensions, len(NUMERIC), hidden)

    def start(self, dimensions: tuple[int, ...] | None, restart: int) -> Floats:
        """Return initial weights, a function of split, restart and shape."""
        rng = self._named("weights", restart)
        return initial_weights(self.shape(dimensions), rng, self.settings["embedding_sd"])

    def fit(self, dimensions: tuple[int, ...] | None, restart: int = 0) -> TrainedNetwork:
        """Train a network, or return the one trained before with the same dimensions."""
        if restart not in self._plans:
            self._plans[restart] = draw_plan(
                self._named("plan", restart),
                len(self.training.numbers),
                self.settings["epochs"],
                tuple(self.settings["hidden"]),
                self.settings["dropout"],
            )
        key = (dimensions, restart)
        if key not in self._known:
            self._known[key] = train(
                self.shape(dimensions),
                self.start(dimensions, restart),
                self._plans[restart],
                self.training,
                self.validation,
                training_settings(self.settings),
            )
        return self._known[key]

    def coefficients(self, dimensions: tuple[int, ...], weights: Floats) -> Floats:
        """Return the approximation coefficients of a network's tables (Algorithm 1, step 2)."""
        tables, _ = split_weights(self.shape(dimensions), weights)
        method = self.settings["coefficient_fit"]
        return np.array(
            [fit_coefficient(spectral_tails(singular_values(t)), method=method) for t in tables]
        )

    def weigh(self, coefficients: Floats) -> Floats:
        """Return the coefficients that enter the allocation, with or without the sample sizes.

        A predictor's sample size is the number of training rows in which it was recorded.
        """
        # NOTE[PAPER] heart-sample-sizes: not used by default; what they are is not said.
        use = self.settings["sample_sizes"]
        if use == "none":
            return coefficients
        return coefficients * self.observed if use == "multiply" else coefficients / self.observed

    def propose(self, coefficients: Floats, budget: int) -> Ints:
        """Return the paper's dimensions for these coefficients."""
        return solve_by_paper(self.problem(budget), coefficients).dimensions

    def problem(self, budget: int) -> BudgetProblem:
        """Return the problem that all rules solve at one budget."""
        return build_problem(self.cardinalities, budget, maximum=self.caps)

    @property
    def caps(self) -> list[int] | None:
        """Largest dimension of each predictor, if there is one."""
        cap = self.settings["rank_cap"]
        if cap == "none":
            return None
        return [n if cap == "cardinality" else n - 1 for n in self.cardinalities]

    def validation_logloss(self, network: TrainedNetwork) -> float:
        """Return the validation logloss at the epoch whose weights were kept."""
        return float(network.validation_logloss[self.kept_epoch(network) - 1])

    def kept_epoch(self, network: TrainedNetwork) -> int:
        """Return the epoch whose weights were kept: the best one, or the last one run."""
        return network.best_epoch if self.settings["restore_best"] else network.epochs_run


def training_settings(settings: Mapping[str, Any]) -> TrainingSettings:
    """Return the trainer's settings from the study's."""
    names = ("learning_rate", "weight_decay", "batch", "epochs", "patience", "dropout", "watch")
    return TrainingSettings(**{name: settings[name] for name in (*names, "restore_best")})


def share_equally(problem: BudgetProblem) -> Ints:
    """Return equal dimensions, the leftover unspent."""
    return proportional_dimensions(problem, weigh_equally(problem), "floored")


def square_root_dimensions(cardinalities: Iterable[int]) -> tuple[int, ...]:
    """Return ⌈√N_j⌉: the dimensions of the pilot and of the unconstrained model."""
    return tuple(math.ceil(math.sqrt(n)) for n in cardinalities)


def split_patients(
    patients: pd.DataFrame, settings: Mapping[str, Any], rng: np.random.Generator
) -> tuple[RowNumbers, RowNumbers, RowNumbers]:
    """Return training, validation and test rows of one split, stratified by the disease."""
    labels = patients["disease"].to_numpy()
    rest, test = stratified_split(rng, np.arange(len(labels)), labels, settings["test_share"])
    training, validation = stratified_split(rng, rest, labels, settings["validation_share"])
    return training, validation, test


def run_splits(
    patients: pd.DataFrame,
    settings: Mapping[str, Any],
    *,
    seed: int,
    first: int,
    last: int,
    models: Collection[str] | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return trained networks, splits and pilot coefficients for splits first … last − 1.

    Only networks that some of the models of Table 1 need are trained, or all of them.
    """
    results = [run_split(patients, settings, seed, split, models) for split in range(first, last)]
    trained, splits, coefficients = zip(*results, strict=True)
    return (
        pd.DataFrame([row for rows in trained for row in rows]),
        pd.DataFrame(list(splits)),
        pd.DataFrame([row for rows in coefficients for row in rows]),
    )


def run_split(
    patients: pd.DataFrame,
    settings: Mapping[str, Any],
    seed: int,
    split: int,
    models: Collection[str] | None = None,
) -> tuple[list[dict[str, Any]], dict[str, Any], list[dict[str, Any]]]:
    """Train the networks of one split: Algorithm 1 end to end, its rivals and the controls."""

    def named(*parts: str | int) -> np.random.Generator:
        return stream(seed, "heart", split, *parts)

    # The list of all models is not imported: a new metric or label beside it must not train anew.
    def wanted(model: str) -> bool:
        return models is None or model in models

    training, validation, test = split_patients(patients, settings, named("rows"))
    bench = Bench(patients, training, validation, settings, named)
    pilot_dimensions = square_root_dimensions(bench.cardinalities)
    # The pilot has the dimensions of the unconstrained model, so it is that model.
    pilot = bench.fit(pilot_dimensions)
    fitted: dict[tuple[str, int, int], TrainedNetwork] = {}
    for network, dimensions in (("unconstrained", pilot_dimensions), ("one_hot", None)):
        for restart in range(settings["restarts"] if wanted(f"{network}_best") else 1):
            fitted[network, 0, restart] = bench.fit(dimensions, restart)
    before = bench.coefficients(pilot_dimensions, bench.start(pilot_dimensions, 0))
    after = bench.coefficients(pilot_dimensions, pilot.weights)
    rules: dict[str, Callable[[int], Ints]] = {
        "proposed": lambda budget: bench.propose(bench.weigh(after), budget),
        "uniform": lambda budget: share_equally(bench.problem(budget)),
        "unit_coefficients": lambda budget: bench.propose(np.ones(len(after)), budget),
        "cardinality": lambda budget: dimensions_by_priority(bench.problem(budget)),
        "cardinality_per_dimension": lambda budget: dimensions_by_priority(
            bench.problem(budget), divide_by_dimension=True
        ),
    }

    def fit(network: str, budget: int) -> None:
        dimensions = tuple(rules[network](budget).tolist())
        fitted[network, budget, 0] = bench.fit(dimensions)

    def search(network: str) -> int:
        for budget in settings["budgets"]:
            fit(network, budget)
        return search_budget(bench, training, validation, rules[network]).budget

    selected: dict[str, Any] = {
        column: search(network) if wanted(model) else None
        for model, (network, column) in SEARCHED.items()
    }
    for network in ("uniform", "cardinality", "cardinality_per_dimension"):
        if wanted(network):
            fit(network, selected["selected_budget"])
    test_rows = bench.rows(test)
    rows = [
        {"split": split, "network": network, "budget": budget, "restart": restart}
        | _network_row(bench, model, test_rows)
        for (network, budget, restart), model in fitted.items()
    ]
    about_split = {
        "split": split,
        "training": training,
        "validation": validation,
        "test": test,
        **selected,
    }
    coefficients = [
        {"split": split, "predictor": name, "cardinality": n, "before": b, "after": a}
        for name, n, b, a in zip(CATEGORICAL, bench.cardinalities, before, after, strict=True)
    ]
    return rows, about_split, coefficients


def search_budget(
    bench: Bench, training: RowNumbers, validation: RowNumbers, rule: Callable[[int], Ints]
) -> BudgetSelection[tuple[int, ...]]:
    """Select a rule's budget by holdout with tolerance (Section 3.4)."""
    return select_budget_by_holdout(
        training,
        validation,
        bench.settings["budgets"],
        lambda rows, budget: tuple(rule(budget).tolist()),
        lambda rows, dimensions: bench.fit(dimensions),
        lambda network, rows: bench.validation_logloss(network),
        tolerance=bench.settings["tolerance"],
    )


def _network_row(bench: Bench, network: TrainedNetwork, test: Rows) -> dict[str, Any]:
    dimensions = network.shape.dimensions
    return {
        "dimensions": "one-hot" if dimensions is None else "-".join(map(str, dimensions)),
        "embedding_parameters": network.shape.embedding_parameters,
        "best_epoch": bench.kept_epoch(network),
        "epochs_run": network.epochs_run,
        "validation_logloss": bench.validation_logloss(network),
        "validation_probabilities": predict(network, bench.validation),
        "test_probabilities": predict(network, test),
    }


def select_by_folds(
    patients: pd.DataFrame, settings: Mapping[str, Any], *, seed: int, first: int, last: int
) -> pd.DataFrame:
    """Return Algorithm 2's selection on the training and validation rows of some splits."""
    frames = [_select_on_split(patients, settings, seed, split) for split in range(first, last)]
    return pd.concat(frames, ignore_index=True)


def _select_on_split(
    patients: pd.DataFrame, settings: Mapping[str, Any], seed: int, split: int
) -> pd.DataFrame:
    """Run repeated K-fold validation; nothing of a fold is seen by the model judged on it.

    Early stopping needs validation rows of its own, taken from each fold's training rows.
    """
    # NOTE[PAPER] heart-folds: Algorithm 2 does not say where early stopping gets its rows.
    rng = stream(seed, "heart", split, "rows")
    training, validation, _ = split_patients(patients, settings, rng)
    everyone = np.sort(np.concatenate([training, validation]))
    labels = patients["disease"].to_numpy()
    benches: dict[bytes, Bench] = {}

    def bench_of(rows: RowNumbers) -> Bench:
        key = rows.tobytes()
        if key not in benches:
            number = len(benches)

            def named(*parts: str | int) -> np.random.Generator:
                return stream(seed, "heart", split, "folds", number, *parts)

            inner, stopping = stratified_split(
                named("rows"), everyone[rows], labels, settings["validation_share"]
            )
            benches[key] = Bench(patients, inner, stopping, settings, named)
        return benches[key]

    def allocate(rows: RowNumbers, budget: int) -> tuple[int, ...]:
        bench = bench_of(rows)
        pilot = square_root_dimensions(bench.cardinalities)
        coefficients = bench.coefficients(pilot, bench.fit(pilot).weights)
        return tuple(bench.propose(bench.weigh(coefficients), budget).tolist())

    def fit(rows: RowNumbers, dimensions: tuple[int, ...]) -> tuple[Bench, TrainedNetwork]:
        bench = bench_of(rows)
        return bench, bench.fit(dimensions)

    def loss(model: tuple[Bench, TrainedNetwork], rows: RowNumbers) -> float:
        bench, network = model
        held_out = bench.rows(everyone[rows])
        return logloss(held_out.labels, predict(network, held_out))

    selection = select_budget(
        len(everyone),
        settings["budgets"],
        allocate,
        fit,
        loss,
        rng=stream(seed, "heart", split, "folds"),
        folds=settings["folds"],
        repetitions=settings["repetitions"],
        strata=labels[everyone],
    )
    return pd.DataFrame(
        {
            "split": split,
            "budget": selection.budgets,
            "mean_loss": selection.mean_losses,
            "standard_error": selection.standard_errors,
            "selected": [budget == selection.budget for budget in selection.budgets],
        }
    )


def logloss(labels: Any, probabilities: Floats) -> float:
    """Return the mean negative log-likelihood of binary labels; certainty is cut at 1e-15."""
    p = np.clip(probabilities, 1e-15, 1 - 1e-15)
    return float(-np.where(np.asarray(labels) == 1, np.log(p), np.log1p(-p)).mean())
