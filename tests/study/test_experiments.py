"""Experiments 1–3: closed formulas beside literal ones, sampling beside literal sampling."""

import copy

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

from embedalloc.spectra import spectral_tails
from embedalloc.study import exp1, exp2, exp3, exp3_sample, latent
from embedalloc.study.workflow.cells import exp1_cell, exp2_cell, exp3_cell, parts
from tests.oracles import literal
from tests.places import read_config

CONFIG = read_config()
SMALL = {"cardinality": 12, "latent_rank": 6, "concentration": 5.0, "noise": 1.0}


def small_draws(count, observations=90, rank=6, noise=1.0):
    spectrum = 6.0 * np.arange(1, rank + 1) ** -0.8
    draw = latent.draw_latents(
        [np.random.default_rng(seed) for seed in range(count)],
        spectrum=spectrum,
        cardinality=12,
        observations=observations,
        concentration=5.0,
        noise=noise,
    )
    return draw, spectrum


# ------------------------------------------------------------------ latent matrices


@pytest.mark.parametrize("decay", ["polynomial", "exponential"])
def test_latent_matrices_have_the_stated_spectrum_and_counts(decay):
    law = {"decay": decay, "rate": 0.7, "scale": 3.0, "offset": 1}
    spectrum = latent.singular_value_law(law, 5)
    k = np.arange(1, 6)
    expected = 3.0 * (k**-0.7 if decay == "polynomial" else np.exp(-0.7 * (k - 1)))
    np.testing.assert_allclose(spectrum, expected)
    draw = latent.draw_latents(
        [np.random.default_rng(0)], spectrum=spectrum, cardinality=9, observations=50,
        concentration=5.0, noise=0.1,
    )[0]  # fmt: skip
    np.testing.assert_allclose(np.linalg.svd(draw.latent, compute_uv=False), spectrum)
    # The stored right vectors are those of U: U V has orthogonal columns of the stated lengths.
    np.testing.assert_allclose((draw.latent @ draw.right).T @ (draw.latent @ draw.right),
                               np.diag(spectrum**2), atol=1e-12)  # fmt: skip
    assert draw.counts.sum() == 50
    assert draw.counts.min() >= 1


def test_a_replication_has_the_same_bits_alone_and_in_a_stack():
    stack, spectrum = small_draws(4)
    alone = latent.draw_latents(
        [np.random.default_rng(2)], spectrum=spectrum, cardinality=12, observations=90,
        concentration=5.0, noise=1.0,
    )  # fmt: skip
    for name in ("latent", "right", "probabilities", "counts", "means"):
        np.testing.assert_array_equal(getattr(stack[2], name), getattr(alone[0], name))


def test_the_settings_of_the_paper_stand():
    law = CONFIG["exp3"]["predictors"][2]["spectrum"]
    assert latent.singular_value_law(law, 20)[0] == pytest.approx(20 * np.exp(-0.3))
    law = CONFIG["exp1"]["designs"]["exponential"]
    assert latent.singular_value_law(law, 20)[0] == pytest.approx(50)
    assert [CONFIG[e]["replications"] for e in ("exp1", "exp2", "exp3")] == [150, 150, 300]


# ------------------------------------------------------------------ exactness


def test_experiment_1_equals_the_literal_version():
    stack, spectrum = small_draws(5)
    errors = np.random.default_rng(9).normal(size=(5, 12)) * 0.2
    found = exp1.error_profiles(stack, errors, spectrum)
    for i in range(5):
        draw = stack[i]
        for d in range(1, 7):
            expected = literal.exp1_profile(
                draw.latent, draw.means, draw.right, draw.probabilities, draw.counts, errors[i], d
            )
            for name, value in expected.items():
                assert found[name][i, d - 1] == pytest.approx(value, abs=1e-9), (name, d)


