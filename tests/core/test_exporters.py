"""Exports: the documented format of each library, and its real tables where it is installed."""

import ast
import json
import types
from dataclasses import replace
from urllib.parse import unquote

import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from embedalloc import (
    Allocation,
    allocate,
    from_json,
    to_fastai,
    to_json,
    to_keras,
    to_pytorch_tabular,
    to_pytorch_widedeep,
    to_torch,
    to_torchrec,
)
from embedalloc.exporters import EXPORTERS, export_text, module_key

#: The odd names are those that torch does not take as the name of a module.
SIZES = {"user": 31, "item.id": 52, "keys": 7, "noise": 40, "50%": 4}
ALLOCATION = allocate(SIZES, 600, rule="unit", fixed={"noise": 0})
TABLES = [(name, SIZES[name], d) for name, d in ALLOCATION.dimensions.items() if d]
SHAPES = [(rows, dimension) for _, rows, dimension in TABLES]


def frame():
    """Return columns with one category less than rows: the libraries keep a row for the unseen."""
    length = max(SIZES.values())
    return pd.DataFrame(
        {name: [f"level {i % (rows - 1)}" for i in range(length)] for name, rows, _ in TABLES}
        | {"y": [float(i % 2) for i in range(length)]}
    )


def shapes_in(module):
    return [
        tuple(each.weight.shape)
        for each in module.modules()
        if isinstance(each, torch.nn.Embedding)
    ]


def test_the_case_has_a_field_without_a_table():
    assert [name for name, _, _ in TABLES] == ["user", "item.id", "keys", "50%"]
    assert sum(rows * dimension for rows, dimension in SHAPES) == ALLOCATION.cost > 0


# The documented formats


def test_fastai_wants_dimensions_by_column():
    assert to_fastai(ALLOCATION) == {name: dimension for name, _, dimension in TABLES}


def test_pytorch_tabular_wants_two_lists_in_the_same_order():
    found = to_pytorch_tabular(ALLOCATION)
    assert found["categorical_cols"] == [name for name, _, _ in TABLES]
    assert found["embedding_dims"] == SHAPES


def test_pytorch_widedeep_adds_a_row_to_the_number_it_is_given():
    assert to_pytorch_widedeep(ALLOCATION) == [(name, rows - 1, d) for name, rows, d in TABLES]


def test_torchrec_wants_a_configuration_per_table():
    found = to_torchrec(ALLOCATION)
    assert [each["feature_names"] for each in found] == [[name] for name, _, _ in TABLES]
    assert [(each["num_embeddings"], each["embedding_dim"]) for each in found] == SHAPES
    assert [each["name"] for each in found] == ["t_user", "t_item%2Eid", "t_keys", "t_50%25"]


def test_keras_wants_keywords_of_a_layer():
    found = to_keras(ALLOCATION)
    assert list(found) == [name for name, _, _ in TABLES]
    assert [(each["input_dim"], each["output_dim"]) for each in found.values()] == SHAPES


def test_torch_tables_have_exactly_the_allocated_shapes_and_parameters():
    tables = to_torch(ALLOCATION)
    assert [unquote(key) for key in tables] == [name for name, _, _ in TABLES]
    assert shapes_in(tables) == SHAPES
    assert sum(each.numel() for each in tables.parameters()) == ALLOCATION.cost
    assert tables[module_key("item.id")](torch.tensor([51])).shape == (1, dict(SHAPES)[52])


@settings(max_examples=100, deadline=None)
@given(st.text(min_size=1, max_size=8))
def test_any_name_can_be_a_key_and_be_read_back(name):
    for each in (name, f"{name}.", f"__{name}"):
        key = module_key(each)
        torch.nn.ModuleDict({key: torch.nn.Identity()})
        assert unquote(key) == each


def test_no_attribute_of_a_module_is_used_as_a_key():
    for attribute in dir(torch.nn.ModuleDict()):
        assert unquote(module_key(attribute)) == attribute
        torch.nn.ModuleDict({module_key(attribute): torch.nn.Identity()})
    with pytest.raises(ValueError, match="a field with an empty name"):
        module_key("")


