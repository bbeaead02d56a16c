"""Allocation of few to a million predictors: ours beside a scan, a MILP solver and SLSQP.

Three questions, each with the peers that answer it: Algorithm 1's integer step (a scan of all
predictors for every step), the exact optimum (a 0/1 program for scipy's MILP solver) and the
real-valued optimum of Theorem 3 (scipy's SLSQP).
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp, minimize
from scipy.sparse import csr_array

from embedalloc.allocation import Solution, continuous_dimensions, solve_by_paper
from embedalloc.arrays import Floats, Ints
from embedalloc.optimum import solve_optimally
from embedalloc.problem import build_problem
from embedalloc.streams import stream
from embedalloc.study.settings.benchmarks import Dimensions
from tests.benchmarks.measure import OURS, Case, Contestant, DisagreementError, require_close
from tests.oracles import naive

#: SLSQP stops when its objective changes by less than this.
LOOSE = 1e-4
#: The MILP solver proves its optimum up to this.
TIGHT = 1e-6


class Instance(NamedTuple):
    """Predictors with their coefficients, and a budget of several dimensions each."""

    coefficients: Floats
    cardinalities: Ints
    budget: int


def instance(predictors: int, largest: int, number: int = 0) -> Instance:
    """Draw predictors with up to `largest` categories."""
    rng = stream(1, "benchmark", "allocation", predictors, largest, number)
    cardinalities = rng.integers(2, largest, predictors, endpoint=True)
    return Instance(rng.lognormal(0, 2, predictors), cardinalities, int(7.3 * cardinalities.sum()))


#: Solved by everyone before the clock starts: the first call of anything is slow.
WARM_UP = instance(5, 100)


def cases(cell: Dimensions) -> list[Case]:
    """Return the three questions over the number of predictors; slow peers drop out."""
    largest, limits = cell.largest_cardinality, cell.peers_up_to
    exact = cell.optimum
    questions = []
    for m in cell.predictors:
        given = instance(m, largest)
        questions.append(greedy(given, m <= limits.greedy))
        questions.append(continuous(given, m <= limits.continuous))
        if m <= exact.up_to:
            several = [instance(m, largest, number) for number in range(exact.instances)]
            questions.append(optimum(several, m <= limits.optimum))
    return sorted(questions, key=lambda case: case.name)


def solve_greedily(given: Instance) -> Solution:
    """Check the instance and take Algorithm 1's integer step."""
    return solve_by_paper(build_problem(given.cardinalities, given.budget), given.coefficients)


def solve_exactly(given: Instance) -> Solution:
    """Check the instance and find its optimum."""
    problem = build_problem(given.cardinalities, given.budget)
    return solve_optimally(problem, coefficients=given.coefficients)


def greedy(given: Instance, with_peer: bool) -> Case:
    """Algorithm 1's integer step: the same dimensions to the last one."""
    contestants = [
        Contestant(
            OURS,
            lambda: solve_greedily(given),
            finish=lambda found: found.dimensions.tolist(),
            prepare=lambda: solve_greedily(WARM_UP),
        )
    ]
    if with_peer:
        peer = Contestant(
            "naive scan", lambda: naive.proposed(*given), prepare=lambda: naive.proposed(*WARM_UP)
        )
        contestants.append(peer)

    def agree(results: Mapping[str, Any]) -> None:
        if with_peer and results[OURS] != results["naive scan"]:
            raise DisagreementError("the scan found other dimensions")

    return Case("greedy", len(given.cardinalities), contestants, agree)


def optimum(several: Sequence[Instance], with_peer: bool) -> Case:
    """Exact optimum: the same least error.

    How long the search takes depends on how close the best whole dimensions come to the bound,
    which differs tenfold between instances of the same size; hence several.
    """

    contestants = [
        Contestant(
            OURS,
            lambda: list(map(solve_exactly, several)),
            len(several),
            finish=lambda found: np.array([(one.objective, one.lower_bound) for one in found]),
            prepare=lambda: solve_exactly(WARM_UP),
        )
    ]
    if with_peer:
        peer = Contestant(
            "scipy milp",
            lambda: list(map(least_by_milp, several)),
            len(several),
            prepare=lambda: least_by_milp(WARM_UP),
        )
        contestants.append(peer)

    def agree(results: Mapping[str, Any]) -> None:
        objectives, bounds = results[OURS].T
        require_close(bounds, objectives, "our own proof", relative=TIGHT)
        if with_peer:
            require_close(results["scipy milp"], objectives, "scipy milp", relative=TIGHT)

    return Case("optimum", len(several[0].cardinalities), contestants, agree)


def least_by_milp(given: Instance) -> float:
    """Return the least Σ a_j/d_j by a 0/1 variable for every dimension of every predictor.

    As many dimensions are listed as five times the real-valued optimum has, and ten at least.
    """
    a, n, budget = given
    most = np.maximum(10, 5 * continuous_dimensions(a, n, budget)).astype(np.int64)
    owner = np.repeat(np.arange(len(n)), most)
    dimension = np.concatenate([np.arange(1, high + 1) for high in most])
    places = np.arange(len(owner))
    one_each = csr_array((np.ones(len(owner)), (owner, places)))
    cost = csr_array((n[owner] * dimension)[None].astype(float))
    solved = milp(
        a[owner] / dimension,
        integrality=np.ones(len(owner), dtype=np.int64),
        bounds=Bounds(0, 1),
        constraints=[LinearConstraint(one_each, 1, 1), LinearConstraint(cost, -np.inf, budget)],
        options={"mip_rel_gap": 0.0},
    )
    if solved.fun is None:
        raise DisagreementError(f"milp found nothing: {solved.message}")
    return float(solved.fun)


def continuous(given: Instance, with_peer: bool) -> Case:
    """Theorem 3: the same least error over real dimensions."""
    a, n, budget = given
    times = max(1, 20_000 // len(n))

    def ours() -> float:
        for _ in range(times):
            found = continuous_dimensions(a, n, budget)
        return float((a / found).sum())

    contestants = [Contestant(OURS, ours, times)]
    if with_peer:
        contestants.append(Contestant("scipy SLSQP", lambda: least_by_slsqp(given)))

    def agree(results: Mapping[str, Any]) -> None:
        if with_peer:
            require_close(results["scipy SLSQP"], results[OURS], "scipy SLSQP", relative=LOOSE)

    return Case("continuous", len(n), contestants, agree)


def least_by_slsqp(given: Instance) -> float:
    """Return the least Σ a_j/d_j over real dimensions, searched in their logarithms."""
    a, n, budget = given
    start = np.full(len(n), np.log(budget / n.sum()))
    solved = minimize(  # type: ignore[call-overload]  # its stubs want other constraints
        lambda x: (a * np.exp(-x)).sum(),
        start,
        jac=lambda x: -a * np.exp(-x),
        method="SLSQP",
        constraints={
            "type": "ineq",
            "fun": lambda x: 1 - (n * np.exp(x)).sum() / budget,
            "jac": lambda x: -n * np.exp(x) / budget,
        },
        options={"maxiter": 1000, "ftol": 1e-10},
    )
    return float(solved.fun)
