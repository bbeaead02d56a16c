"""Section 2's figures as pure functions, beside second witnesses."""

import itertools

import numpy as np
import pytest

from embedalloc.streams import stream
from embedalloc.study.settings.common import Cell
from embedalloc.study.settings.errors import ConfigError
from embedalloc.study.theory import contracts, proposition2, theorem1, theorem2, theorem3
from embedalloc.study.theory.linear import Penalties, gradient, objective
from tests.places import changed, read_settings

CONFIG = read_settings()
SEED = CONFIG.seed


def cell(part, **changes):
    """Return the default cell of one figure with some settings changed."""
    allocation = CONFIG.allocation_cell().settings
    block = allocation if part == "allocation" else getattr(CONFIG.theory, part)
    return Cell(settings=block.model_copy(update=changes), seed=SEED)


# ------------------------------------------------------------------ Proposition 2


@pytest.fixture(scope="module")
def errors():
    frame = proposition2.simulate(cell("approximation", replications=5))
    contracts.ERRORS.check(frame, "errors")
    return frame


def test_errors_stand_in_their_order_and_end_at_zero(errors):
    slack = 1e-12
    assert (errors["exact"] <= errors["truncated"] + slack).all()
    assert (errors["truncated"] <= errors["weighted_bound"] + slack).all()
    assert (errors["weighted_bound"] <= errors["bound"] + slack).all()
    last = errors[errors["dimension"] == 20]
    assert (last[["exact", "truncated", "bound"]] < 1e-12).all(axis=None)


def test_equal_probabilities_make_the_bound_too_large_by_the_root_of_n(errors):
    balanced = errors[(errors["balance"] == "balanced") & (errors["dimension"] < 20)]
    np.testing.assert_allclose(balanced["bound"], 10.0 * balanced["exact"])
    np.testing.assert_allclose(balanced["truncated"], balanced["exact"])
    other = errors[(errors["balance"] == "imbalanced") & (errors["dimension"].between(1, 19))]
    assert (other["bound"] > 10.0 * other["exact"]).mean() > 0.95


def test_errors_at_zero_and_of_truncation_against_the_definition():
    rng = np.random.default_rng(1)
    table, pi = rng.standard_normal((8, 4)), rng.dirichlet(np.ones(8))
    left, values, right = np.linalg.svd(table, full_matrices=False)
    for d, error in enumerate(proposition2.truncation_errors(table, pi)):
        cut = (left[:, :d] * values[:d]) @ right[:d]
        assert error == pytest.approx(np.sqrt(pi @ ((table - cut) ** 2).sum(axis=1)), abs=1e-12)


def test_more_replications_keep_the_first_ones(errors):
    longer = proposition2.simulate(cell("approximation", replications=6))
    first = longer[longer["replication"] < 5].reset_index(drop=True)
    np.testing.assert_array_equal(first["exact"], errors["exact"])


# ------------------------------------------------------------------ Theorem 1


@pytest.fixture(scope="module")
def alternating():
    paths, runs = theorem1.simulate(cell("alternating", starts=2, rounds=60))
    contracts.PATHS.check(paths, "paths")
    contracts.RUNS.check(runs, "runs")
    return paths, runs


def test_objectives_fall_along_every_path(alternating):
    paths, _ = alternating
    for _, path in paths.groupby(["loss", "scheme", "start"]):
        values = path.sort_values("round")["objective"].to_numpy()
        assert (np.diff(values) <= 1e-13 * values[:-1]).all()


def test_the_best_value_is_a_global_minimum_and_the_zero_start_is_not(alternating):
    _, runs = alternating
    random = runs[(runs["start"] > 0) & (runs["scheme"] == "accelerated")]
    assert random["converged"].all()
    assert (random["excess"] < 1e-13).all()
    assert (random["residual"] < 1e-6).all()
    stuck = runs[runs["start"] == 0]
    assert stuck["converged"].all()
    assert (stuck["rounds"] == 1).all()
    assert (stuck["excess"] > 1e-3).all()
    assert (stuck["residual"] > 1e-3).all()


