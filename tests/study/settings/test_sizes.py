"""The memory that is estimated before the first job, beside what small cells really take."""

import tracemalloc

import numpy as np
import pytest

from embedalloc.intervals import resample_means
from embedalloc.study import exp1, exp2, exp3, profiles
from embedalloc.study.heart.patients import CATEGORICAL, PATIENTS, read_patients
from embedalloc.study.settings import sizes
from embedalloc.study.settings.common import Cell
from embedalloc.study.settings.configuration import read_configuration
from embedalloc.study.theory import proposition2, theorem1, theorem2
from tests.places import ROOT, read_config


@pytest.fixture(scope="module")
def config():
    """Sizes at which arrays, not interpreters, take the memory."""
    values = read_config()
    values["exp1"] |= {"cardinality": 2000, "latent_rank": 20, "replications": 10}
    values["exp2"] |= {"cardinality": 2000, "latent_rank": 20, "replications": 10}
    values["exp2"] |= {"panel_observations": [5000], "curve_observations": [5000]}
    values["exp3"] |= {"replications": 25, "curve_observations": [8000]}
    theory = values["theory"]
    theory["approximation"] |= {"cardinality": 4000, "latent_rank": 20, "replications": 2}
    theory["alternating"] |= {"cardinalities": [100, 300], "rounds": 2, "observations": 4000}
    theory["alternating"] |= {"starts": 1}
    theory["generalisation"] |= {"cardinalities": [20, 100], "observations": [1000, 2000]}
    theory["generalisation"] |= {"dimensions": [1, 2], "replications": 2}
    return read_configuration(values)


def peak(work) -> float:
    """Return the most memory that the arrays and objects of some work take at once."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def estimated(config, key: str) -> float:
    blocks = (config.theory, config.exp1, config.exp2, config.exp3, config.heart, config.claims)
    return next(need.size for need in sizes.needs(*blocks) if need.keys.startswith(key))


WORK = {
    "exp1.cardinality": lambda c: exp1.simulate(
        c.exp1.cell(c.seed, "exponential", c.exp1.parts[0])
    ),
    "exp2.cardinality": lambda c: exp2.simulate(c.exp2.cell(c.seed, 5000, c.exp2.parts[0])),
    "exp3.predictors": lambda c: exp3.simulate(c.exp3.cell(c.seed, 2000, c.exp3.parts[0])),
    "theory.approximation": lambda c: proposition2.simulate(
        Cell(settings=c.theory.approximation, seed=c.seed)
    ),
    "theory.alternating": lambda c: theorem1.simulate(
        Cell(settings=c.theory.alternating, seed=c.seed)
    ),
    "theory.generalisation": lambda c: theorem2.simulate(
        Cell(settings=c.theory.generalisation, seed=c.seed)
    ),
    "claims.draws": lambda c: resample_means(
        np.ones((c.exp2.replications, 20)), c.claims.draws, np.random.default_rng(0)
    ),
}


@pytest.mark.parametrize("key", WORK)
def test_memory_is_estimated_within_a_factor_of_a_few(key, config):
    ratio = estimated(config, key) / peak(lambda: WORK[key](config))
    assert 0.4 < ratio < 10


def test_constants_are_those_of_the_study():
    patients = read_patients(
        ROOT / "workflow/resources/heart_disease", cholesterol_zero_is_missing=False
    )
    PATIENTS.check(patients, "patients")
    # Missing values are a category of their own.
    categories = sum(patients[name].nunique() + 1 for name in CATEGORICAL)
    assert (len(patients), len(CATEGORICAL)) == (sizes.PATIENTS, sizes.PREDICTORS)
    assert categories == sizes.CATEGORIES
    assert (profiles.STACK, exp3.STACK) == (sizes.PROFILE_STACK, sizes.EXP3_STACK)
