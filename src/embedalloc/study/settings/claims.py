"""Settings of the verdicts and of the audit of Table 1."""

from typing import Annotated

from pydantic import Field

from embedalloc.study.settings.common import AtLeast2, Seed, Settings, Several
from embedalloc.study.settings.exp1 import Exp1Designs
from embedalloc.study.settings.exp2 import Exp2Sizes
from embedalloc.study.settings.exp3 import Exp3Sizes


class Audit(Settings):
    """The search for confusion matrices behind the printed Table 1."""

    largest_test_set: Annotated[int, Field(ge=1, le=10_000)]
    """largest size of a test set that is searched"""


class Claims(Settings):
    """The verdicts on the paper's statements."""

    draws: Annotated[int, Field(ge=10, le=1_000_000)]
    """bootstrap resamples behind each interval"""


class ClaimsCell(Claims):
    """What decides the claims, beside the results themselves."""

    seed: Seed
    """whole number from which every random stream is derived by name"""
    exp1: Exp1Designs
    exp2: Exp2Sizes
    exp3: Exp3Sizes
    cardinalities: Several[AtLeast2]
    """numbers of categories of Experiment 3's predictors"""