@pytest.mark.parametrize("loss", contracts.LOSSES)
def test_paths_begin_at_the_objective_and_gradient_of_the_start(alternating, loss):
    paths, _ = alternating
    settings, seed = cell("alternating").settings, SEED
    rng = stream(seed, "theory", "alternating", "sample")
    sample = theorem1.draw_sample(settings, loss, rng)
    start = theorem1.draw_start(settings, seed, 2)
    penalties = Penalties(0.01, {"x1": 0.01, "x2": 0.01})
    first = paths[(paths["loss"] == loss) & (paths["start"] == 2) & (paths["round"] == 0)]
    assert first["objective"].tolist() == [objective(start, sample, penalties, loss)] * 2
    norm = np.linalg.norm(gradient(start, sample, penalties, loss).flatten())
    assert first["gradient_norm"].tolist() == [norm] * 2


# ------------------------------------------------------------------ Theorem 2


GRID = {"cardinalities": [4, 8], "dimensions": [1, 3], "observations": [200, 800]}


@pytest.fixture(scope="module")
def generalisation():
    gaps, scaling = theorem2.simulate(cell("generalisation", replications=8, **GRID))
    contracts.GAPS.check(gaps, "gaps")
    contracts.SCALING.check(scaling, "scaling")
    return gaps, scaling


def test_gaps_follow_categories_over_rows_and_not_the_dimension(generalisation):
    gaps, scaling = generalisation
    means = contracts.average_gaps(gaps)
    by = ["loss", "categories", "observations"]
    spread = means.groupby(by)["gap"].agg(lambda gap: np.ptp(gap) / gap.mean())
    assert (spread < 1e-3).all()
    assert (means["gap"] / means["expected"]).mean() == pytest.approx(1.0, abs=0.2)
    assert (means["parameters"] == means["categories"] * means["dimension"]).all()
    fits = scaling.set_index("loss")
    assert (fits["dimension_exponent"].abs() < 1e-3).all()
    assert ((fits["categories_exponent"] - 1).abs() < 0.35).all()
    assert ((fits["size_exponent"] + 1).abs() < 0.35).all()
    for loss, fit in fits.iterrows():
        mine = means[means["loss"] == loss]
        line = fit["envelope"] * np.sqrt(mine["parameters"] / mine["observations"])
        assert (line >= mine["gap"] * (1 - 1e-12)).all()
        assert (line / mine["gap"]).max() == pytest.approx(fit["looseness"])


def test_a_cell_does_not_depend_on_the_rest_of_the_grid(generalisation):
    gaps, _ = generalisation
    settings = cell("generalisation", dimensions=[3]).settings
    rows = theorem2.measure_data_set(settings, SEED, 8, 800, 5)
    place = {"cardinality": 8, "observations": 800, "dimension": 3, "replication": 5}
    same = gaps[(gaps[list(place)] == list(place.values())).all(axis=1)]
    assert same["gap"].tolist() == [row["gap"] for row in rows]


def test_mean_gaps_agree_with_least_squares_on_dummy_variables():
    """Ordinary least squares and fresh test rows, with none of the library's code."""
    rng, gaps = np.random.default_rng(5), []
    for _ in range(300):
        effects = rng.standard_normal((2, 6))
        codes, fresh = rng.integers(0, 6, (2, 300)), rng.integers(0, 6, (2, 3000))

        def design(c):
            return np.hstack([np.eye(6)[c[0]], np.eye(6)[c[1]][:, 1:]])

        truth, new_truth = (effects[0][c[0]] + effects[1][c[1]] for c in (codes, fresh))
        noise, new_noise = rng.standard_normal(300), rng.standard_normal(3000)
        solution = np.linalg.lstsq(design(codes), truth + noise, rcond=None)[0]
        test = (new_truth + new_noise - design(fresh) @ solution) ** 2 - new_noise**2
        train = (truth + noise - design(codes) @ solution) ** 2 - noise**2
        gaps.append(test.mean() - train.mean())
    settings = cell("generalisation", dimensions=[2]).settings
    ours = [theorem2.measure_data_set(settings, SEED, 6, 300, r)[0]["gap"] for r in range(100)]
    error = np.sqrt(np.var(gaps) / len(gaps) + np.var(ours) / len(ours))
    assert abs(np.mean(gaps) - np.mean(ours)) < 4 * error
    assert np.mean(ours) == pytest.approx(2 * 11 / 300, rel=0.15)


# ------------------------------------------------------------------ Theorem 3


