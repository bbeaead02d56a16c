"""The registry of allocation rules: what each does, who proposed it, what it needs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np

from embedalloc import proportional
from embedalloc.allocation import Solution, solve_by_paper
from embedalloc.arrays import Floats
from embedalloc.checks import show
from embedalloc.optimum import solve_optimally
from embedalloc.problem import BudgetProblem
from embedalloc.proportional import Leftover, dimensions_by_priority, proportional_dimensions

#: What the sources call "the paper".
THE_PAPER = (
    "V. E. Papageorgiou, Optimal Allocation of Embedding Dimensions under Finite-Sample Constraints"
)


@dataclass(frozen=True)
class Rule:
    """One allocation rule.

    Attributes
    ----------
    name
        What the user asks for.
    sentence
        What the rule does.
    source
        Who proposed it, and where.
    function
        Its solution of a problem, given its inputs by name (and `leftover` if it is
        proportional); None if it only learns from a table.
    inputs
        What it takes beside the cardinalities and the budget, of the arguments of `allocate`.
    needs_input
        Whether it must have one of them.
    proportional
        Whether it leaves the leftover or spends it, as the user likes.
    from_table
        Where it is defined for tables, as text: it is imported only when it is used.
    """

    name: str
    sentence: str
    source: str
    function: Callable[..., Solution] | None = None
    inputs: tuple[str, ...] = ()
    needs_input: bool = False
    proportional: bool = False
    from_table: str | None = None

    @property
    def needs(self) -> str:
        """The first thing that it must be given beside the cardinalities: an input, or data."""
        if self.function is None:
            return "data"
        return self.inputs[0] if self.needs_input else "cardinalities"


def _proportional(
    name: str,
    sentence: str,
    source: str,
    weigh: Callable[..., Floats],
    *inputs: str,
    needs_input: bool = False,
) -> Rule:
    """Return the rule that shares the budget in proportion to these weights."""

    def solve(problem: BudgetProblem, *, leftover: Leftover, **given: object) -> Solution:
        return Solution(proportional_dimensions(problem, weigh(problem, **given), leftover))

    return Rule(name, sentence, source, solve, inputs, needs_input, proportional=True)


def _by_unit_coefficients(problem: BudgetProblem) -> Solution:
    return solve_by_paper(problem, np.ones(len(problem.names)))


def _by_priority(problem: BudgetProblem, *, divide_by_dimension: bool) -> Solution:
    return Solution(dimensions_by_priority(problem, divide_by_dimension=divide_by_dimension))


_RULES = (
    Rule(
        "paper",
        "Minimises the sum of a/d with one coefficient a per field; dimensions in proportion to "
        "sqrt(a/N), rounded down, what is left spent where it helps most.",
        "the paper, Theorem 3 and Algorithm 1",
        solve_by_paper,
        ("coefficients",),
        needs_input=True,
        from_table="embedalloc.data.spectral:PAPER",
    ),
    Rule(
        "optimal",
        "Searches for the whole dimensions with the least sum of a/d, or of measured curves, and "
        "says how far from the optimum it can be at most.",
        "the objective of the paper's Section 2.5, solved exactly",
        solve_optimally,
        ("coefficients", "curves"),
        needs_input=True,
    ),
    Rule(
        "screened",
        "Estimates the shrunken effect of every level, leaves out tables and pools levels that "
        "these do not justify, gives effects as inputs beside the tables, and keeps the best of "
        "a few such plans and equal dimensions on validation rows; recommended where there is "
        "data.",
        "this library, embedalloc.data.screened; the shrinkage is the paper's Theorem 1",
        from_table="embedalloc.data.screened:SCREENED",
    ),
    Rule(
        "response_aware",
        "Minimises an unbiased estimate of the prediction error exactly under the budget: a "
        "dimension must explain more of the target than noise would, else it is zero.",
        "Mallows, Some comments on Cp, Technometrics, 1973; for tables on a pilot's features",
        from_table="embedalloc.data.response:RESPONSE_AWARE",
    ),
    Rule(
        "frequency_weighted",
        "The paper's rule with coefficients from a pilot network's tables, rows weighted by the "
        "root of their frequency.",
        "the paper, Proposition 2 taken exactly and Algorithm 1",
        from_table="embedalloc.data.spectral:FREQUENCY_WEIGHTED",
    ),
    Rule(
        "unit",
        "The paper's rule with all coefficients equal: dimensions in proportion to 1/sqrt(N).",
        "the paper, Theorem 3 with a = 1",
        _by_unit_coefficients,
    ),
    _proportional(
        "equal",
        "Gives every field the same dimension, and what is left of the budget to those that it "
        "still pays; hard to beat where nothing is known.",
        "the paper, Section 3.3 (there a rival)",
        proportional.weigh_equally,
    ),
    _proportional(
        "cardinality",
        "Gives dimensions in proportion to the number of categories N.",
        "the paper, Section 3.3 (there a rival)",
        proportional.weigh_by_cardinality,
    ),
    _proportional(
        "square_root",
        "Gives dimensions in proportion to sqrt(N).",
        "the paper, Section 3.4 (the pilot's dimensions)",
        proportional.weigh_by_square_root,
    ),
    _proportional(
        "fourth_root",
        "Gives dimensions in proportion to the fourth root of N.",
        "TensorFlow team, Introducing TensorFlow Feature Columns, Google Developers Blog, 2017",
        proportional.weigh_by_fourth_root,
    ),
    _proportional(
        "fastai",
        "Gives dimensions in proportion to min(600, 1.6 N^0.56).",
        "fastai, emb_sz_rule in fastai.tabular.model",
        proportional.weigh_by_fastai,
    ),
    _proportional(
        "popularity",
        "Gives dimensions in proportion to (f/N)^0.3, the popularity of a table's average row, "
        "with f lookups per sample (1 by default).",
        "Ginart et al., Mixed Dimension Embeddings, 2019, arXiv:1909.11810; "
        "0.3 is the default of their code",
        proportional.weigh_by_popularity,
        "frequencies",
    ),
    _proportional(
        "spectral_mass",
        "Gives dimensions in proportion to the sum of the squared singular values of a table.",
        "the paper, Section 3.3 (there a rival)",
        proportional.weigh_by_spectral_mass,
        "masses",
        needs_input=True,
    ),
    Rule(
        "cardinality_priority",
        "Starts from the minimum and gives each next dimension to the largest "
        "sqrt(max(N - 1, 1))/N, which lets one field take all it can.",
        "the paper, Section 3.4, read literally",
        partial(_by_priority, divide_by_dimension=False),
    ),
    Rule(
        "cardinality_priority_per_dimension",
        "The same with the score divided by the dimension reached, which spreads the budget.",
        "the paper, Section 3.4, the other reading",
        partial(_by_priority, divide_by_dimension=True),
    ),
)

#: Every rule by name, in the order in which `embedalloc rules` prints them.
RULES: Mapping[str, Rule] = MappingProxyType({rule.name: rule for rule in _RULES})
#: The rules that a table is enough for.
TABLE_RULES: Mapping[str, Rule] = MappingProxyType(
    {name: rule for name, rule in RULES.items() if rule.from_table or rule.needs == "cardinalities"}
)


def find_rule(name: str, *, among: Mapping[str, Rule] = RULES) -> Rule:
    """Return the rule of this name."""
    if not isinstance(name, str) or name not in among:
        raise ValueError(f"unknown allocation rule {show(name)}; there are {', '.join(among)}")
    return among[name]
