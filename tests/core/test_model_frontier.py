"""Tables in files larger than memory, their spectra, and surrogate curves over budgets."""

import itertools
import json
import subprocess
import sys

import numpy as np
import pytest

from embedalloc import allocate_from_model, frontier_from_model, model_spectra
from embedalloc.frontier import Frontier
from embedalloc.intervals import t_interval
from embedalloc.model_frontier import information_abundance


def tables(seed=0):
    """Return tables whose spectra decay at different rates."""
    rng = np.random.default_rng(seed)
    return {
        f"{name}_emb": rng.normal(size=(rows, 6)) @ np.diag(decay ** np.arange(6.0))
        for name, rows, decay in (("user", 40, 0.3), ("item", 90, 0.8), ("day", 7, 0.5))
    }


def write_safetensors(path, arrays, kind="F32", dtype=np.float32):
    """Write the format by hand: a length, a header in JSON, and the numbers."""
    header, content = {}, b""
    for name, values in arrays.items():
        raw = values.astype(np.float32)
        raw = (raw.view(np.uint32) >> 16).astype(np.uint16) if kind == "BF16" else raw.astype(dtype)
        begin, content = len(content), content + raw.tobytes()
        places = [begin, len(content)]
        header[name] = {"dtype": kind, "shape": list(values.shape), "data_offsets": places}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content)


@pytest.mark.parametrize(
    ("kind", "dtype", "digits"), [("F64", np.float64, 1e-7), ("F32", np.float32, 1e-6),
                                  ("F16", np.float16, 1e-2), ("BF16", None, 1e-1)],
)  # fmt: skip
def test_files_give_the_spectra_of_their_arrays(tmp_path, kind, dtype, digits):
    arrays = tables()
    write_safetensors(tmp_path / "model.safetensors", arrays, kind, dtype)
    found = model_spectra(tmp_path / "model.safetensors")
    for name, values in arrays.items():
        spectrum = np.linalg.svd(values, compute_uv=False)
        np.testing.assert_allclose(found[name].singular_values, spectrum, rtol=digits)
        expected = spectrum.sum() / spectrum[0]
        assert found[name].information_abundance == pytest.approx(expected, rel=digits)
    if kind != "BF16":  # a budget in bytes counts those of the file
        half = allocate_from_model(tmp_path / "model.safetensors", "4 kB")
        assert half.budget == 4000 // np.dtype(dtype).itemsize
    else:
        assert allocate_from_model(tmp_path / "model.safetensors", "4 kB").budget == 2000


def test_numpy_files_and_folders_of_parts(tmp_path):
    arrays = tables()
    for name, values in arrays.items():
        np.save(tmp_path / f"{name}.npy", values)
    plan = allocate_from_model(arrays, 300).dimensions
    assert allocate_from_model(tmp_path, 300).dimensions == {name: plan[name] for name in plan}
    one = model_spectra(tmp_path / "user_emb.npy")
    assert list(one) == ["user_emb"]
    first, *rest = arrays
    for path in tmp_path.iterdir():
        path.unlink()
    write_safetensors(tmp_path / "a.safetensors", {first: arrays[first]}, "F64", np.float64)
    others = {name: arrays[name] for name in rest}
    write_safetensors(tmp_path / "b.safetensors", others, "F64", np.float64)
    assert allocate_from_model(tmp_path, 300).dimensions == plan
    write_safetensors(tmp_path / "c.safetensors", {first: arrays[first]})
    with pytest.raises(ValueError, match=r"c.safetensors'?: 'user_emb' is in a.safetensors too"):
        model_spectra(tmp_path)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ones(5), "holds float64 of shape"),
        (np.ones((5, 2), np.int64), "holds int64 of shape"),
        (np.asfortranarray(np.ones((5, 2))), "is stored by columns"),
    ],
)
def test_numpy_files_without_a_table_are_refused(tmp_path, values, message):
    np.save(tmp_path / "user.npy", values)
    with pytest.raises(ValueError, match=message):
        model_spectra(tmp_path / "user.npy")
    (tmp_path / "user.npy").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="is not an npy file of numbers"):
        model_spectra(tmp_path / "user.npy")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"no .safetensors or .npy file in this folder"):
        model_spectra(tmp_path / "empty")