@pytest.fixture(scope="module")
def allocation():
    chosen = cell(
        "allocation",
        predictor_counts=[2, 3],
        instances=12,
        budget_ratios=[1.5, 4],
        budgets=[300, 345, 800, 3000],
    )
    solved, instances = theorem3.simulate(chosen)
    contracts.BUDGETS.check(solved, "budgets")
    contracts.INSTANCES.check(instances, "instances")
    return solved, instances


def listed_optimum(a, sizes, caps, budget):
    """Return the least Σ a/d over all permitted dimensions, by listing them."""
    best = np.inf
    ranges = [range(1, min(cap, budget // size) + 1) for size, cap in zip(sizes, caps, strict=True)]
    for dimensions in itertools.product(*ranges[:-1]):
        left = budget - int(np.dot(sizes[:-1], dimensions))
        last = min(left // sizes[-1], caps[-1])
        if last >= 1:
            best = min(best, float((a / np.array([*dimensions, last])).sum()))
    return best


def test_the_optimum_is_that_of_listing_everything(allocation):
    solved, instances = allocation
    settings = cell("allocation").settings
    a = theorem3.population_coefficients(settings)
    for budget, rows in solved[solved["solution"] == "optimum"].groupby("budget"):
        listed = listed_optimum(a, [30, 90, 180], [20] * 3, budget)
        assert rows["objective"].iloc[0] == pytest.approx(listed, rel=1e-12)
    for row in instances.itertuples():
        rng = stream(SEED, "theory", "allocation", row.predictors, row.instance)
        a, sizes = theorem3.draw_instance(settings, row.predictors, rng)
        caps = [row.budget] * row.predictors
        assert row.optimum == pytest.approx(listed_optimum(a, sizes, caps, row.budget), rel=1e-12)
    assert solved["proven"].all()
    assert instances["proven"].all()


def test_gaps_have_their_signs(allocation):
    solved, instances = allocation
    gaps = solved.drop_duplicates(["budget", "solution"]).pivot(
        index="budget", columns="solution", values="gap"
    )
    assert (gaps["closed_form"] <= 1e-12).all()
    assert (gaps["projection"] >= -1e-12).all()
    assert (gaps["optimum"].abs() <= 1e-12).all()
    # The closed form drops the bounds, so it cannot be above the real optimum within them.
    bound = solved.drop_duplicates("budget").set_index("budget")["bound_gap"]
    assert (gaps["closed_form"] <= bound + 1e-12).all()
    assert gaps["projection"][800] == pytest.approx(0.2285, abs=1e-4)
    assert (instances["gap"] >= -1e-12).all()
    assert (instances["optimal"] == (instances["gap"] <= 1e-12)).all()
    assert 0 < instances["optimal"].mean() < 1


def test_the_closed_form_spends_the_budget_and_the_others_keep_it(allocation):
    solved, _ = allocation
    cost = solved["dimension"] * solved["predictor"].map({1: 30, 2: 90, 3: 180})
    total = cost.groupby([solved["solution"], solved["budget"]]).sum().unstack(0)
    np.testing.assert_allclose(total["closed_form"], total.index)
    assert (total["projection"] <= total.index).all()
    assert (total["optimum"] <= total.index).all()


def test_the_cell_holds_experiment_3_s_budgets_and_little_else():
    whole = CONFIG.allocation_cell().settings
    assert set(CONFIG.exp3.budgets) <= set(whole.budgets)
    assert (min(whole.budgets), max(whole.budgets)) == (300, 3000)
    assert set(whole.plain()) == {
        "predictor_counts", "budget_ratios", "cardinality_range", "coefficient_range",
        "instances", "predictors", "coefficient_fit", "budgets",
    }  # fmt: skip


def test_settings_that_fail_on_the_drawn_data_are_named():
    few = changed(read_settings().theory.alternating, observations=2)
    with pytest.raises(ConfigError, match=r"theory\.alternating\.observations: all 2 responses"):
        [theorem1.draw_sample(few, "logistic", stream(1, number)) for number in range(50)]
    loud = theorem2.draw_gap_problem(5, 100, noise=1e9, rng=stream(1))
    with pytest.raises(ConfigError, match=r"theory\.generalisation: with noise 1e\+09 and penalty"):
        theorem2.measure_gap(loud, 1, rng=stream(2))