def test_experiment_2_equals_the_literal_version():
    rng = np.random.default_rng(2)
    draws, spectrum = small_draws(5)
    for seed in range(5):
        draw = draws[seed]
        train = literal.noisy_samples(rng, draw.latent, draw.counts, 1.0)
        test_counts = latent.draw_counts(rng, draw.probabilities, 70)
        test = literal.noisy_samples(rng, draw.latent, test_counts, 1.0)
        means = literal.category_means(train, 12)
        test_means = literal.category_means(test, 12)
        samples = exp2.Samples(
            training_scatter=np.array([((train[1] - means[train[0]]) ** 2).sum()]),
            test_scatter=np.array([((test[1] - test_means[test[0]]) ** 2).sum()]),
            test_counts=test_counts[None],
            test_means=test_means[None],
        )
        parts = (draw.latent, draw.right, draw.probabilities, draw.counts, means)
        stack = latent.LatentDraw(*(part[None] for part in parts))
        found = exp2.error_profiles(stack, samples, spectrum, 1.0)
        for d in range(1, 7):
            expected = literal.exp2_profile(
                draw.latent, means, train, test, draw.probabilities, 1.0, d
            )
            for name, value in expected.items():
                assert found[name][0, d - 1] == pytest.approx(value, abs=1e-9), (name, d)


EXP3_SMALL = {
    "predictors": [
        {
            "cardinality": n,
            "latent_rank": r,
            "spectrum": {"decay": "polynomial", "rate": rate, "scale": 4.0},
        }
        for n, r, rate in [(5, 4, 0.3), (7, 5, 1.0), (9, 3, 0.6)]
    ],
    "concentration": 5.0,
    "noise": 0.9,
    "response_noise": 0.5,
    "response_support": 1.0,
    "response_decay": 1.0,
    "ridge": 1e-6,
    "coefficient_fit": "least_squares",
    "spectral_mass": "squares",
    "test_observations": 40,
}  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_experiment_3_equals_the_literal_version(seed):
    rng = np.random.default_rng(seed)
    draws = [
        latent.draw_latents(
            [rng],
            spectrum=latent.singular_value_law(p["spectrum"], p["latent_rank"]),
            cardinality=p["cardinality"],
            observations=60,
            concentration=5.0,
            noise=0.9,
        )[0]
        for p in EXP3_SMALL["predictors"]
    ]
    categories = [rng.permutation(np.repeat(np.arange(len(d.counts)), d.counts)) for d in draws]
    errors, test_noise = 0.5 * rng.normal(size=60), 0.5 * rng.normal(size=40)
    test_categories = tuple(rng.integers(0, len(d.counts), 40) for d in draws)
    sample = exp3_sample.Sample(draws, categories, errors, test_categories, test_noise, 0.5)
    drawn = exp3_sample.summarise(sample)
    chosen = [(1, 1, 1), (2, 3, 1), (4, 5, 3), (1, 5, 2)]
    found = exp3.evaluate(drawn, chosen, 1e-6)
    for i, dimensions in enumerate(chosen):
        by_formula = literal.exp3_errors_by_formula(sample, dimensions, 1e-6)
        for name, value in literal.exp3_errors(sample, dimensions, 1e-6).items():
            assert found[name][i] == pytest.approx(value, abs=1e-9), (name, dimensions)
            assert by_formula[name] == pytest.approx(value, abs=1e-9), (name, dimensions)
    for tails, draw in zip(drawn.tails, draws, strict=True):
        expected = spectral_tails(np.linalg.svd(draw.means, compute_uv=False))
        np.testing.assert_allclose(tails, expected, atol=1e-9)


# ------------------------------------------------------------------ sampling


def fast_statistics(count, noise=1.0):
    """Statistics of Experiment 2 through sufficient statistics, as the study draws them."""
    settings = SMALL | {
        "noise": noise,
        "spectrum": {"decay": "polynomial", "rate": 0.8, "scale": 3.0},
        "test_observations": 40,
    }
    frame = exp2.simulate(settings, seed=5, observations=60, first=0, last=count)
    wide = frame.pivot(index="replication", columns="dimension")
    return {
        f"{name}[{d}]": wide[name][d].to_numpy()
        for name in ("training_mse", "test_mse", "total", "estimation")
        for d in (1, 3, 6)
    }


