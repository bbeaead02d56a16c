"""The network for tables against torch's autograd, its Adam and its losses."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from embedalloc.data.gradients import PIECE, Adam, draw_kept
from embedalloc.data.network import (
    HIDDEN,
    LEARNING_RATE,
    PATIENCE,
    batch_size,
    make_network,
    row_losses,
    train_tabular,
)
from embedalloc.data.scaling import LARGEST_INPUT
from embedalloc.data.table import find_task, learn_encoding
from tests.oracles.plain_tables import PlainNetwork, plain_losses, train_plain
from tests.oracles.simulated_tables import make_table

EPOCHS = 3


def table(kind, rows=400, seed=0):
    frame, y = make_table(seed, rows=rows, signal=(6, 15), noise=(20,), kind=kind)
    _, data = learn_encoding(frame, y, ["signal0", "signal1", "noise0"], task=find_task(y))
    return data.take(np.arange(0, rows, 2)), data.take(np.arange(1, rows, 2))


def dimensions(*values):
    return dict(zip(("noise0", "signal0", "signal1"), values, strict=True))


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_training_is_that_of_a_plain_loop(kind):
    training, validation = table(kind)
    sizes, named = dimensions(0, 3, 5), {"seed": 5, "label": "t"}
    start = train_tabular(training, validation, sizes, **named, epochs=0)
    start = replace(start, tables=start.initial_tables)
    found = train_tabular(training, validation, sizes, **named, epochs=EPOCHS)
    plain, history = train_plain(
        start, training, validation, rate=LEARNING_RATE, batch=64, epochs=EPOCHS, **named
    )
    np.testing.assert_allclose(found.history, history, rtol=1e-5)
    assert np.argmin(history) == EPOCHS - 1  # so that the weights kept are the last
    tables = zip(found.tables.values(), plain.tables, strict=True)
    for ours, theirs in [*tables, (found.layers[1][0].T, plain.linear[2])]:
        np.testing.assert_allclose(ours, theirs.weight.detach(), rtol=1e-3, atol=2e-5)
    losses = plain.losses(validation).detach()
    np.testing.assert_allclose(found.validation_losses, losses, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("batch", [0, 290, 300])  # folds no field, one, both of enough dimensions
@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_gradients_are_those_of_autograd(kind, batch):
    """In double precision, where nothing but a wrong formula makes a difference."""
    training, validation = table(kind)
    start = train_tabular(training, validation, dimensions(6, 2, 5), seed=2, label="x", epochs=2)
    plain = PlainNetwork(start).double()
    network = make_network(in_double_precision(start), batch)
    places = network.place_levels([training.codes[name] for name in start.tables])
    for rows in (slice(0, 64), slice(64, 67), slice(67, 131)):  # room is kept by size
        kept = draw_kept(HIDDEN, rows.stop - rows.start, 0.5, np.random.default_rng(rows.start))
        found = network.gradient(
            places[:, rows], training.numbers[rows], training.target[rows], kind, None, kept, 0.5
        ).copy()
        plain.zero_grad()
        plain.losses(training.take(rows), kept, 0.5).mean().backward()
        expected = [each.weight.grad.flatten() for each in plain.tables]
        for layer in plain.linear:
            expected += [layer.weight.grad.T.flatten(), layer.bias.grad]
        np.testing.assert_allclose(found, torch.cat(expected), rtol=1e-9, atol=1e-14)
        assert network.values.dtype == found.dtype == np.float64


def in_double_precision(model):
    def double(arrays):
        return {name: values.astype(float) for name, values in arrays.items()}

    return replace(
        model,
        tables=double(model.tables),
        blocks=double(model.blocks),
        number_block=model.number_block.astype(float),
        first_bias=model.first_bias.astype(float),
        layers=tuple((weights.astype(float), bias.astype(float)) for weights, bias in model.layers),
    )


def test_adam_is_torchs():
    """With more values than fit into a piece, and slopes of all sizes, some always zero."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal(PIECE + 7)
    theirs = torch.tensor(values, requires_grad=True)
    ours, optimiser = Adam(values), torch.optim.Adam([theirs], lr=0.01)
    sizes = 10.0 ** rng.integers(-12, 6, len(values)) * rng.integers(0, 2, len(values))
    for _ in range(5):
        slopes = sizes * rng.standard_normal(len(values))
        theirs.grad = torch.tensor(slopes)
        optimiser.step()
        ours.step(slopes, 0.01)
    np.testing.assert_allclose(values, theirs.detach(), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_losses_are_torchs_for_large_outputs_too(kind):
    task = table(kind)[0].task
    sizes = np.array([0.0, 1e-6, 1.0, 30.0, 1e4, 1e15, -1.0, -90.0, -1e8], dtype=np.float32)
    outputs = np.stack([np.roll(sizes, k) for k in range(task.outputs)], axis=1)
    for goal in range(2):
        target = np.full(len(sizes), goal, np.int64 if kind == "multiclass" else np.float32)
        expected = plain_losses(torch.from_numpy(outputs), torch.from_numpy(target), kind)
        np.testing.assert_allclose(
            row_losses(outputs, target, task), expected, rtol=2e-6, atol=1e-38
        )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_numbers_at_the_limit_are_no_reason_to_warn(kind):
    training, validation = (
        replace(part, numbers=np.where(part.numbers > 1, np.float32(LARGEST_INPUT), part.numbers))
        for part in table(kind)
    )
    model = train_tabular(
        training, validation, dimensions(1, 1, 1), seed=1, label="x", epochs=EPOCHS
    )
    assert np.isfinite(model.history).all()
    far = replace(validation, numbers=np.full_like(validation.numbers, 1e38))
    assert model.losses(far).shape == (len(far),)


def test_the_number_of_threads_changes_no_bit(monkeypatch):
    monkeypatch.setattr("embedalloc.data.network.BATCH_SIZES", (1024, 1024))
    training, validation = table("binary", rows=8000)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            model = train_tabular(
                training, validation, dimensions(12, 6, 12), seed=1, label="x", epochs=2
            )
            assert {each["num_threads"] for each in blas_libraries()} == {threads}
            found.append([*model.validation_losses, model.loss(training)])
    np.testing.assert_array_equal(*found)


def blas_libraries():
    return [each for each in threadpool_info() if each["user_api"] == "blas"]


def test_same_seed_same_bits_other_seed_other_bits():
    training, validation = table("binary")
    one, again, other = (
        train_tabular(training, validation, dimensions(2, 2, 2), seed=s, label="x", epochs=EPOCHS)
        for s in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.validation_losses, again.validation_losses)
    assert one.history != other.history


def test_dimension_0_leaves_a_field_out_and_widths_share_their_start():
    training, validation = table("regression")
    narrow, wide = (
        train_tabular(training, validation, sizes, seed=3, label="x", epochs=0)
        for sizes in (dimensions(0, 2, 0), dimensions(1, 4, 1))
    )
    assert list(narrow.tables) == ["signal0"]
    np.testing.assert_array_equal(
        narrow.initial_tables["signal0"], wide.initial_tables["signal0"][:, :2]
    )
    only_numbers = train_tabular(
        training, validation, dimensions(0, 0, 0), seed=3, label="x", epochs=EPOCHS
    )
    assert only_numbers.tables == {}
    assert np.isfinite(only_numbers.validation_loss)


def test_levels_without_training_rows_contribute_nothing():
    training, validation = table("binary")
    few = training.take(np.flatnonzero(training.codes["noise0"] > 3))
    model = train_tabular(few, validation, dimensions(2, 2, 2), seed=1, label="x", epochs=EPOCHS)
    contribution = model.contributions()["noise0"]
    np.testing.assert_allclose(contribution[[0, 1, 2, 3]], 0.0, atol=1e-6)
    assert np.abs(contribution[4:]).max() > 1e-3


def test_the_best_epoch_is_kept(monkeypatch):
    monkeypatch.setattr("embedalloc.data.network.LEARNING_RATE", 0.02)
    training, validation = table("binary")
    model = train_tabular(training, validation, dimensions(8, 5, 8), seed=1, label="x", epochs=30)
    assert len(model.history) == int(np.argmin(model.history)) + 1 + PATIENCE
    assert model.validation_loss == pytest.approx(min(model.history))


def test_dropout_drops_its_share():
    first, second = draw_kept((40, 30), 5000, 0.1, np.random.default_rng(0))
    assert (first.shape, second.shape) == ((5000, 40), (5000, 30))
    assert first.mean() == pytest.approx(0.9, abs=0.003)


@pytest.mark.parametrize("dropout", [0.0, 0.1, 1 / 3, 0.999])
def test_dropout_takes_the_generator_s_real_numbers(dropout):
    ours, theirs = np.random.default_rng(0), np.random.default_rng(0)
    for rows in (1, 77, 128):
        for kept, width in zip(draw_kept((64, 32), rows, dropout, ours), (64, 32), strict=True):
            numbers = theirs.random((width, rows), dtype=np.float32)
            np.testing.assert_array_equal(kept, (numbers >= np.float32(dropout)).T)


@pytest.mark.parametrize(("rows", "batch"), [(10, 64), (5000, 64), (41_000, 1024), (10**7, 4096)])
def test_batches_grow_with_the_rows(rows, batch):
    assert batch_size(rows) == batch
