"""What each allocation rule does, in one sentence, and where it comes from."""

from dataclasses import dataclass
from typing import Literal

#: What a rule must be given beside the budget. A rule that needs data learns from a table.
Needs = Literal["cardinalities", "coefficients", "curves", "masses", "data"]

#: What the sources call "the paper".
THE_PAPER = (
    "V. E. Papageorgiou, Optimal Allocation of Embedding Dimensions under Finite-Sample Constraints"
)


@dataclass(frozen=True)
class RuleDescription:
    """One allocation rule for readers.

    Attributes
    ----------
    name
        What the user asks for.
    sentence
        What the rule does.
    source
        Who proposed it, and where.
    needs
        What it must be given beside the cardinalities and the budget.
    """

    name: str
    sentence: str
    source: str
    needs: Needs


#: Every rule that a user can name, in the order in which `embedalloc rules` prints them.
RULE_DESCRIPTIONS: tuple[RuleDescription, ...] = (
    RuleDescription(
        "paper",
        "Minimises the sum of a/d with one coefficient a per predictor; dimensions in proportion "
        "to sqrt(a/N), rounded down, what is left spent where it helps most.",
        "the paper, Theorem 3 and Algorithm 1",
        "coefficients",
    ),
    RuleDescription(
        "optimal",
        "Searches for the whole dimensions with the least sum of a/d, or of measured curves, and "
        "says how far from the optimum it can be at most.",
        "the objective of the paper's Section 2.5, solved exactly",
        "coefficients",
    ),
    RuleDescription(
        "screened",
        "Leaves out predictors that carry no signal, shares the budget by what each of the others "
        "explains, and keeps the best of a few such allocations and equal dimensions on "
        "validation rows; recommended where there is data.",
        "this library, embedalloc.data.screening",
        "data",
    ),
    RuleDescription(
        "response_aware",
        "Minimises an unbiased estimate of the prediction error exactly under the budget: a "
        "dimension must explain more of the target than noise would, else it is zero.",
        "Mallows, Some comments on Cp, Technometrics, 1973; for tables on a pilot's features",
        "data",
    ),
    RuleDescription(
        "frequency_weighted",
        "The paper's rule with coefficients from a pilot network's tables, rows weighted by the "
        "root of their frequency.",
        "the paper, Proposition 2 taken exactly and Algorithm 1",
        "data",
    ),
    RuleDescription(
        "unit",
        "The paper's rule with all coefficients equal: dimensions in proportion to 1/sqrt(N).",
        "the paper, Theorem 3 with a = 1",
        "cardinalities",
    ),
    RuleDescription(
        "equal",
        "Gives every predictor the same dimension; hard to beat where nothing is known.",
        "the paper, Section 3.3 (there a rival)",
        "cardinalities",
    ),
    RuleDescription(
        "cardinality",
        "Gives dimensions in proportion to the number of categories N.",
        "the paper, Section 3.3 (there a rival)",
        "cardinalities",
    ),
    RuleDescription(
        "square_root",
        "Gives dimensions in proportion to sqrt(N).",
        "the paper, Section 3.4 (the pilot's dimensions)",
        "cardinalities",
    ),
    RuleDescription(
        "fourth_root",
        "Gives dimensions in proportion to the fourth root of N.",
        "TensorFlow team, Introducing TensorFlow Feature Columns, Google Developers Blog, 2017",
        "cardinalities",
    ),
    RuleDescription(
        "fastai",
        "Gives dimensions in proportion to min(600, 1.6 N^0.56).",
        "fastai, emb_sz_rule in fastai.tabular.model",
        "cardinalities",
    ),
    RuleDescription(
        "popularity",
        "Gives dimensions in proportion to (f/N)^0.3, the popularity of a table's average row, "
        "with f lookups per sample (1 by default).",
        "Ginart et al., Mixed Dimension Embeddings, 2019, arXiv:1909.11810; "
        "0.3 is the default of their code",
        "cardinalities",
    ),
    RuleDescription(
        "spectral_mass",
        "Gives dimensions in proportion to the sum of the squared singular values of a table.",
        "the paper, Section 3.3 (there a rival)",
        "masses",
    ),
    RuleDescription(
        "cardinality_priority",
        "Starts from the minimum and gives each next dimension to the largest "
        "sqrt(max(N - 1, 1))/N, which lets one predictor take all it can.",
        "the paper, Section 3.4, read literally",
        "cardinalities",
    ),
    RuleDescription(
        "cardinality_priority_per_dimension",
        "The same with the score divided by the dimension reached, which spreads the budget.",
        "the paper, Section 3.4, the other reading",
        "cardinalities",
    ),
)


def rule_description(name: str) -> RuleDescription:
    """Return the description of the rule of this name."""
    for description in RULE_DESCRIPTIONS:
        if description.name == name:
            return description
    known = ", ".join(description.name for description in RULE_DESCRIPTIONS)
    raise ValueError(f"rule: {name!r} is not an allocation rule; there are {known}")