allocations = st.builds(
    lambda rows, rule, extra, objective, bound: Allocation(
        rule,
        {name: d for name, (_, d) in rows.items()},
        {name: n for name, (n, _) in rows.items()},
        {name: n * d for name, (n, d) in rows.items()},
        sum(n * d for n, d in rows.values()) + extra,
        objective,
        bound,
    ),
    st.dictionaries(st.text(), st.tuples(st.integers(1, 9_999), st.integers(0, 99)), min_size=1),
    st.text(),
    st.integers(0, 999),
    st.none() | st.floats(allow_nan=False),
    st.none() | st.floats(allow_nan=False),
)


@settings(max_examples=100, deadline=None)
@given(allocations)
def test_json_holds_the_whole_allocation(allocation):
    text = to_json(allocation)
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert from_json(text) == allocation
    assert list(from_json(text).dimensions) == list(allocation.dimensions)


@pytest.mark.parametrize("text", ["[]", "{}", '{"predictors": {"a": 3}}', '{"predictors": []}'])
def test_other_json_is_refused(text):
    with pytest.raises(ValueError, match="this JSON does not hold an allocation"):
        from_json(text)


def find_tables(program):
    """Return what a program calls TABLES, without running it."""
    for statement in ast.parse(program).body:
        if isinstance(statement, ast.Assign) and statement.targets[0].id == "TABLES":
            return ast.literal_eval(statement.value)
    raise AssertionError("no TABLES")


@pytest.mark.parametrize("library", ["torch", "keras"])
def test_a_program_runs_as_it_is(library, monkeypatch, capsys):
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    pytest.importorskip(library, reason=f"{library} is not installed")
    exec(export_text(ALLOCATION, library).replace("EPOCHS = 10", "EPOCHS = 1"), {})
    assert "loss" in capsys.readouterr().out


def test_exporters_take_what_holds_an_allocation():
    """The allocation, a fitted estimator, or rows and dimension by field in two forms."""
    pairs = {
        name: (ALLOCATION.cardinalities[name], dimension)
        for name, dimension in ALLOCATION.dimensions.items()
    }
    named = {
        name: dict(zip(("rows", "dimension"), pair, strict=True)) for name, pair in pairs.items()
    }
    fitted = types.SimpleNamespace(allocation_=ALLOCATION)
    for exporter in (to_fastai, to_keras, to_pytorch_tabular, to_pytorch_widedeep, to_torchrec):
        for source in (pairs, named, fitted):
            assert exporter(source) == exporter(ALLOCATION)
    assert shapes_in(to_torch(pairs)) == SHAPES
    assert from_json(to_json(fitted)) == ALLOCATION
    for wrong, message in (
        ({"user": 8}, "'user': 8 is not rows and dimension, such as"),
        ({"user": (0, 8)}, "'user', rows: 0 is not between 1 and"),
        (12, "12 is no allocation, fitted estimator, or dictionary"),
    ):
        with pytest.raises(ValueError, match=message):
            to_fastai(wrong)


@pytest.mark.parametrize("name", list(EXPORTERS))
def test_every_export_has_a_text(name):
    text = export_text(ALLOCATION, name)
    if name in ("torch", "keras"):
        tables = find_tables(text)
        assert list(tables.values()) == SHAPES
        assert [name for name, d in ALLOCATION.dimensions.items() if d] == list(tables)
    elif name == "json":
        assert from_json(text) == ALLOCATION
    else:
        plain = json.loads(json.dumps(EXPORTERS[name](ALLOCATION)))
        assert json.loads(text) == plain


def test_unknown_exports_are_refused_with_the_choices():
    with pytest.raises(ValueError, match="export: 'onnx' is not one of fastai, pytorch_tabular, "):
        export_text(ALLOCATION, "onnx")


# The real packages