def literal_statistics(count):
    """The same statistics with every sample generated."""
    rng = np.random.default_rng(77)
    rows = []
    spectrum = latent.singular_value_law({"decay": "polynomial", "rate": 0.8, "scale": 3.0}, 6)
    for _ in range(count):
        left, _ = np.linalg.qr(rng.standard_normal((12, 6)))
        right, _ = np.linalg.qr(rng.standard_normal((6, 6)))
        u = left @ np.diag(spectrum) @ right.T
        pi = rng.dirichlet(np.full(12, 5.0))
        counts = 1 + np.bincount(rng.choice(12, 60 - 12, p=pi), minlength=12)
        test_counts = 1 + np.bincount(rng.choice(12, 40 - 12, p=pi), minlength=12)
        train = literal.noisy_samples(rng, u, counts, 1.0)
        test = literal.noisy_samples(rng, u, test_counts, 1.0)
        means = literal.category_means(train, 12)
        row = {}
        for d in (1, 3, 6):
            profile = literal.exp2_profile(u, means, train, test, pi, 1.0, d)
            row |= {f"{name}[{d}]": profile[name] for name in profile}
        rows.append(row)
    return pd.DataFrame(rows)


def differing(first, second, names):
    """Names of statistics whose distribution, mean or variance differs beyond chance."""
    found = []
    for name in names:
        a, b = np.asarray(first[name]), np.asarray(second[name])
        z = (a.mean() - b.mean()) / np.sqrt(a.var() / len(a) + b.var() / len(b))
        if ks_2samp(a, b).pvalue < 1e-5 or abs(z) > 4.5 or not 0.75 < a.var() / b.var() < 1.33:
            found.append(name)
    return found


def test_sufficient_statistics_have_the_law_of_literal_samples():
    names = list(fast_statistics(2))
    expected = literal_statistics(1500)
    assert differing(fast_statistics(3000), expected, names) == []
    # Negative control: three per cent more noise in the means and scatter must be noticed.
    assert set(differing(fast_statistics(3000, noise=1.03), expected, names)) >= {
        "training_mse[1]",
        "training_mse[6]",
        "test_mse[6]",
    }


def test_a_wrong_variance_of_the_means_is_noticed(monkeypatch):
    """Negative control for the means alone: the counts' square root forgotten in one place."""
    expected = literal_statistics(600)

    def wrong_draw(rngs, **settings):
        draw = latent.draw_latents(rngs, **settings)
        return latent.LatentDraw(
            draw.latent,
            draw.right,
            draw.probabilities,
            draw.counts,
            draw.latent + (draw.means - draw.latent) * 1.1,
        )

    monkeypatch.setattr(exp2, "draw_latents", wrong_draw)
    assert "estimation[6]" in differing(fast_statistics(1500), expected, ["estimation[6]"])


def test_experiment_3_risk_is_what_fresh_rows_show():
    """The exact risk against the mean over replications of the finite test sample."""
    frame, _ = exp3.simulate(
        EXP3_SMALL, seed=3, observations=60, budgets=[21, 60], first=0, last=400
    )
    difference = frame["test_mse"] - frame["risk"]
    per_replication = difference.groupby(frame["replication"]).mean()
    assert abs(per_replication.mean()) < 4.5 * per_replication.std() / np.sqrt(400)


# ------------------------------------------------------------------ identities


@pytest.fixture(scope="module")
def exp2_frame():
    return exp2.simulate(CONFIG["exp2"], seed=1, observations=500, first=0, last=30)


def test_training_error_never_rises_and_the_split_adds_up(exp2_frame):
    wide = exp2_frame.pivot(index="replication", columns="dimension")
    assert (np.diff(wide["training_mse"]) <= 1e-12).all()
    assert (np.diff(wide["approximation"]) <= 1e-9).all()
    assert (np.diff(wide["estimation"]) >= -1e-9).all()
    np.testing.assert_allclose(
        exp2_frame["approximation"] + exp2_frame["estimation"], exp2_frame["total"]
    )


