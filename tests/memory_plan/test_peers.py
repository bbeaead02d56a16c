"""Other people's rules: as published, never above the budget, never better than the exact plan."""

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.decomposition import PCA

from embedalloc.memory_plan.menus import build_memory_problem
from embedalloc.memory_plan.peers import compare_peers, dimension_by_variance, mixed_dimensions
from embedalloc.memory_plan.prices import Prices
from tests.memory_plan.contest import compare_on_criteo
from tests.memory_plan.criteo import (
    CARDINALITIES,
    FDO_DIMENSIONS,
    FDO_LEVELS,
    power_law_counts,
)
from tests.places import ROOT

SMALL = power_law_counts([n for n in CARDINALITIES if n < 20_000], rows=300_000)
RATIOS = sorted(FDO_DIMENSIONS)


def build(counts=SMALL, **words):
    given = {"prices": Prices("rowwise_adagrad"), "formats": ["float32", "float16"]} | words
    return build_memory_problem(counts, **given)


@pytest.mark.parametrize("budget", [1_000, 100_000, 1_000_000, 10_000_000])
def test_no_peer_passes_the_budget_or_beats_the_exact_plan(budget):
    # The exact plan chooses from menus that hold fewer rows and columns than peers may take.
    found = compare_peers(build(), budget)
    assert all(plan.bytes <= budget for plan in found.values() if plan is not None)
    exact = found["exact"].error
    assert exact <= found["exact, float32"].error
    for name, plan in found.items():
        if plan is not None:
            assert exact <= plan.error * 1.001, name
            assert plan.rule == name


def test_rules_that_give_every_level_a_row_do_not_fit_below_one_column():
    levels = sum(len(counts) + 1 for counts in SMALL.values())
    found = compare_peers(build(prices=Prices()), 4 * levels - 1)
    for name in ("equal dimensions", "mixed dimensions", "dimensions by variance"):
        assert found[name] is None
    assert found["hashed rows"] is not None
    fits = compare_peers(build(prices=Prices()), 4 * levels)
    assert {table.dimension for table in fits["equal dimensions"].tables.values()} == {1}


def test_each_peer_takes_the_largest_plan_that_fits():
    budget = 2_000_000
    found = compare_peers(build(prices=Prices(), formats=["float32"]), budget)
    rows = sum(len(counts) + 1 for counts in SMALL.values())
    (equal,) = {table.dimension for table in found["equal dimensions"].tables.values()}
    assert equal == min(64, budget // (4 * rows))
    # Hashed and frequent rows: written out, one more does not fit.
    hashed = max(
        m
        for m in range(1, 20_000)
        if 64 * sum(m if len(c) >= m else len(c) + 1 for c in SMALL.values()) <= budget
    )
    tables = found["hashed rows"].tables.values()
    assert max(table.rows for table in tables) == hashed
    least = min(
        n
        for n in np.unique(np.concatenate(list(SMALL.values()))).tolist()
        if 64 * sum(int((c >= n).sum()) + 1 for c in SMALL.values()) <= budget
    )
    for name, table in found["frequent rows"].tables.items():
        assert table.levels == (SMALL[name] >= least).sum()


def test_with_a_width_no_peer_has_more_columns_and_projections_count():
    problem = build(prices=Prices(width=8), formats=["float32"])
    for name, plan in compare_peers(problem, 3_000_000).items():
        dimensions = {table.dimension for table in plan.tables.values()}
        assert max(dimensions) <= 8, name
        rows = sum(table.rows * table.dimension for table in plan.tables.values())
        projected = sum(8 * t.dimension for t in plan.tables.values() if t.dimension != 8)
        assert plan.bytes == 4 * (rows + projected), name


def test_mixed_dimensions_follow_the_popularity():
    problem = build({"a": np.ones(10, int), "b": np.ones(10_000, int)})
    assert mixed_dimensions(problem, 16).tolist() == [16, 2]  # 16 · 1000^-0.3 = 2.01
    assert mixed_dimensions(problem, 1).tolist() == [1, 1]


@pytest.mark.slow
def test_the_page_shows_what_comes_out_on_criteos_shape():
    found = {}
    for budget, plans in compare_on_criteo():
        for name, plan in plans.items():
            assert plan is None or plan.bytes <= budget
            found.setdefault(name, []).append(
                "does not fit" if plan is None else f"{plan.error:.2f}"
            )
        assert plans["exact"].gap <= 1e-9
    page = (ROOT / "docs/memory.md").read_text()
    names = {"exact, float32": "exact, float32 only", "exact": "exact, float32 and float16"}
    for name, cells in found.items():
        assert f"| {' | '.join([names.get(name, name), *cells])} |" in page


# Dimensions by variance, beside what its authors publish


def test_the_published_dimensions_grow_with_the_ratio_and_stay_below_the_rank():
    table = np.array([FDO_DIMENSIONS[ratio] for ratio in RATIOS])
    assert table.shape == (10, 39)
    assert (np.diff(table, axis=0) >= 0).all()
    assert (table[-1] <= np.minimum(16, np.array(FDO_LEVELS) - 1)).all()


@pytest.mark.parametrize("field", range(39))
def test_a_table_with_the_published_dimensions_at_one_field_gives_them_at_all_ratios(field):
    """Find a spectrum that explains a field's ten dimensions, and let the rule find them again.

    The trained tables are not published. A falling spectrum with the ten dimensions exists only if
    they are those of one table; the rule must then read the same dimensions off a table that has
    this spectrum.
    """
    wanted = [FDO_DIMENSIONS[ratio][field] for ratio in RATIOS]
    columns = min(16, FDO_LEVELS[field] - 1)
    spectrum = find_spectrum(wanted, columns)
    rng = np.random.default_rng(field)
    levels = max(min(FDO_LEVELS[field], 300), columns + 1)
    scores = rng.normal(size=(levels, columns))
    scores, _ = np.linalg.qr(scores - scores.mean(0))
    turn, _ = np.linalg.qr(rng.normal(size=(16, 16)))
    embedding = scores * np.sqrt(spectrum) @ turn[:columns] + rng.normal(size=16)
    centred = embedding - embedding.mean(0)
    variances = np.linalg.svd(centred, compute_uv=False) ** 2
    found = [dimension_by_variance(variances, ratio / 100) for ratio in RATIOS]
    assert found == wanted
    peer = [PCA(n_components=ratio / 100).fit(embedding).n_components_ for ratio in RATIOS]
    assert found == peer


def find_spectrum(wanted, columns):
    """Return a falling spectrum of sum 1 that passes each ratio at the wanted dimension."""
    rules, limits = [], []
    margin = np.zeros(columns + 1)
    margin[-1] = 1.0  # the last unknown is how clearly every ratio is passed
    for ratio, d in zip(RATIOS, wanted, strict=True):
        first = (np.arange(columns + 1) < d).astype(float)
        before = (np.arange(columns + 1) < d - 1).astype(float)
        rules += [margin - first, margin + before]
        limits += [-ratio / 100, ratio / 100]
    for k in range(columns - 1):
        fall = np.zeros(columns + 1)
        fall[k], fall[k + 1] = -1.0, 1.0
        rules.append(fall)
        limits.append(0.0)
    total = np.r_[np.ones(columns), 0.0][None, :]
    solved = linprog(-margin, np.array(rules), limits, total, [1.0], bounds=(0, None))
    assert solved.success, solved.message
    assert solved.x[-1] > 1e-4  # clearly, and not only in the last digit
    return solved.x[:columns]
