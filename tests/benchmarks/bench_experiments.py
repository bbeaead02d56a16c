"""Experiments 1 and 2 by closed formulas, beside literal samples and one SVD per dimension.

Run it with: python -m tests.benchmarks.bench_experiments
"""

from pathlib import Path

import numpy as np
import yaml

from embedalloc.study import exp1, exp2, latent
from embedalloc.study.cells import exp1_cell, exp2_cell
from tests import literal
from tests.benchmarks.clock import cpu_seconds

CONFIG = yaml.safe_load((Path(__file__).resolve().parents[2] / "config.yaml").read_text())


def literal_exp1(settings, rng):
    """One replication of Experiment 1, every sample generated."""
    draw, spectrum = base_draw(settings, settings["observations"], rng)
    rows, samples = literal.noisy_samples(rng, draw.latent, draw.counts, settings["noise"])
    means = means_of(rows, samples, draw.counts)
    errors = rng.normal(size=len(means)) * settings["response_noise"] / np.sqrt(draw.counts)
    return [
        literal.exp1_profile(
            draw.latent, means, draw.right, draw.probabilities, draw.counts, errors, d
        )
        for d in range(1, len(spectrum) + 1)
    ]


def literal_exp2(settings, observations, rng):
    """One replication of Experiment 2, every sample generated."""
    draw, spectrum = base_draw(settings, observations, rng)
    test_counts = latent.draw_counts(rng, draw.probabilities, settings["test_observations"])
    train = literal.noisy_samples(rng, draw.latent, draw.counts, settings["noise"])
    test = literal.noisy_samples(rng, draw.latent, test_counts, settings["noise"])
    means = means_of(*train, draw.counts)
    return [
        literal.exp2_profile(draw.latent, means, train, test, draw.probabilities, 1.0, d)
        for d in range(1, len(spectrum) + 1)
    ]


def base_draw(settings, observations, rng):
    spectrum = latent.singular_value_law(settings["spectrum"], settings["latent_rank"])
    draw = latent.draw_latent(
        rng,
        spectrum=spectrum,
        cardinality=settings["cardinality"],
        observations=observations,
        concentration=settings["concentration"],
        noise=settings["noise"],
    )
    return draw, spectrum


def means_of(rows, samples, counts):
    """Category means by summation, the quick way that a user would find."""
    sums = np.zeros((len(counts), samples.shape[1]))
    np.add.at(sums, rows, samples)
    return sums / counts[:, None]


def main(ours=150, theirs=2, repetitions=3):
    """Print CPU milliseconds per replication of both ways and their ratio."""
    first = exp1_cell(CONFIG, "exponential", 0)["settings"]
    second = exp2_cell(CONFIG, 10_000, 0)["settings"]
    rng = np.random.default_rng(0)
    cases = {
        "Experiment 1, n = 20,000": (
            lambda: exp1.simulate(first, seed=1, design="exponential", first=0, last=ours),
            lambda: [literal_exp1(first, rng) for _ in range(theirs)],
        ),
        "Experiment 2, n = 10,000": (
            lambda: exp2.simulate(second, seed=1, observations=10_000, first=0, last=ours),
            lambda: [literal_exp2(second, 10_000, rng) for _ in range(theirs)],
        ),
        "Experiment 2, n = 1,000,000, ours alone": (
            lambda: exp2.simulate(second, seed=1, observations=1_000_000, first=0, last=ours),
            None,
        ),
    }
    for name, (mine, literally) in cases.items():
        contestants = {"ours": mine} | ({"literal": literally} if literally else {})
        seconds = cpu_seconds(contestants, repetitions)
        per_ours = 1000 * seconds["ours"] / ours
        line = f"{name}: {per_ours:.2f} ms per replication"
        if literally:
            per_literal = 1000 * seconds["literal"] / theirs
            line += f", literal {per_literal:.0f} ms, ratio {per_literal / per_ours:.0f}"
        print(line)


if __name__ == "__main__":
    main()