def test_population_tails_are_frobenius_residuals():
    cell = exp1_cell(CONFIG, "exponential", 0) | {"last": 2}
    profiles, _ = exp1.simulate(**cell)
    first = profiles[profiles["replication"] == 0]
    spectrum = latent.singular_value_law(CONFIG["exp1"]["designs"]["exponential"], 20)
    expected = [np.sqrt((spectrum[d:] ** 2).sum()) for d in range(1, 21)]
    np.testing.assert_allclose(first["population_tail"], expected)


def test_every_allocation_is_within_budget_in_every_replication():
    settings = CONFIG["exp3"]
    frame, _ = exp3.simulate(
        settings, seed=1, observations=500, budgets=settings["budgets"], first=0, last=20
    )
    sizes = np.array([p["cardinality"] for p in settings["predictors"]])
    dimensions = frame["dimensions"].str.split("-", expand=True).astype(int).to_numpy()
    np.testing.assert_array_equal(dimensions @ sizes, frame["cost"])
    assert (frame["cost"] <= frame["budget"]).all()
    assert dimensions.min() >= 1
    assert dimensions.max() <= 20


def test_all_rules_and_budgets_see_the_same_draw():
    """Where two rules choose the same dimensions, their errors are the same to the last bit."""
    frame, _ = exp3.simulate(
        EXP3_SMALL, seed=1, observations=60, budgets=[21, 40, 60], first=0, last=20
    )
    alone, _ = exp3.simulate(EXP3_SMALL, seed=1, observations=60, budgets=[40], first=0, last=20)
    for _, group in frame.groupby(["replication", "dimensions"]):
        assert group[["risk", "test_mse", "risk_known"]].nunique().max() == 1
    same = frame[frame["budget"] == 40].reset_index(drop=True)
    pd.testing.assert_frame_equal(same, alone)


# ------------------------------------------------------------------ stacks and parts


def test_numbers_do_not_depend_on_stacks_or_parts(monkeypatch):
    cells = {
        exp1: exp1_cell(CONFIG, "polynomial_slow", 0),
        exp2: exp2_cell(CONFIG, 500, 0),
        exp3: exp3_cell(CONFIG, 500, 0),
    }
    for module, cell in cells.items():
        whole = as_tables(module.simulate(**(cell | {"last": 7})))
        monkeypatch.setattr(module, "STACK", 3)
        split = [
            as_tables(module.simulate(**(cell | {"first": a, "last": b})))
            for a, b in [(0, 2), (2, 7)]
        ]
        for table, first, second in zip(whole, *split, strict=True):
            rebuilt = pd.concat([first, second], ignore_index=True)
            pd.testing.assert_frame_equal(table, rebuilt, check_exact=True)


def as_tables(result):
    return result if isinstance(result, tuple) else (result,)


def test_cells_hold_only_what_they_need():
    changed = copy.deepcopy(CONFIG)
    changed["exp3"]["noise"] = 0.1
    changed["exp1"]["designs"]["polynomial_fast"]["rate"] = 9.0
    changed["exp2"]["curve_observations"].append(77_777)
    changed["exp2"]["replications_per_job"] = 10**6
    assert exp1_cell(changed, "exponential", 0) == exp1_cell(CONFIG, "exponential", 0)
    assert exp1_cell(changed, "polynomial_fast", 0) != exp1_cell(CONFIG, "polynomial_fast", 0)
    assert exp2_cell(changed, 500, 0) == exp2_cell(CONFIG, 500, 0)
    assert exp3_cell(changed, 500, 0) != exp3_cell(CONFIG, 500, 0)


def test_replications_are_split_into_parts_without_gap():
    block = CONFIG["exp3"] | {"replications": 11, "replications_per_job": 4}
    config = CONFIG | {"exp3": block}
    assert list(parts(block)) == [0, 1, 2]
    spans = [(c["first"], c["last"]) for c in (exp3_cell(config, 500, p) for p in parts(block))]
    assert spans == [(0, 4), (4, 8), (8, 11)]
    assert exp3_cell(config, 2000, 0)["budgets"] == sorted({*block["budgets"], 1000})
    assert exp3_cell(config, 500, 0)["budgets"] == [1000]