def test_a_table_larger_than_the_memory_that_is_allowed(tmp_path):
    """640 MB of numbers in a process that may grow by 300 MB, mapped pages counted."""
    rows, columns = 2_500_000, 64
    path = tmp_path / "user.npy"
    scale = (0.9 ** np.arange(columns)).astype(np.float32)
    block = np.random.default_rng(0).standard_normal((rows // 100, columns), dtype=np.float32)
    written = np.lib.format.open_memmap(path, "w+", np.float32, (rows, columns))
    for k in range(100):
        written[k * len(block) : (k + 1) * len(block)] = block * scale
    del written
    program = (
        "import resource, sys\nfrom embedalloc import allocate_from_model, model_spectra\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "import numpy.linalg, scipy.special\nbefore = peak()\n"
        "found = model_spectra(sys.argv[1])['user']\n"
        "allocate_from_model(sys.argv[1], 10**8)\n"
        "print((peak() - before) / 1024, *found.singular_values)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    grown, *values = map(float, done.stdout.split())
    assert path.stat().st_size > 600e6
    assert grown < 300
    # A hundred equal blocks: the singular values of one, times the root of a hundred.
    expected = np.linalg.svd((block * scale).astype(np.float64), compute_uv=False) * 10
    np.testing.assert_allclose(values, expected, rtol=1e-5)


def test_abundance_lies_between_one_and_the_columns():
    assert information_abundance(np.ones(7)) == pytest.approx(7)
    assert information_abundance([5.0, 0.0, 0.0]) == 1
    assert information_abundance([0.0, 0.0]) == 0


def test_the_surrogate_is_the_least_that_any_dimensions_lose():
    arrays = tables(3)
    found = frontier_from_model(arrays, [140, 300, 500, 137 * 6])
    tails = {
        name: [np.sqrt((np.linalg.svd(values, compute_uv=False)[d:] ** 2).sum()) for d in range(7)]
        for name, values in arrays.items()
    }
    whole = sum(each[0] for each in tails.values())
    for place, budget in enumerate(found.budgets):
        best = min(
            sum(tails[name][d] for name, d in zip(arrays, dimensions, strict=True))
            for dimensions in itertools.product(range(1, 7), repeat=3)
            if sum(d * len(v) for d, v in zip(dimensions, arrays.values(), strict=True)) <= budget
        )
        assert found.losses["optimal"][0, place] == pytest.approx(best / whole, abs=1e-7)
        assert found.losses["equal"][0, place] >= found.losses["optimal"][0, place] - 1e-12
    assert found.losses["optimal"][0, -1] == 0
    assert found.is_surrogate
    assert found.to_dict()["kind"] == "surrogate"
    assert "Surrogate: what tables lose" in str(found)
    assert max(map(len, str(found).splitlines())) <= 80


def test_default_budgets_halve_down_to_one_column_each():
    arrays = tables()
    found = frontier_from_model(arrays)
    assert found.budgets[-1] == 137 * 6
    assert found.budgets[0] == 137
    loose = frontier_from_model(arrays, margin=1.0)
    assert loose.smallest_equivalent("optimal") == 137
    assert frontier_from_model(arrays, margin=0.0).smallest_equivalent("optimal") == 137 * 6
    with pytest.raises(ValueError, match="all tables hold zeros only"):
        frontier_from_model({"a": np.zeros((4, 3))})


def made_up(margin=0.01):
    """Return a frontier of three splits whose arithmetic is done by hand below."""
    equal = np.array([[np.nan, 1.2, 1.01, 1.0], [np.nan, 1.3, 1.02, 1.0], [np.nan, 1.4, 1.0, 1.0]])
    plan = np.array([[1.1, 1.0, 0.9, 0.9], [1.3, 1.0, 0.91, 0.9], [1.2, 1.0, 0.89, 0.9]])
    spent = {"screened": np.array([5.0, 10, 20, 40]), "equal": np.array([np.nan, 10, 20, 40])}
    return Frontier((5, 10, 20, 40), {"screened": plan, "equal": equal}, spent, margin, 1 / 3)


def test_bands_areas_and_the_smallest_equivalent_budget():
    found = made_up()
    low, high = t_interval(np.array([1.2, 1.3, 1.4]), 1 / 3 + 1 / 3)
    assert found.band("equal", 10) == pytest.approx((1.3, low, high))
    difference = np.array([0.0, 0.01, -0.01]) / 0.9
    low, high = t_interval(difference, 2 / 3)
    assert found.against_full("screened", 20) == pytest.approx((0.0, low, high), abs=1e-12)
    assert high > 0.01
    assert found.smallest_equivalent("screened") == 40  # its interval at 20 is too wide
    assert made_up(margin=high + 1e-9).smallest_equivalent("screened") == 20
    # Trapezoids over log 10, log 20, log 40: the middle counts half, the ends a quarter each.
    assert found.area("screened").mean == pytest.approx(1.0 / 4 + 0.9 / 2 + 0.9 / 4)
    assert found.area("equal").mean == pytest.approx(1.3 / 4 + 1.01 / 2 + 1.0 / 4)
    paired = [(1 / 4 + a / 2 + 0.9 / 4) - (e / 4 + b / 2 + 1 / 4)
              for a, e, b in ((0.9, 1.2, 1.01), (0.91, 1.3, 1.02), (0.89, 1.4, 1.0))]  # fmt: skip
    low, high = t_interval(np.array(paired), 2 / 3)
    assert found.area_against_equal("screened") == pytest.approx((np.mean(paired), low, high))


def test_one_split_has_no_bands_and_no_answer():
    found = made_up()
    single = Frontier(
        found.budgets, {k: v[:1] for k, v in found.losses.items()}, found.parameters, 0.01, 1 / 3
    )
    assert np.isnan(single.band("equal", 20).low)
    assert single.smallest_equivalent("equal") is None
    assert "one split cannot tell" in str(single)
    plain = single.to_dict()
    assert plain["curves"]["equal"]["losses"][0][0] is None
    assert plain["curves"]["equal"]["loss"][1] == {"mean": 1.2, "low": None, "high": None}
    assert plain["curves"]["screened"]["smallest_equivalent"] is None


def test_a_budget_that_costs_the_margin_is_rarely_called_as_good():
    """Of 2,000 simulated frontiers about 2.5 % may be wrong, however many budgets there are."""
    rng = np.random.default_rng(0)
    wrong = 0
    spent = {"equal": np.array([1.0, 2.0, 3.0, 4.0])}
    for _ in range(2000):
        losses = 1.0 + 0.02 * rng.normal(size=(8, 4))
        losses[:, :3] += 0.05  # exactly the margin
        found = Frontier((1, 2, 3, 4), {"equal": losses}, spent, margin=0.05, test_ratio=0.0)
        wrong += found.smallest_equivalent("equal") != 4
    assert 0.010 < wrong / 2000 < 0.040