def test_fastai_builds_these_tables():
    tabular = pytest.importorskip("fastai.tabular.all", reason="fastai is not installed")
    columns = list(to_fastai(ALLOCATION))
    data = tabular.TabularDataLoaders.from_df(
        frame(),
        procs=[tabular.Categorify],
        cat_names=columns,
        cont_names=[],
        y_names="y",
        y_block=tabular.RegressionBlock(),
        bs=4,
        device=torch.device("cpu"),
    )
    learner = tabular.tabular_learner(data, layers=[4], emb_szs=to_fastai(ALLOCATION), n_out=1)
    assert shapes_in(learner.model) == SHAPES
    assert learner.model(*data.one_batch()[:2]).shape == (4, 1)


@pytest.mark.filterwarnings("ignore")
def test_pytorch_tabular_builds_these_tables(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # it keeps a record of its runs in the working directory
    reason = "pytorch-tabular is not installed"
    pytorch_tabular = pytest.importorskip("pytorch_tabular", reason=reason)
    config = pytest.importorskip("pytorch_tabular.config", reason=reason)
    models = pytest.importorskip("pytorch_tabular.models", reason=reason)
    export = to_pytorch_tabular(ALLOCATION)
    model = pytorch_tabular.TabularModel(
        data_config=config.DataConfig(
            target=["y"],
            categorical_cols=export["categorical_cols"],
            continuous_cols=[],
            handle_unknown_categories=True,
        ),
        model_config=models.CategoryEmbeddingModelConfig(
            task="regression", embedding_dims=export["embedding_dims"], layers="4"
        ),
        optimizer_config=config.OptimizerConfig(),
        trainer_config=config.TrainerConfig(accelerator="cpu"),
        verbose=False,
    )
    data = model.prepare_dataloader(train=frame(), seed=0)
    assert shapes_in(model.prepare_model(data)) == SHAPES


def test_pytorch_widedeep_builds_these_tables():
    reason = "pytorch-widedeep is not installed"
    models = pytest.importorskip("pytorch_widedeep.models", reason=reason)
    preprocessing = pytest.importorskip("pytorch_widedeep.preprocessing", reason=reason)
    export = to_pytorch_widedeep(ALLOCATION)
    columns = [name for name, _, _ in export]
    encoder = preprocessing.TabPreprocessor(cat_embed_cols=columns)
    encoded = encoder.fit_transform(frame())
    assert [(name, n) for name, n, _ in encoder.cat_embed_input] == [e[:2] for e in export]
    model = models.TabMlp(
        column_idx=encoder.column_idx, cat_embed_input=export, mlp_hidden_dims=[4]
    )
    assert shapes_in(model) == SHAPES
    assert model(torch.tensor(encoded)).shape == (len(encoded), 4)


def test_torchrec_builds_these_tables():
    torchrec = pytest.importorskip("torchrec", reason="torchrec is not installed")
    configs = [torchrec.EmbeddingBagConfig(**each) for each in to_torchrec(ALLOCATION)]
    collection = torchrec.EmbeddingBagCollection(tables=configs)
    assert [tuple(each.shape) for each in collection.parameters()] == SHAPES


def test_keras_builds_these_tables(monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    keras = pytest.importorskip("keras", reason="keras is not installed")
    for keywords, shape in zip(to_keras(ALLOCATION).values(), SHAPES, strict=True):
        layer = keras.layers.Embedding(**keywords)
        layer.build()
        assert tuple(layer.embeddings.shape) == shape


def test_dimension_zero_leaves_a_field_out_of_everything_but_json():
    empty = replace(ALLOCATION, dimensions=dict.fromkeys(SIZES, 0))
    assert to_fastai(empty) == to_keras(empty) == {}
    assert to_pytorch_widedeep(empty) == to_torchrec(empty) == []
    assert to_pytorch_tabular(empty) == {"categorical_cols": [], "embedding_dims": []}
    assert len(to_torch(empty)) == 0
    assert json.loads(to_json(empty))["predictors"]["noise"]["dimension"] == 0
