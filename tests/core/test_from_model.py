"""Dimensions from the weights of a model: which tables there are, their spectra, the result."""

import tracemalloc
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

import embedalloc.model_tables
from embedalloc import allocate, allocate_from_model, from_json, to_json
from embedalloc.model_tables import embedding_tables
from embedalloc.spectra import (
    fit_coefficient,
    singular_values,
    singular_values_by_rows,
    spectral_tails,
)
from embedalloc.weight_files import read_safetensors


def table(rows, columns, seed=0, dtype=torch.float32, decay=0.8, **keywords):
    """Return an embedding whose spectrum decays, on a random basis."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, columns)) * decay ** np.arange(columns)
    rotated = values @ np.linalg.qr(rng.normal(size=(columns, columns)))[0]
    return nn.Embedding(
        rows, columns, _weight=torch.tensor(rotated, dtype=dtype), dtype=dtype, **keywords
    )


class Recommender(nn.Module):
    """Two towers that share the item table, a bag with padding, and layers without tables."""

    def __init__(self):
        super().__init__()
        self.items = table(400, 16, 1)
        self.query = nn.ModuleDict({"user": table(90, 8, 2), "item": self.items})
        self.tags = nn.EmbeddingBag(30, 4, padding_idx=0)
        self.history = nn.Embedding(400, 16)
        self.history.weight = self.items.weight
        self.head = nn.Linear(16, 1)


def numpy_of(embedding):
    return embedding.weight.detach().to(torch.float64).numpy()


@pytest.mark.parametrize("shape", [(500, 24), (24, 24), (7, 24), (1000, 1), (1, 3)])
@pytest.mark.parametrize("height", [1, 64, 10_000])
def test_streamed_singular_values_are_those_of_the_whole_table(shape, height):
    matrix = np.random.default_rng(3).normal(size=shape)
    blocks = (matrix[start : start + height] for start in range(0, len(matrix), height))
    exact = np.linalg.svd(matrix, compute_uv=False)
    # Squaring costs half of the digits of values that are small beside the largest.
    accuracy = 1e-10 * exact if exact[-1] > 1e-2 * exact[0] else 1e-8 * exact[0]
    assert (np.abs(singular_values_by_rows(blocks) - exact) <= accuracy).all()


def test_blocks_that_do_not_make_a_table_are_refused():
    with pytest.raises(ValueError, match="a table needs at least one row"):
        singular_values_by_rows([])
    with pytest.raises(ValueError, match="the block at row 2 has 4 columns, those before 3"):
        singular_values_by_rows([np.ones((2, 3)), np.ones((2, 4))])
    with pytest.raises(ValueError, match="the table holds nan in row 3, column 1"):
        singular_values_by_rows([np.ones((2, 2)), [[1.0, 1.0], [1.0, np.nan]]])
    with pytest.raises(ValueError, match=r"got shape \(3,\)"):
        singular_values_by_rows([np.ones(3)])


def test_tables_are_found_by_name_and_shared_ones_once():
    tables = {each.name: each for each in embedding_tables(Recommender())}
    assert list(tables) == ["items", "query.user", "tags"]
    assert tables["items"].aliases == ("query.item", "history")
    assert (tables["items"].rows, tables["items"].columns) == (400, 16)
    assert (tables["tags"].padding_row, tables["query.user"].padding_row) == (0, None)
    assert embedding_tables(nn.Embedding(5, 2))[0].name == "embedding"


def test_a_table_that_is_padded_by_some_of_its_users_only_has_no_padding_row():
    model = nn.ModuleList([nn.Embedding(5, 2, padding_idx=0), nn.Embedding(5, 2)])
    model[1].weight = model[0].weight
    assert embedding_tables(model)[0].padding_row is None


def test_the_padding_row_is_left_out_of_the_spectrum():
    for padding in (0, 5, 11):
        embedding = table(12, 6, padding_idx=padding)
        with torch.no_grad():
            embedding.weight[padding] = float("nan")
        expected = singular_values(np.delete(numpy_of(embedding), padding, axis=0))
        found = embedding_tables(embedding)[0].singular_values()
        np.testing.assert_allclose(found, expected, rtol=1e-10)
    few = table(6, 6, padding_idx=0)
    assert embedding_tables(few)[0].singular_values().shape == (5,)


def test_frequencies_weigh_the_rows(monkeypatch):
    monkeypatch.setattr(embedalloc.model_tables, "VALUES_PER_BLOCK", 50)
    embedding = table(60, 5, padding_idx=3)
    counts = np.random.default_rng(1).integers(0, 30, 60)
    shares = np.where(np.arange(60) == 3, 0, counts)
    weighted = np.sqrt(shares / shares.sum())[:, None] * numpy_of(embedding)
    found = embedding_tables(embedding)[0].singular_values(counts)
    np.testing.assert_allclose(found, np.linalg.svd(weighted, compute_uv=False), rtol=1e-10)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_weights_of_any_precision_are_read_and_left_as_they_are(dtype):
    embedding = table(50, 6, dtype=dtype, padding_idx=2)
    before = embedding.weight.detach().clone()
    found = embedding_tables(embedding)[0].singular_values(np.arange(1, 51))
    assert torch.equal(embedding.weight, before)
    keep = np.delete(np.arange(50), 2)
    shares = (keep + 1) / (keep + 1).sum()
    exact = np.linalg.svd(np.sqrt(shares)[:, None] * numpy_of(embedding)[keep], compute_uv=False)
    np.testing.assert_allclose(found, exact, rtol=1e-10)


def test_a_large_table_is_never_copied_whole(monkeypatch, tmp_path):
    """A table in a file: only blocks of it are read into memory at a time."""
    monkeypatch.setattr(embedalloc.model_tables, "VALUES_PER_BLOCK", 2**14)
    rows, columns = 2**16, 16
    path = tmp_path / "table.bin"
    np.random.default_rng(0).normal(size=(rows, columns)).astype(np.float32).tofile(path)
    weight = torch.from_file(str(path), shared=False, size=rows * columns).view(rows, columns)
    embedding = nn.Embedding(rows, columns, _weight=weight)
    heights = []

    class Watched:
        """The table, with a note of every slice of it that is asked for."""

        shape = weight.shape

        def __getitem__(self, rows):
            heights.append(len(weight[rows]))
            return weight[rows]

    found = replace(embedding_tables(embedding)[0], weight=Watched())
    tracemalloc.start()
    values = found.singular_values()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert max(heights) * columns == 2**14
    assert sum(heights) == rows
    assert peak < rows * columns * 4 / 2  # numpy's part: the weights per row and one block's
    np.testing.assert_allclose(values, singular_values(numpy_of(embedding)), rtol=1e-10)


def test_the_result_is_the_papers_rule_on_the_fitted_coefficients():
    model = Recommender()
    found = allocate_from_model(model, 4_000)
    tables = {"items": model.items, "query.user": model.query["user"], "tags": model.tags}
    spectra = {name: singular_values(numpy_of(each)) for name, each in tables.items()}
    spectra["tags"] = singular_values(numpy_of(model.tags)[1:])
    expected = allocate(
        {"items": 400, "query.user": 90, "tags": 30},
        4_000,
        coefficients={
            name: float(fit_coefficient(spectral_tails(values))) for name, values in spectra.items()
        },
        maximum={"items": 16, "query.user": 8, "tags": 4},
    )
    assert found.dimensions == expected.dimensions
    assert found.objective == pytest.approx(expected.objective, rel=1e-6)
    assert found.cost <= 4_000


@pytest.mark.parametrize("rule", ["paper", "optimal", "spectral_mass", "equal", "popularity"])
@pytest.mark.parametrize("step", [1, 4, 12])
def test_rules_and_constraints(rule, step):
    model, budget = Recommender(), 9_000
    found = allocate_from_model(
        model, budget, rule=rule, fixed={"tags": 3}, multiple_of=step, maximum={"query.user": 48}
    )
    assert found.allocation_rule == rule
    assert found.cost <= budget
    assert found.dimensions["tags"] == 3
    assert found.dimensions["items"] <= 16
    assert all(found.dimensions[name] % step == 0 for name in ("items", "query.user"))


def test_the_optimal_rule_minimises_the_tails_themselves():
    model = nn.ModuleDict({"a": table(20, 4, 1), "b": table(50, 5, 2, decay=0.5)})
    found = allocate_from_model(model, 170, rule="optimal", minimum=0)
    tails = {name: spectral_tails(singular_values(numpy_of(model[name]))) for name in model}
    best = min(
        tails["a"][i] + tails["b"][j] for i in range(5) for j in range(6) if 20 * i + 50 * j <= 170
    )
    assert found.objective == pytest.approx(best)


def test_no_table_grows_unless_it_is_asked_to():
    model = nn.ModuleDict({"a": table(50, 4), "b": table(3, 8)})
    assert allocate_from_model(model, 10**6).dimensions == {"a": 4, "b": 2}
    assert allocate_from_model(model, 10**6, maximum=20).dimensions == {"a": 20, "b": 20}
    assert allocate_from_model(model, 10**6, multiple_of=8).dimensions == {"a": 8, "b": 8}


def test_bytes_are_counted_in_the_dtype_of_the_tables():
    half = nn.ModuleDict({"a": table(50, 4, dtype=torch.float16)})
    assert allocate_from_model(half, "1 kB").budget == 500
    assert allocate_from_model(half, "1 kB", dtype="float32", optimizer="adam").budget == 83
    half["b"] = table(50, 4)
    with pytest.raises(ValueError, match="dtype: the tables hold float16 and float32; choose one"):
        allocate_from_model(half, "1 kB")
    assert allocate_from_model(half, 500).budget == 500


def test_frequencies_change_what_a_table_is_worth():
    model = nn.ModuleDict({"a": table(40, 6, 1, decay=1.0), "b": table(40, 6, 1, decay=1.0)})
    rare = np.r_[1e6, np.ones(39)]  # nearly all lookups go to one row: rank one is enough
    found = allocate_from_model(model, 240, frequencies={"a": rare, "b": np.ones(40)})
    assert found.dimensions["a"] < found.dimensions["b"]


class WithQuantised(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.ao.nn.quantized.Embedding(4, 3)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("model", "keywords", "message"),
    [
        (lambda: nn.Linear(3, 1), {}, "Linear has no nn.Embedding or nn.EmbeddingBag"),
        (lambda: nn.Embedding(4, 3, device="meta"), {}, "'embedding' is on the meta device"),
        (WithQuantised, {}, "table 'table' is quantised; take the model from before"),
        (Recommender, {"frequencies": {"items": [1.0] * 400}}, "frequencies: no value for 'query"),
        (
            Recommender,
            {"rule": "equal", "frequencies": {}},
            "frequencies: no value for 'items'",
        ),
        (
            lambda: table(4, 3),
            {"rule": "equal", "frequencies": {"embedding": [1.0] * 4}},
            "frequencies: the rule 'equal' reads no spectra; leave them out or choose paper",
        ),
        (
            lambda: table(4, 3),
            {"frequencies": {"embedding": [1.0] * 3}},
            r"frequencies: 'embedding' has 4 rows, got shape \(3,\)",
        ),
        (
            lambda: table(4, 3, padding_idx=0),
            {"frequencies": {"embedding": [9.0, 0.0, 0.0, 0.0]}},
            "those of 'embedding' must be finite, not negative and not all 0",
        ),
        (Recommender, {"fixed": {"history": 3}}, "fixed: 'history' shares the table of 'items'"),
        (Recommender, {"fixed": {"user": 3}}, "fixed: 'user' is not a field"),
        (
            lambda: nn.Embedding(2, 2, _weight=torch.tensor([[1.0, 2.0], [3.0, float("inf")]])),
            {},
            "table 'embedding': the table holds inf in row 1, column 1",
        ),
        (
            lambda: nn.Embedding.from_pretrained(torch.ones(3, 2, dtype=torch.int8)),
            {},
            r"table 'embedding' holds torch\.int8",
        ),
    ],
)
def test_mistakes_name_the_table(model, keywords, message):
    with pytest.raises(ValueError, match=message):
        allocate_from_model(model(), 10_000, **keywords)


# ---- other places where weights lie ------------------------------------------------------------


def trained_tables():
    """Two tables with falling spectra, as training makes them."""
    rng = np.random.default_rng(4)
    scales = 2.0 ** -np.arange(6)
    return {
        "user_emb.weight": (rng.normal(size=(60, 6)) * scales).astype(np.float32),
        "item_emb.weight": (rng.normal(size=(150, 6)) * scales**0.5).astype(np.float32),
    }


def test_a_module_its_state_dict_a_file_and_arrays_give_the_same_plan(tmp_path):
    arrays = trained_tables()
    model = nn.ModuleDict(
        {
            name.removesuffix(".weight"): nn.Embedding.from_pretrained(torch.tensor(values))
            for name, values in arrays.items()
        }
    )
    model["head"] = nn.Linear(60, 60)
    expected = list(allocate_from_model(model, 700).dimensions.values())
    state = model.state_dict()
    assert allocate_from_model(arrays, 700).dimensions == dict(zip(arrays, expected, strict=True))
    assert list(allocate_from_model(state, 700).dimensions) == list(arrays)
    assert list(allocate_from_model(state, 700).dimensions.values()) == expected
    saved = pytest.importorskip("safetensors.torch", reason="safetensors is not installed")
    for kind in (torch.float32, torch.float16, torch.bfloat16):
        path = tmp_path / "model.safetensors"
        saved.save_file({name: each.to(kind) for name, each in state.items()}, path)
        assert set(allocate_from_model(path, 700).dimensions) == set(arrays)
        known = saved.load_file(path)
        for name, values in read_safetensors(path).items():
            np.testing.assert_array_equal(values[:], known[name].double().numpy())


def test_tables_of_a_state_dict_can_be_named():
    state = {"a.weight": torch.tensor(trained_tables()["user_emb.weight"]), "b": torch.ones(3)}
    with pytest.raises(ValueError, match=r"no table has 'emb' in its name; name them .*'a.weight'"):
        allocate_from_model(state, 200)
    assert list(allocate_from_model(state, 200, tables=["a.weight"]).dimensions) == ["a.weight"]
    with pytest.raises(ValueError, match=r"tables: no table 'c'; there are 'a\.weight'"):
        allocate_from_model(state, 200, tables=["c"])


def test_keras_tables(monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    keras = pytest.importorskip("keras", reason="keras is not installed")
    arrays = trained_tables()
    codes = keras.Input((2,), dtype="int32")
    layers = [
        keras.layers.Embedding(*values.shape, name=name.partition(".")[0])
        for name, values in arrays.items()
    ]
    outputs = [layer(codes[:, k]) for k, layer in enumerate(layers)]
    model = keras.Model(codes, keras.layers.Concatenate()(outputs))
    for layer, values in zip(layers, arrays.values(), strict=True):
        layer.set_weights([values])
    found = allocate_from_model(model, 700).dimensions
    assert list(found) == ["user_emb", "item_emb"]
    assert list(found.values()) == list(allocate_from_model(arrays, 700).dimensions.values())


def test_shared_tables_are_named_in_the_plan():
    weight = torch.tensor(trained_tables()["user_emb.weight"])
    state = {"query_emb": weight, "document_emb": weight}
    found = allocate_from_model(state, 300)
    assert found.shared == {"query_emb": ("document_emb",)}
    assert "query_emb: also the table of document_emb" in str(found)
    assert from_json(to_json(found)) == found


def test_an_untrained_model_is_told():
    torch.manual_seed(0)
    fresh = nn.ModuleDict({"user": nn.Embedding(300, 16), "item": nn.Embedding(900, 8)})
    with pytest.warns(UserWarning, match="look like the random numbers that they started from"):
        allocate_from_model(fresh, 5000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        allocate_from_model(trained_tables(), 700)
        allocate_from_model(fresh, 5000, rule="equal")  # reads no weights


def test_what_holds_no_model_is_refused(tmp_path):
    path = tmp_path / "x.safetensors"
    for content in (b"", b"12345678", b"\x02\0\0\0\0\0\0\0[]", b"\xff" * 20):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="is not a safetensors file"):
            allocate_from_model(path, 100)
    with pytest.raises(TypeError, match="12 is no torch module, state dict, safetensors file, npy"):
        allocate_from_model(12, 100)
    with pytest.raises(ValueError, match="holds int64 of shape"):
        allocate_from_model({"a": np.ones((3, 4), np.int64)}, 100)
