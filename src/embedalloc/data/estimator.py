"""Embedding dimensions for a data frame, in the manner of scikit-learn."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from embedalloc.arrays import Floats
from embedalloc.checks import LARGEST_NUMBER, whole_number
from embedalloc.data.case import Limits, make_case, set_limits
from embedalloc.data.cautions import list_cautions
from embedalloc.data.codes import columns_of_target
from embedalloc.data.effects import cross_fit_effects, fit_effects
from embedalloc.data.estimator_input import (
    check_target,
    count_trainings,
    find_input_roles,
    refuse_equal_names,
)
from embedalloc.data.network import one_thread
from embedalloc.data.planned import read_effects
from embedalloc.data.report import write_report
from embedalloc.data.rules import data_rule
from embedalloc.data.searching import Found, search_plan
from embedalloc.data.settled import settle
from embedalloc.data.table import (
    FEWEST_ROWS,
    DataError,
    FieldData,
    RowNotes,
    check_row_count,
    find_task,
    learn_encoding,
    sample_rows,
)
from embedalloc.data.validation import read_notes
from embedalloc.exporters import effect_columns
from embedalloc.memory import parse_budget
from embedalloc.problem import build_problem


class EmbeddingAllocator(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Choose embedding tables for categorical fields under a parameter budget.

    A plan says per field whether it has a table, which levels have a row in it, its dimension,
    and whether the shrunken effect of the level is a numeric input beside it. The columns that
    the planned network reads are those of `fit_transform` (training rows) and `transform` (new
    rows); `tables_` says how large its tables are. Numeric columns of X are used for planning
    but not returned: give them to the network yourself, as you like them scaled.

    Parameters
    ----------
    budget
        Numbers that may be spent on tables (rows × dimension) and effects (one per level and
        column), never exceeded; or their memory as float32, such as ``"64 MB"``; or ``"auto"``:
        the smallest of some budgets with which a network is about as good as with the best; by
        default what pays three dimensions of every field.
    rule
        ``screened`` (recommended), ``paper``, ``frequency_weighted``, ``response_aware``, or a
        rule that needs cardinalities only (`embedalloc rules` lists all).
    columns
        Categorical columns by name or position; all others are then numbers or dates. By default
        those of a data frame that `embedalloc.data.roles` finds (text, few whole numbers, codes),
        and all columns of an array, which has one type for everything.
    numeric, ignore
        Columns, by name or position, that are numbers whatever they look like, or left out.
    fixed
        Dimensions that are settled, by field; 0 leaves a field without embedding.
    minimum
        Smallest permitted dimension, one number or by field.
    maximum
        Largest permitted dimension, one number or by field; N − 1 by default.
    multiple_of
        Dimensions that are not fixed are multiples of this.
    drop_allowed
        Whether a rule may leave a field without a table, whatever the minimum.
    pool_allowed
        Whether the rule ``screened`` may let rare levels share row 0 of a table.
    task
        ``classification``, ``regression`` or ``auto``: text, booleans and up to 20 different
        whole numbers are classes.
    pilots
        Pilots that the spectral rules average over.
    max_rows
        Pilots and candidates are trained on a sample of at most so many rows.
    min_frequency
        Levels with fewer rows are pooled into one.
    epochs
        Most passes over the rows per training; the validation loss usually stops earlier.
    minutes
        About how long it may take: the rows are sampled so that it does, and plans are trained
        fewer times once it is over. How many depends on the machine; the report says it.
    jobs
        Trainings at the same time, each in a process; the result does not depend on it.
    tables
        Settled plan, as `tables_` gives it: nothing is searched, and only the encoding of the
        columns and the effects are learnt.
    progress
        Called after each training with how many are done and how many there are at most.
    random_state
        Seed of splits, samples and initial weights.

    Attributes
    ----------
    dimensions_
        Dimension by field, in the order of the data.
    allocation_
        The same as an `Allocation`, with costs and budget.
    tables_
        By field with a table: its ``rows`` and its ``dimension``.
    plan_
        Tables, pooled levels and effects, field by field.
    effects_
        The fitted effects of levels; None if the plan has none.
    budget_
        The budget, also where it was selected.
    report_
        What was decided and why, per field and overall; print it.
    cardinalities_
        Levels N_j by field: those seen, a missing value as one of its own, and the unseen.
    roles_
        What each column was taken for and why. Dates become fields by part, such as
        ``"day month"`` and ``"day weekday"``, and days since the first as a number.
    encoder_
        How values become codes.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    The result depends neither on the order of rows and columns nor on the names of levels (see
    `embedalloc.data.table.order_canonically` for the exceptions), but on the names of
    columns: they name the random numbers. Which of five folds a row's own effect comes from
    follows its place in X.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> town, shop = rng.integers(30, size=2000), rng.integers(200, size=2000)
    >>> y = rng.normal(size=30)[town] + 0.5 * rng.normal(size=2000)
    >>> X = pd.DataFrame({"town": town.astype(str), "shop": shop.astype(str)})
    >>> plan = EmbeddingAllocator(budget=500, random_state=0).fit(X, y)
    >>> plan.dimensions_["shop"]
    0
    >>> plan.tables_
    {'town': {'rows': 31, 'dimension': 16}}
    """

    def __init__(
        self,
        budget: int | str | None = None,
        rule: str = "screened",
        *,
        columns: Sequence[str | int] | None = None,
        numeric: Sequence[str | int] = (),
        ignore: Sequence[str | int] = (),
        fixed: Mapping[str, int] | None = None,
        minimum: int | Mapping[str, int] = 1,
        maximum: int | Mapping[str, int] | None = None,
        multiple_of: int = 1,
        drop_allowed: bool = True,
        pool_allowed: bool = True,
        task: str = "auto",
        pilots: int = 2,
        max_rows: int = 200_000,
        min_frequency: int = 1,
        epochs: int = 40,
        minutes: float | None = None,
        jobs: int = 1,
        tables: Mapping[str, Mapping[str, Any]] | None = None,
        progress: Callable[[int, int], None] | None = None,
        random_state: Any = None,
    ) -> None:
        self.budget = budget
        self.rule = rule
        self.columns = columns
        self.numeric = numeric
        self.ignore = ignore
        self.fixed = fixed
        self.minimum = minimum
        self.maximum = maximum
        self.multiple_of = multiple_of
        self.drop_allowed = drop_allowed
        self.pool_allowed = pool_allowed
        self.task = task
        self.pilots = pilots
        self.max_rows = max_rows
        self.min_frequency = min_frequency
        self.epochs = epochs
        self.minutes = minutes
        self.jobs = jobs
        self.tables = tables
        self.progress = progress
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: Any = None,
        groups: Any = None,
        times: Any = None,
    ) -> Self:
        """Choose the tables.

        Parameters
        ----------
        X
            A data frame or array; columns that are not categorical must be numbers or dates.
        y
            The target, one value per row.
        sample_weight
            What each row counts in effects and losses.
        groups
            A group per row, such as its user: whole groups validate, so that what is known of a
            group does not flatter the plan.
        times
            A date or number per row: the last rows validate, as in use.

        Returns
        -------
        EmbeddingAllocator
            Itself, with the attributes above.

        Examples
        --------
        >>> from sklearn.datasets import make_regression
        >>> X, y = make_regression(2000, 2, random_state=0)
        >>> EmbeddingAllocator(90, random_state=0).fit((X > 0).astype(int), y).cardinalities_
        {'x0': 3, 'x1': 3}
        """
        rule = data_rule(self.rule)
        frame, target, categorical, about = self._read(X, y, sample_weight, groups, times)
        encoder, everything = learn_encoding(
            frame,
            target,
            categorical,
            task=find_task(target, self.task),
            min_frequency=whole_number(self.min_frequency, "min_frequency", least=1),
            about=about,
        )
        for caution in list_cautions(everything, encoder, target):
            warnings.warn(caution, stacklevel=2)
        limits = self._limits(everything.cardinalities)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        prepare = partial(
            make_case,
            limits=limits,
            pilots=whole_number(self.pilots, "pilots", least=1),
            seed=seed,
            epochs=whole_number(self.epochs, "epochs", least=1),
            trained=count_trainings(self.progress),
            jobs=whole_number(self.jobs, "jobs", least=1),
        )
        if self.tables is not None:
            settled = None if self.budget is None else parse_budget(self.budget)
            found = Found(settle(everything, self.tables, settled), everything)
        else:
            most = whole_number(self.max_rows, "max_rows", least=20)
            data = sample_rows(everything, most, seed=seed)
            everything = replace(everything, keys=None)  # of a large table all that is not needed
            found = search_plan(
                rule,
                data,
                self.budget,
                limits=limits,
                minutes=self.minutes,
                seed=seed,
                prepare=prepare,
            )
        decision = found.decision.put_in_order(frame.columns)
        self._seed = seed
        self.encoder_ = encoder
        self.plan_ = decision.plan
        with one_thread():
            self.effects_ = fit_effects(everything) if self.plan_.effects else None
        self.allocation_ = decision.allocation
        self.outcome_ = decision
        self.budget_ = self.allocation_.budget
        self.dimensions_ = self.allocation_.dimensions
        self.tables_ = self.plan_.tables
        self.cardinalities_ = {name: each.levels for name, each in self.plan_.fields.items()}
        self.report_ = write_report(
            decision,
            data=found.data,
            limits=limits,
            frame=frame,
            search=found.search,
            worth=found.worth,
        )
        refuse_equal_names(self.get_feature_names_out())
        return self

    def fit_transform(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: Any = None,
        groups: Any = None,
        times: Any = None,
    ) -> Any:
        """Choose the tables and return the inputs of the training rows.

        Codes are those of `transform`. A row's effects come from the rows of the other four of
        five folds, as in scikit-learn's TargetEncoder: a network that reads effects in which the
        row's own target took part trusts them too much. So train on these, never on
        ``fit(X, y).transform(X)``.

        Parameters
        ----------
        X, y
            As in `fit`.
        sample_weight, groups, times
            As in `fit`.

        Returns
        -------
        array or data frame
            As `set_output` says; the columns are those of `get_feature_names_out`.

        Examples
        --------
        >>> settled = {"town": {"rows": 3, "dimension": 1, "effect": True}}
        >>> plan = EmbeddingAllocator(tables=settled).set_output(transform="pandas")
        >>> X = pd.DataFrame({"town": ["Bonn", "Bonn", "Ulm"] * 500})
        >>> y = (X["town"] == "Ulm") + np.random.default_rng(0).normal(size=1500)
        >>> inputs = plan.fit_transform(X, y)
        >>> inputs["town"].tolist()[:3]
        [1, 1, 2]
        >>> inputs["town__effect"].nunique()  # two towns in each of five folds
        10
        """
        self.fit(X, y, sample_weight, groups, times)
        frame, target, _, about = self._read(X, y, sample_weight, groups, times)
        data = self.encoder_.encode(frame, target, about)
        with one_thread():
            effects = (
                {}
                if self.effects_ is None
                else cross_fit_effects(data, self.effects_, self.plan_.effects, seed=self._seed)
            )
        return self._inputs(data, effects, frame.index)

    def transform(self, X: Any) -> Any:
        """Return the inputs of new rows.

        By field with a table its code, from 0 to the table's rows minus one; 0 stands for levels
        that are pooled or were never seen, and other codes follow the levels' frequency. Then,
        by field whose effect is an input, that number: 0 for a level never seen.

        Parameters
        ----------
        X
            New rows, with the columns of `fit`.

        Returns
        -------
        array or data frame
            As `set_output` says; the columns are those of `get_feature_names_out`.

        Examples
        --------
        >>> plan = EmbeddingAllocator(tables={"town": {"rows": 3, "dimension": 1}})
        >>> X = pd.DataFrame({"town": ["Bonn", "Bonn", "Ulm"] * 500})
        >>> plan = plan.fit(X, np.random.default_rng(0).normal(size=1500))
        >>> plan.transform(pd.DataFrame({"town": ["Ulm", "Bonn", "Rome"]})).tolist()
        [[2], [1], [0]]
        """
        check_is_fitted(self)
        frame = self.roles_.prepare(self._frame(X, reset=False))
        data = self.encoder_.encode(frame)
        effects = read_effects(self.plan_, self.effects_, data)
        return self._inputs(data, effects, frame.index)

    def transform_numbers(self, X: Any) -> NDArray[np.float32]:
        """Return the numeric columns of some rows, standardised as the planned network reads them.

        Parameters
        ----------
        X
            Rows with the columns of `fit`.

        Returns
        -------
        array
            Columns are in the order of their names; a missing value is the median.

        Examples
        --------
        >>> plan = EmbeddingAllocator(tables={"town": {"rows": 3, "dimension": 1}})
        >>> X = pd.DataFrame({"town": ["Bonn", "Ulm"] * 500, "age": [20.5, 40.5] * 500})
        >>> plan = plan.fit(X, np.random.default_rng(0).normal(size=1000))
        >>> plan.transform_numbers(X[:2]).tolist()
        [[-1.0], [1.0]]
        """
        check_is_fitted(self)
        frame = self.roles_.prepare(self._frame(X, reset=False))
        return self.encoder_.encode(frame).numbers

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of `transform`.

        A field's code has its name, its effect the name with ``__effect`` behind it, and with
        several classes one effect each, ``__effect_<class>``.

        Parameters
        ----------
        input_features
            Not used; scikit-learn's pipelines give it.

        Returns
        -------
        array of str
            Fields with a table, then effects.

        Examples
        --------
        >>> settled = {"town": {"rows": 3, "dimension": 1, "effect": True}}
        >>> X = pd.DataFrame({"town": ["Bonn", "Bonn", "Ulm"] * 500})
        >>> plan = EmbeddingAllocator(tables=settled)
        >>> plan.fit(X, np.random.default_rng(0).normal(size=1500)).get_feature_names_out().tolist()
        ['town', 'town__effect']
        """
        check_is_fitted(self)
        return np.array([*self.tables_, *effect_columns(self.allocation_)], dtype=object)

    def _inputs(self, data: FieldData, effects: Mapping[str, Floats], index: pd.Index) -> Any:
        """Return codes and effects as columns: whole numbers and real ones in a data frame."""
        columns: list[NDArray[Any]] = [
            self.plan_.pool(name, data.codes[name]).astype(np.int64) for name in self.tables_
        ]
        for name in self.plan_.effects:
            columns += list(effects[name].T)
        wants = _get_output_config("transform", self)["dense"]
        if wants == "default":
            kind = np.float64 if self.plan_.effects else np.int64
            return np.stack(columns, axis=1) if columns else np.empty((len(data), 0), kind)
        names = self.get_feature_names_out()
        return pd.DataFrame(dict(zip(names, columns, strict=True)), index=index)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _read(
        self, X: Any, y: ArrayLike, sample_weight: Any, groups: Any, times: Any
    ) -> tuple[pd.DataFrame, NDArray[Any], list[str], RowNotes]:
        """Return checked data: a frame with text as column names, the target, the fields."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        frame = self._frame(X, reset=True)
        target = check_target(y)
        check_consistent_length(frame, target)
        about = read_notes(sample_weight, groups, times, len(frame))
        task = find_task(target, self.task)
        self.roles_ = find_input_roles(
            frame,
            columns_of_target(task.encode(target), task),
            columns=self.columns,
            numeric=self.numeric,
            ignore=self.ignore,
            is_array=not hasattr(X, "columns"),
        )
        if not self.roles_.tables:
            raise DataError("no column is categorical (text, few whole numbers, codes); name some")
        for role in self.roles_.columns:
            if role.taken_as == "identifier":
                warnings.warn(f"column {role.column!r} is left out: {role.why}", stacklevel=3)
        return self.roles_.prepare(frame), target, self.roles_.tables, about

    def _frame(self, X: Any, *, reset: bool) -> pd.DataFrame:
        if hasattr(X, "to_pandas"):
            X = X.to_pandas()
        fewest = FEWEST_ROWS if reset else 1
        if not isinstance(X, pd.DataFrame):
            values = check_array(X, dtype=None, ensure_all_finite=False, ensure_min_samples=fewest)
            validate_data(self, values, reset=reset, skip_check_array=True)
            return pd.DataFrame(values, columns=[f"x{j}" for j in range(values.shape[1])])
        frame = X.set_axis([str(name) for name in X.columns], axis="columns")
        twice = frame.columns[frame.columns.duplicated()]
        if len(twice):
            raise DataError(f"column {twice[0]!r} is there twice; names must differ")
        validate_data(self, X, reset=reset, skip_check_array=True)
        check_row_count(len(frame), fewest)
        return frame

    def _limits(self, cardinalities: Mapping[str, int]) -> Limits:
        limits = set_limits(
            cardinalities,
            minimum=self.minimum,
            maximum=self.maximum,
            fixed=self.fixed,
            multiple_of=whole_number(self.multiple_of, "multiple_of", least=1),
            drop_allowed=self.drop_allowed,
            pool_allowed=self.pool_allowed,
        )
        # Wrong names and impossible bounds are refused before anything is trained.
        build_problem(cardinalities, LARGEST_NUMBER, **limits.constraints())
        return limits
