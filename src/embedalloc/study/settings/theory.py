"""Settings of Section 2, one block per figure."""

from typing import Annotated

from pydantic import Field, Strict

from embedalloc.study.settings.common import (
    MAX_SHOWN,
    AtLeast1,
    AtLeast2,
    CoefficientFit,
    Count,
    Different,
    Pair,
    Positive,
    Predictor,
    Settings,
    Several,
)

#: Test risks are exact sums over all combinations of categories, so there is a limit to them.
MAX_COMBINATIONS = 1_000_000
#: Fits of Theorem 1 use a dense matrix with one row per category of any predictor.
MAX_CATEGORIES = 5000


class Approximation(Predictor):
    """Proposition 2, exact error and bound over the dimension."""

    concentration: Positive
    """Dirichlet parameter of the category probabilities"""
    replications: AtLeast2
    """number of Monte Carlo replications"""


class Alternating(Settings):
    """Theorem 1, the alternating scheme from several starts."""

    cardinalities: Several[AtLeast2]
    """numbers of categories N_j, one per predictor"""
    dimensions: Several[AtLeast1]
    """embedding dimensions d_j, one per predictor"""
    covariates: Count
    """number of numeric covariates p"""
    observations: AtLeast2
    """number of observations n"""
    penalty: Positive
    """ridge penalty of weights and tables, Theorem 1"""
    starts: AtLeast1
    """number of random starts"""
    rounds: AtLeast1
    """largest number of rounds of a run"""
    tolerance: Positive
    """norm of the gradient at which a run ends"""


class Generalisation(Settings):
    """Theorem 2, the generalisation gap over a grid."""

    predictors: AtLeast1
    """number of predictors m"""
    cardinalities: Annotated[Different[AtLeast2], Field(min_length=2, max_length=MAX_SHOWN)]
    """numbers of categories of each predictor; the exponents need two values"""
    dimensions: Annotated[Different[AtLeast1], Field(min_length=2, max_length=4)]
    """two to four embedding dimensions, for which the figure has marks"""
    observations: Annotated[Different[AtLeast2], Field(min_length=2, max_length=MAX_SHOWN)]
    """sample sizes n, above the number of free effects; the exponents need two"""
    noise: Positive
    """standard deviation of the response's noise"""
    penalty: Positive
    """ridge penalty of weights and tables, Theorem 1"""
    replications: AtLeast2
    """number of Monte Carlo replications"""


class Instances(Settings):
    """The random instances of Theorem 3's problem."""

    predictor_counts: Annotated[Different[AtLeast1], Field(max_length=MAX_SHOWN)]
    """numbers of predictors m of the random instances"""
    budget_ratios: Annotated[
        Different[Annotated[float, Field(ge=1, le=10_000)]], Field(max_length=MAX_SHOWN)
    ]
    """budgets of the random instances over the sum of their cardinalities"""
    cardinality_range: Pair[Annotated[int, Field(ge=2, le=10**6)]]
    """smallest and largest cardinality of the random instances"""
    coefficient_range: Pair[Positive]
    """smallest and largest coefficient of the random instances"""
    instances: AtLeast1
    """number of random instances for each number of predictors"""


class AllocationProblems(Instances):
    """The random instances, and Experiment 3's predictors at many budgets."""

    predictors: Several[Predictor]
    """the categorical predictors"""
    coefficient_fit: CoefficientFit
    """how the coefficient a is fitted to tail(d) = a/d"""
    budgets: Annotated[tuple[AtLeast1, ...], Strict(False), Field(min_length=1)]
    """total embedding parameters B, in order"""


class TheoryAllocation(Instances):
    """Theorem 3, three solutions over budgets and on random instances."""

    budget_step: AtLeast1
    """distance of the budgets between Experiment 3's smallest and largest"""


class Theory(Settings):
    """The statements of Section 2, one block per figure."""

    approximation: Approximation
    alternating: Alternating
    generalisation: Generalisation
    allocation: TheoryAllocation
