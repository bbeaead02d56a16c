"""Experiments 1–3: closed formulas beside literal ones, sampling beside literal sampling."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

from embedalloc.spectra import spectral_tails
from embedalloc.study import exp1, exp2, exp3, exp3_sample, latent, profiles
from embedalloc.study.settings.common import Spectrum
from embedalloc.study.settings.exp2 import Exp2Cell, Exp2Model
from embedalloc.study.settings.exp3 import Exp3Cell, Exp3Model
from tests.oracles import literal
from tests.places import changed, read_settings

CONFIG = read_settings()
LAW = Spectrum(decay="polynomial", rate=0.8, scale=3.0)


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
    law = Spectrum(decay=decay, rate=0.7, scale=3.0, offset=1)
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
    law = CONFIG.exp3.predictors[2].spectrum
    assert latent.singular_value_law(law, 20)[0] == pytest.approx(20 * np.exp(-0.3))
    law = CONFIG.exp1.designs["exponential"]
    assert latent.singular_value_law(law, 20)[0] == pytest.approx(50)
    blocks = (CONFIG.exp1, CONFIG.exp2, CONFIG.exp3)
    assert [block.replications for block in blocks] == [150, 150, 300]


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


EXP3_SMALL = Exp3Model.model_validate({
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
})  # fmt: skip


def small_cell(*, seed, budgets, last):
    """A cell of the small Experiment 3 with 60 rows."""
    return Exp3Cell(
        settings=EXP3_SMALL, seed=seed, observations=60, budgets=budgets, first=0, last=last
    )


@pytest.mark.parametrize("seed", range(4))
def test_experiment_3_equals_the_literal_version(seed):
    rng = np.random.default_rng(seed)
    draws = [
        latent.draw_latents(
            [rng],
            spectrum=latent.singular_value_law(p.spectrum, p.latent_rank),
            cardinality=p.cardinality,
            observations=60,
            concentration=5.0,
            noise=0.9,
        )[0]
        for p in EXP3_SMALL.predictors
    ]
    categories = [rng.permutation(np.repeat(np.arange(len(d.counts)), d.counts)) for d in draws]
    sample = exp3_sample.Sample(draws, categories, 0.5 * rng.normal(size=60), 0.5)
    drawn = exp3_sample.summarise(sample, EXP3_SMALL)
    chosen = [(1, 1, 1), (2, 3, 1), (4, 5, 3), (1, 5, 2)]
    (found,) = exp3.evaluate([drawn], [chosen], 1e-6)
    for dimensions in chosen:
        by_formula = literal.exp3_errors_by_formula(sample, dimensions, 1e-6)
        for name, value in literal.exp3_errors(sample, dimensions, 1e-6).items():
            assert found[dimensions][name] == pytest.approx(value, abs=1e-9), (name, dimensions)
            assert by_formula[name] == pytest.approx(value, abs=1e-9), (name, dimensions)
    for tails, draw in zip(drawn.tails, draws, strict=True):
        expected = spectral_tails(np.linalg.svd(draw.means, compute_uv=False))
        np.testing.assert_allclose(tails, expected, atol=1e-9)


# ------------------------------------------------------------------ sampling


def fast_statistics(count, noise=1.0):
    """Statistics of Experiment 2 through sufficient statistics, as the study draws them."""
    settings = Exp2Model(
        cardinality=12,
        latent_rank=6,
        spectrum=LAW,
        concentration=5.0,
        noise=noise,
        test_observations=40,
    )
    frame = exp2.simulate(Exp2Cell(settings=settings, seed=5, observations=60, first=0, last=count))
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
    spectrum = latent.singular_value_law(LAW, 6)
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
    """The exact risk against the mean over replications of a finite test sample."""
    rngs = [np.random.default_rng(seed) for seed in range(400)]
    for dimensions in [(1, 1, 1), (2, 3, 1)]:
        differences = []
        for sample, rng in zip(exp3_sample.draw_samples(EXP3_SMALL, 60, rngs), rngs, strict=True):
            drawn = exp3_sample.summarise(sample, EXP3_SMALL)
            risk = exp3.evaluate([drawn], [[dimensions]], 1e-6)[0][dimensions]["risk"]
            differences.append(literal.exp3_test_error(sample, dimensions, 1e-6, 40, rng) - risk)
        assert abs(np.mean(differences)) < 4.5 * np.std(differences) / np.sqrt(400)


# ------------------------------------------------------------------ identities


@pytest.fixture(scope="module")
def exp2_frame():
    return exp2.simulate(CONFIG.exp2.cell(1, 500, range(30)))


def test_training_error_never_rises_and_the_split_adds_up(exp2_frame):
    wide = exp2_frame.pivot(index="replication", columns="dimension")
    assert (np.diff(wide["training_mse"]) <= 1e-12).all()
    assert (np.diff(wide["approximation"]) <= 1e-9).all()
    assert (np.diff(wide["estimation"]) >= -1e-9).all()
    np.testing.assert_allclose(
        exp2_frame["approximation"] + exp2_frame["estimation"], exp2_frame["total"]
    )


def test_population_tails_are_frobenius_residuals():
    profiles, _ = exp1.simulate(CONFIG.exp1.cell(CONFIG.seed, "exponential", range(2)))
    first = profiles[profiles["replication"] == 0]
    spectrum = latent.singular_value_law(CONFIG.exp1.designs["exponential"], 20)
    expected = [np.sqrt((spectrum[d:] ** 2).sum()) for d in range(1, 21)]
    np.testing.assert_allclose(first["population_tail"], expected)


def test_every_allocation_is_within_budget_in_every_replication():
    settings = CONFIG.exp3
    frame = exp3.simulate(settings.cell(1, 500, range(20), settings.budgets))
    sizes = np.array(settings.cardinalities)
    dimensions = np.stack(frame["dimensions"])
    np.testing.assert_array_equal(dimensions @ sizes, frame["cost"])
    assert (frame["cost"] <= frame["budget"]).all()
    assert dimensions.min() >= 1
    assert dimensions.max() <= 20


def test_all_rules_and_budgets_see_the_same_draw():
    """Where two rules choose the same dimensions, their errors are the same to the last bit."""
    frame = exp3.simulate(small_cell(seed=1, budgets=[21, 40, 60], last=20))
    alone = exp3.simulate(small_cell(seed=1, budgets=[40], last=20))
    for _, group in frame.groupby(["replication", "dimensions"]):
        assert group[["risk", "risk_known"]].nunique().max() == 1
    same = frame[frame["budget"] == 40].reset_index(drop=True)
    pd.testing.assert_frame_equal(same, alone)


# ------------------------------------------------------------------ stacks and parts


def test_numbers_do_not_depend_on_stacks_or_parts(monkeypatch):
    cells = {
        exp1: CONFIG.exp1.cell(CONFIG.seed, "polynomial_slow", range(7)),
        exp2: CONFIG.exp2.cell(CONFIG.seed, 500, range(7)),
        exp3: CONFIG.exp3.cell(CONFIG.seed, 500, range(7)),
    }
    wholes = [as_tables(module.simulate(cell)) for module, cell in cells.items()]
    monkeypatch.setattr(profiles, "STACK", 3)
    monkeypatch.setattr(exp3, "STACK", 3)
    for whole, (module, cell) in zip(wholes, cells.items(), strict=True):
        split = [
            as_tables(module.simulate(changed(cell, first=a, last=b))) for a, b in [(0, 2), (2, 7)]
        ]
        for table, first, second in zip(whole, *split, strict=True):
            rebuilt = pd.concat([first, second], ignore_index=True)
            pd.testing.assert_frame_equal(table, rebuilt, check_exact=True)


def as_tables(result):
    return result if isinstance(result, tuple) else (result,)


def test_cells_hold_only_what_they_need():
    exp1, exp2, exp3, ten = CONFIG.exp1, CONFIG.exp2, CONFIG.exp3, range(10)
    designs = CONFIG.plain()["exp1"]["designs"]
    designs["polynomial_fast"]["rate"] = 9.0
    other1 = changed(exp1, designs=designs, replications_per_job=7)
    assert other1.cell(1, "exponential", ten) == exp1.cell(1, "exponential", ten)
    assert other1.cell(1, "polynomial_fast", ten) != exp1.cell(1, "polynomial_fast", ten)
    sizes = [*exp2.curve_observations, 77_777]
    other2 = changed(exp2, curve_observations=sizes, replications_per_job=10**6)
    assert other2.cell(1, 500, ten) == exp2.cell(1, 500, ten)
    assert other2.parts[0] == exp2.parts[0]
    assert changed(exp3, noise=0.1).cell(1, 500, ten) != exp3.cell(1, 500, ten)
    assert {*exp2.cell(1, 500, ten).plain()["settings"]} == {
        "cardinality", "latent_rank", "spectrum", "concentration", "noise", "test_observations",
    }  # fmt: skip


def test_replications_are_split_into_parts_without_gap():
    block = changed(CONFIG.exp3, replications=11, replications_per_job=4)
    assert list(block.parts) == [0, 1, 2]
    cells = [block.cell(1, 500, block.parts[part]) for part in block.parts]
    assert [(cell.first, cell.last) for cell in cells] == [(0, 4), (4, 8), (8, 11)]
    budgets = tuple(sorted({*block.budgets, 1000}))
    assert block.cell(1, 2000, block.parts[0]).budgets == budgets
    assert block.cell(1, 500, block.parts[0]).budgets == (1000,)
