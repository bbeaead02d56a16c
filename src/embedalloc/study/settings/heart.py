"""Settings of the heart-disease study, Section 3.4."""

from typing import Annotated, Literal

from pydantic import Field

from embedalloc.study.settings.common import (
    AtLeast1,
    AtLeast2,
    CoefficientFit,
    Different,
    NotNegative,
    Pair,
    Positive,
    ReplicatedCell,
    Settings,
    split_work,
)

Share = Annotated[float, Field(ge=0.05, le=0.8)]
#: One parameter for each category of all predictors.
HeartBudget = Annotated[int, Field(ge=36)]


class Training(Settings):
    """How one network is trained."""

    dropout: Annotated[float, Field(ge=0, lt=1)]
    """share of hidden units dropped in training"""
    learning_rate: Positive
    """Adam's learning rate"""
    weight_decay: NotNegative
    """L2 weight decay on all parameters"""
    batch: AtLeast1
    """rows per step"""
    epochs: AtLeast1
    """epochs at most"""
    patience: AtLeast1
    """epochs without improvement before training stops"""
    watch: Literal["logloss", "error"]
    """what must improve on the validation rows"""
    restore_best: bool
    """whether the weights of the best epoch are kept instead of the last one's"""


class HeartProtocol(Training):
    """What training the networks of one split needs."""

    test_share: Share
    """stratified share of the patients that is held out as test rows"""
    validation_share: Share
    """stratified share of the remaining patients that is held out for validation"""
    hidden: Pair[AtLeast1]
    """widths of the two hidden layers"""
    embedding_sd: Positive
    """standard deviation of the embedding tables at the start"""
    coefficient_fit: CoefficientFit
    """how the coefficient a is fitted to tail(d) = a/d"""
    sample_sizes: Literal["none", "multiply", "divide"]
    """how the numbers of recorded values enter the coefficients"""
    rank_cap: Literal["none", "cardinality", "cardinality_minus_one"]
    """largest dimension of a predictor"""
    budgets: Different[HeartBudget]
    """candidate budgets, each at least 36, the sum of the cardinalities"""


class HeartModels(HeartProtocol):
    """What training all models of Table 1 needs."""

    tolerance: NotNegative
    """distance from the best validation logloss within which the smallest budget wins"""
    restarts: AtLeast1
    """tries of the one-hot and unconstrained controls"""

    def cell(self, seed: int, splits: range) -> "HeartCell":
        """Return what trains all networks of some splits."""
        settings = HeartModels.taken_from(self)
        return HeartCell(settings=settings, seed=seed, first=splits.start, last=splits.stop)


class HeartFolds(HeartProtocol):
    """What Algorithm 2 needs."""

    folds: Annotated[int, Field(ge=2, le=50)]
    """folds K of Algorithm 2"""
    repetitions: AtLeast1
    """repetitions R of Algorithm 2"""

    def folds_cell(self, seed: int, splits: range) -> "HeartFoldsCell":
        """Return what selects the budget by folds on some splits."""
        settings = HeartFolds.taken_from(self)
        return HeartFoldsCell(settings=settings, seed=seed, first=splits.start, last=splits.stop)


class HeartChoices(HeartModels):
    """What the multiverse may change."""

    cholesterol_zero_is_missing: bool
    """whether a serum cholesterol of 0 counts as missing"""


class Heart(HeartChoices, HeartFolds):
    """Heart-disease study, Section 3.4."""

    data: Annotated[str, Field(min_length=1, pattern=r"^[^{}\x00-\x1f]*$")]
    """folder with the four processed.*.data files, or a heart_disease_uci.csv; inside the
    project, or absolute"""
    splits: AtLeast2
    """number of random splits of the patients"""
    splits_per_job: AtLeast1
    """splits that one job trains at most"""
    fold_splits: AtLeast1
    """splits on which Algorithm 2 runs, at most the number of splits"""
    timed_epochs: AtLeast1
    """turns in which the plain loop of each model is timed"""

    @property
    def blocks(self) -> dict[int, range]:
        """The splits of each job, by its number."""
        return split_work(self.splits, self.splits_per_job)

    @property
    def fold_blocks(self) -> dict[int, range]:
        """The splits of each job of Algorithm 2, by its number."""
        return split_work(self.fold_splits, self.splits_per_job)


#: What one job needs; its replications are splits of the patients.
HeartCell = ReplicatedCell[HeartModels]
HeartFoldsCell = ReplicatedCell[HeartFolds]
