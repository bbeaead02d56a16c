"""The surrogate beside simulation, and beside its formulas written out level by level."""

import numpy as np
import pytest
import torch

from embedalloc.memory_plan.surrogate import (
    full_rank,
    group_counts,
    mean_squared_range,
    share_of_columns,
    share_of_numbers,
    share_of_rows,
)
from tests.memory_plan.simulation import (
    explain_by_hashing,
    lose_by_rounding,
    lose_by_sharing,
)

COUNTS = np.maximum(1, 3000 * np.arange(1, 401) ** -1.1).astype(np.int64)


def share(levels, buckets, smoothing=20.0, counts=COUNTS):
    pairs = np.array([levels]), np.array([buckets])
    return float(share_of_rows(group_counts(counts), *pairs, smoothing)[0])


def test_the_case_has_frequent_and_rare_levels():
    assert COUNTS[0] == 3000
    assert COUNTS[-1] == 4
    assert np.unique(COUNTS).size < COUNTS.size  # so that counts are grouped


@pytest.mark.parametrize("levels", [0, 1, 37, 200, 399, 400])
def test_own_rows_and_one_shared_row_are_exact(levels):
    # Level by level: the rest is one set whose estimate is its shrunken pooled mean.
    own, rest, smoothing = COUNTS[:levels], COUNTS[levels:], 20.0
    told = sum(n / (n + smoothing) * n for n in own.tolist())
    if rest.size:
        n, q = int(rest.sum()), int((rest**2).sum())
        told += n * (q / n**2) * q / (q + smoothing * n)
    assert share(levels, 1) == pytest.approx(told / COUNTS.sum(), rel=1e-12)


@pytest.mark.parametrize("levels", [0, 30, 400])
@pytest.mark.parametrize(("tau", "sigma"), [(1.0, 4.0), (0.5, 0.5)])
def test_pooled_rows_lose_what_the_simulation_loses(levels, tau, sigma):
    rng = np.random.default_rng(levels)
    lost, deviation = lose_by_sharing(rng, COUNTS, levels, 1, tau, sigma, draws=300)
    expected = tau**2 * (1 - share(levels, 1, sigma**2 / tau**2))
    assert abs(lost - expected) < 4 * deviation


@pytest.mark.parametrize("smoothing", [4.0, 20.0])
@pytest.mark.parametrize(("levels", "buckets"), [(0, 4), (0, 64), (30, 16), (30, 64), (100, 128)])
def test_buckets_lose_what_the_simulation_loses_within_a_fiftieth(levels, buckets, smoothing):
    rng = np.random.default_rng(buckets)
    lost = 1 - explain_by_hashing(rng, COUNTS, levels, buckets, smoothing, draws=300)
    assert 1 - share(levels, buckets, smoothing) == pytest.approx(lost, rel=0.02)


def test_equally_frequent_levels_in_buckets_are_exact():
    counts = np.full(300, 10)
    told = explain_by_hashing(np.random.default_rng(0), counts, 20, 64, 20.0, draws=2000)
    assert share(20, 64, 20.0, counts) == pytest.approx(told, rel=0.005)


def test_the_simulation_of_data_agrees_with_the_sets_explained_shares():
    rng = np.random.default_rng(1)
    lost, deviation = lose_by_sharing(rng, COUNTS, 30, 16, 1.0, 2.0, draws=300)
    told = explain_by_hashing(rng, COUNTS, 30, 16, 4.0, draws=300)
    assert abs(lost - (1 - told)) < 4 * deviation


def test_many_buckets_come_to_own_rows_and_one_to_a_common_row():
    assert share(0, 10**9) == pytest.approx(share(400, 1), rel=1e-5)
    assert share(30, 1) < share(30, 2) < share(30, 64) < share(400, 1)


def test_a_spectrum_whose_tail_is_a_over_d_is_held_so():
    # s_1² = s² − a and s_k² = a/(k(k−1)): what d leading columns leave is a/d.
    signal, a, k = 3.0, 1.2, np.arange(2, 200_001)
    spectrum = np.r_[signal - a, a / (k * (k - 1))]
    dimensions = np.array([1, 2, 5, 30])
    held = np.cumsum(spectrum)[dimensions - 1] / signal
    ranks = np.full(4, 1000)
    assert share_of_columns(dimensions, ranks, a / signal) == pytest.approx(held, rel=1e-12)
    assert share_of_columns(np.array([1]), ranks[:1], 5.0 / 3.0).tolist() == [0.0]


def test_as_many_columns_as_the_rank_hold_everything():
    levels = np.random.default_rng(0).normal(size=(6, 40))
    assert np.linalg.matrix_rank(levels - levels.mean(0)) == full_rank(np.array([6]))[0] == 5
    assert share_of_columns(np.array([4, 5, 6]), np.full(3, 5), 0.8).tolist() == [0.8, 1.0, 1.0]


@pytest.mark.parametrize(("name", "bits"), [("int8", 8), ("int4", 4)])
@pytest.mark.parametrize("dimension", [1, 2, 4, 8, 64])
def test_whole_numbers_lose_what_rounding_loses(name, bits, dimension):
    lost = lose_by_rounding(np.random.default_rng(dimension), dimension, bits)
    expected = 1 - share_of_numbers(np.array([dimension]), name)[0]
    assert expected == pytest.approx(lost, rel=0.05, abs=1e-12)


@pytest.mark.parametrize(("name", "bits"), [("int8", 8), ("int4", 4)])
def test_torch_rounds_as_the_surrogate_says(name, bits):
    table = torch.from_numpy(np.random.default_rng(0).normal(size=(5000, 16))).float()
    kind = {8: "byte", 4: "4bit"}[bits]
    packed = getattr(torch.ops.quantized, f"embedding_bag_{kind}_prepack")(table)
    unpacked = getattr(torch.ops.quantized, f"embedding_bag_{kind}_unpack")(packed)
    lost = float(((unpacked - table) ** 2).sum() / (table**2).sum())
    expected = 1 - share_of_numbers(np.array([16]), name)[0]
    assert expected == pytest.approx(lost, rel=0.05)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_short_floating_point_numbers_lose_what_torch_loses(kind):
    table = torch.from_numpy(np.random.default_rng(0).normal(size=100_000))
    lost = float(((table.to(kind).double() - table) ** 2).sum() / (table**2).sum())
    name = str(kind).removeprefix("torch.")
    expected = 1 - share_of_numbers(np.array([8]), name)[0]
    assert expected == pytest.approx(lost, rel=0.2)


def test_ranges_of_normal_numbers():
    assert mean_squared_range(1) == 0
    # Three: the mean square of the range has a closed form, 2 + 3√3/π.
    assert mean_squared_range(3) == pytest.approx(2 + 3 * np.sqrt(3) / np.pi, rel=1e-5)
    drawn = np.random.default_rng(0).normal(size=(20_000, 48))
    assert mean_squared_range(48) == pytest.approx((np.ptp(drawn, axis=1) ** 2).mean(), rel=0.01)
