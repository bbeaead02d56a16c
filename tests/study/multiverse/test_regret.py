"""Regret in Experiment 3: the oracle against a naive loop, and rules against their definitions."""

import itertools

import numpy as np
import pytest

from embedalloc.streams import stream
from embedalloc.study import exp3, exp3_sample
from embedalloc.study.multiverse import regret as exp3_regret
from embedalloc.study.multiverse import regret_table
from tests.study.test_experiments import CONFIG, EXP3_SMALL, small_cell

SIZES = [5, 7, 9]


def drawn(replication, settings=EXP3_SMALL, observations=60):
    return exp3_sample.draw_replication(
        settings, observations, stream(4, "exp3", observations, replication)
    )


@pytest.mark.parametrize("replication", range(3))
def test_the_risk_of_every_allocation_is_that_of_evaluating_it_alone(replication):
    sample = drawn(replication)
    allocations, risks = exp3_regret.list_risks(sample, 1e-6)
    expected = list(itertools.product(range(1, 5), range(1, 6), range(1, 4)))
    assert [tuple(row) for row in allocations] == expected
    (alone,) = exp3.evaluate([sample], [expected], 1e-6)
    found = [alone[dimensions]["risk"] for dimensions in expected]
    np.testing.assert_allclose(risks, found, rtol=1e-4)


def test_the_oracle_equals_a_naive_loop():
    budgets = [21, 33, 47, 80, 500]
    frame = exp3_regret.simulate(small_cell(seed=4, budgets=budgets, last=2))
    exp3_regret.REGRET.check(frame, "regret")
    for replication, budget in itertools.product(range(2), budgets):
        best, least = None, np.inf
        for dimensions in itertools.product(range(1, 5), range(1, 6), range(1, 4)):
            if sum(n * d for n, d in zip(SIZES, dimensions, strict=True)) > budget:
                continue
            (alone,) = exp3.evaluate([drawn(replication)], [[dimensions]], 1e-6)
            risk = alone[dimensions]["risk"]
            if risk < least:
                best, least = dimensions, risk
        rows = frame[(frame["replication"] == replication) & (frame["budget"] == budget)]
        assert set(rows["oracle_dimensions"]) == {best}
        assert rows["oracle_risk"].iloc[0] == pytest.approx(least, rel=1e-4)
        costs = np.stack(rows["dimensions"]) @ SIZES
        assert (costs <= budget).all()


def test_rules_of_the_experiment_choose_what_they_choose_there():
    cell = CONFIG.exp3.cell(1, 500, range(3), [400, 1000])
    regret = exp3_regret.simulate(cell)
    performance = exp3.simulate(cell)
    names = performance["allocation_rule"].where(
        (performance["allocation_rule"] == "proposed") | (performance["leftover"] == "floored"),
        performance["allocation_rule"] + "_spent",
    )
    both = performance.assign(allocation_rule=names).merge(
        regret, on=["replication", "budget", "allocation_rule"], suffixes=("", "_regret")
    )
    assert len(both) == 3 * 2 * 7
    assert (both["dimensions"] == both["dimensions_regret"]).all()
    np.testing.assert_allclose(both["risk"], both["risk_regret"], rtol=1e-5)


def test_rules_beyond_the_paper_by_their_formulas():
    settings, budget = EXP3_SMALL, 60
    sample = drawn(0)
    book = exp3_regret.RuleBook(sample, settings)
    weights = np.linalg.solve(sample.gram, sample.moment)
    feasible = [
        dimensions
        for dimensions in itertools.product(range(1, 5), range(1, 6), range(1, 4))
        if np.dot(SIZES, dimensions) <= budget
    ]

    def relevance(dimensions):
        total, start = 0.0, 0
        for score, inverse, n, d in zip(
            sample.scores, sample.inverse_counts, SIZES, dimensions, strict=True
        ):
            for k in range(d, score.shape[1]):
                signal = max((score[:, k] ** 2).sum() - settings.noise**2 * inverse, 0.0)
                total += weights[start + k] ** 2 * signal / n
            start += score.shape[1]
        return total

    problem = exp3.budget_problem(settings, budget)
    chosen = book.allocations(problem, exp3.blind_allocations(problem))
    least = min(relevance(dimensions) for dimensions in feasible)
    assert relevance(chosen["relevance_weighted"]) == pytest.approx(least, abs=1e-12)
    curves = book.prediction
    least = min(sum(c[d] for c, d in zip(curves, each, strict=True)) for each in feasible)
    mine = sum(c[d] for c, d in zip(curves, chosen["response_aware"], strict=True))
    assert mine == pytest.approx(least)


def test_intervals_are_paired_over_replications():
    frame = exp3_regret.simulate(small_cell(seed=4, budgets=[33, 60], last=5))
    gains = regret_table.average_excess(frame, "observations", gain=True)
    rule = "response_aware"
    wide = frame.groupby(["replication", "allocation_rule"])["excess"].mean().unstack()
    by_hand = wide["proposed"] - wide[rule]
    row = gains[gains["allocation_rule"] == rule].iloc[0]
    half = 2.7764451051977987 * by_hand.std(ddof=1) / np.sqrt(5)
    assert row["mean"] == pytest.approx(by_hand.mean())
    assert row["high"] - row["mean"] == pytest.approx(half)
