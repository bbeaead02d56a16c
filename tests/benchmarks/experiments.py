"""Experiments 1 and 2, and their cost over n: formulas beside generated samples.

The literal version generates every observation and decomposes anew for every dimension; a
careful one decomposes once per replication; joblib spreads the literal one over two processes.
The peers draw random numbers of their own, so our formulas are checked on the peers' samples.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import joblib
import numpy as np
from joblib.externals.loky import get_reusable_executor

from embedalloc.arrays import Floats
from embedalloc.streams import stream
from embedalloc.study import exp1, exp2
from embedalloc.study.latent import LatentDraw, draw_counts, draw_latents, singular_value_law
from embedalloc.study.settings.exp1 import Exp1Cell, Exp1Design
from embedalloc.study.settings.exp2 import Exp2Cell, Exp2Model
from tests.benchmarks.cells import ExperimentsCell
from tests.benchmarks.measure import OURS, Case, Contestant, require_close
from tests.oracles.literal import (
    Decompose,
    Sample,
    category_means,
    decompose,
    decompose_once,
    exp1_profile,
    exp2_profile,
    noisy_samples,
)

Settings = Exp1Design | Exp2Model
Errors = dict[str, Floats]
#: The same sums in another order, in float64.
TOLERANCE = 1e-8


class Outcome(NamedTuple):
    """The errors of a literal replication over d, and the sample that they come from."""

    errors: Errors
    draw: LatentDraw
    sample: tuple[Any, ...]


class Experiment(NamedTuple):
    """Our simulation, one literal replication, and our formulas for that replication's sample."""

    simulate: Callable[[Any, int, int], object]
    literally: Callable[[Any, int, int, Decompose], Outcome]
    formulas: Callable[[Any, Outcome], Errors]


#: Peers of the default sizes.
PEERS = ("literal", "one SVD", "joblib")


def cases(cell: ExperimentsCell) -> list[Case]:
    """Return both experiments at the sizes of the study."""
    return _cases(cell, PEERS)


def cases_by_sample_size(cell: ExperimentsCell) -> list[Case]:
    """Return one comparison with the literal version for each sample size.

    Our time should not notice the number of observations.
    """
    return _cases(cell, ("literal",))


def _cases(cell: ExperimentsCell, peers: Sequence[str]) -> list[Case]:
    return [
        comparison(name, observations, cell, peers=peers)
        for name in EXPERIMENTS
        for observations in cell.observations[name]
    ]


def comparison(
    name: str, observations: int, cell: ExperimentsCell, *, peers: Sequence[str]
) -> Case:
    """Return our simulation of one sample size beside the peers'."""
    experiment, count = EXPERIMENTS[name], cell.peer_replications
    settings: Settings = getattr(cell, name)
    replications = cell.replications

    def literally(remember: bool) -> list[Outcome]:
        return [
            experiment.literally(
                settings, observations, r, decompose_once() if remember else decompose
            )
            for r in range(count)
        ]

    def spread() -> list[Errors]:
        jobs = (
            joblib.delayed(_errors)(name, settings, observations, r) for r in range(replications)
        )
        found = list(joblib.Parallel(n_jobs=2, max_nbytes=None)(jobs))
        get_reusable_executor().shutdown(wait=True)  # its CPU time counts once it has ended
        return found

    def with_formulas(outcomes: list[Outcome]) -> list[tuple[Errors, Errors]]:
        return [(outcome.errors, experiment.formulas(settings, outcome)) for outcome in outcomes]

    # A tiny problem first, so that imports, caches and the libraries' own pages count for nobody.
    tiny = settings.model_copy(
        update={"cardinality": 10, "latent_rank": 3, "test_observations": 50}
    )

    def tiny_ours() -> object:
        return experiment.simulate(tiny, 50, 2)

    def tiny_literal() -> object:
        return experiment.literally(tiny, 50, 0, decompose)

    tiny_ours()
    everyone = [
        Contestant(
            OURS,
            lambda: experiment.simulate(settings, observations, replications),
            replications,
            lambda _: None,
            tiny_ours,
        ),
        Contestant("literal", lambda: literally(False), count, with_formulas, tiny_literal),
        Contestant("one SVD", lambda: literally(True), count, with_formulas, tiny_literal),
        Contestant("joblib", spread, replications, prepare=tiny_literal),
    ]
    taking_part = [who for who in everyone if who.name in (OURS, *peers)]
    return Case(name, observations, taking_part, agree)


def agree(results: Mapping[str, Any]) -> None:
    """Refuse literal errors that our formulas do not reproduce from the same sample."""
    for name in ("literal", "one SVD"):
        for errors, formulas in results.get(name, ()):
            _same(errors, formulas, name)
    for errors, (literally, _) in zip(results.get("joblib", ()), results["literal"], strict=False):
        _same(errors, literally, "joblib")


def _same(found: Errors, expected: Errors, who: str) -> None:
    for name, values in expected.items():
        require_close(found[name], values, f"{who}, {name}", relative=TOLERANCE, absolute=TOLERANCE)


def _errors(name: str, settings: Settings, observations: int, replication: int) -> Errors:
    return EXPERIMENTS[name].literally(settings, observations, replication, decompose).errors


def _simulate_exp1(settings: Exp1Design, observations: int, replications: int) -> object:
    sized = settings.model_copy(update={"observations": observations})
    return exp1.simulate(
        Exp1Cell(settings=sized, seed=1, design="benchmark", first=0, last=replications)
    )


def _simulate_exp2(settings: Exp2Model, observations: int, replications: int) -> object:
    size = {"observations": observations, "first": 0, "last": replications}
    return exp2.simulate(Exp2Cell(settings=settings, seed=1, **size))


def _spectrum(settings: Settings) -> Floats:
    return singular_value_law(settings.spectrum, settings.latent_rank)


def _base(settings: Settings, observations: int, replication: int) -> tuple[Any, LatentDraw]:
    """Draw the latent matrix and the counts; the means are left to the literal samples."""
    rng = stream(1, "benchmark", observations, replication)
    drawn = draw_latents(
        [rng],
        spectrum=_spectrum(settings),
        cardinality=settings.cardinality,
        observations=observations,
        concentration=settings.concentration,
        noise=settings.noise,
    )
    return rng, drawn[0]


def _over_dimensions(profile: Callable[[int], dict[str, float]], rank: int) -> Errors:
    rows = [profile(d) for d in range(1, rank + 1)]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _literal_exp1(
    settings: Exp1Design, observations: int, replication: int, decompose: Decompose
) -> Outcome:
    rng, draw = _base(settings, observations, replication)
    sample = noisy_samples(rng, draw.latent, draw.counts, settings.noise)
    means = category_means(sample, len(draw.counts))
    noise = rng.standard_normal(len(means)) * settings.response_noise / np.sqrt(draw.counts)
    errors = _over_dimensions(
        lambda d: exp1_profile(
            draw.latent, means, draw.right, draw.probabilities, draw.counts, noise, d, decompose
        ),
        settings.latent_rank,
    )
    return Outcome(errors, replace(draw, means=means), (noise,))


def _literal_exp2(
    settings: Exp2Model, observations: int, replication: int, decompose: Decompose
) -> Outcome:
    rng, draw = _base(settings, observations, replication)
    test_counts = draw_counts(rng, draw.probabilities, settings.test_observations)
    train = noisy_samples(rng, draw.latent, draw.counts, settings.noise)
    test = noisy_samples(rng, draw.latent, test_counts, settings.noise)
    means = category_means(train, len(draw.counts))
    errors = _over_dimensions(
        lambda d: exp2_profile(
            draw.latent, means, train, test, draw.probabilities, settings.noise, d, decompose
        ),
        settings.latent_rank,
    )
    return Outcome(errors, replace(draw, means=means), (train, test, test_counts))


def _formulas_exp1(settings: Exp1Design, outcome: Outcome) -> Errors:
    (noise,) = outcome.sample
    return _alone(exp1.error_profiles(_stacked(outcome.draw), noise[None], _spectrum(settings)))


def _formulas_exp2(settings: Exp2Model, outcome: Outcome) -> Errors:
    train, test, test_counts = outcome.sample
    test_means = category_means(test, len(test_counts))
    samples = exp2.Samples(
        np.array([_scatter(train, outcome.draw.means)]),
        np.array([_scatter(test, test_means)]),
        test_counts[None],
        test_means[None],
    )
    spectrum, noise = _spectrum(settings), settings.noise
    return _alone(exp2.error_profiles(_stacked(outcome.draw), samples, spectrum, noise))


def _scatter(sample: Sample, means: Floats) -> float:
    return float(((sample.values - means[sample.rows]) ** 2).sum())


def _stacked(draw: LatentDraw) -> LatentDraw:
    """Return a stack of one replication."""
    return LatentDraw(*(part[None] for part in vars(draw).values()))


def _alone(profiles: Errors) -> Errors:
    return {name: values[0] for name, values in profiles.items()}


EXPERIMENTS = {
    "exp1": Experiment(_simulate_exp1, _literal_exp1, _formulas_exp1),
    "exp2": Experiment(_simulate_exp2, _literal_exp2, _formulas_exp2),
}
