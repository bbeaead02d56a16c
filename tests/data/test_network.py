"""The network for tables against a plain torch loop, and what it must leave alone."""

import numpy as np
import pytest
import torch
from torch import nn

from embedalloc.data.network import LEARNING_RATE, PATIENCE, batch_size, train_tabular
from embedalloc.data.table import find_task, learn_encoding
from embedalloc.streams import stream
from tests.oracles.simulated_tables import make_table

SHORT = 3  # epochs


def table(kind, rows=400, seed=0):
    frame, y = make_table(seed, rows=rows, signal=(6, 15), noise=(20,), kind=kind)
    _, data = learn_encoding(frame, y, ["signal0", "signal1", "noise0"], task=find_task(y))
    return data.take(np.arange(0, rows, 2)), data.take(np.arange(1, rows, 2))


def dimensions(*values):
    return dict(zip(("noise0", "signal0", "signal1"), values, strict=True))


class Plain(nn.Module):
    """The same network as one would write it."""

    def __init__(self, model):
        super().__init__()
        self.names = list(model.tables)
        self.tables = nn.ModuleList(
            nn.Embedding.from_pretrained(table.clone(), freeze=False)
            for table in model.tables.values()
        )
        weights = [torch.cat([*model.blocks.values(), model.number_block]), model.layers[0][0]]
        weights.append(model.layers[1][0])
        biases = [model.first_bias, model.layers[0][1], model.layers[1][1]]
        self.linear = nn.ModuleList(nn.Linear(*weight.shape) for weight in weights)
        with torch.no_grad():
            for layer, weight, bias in zip(self.linear, weights, biases, strict=True):
                layer.weight.copy_(weight.T)
                layer.bias.copy_(bias)

    def forward(self, data, rows=slice(None)):
        parts = []
        for name, embedding in zip(self.names, self.tables, strict=True):
            codes = torch.from_numpy(data.codes[name])
            part = embedding(codes[rows].long())
            parts.append(part)
        hidden = self.linear[0](torch.cat([*parts, torch.tensor(data.numbers[rows])], dim=1))
        return self.linear[2](torch.relu(self.linear[1](torch.relu(hidden))))


def plain_loss(outputs, target, kind):
    if kind == "multiclass":
        return nn.CrossEntropyLoss()(outputs, target)
    if kind == "binary":
        return nn.BCEWithLogitsLoss()(outputs.squeeze(1), target)
    return nn.MSELoss()(outputs.squeeze(1), target)


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_training_is_that_of_a_plain_loop(kind):
    training, validation = table(kind)
    sizes = dimensions(0, 3, 5)
    start = train_tabular(training, validation, sizes, seed=5, label="t", epochs=0)
    found = train_tabular(training, validation, sizes, seed=5, label="t", epochs=SHORT)
    plain = Plain(start)
    for table_, initial in zip(plain.tables, start.initial_tables.values(), strict=True):
        with torch.no_grad():
            table_.weight.copy_(initial)
    adam = torch.optim.Adam(plain.parameters(), lr=LEARNING_RATE)
    rng = stream(5, "t", "order")
    best, seen = np.inf, []
    for _ in range(SHORT):
        order = rng.permutation(len(training))
        for begin in range(0, len(order), 64):
            rows = order[begin : begin + 64]
            adam.zero_grad()
            goal = torch.tensor(training.target[rows])
            plain_loss(plain(training, rows), goal, kind).backward()
            adam.step()
        with torch.no_grad():
            for name, embedding in zip(plain.names, plain.tables, strict=True):
                counts = np.bincount(training.codes[name], minlength=len(embedding.weight))
                share = torch.tensor(counts / len(training), dtype=torch.float32)
                embedding.weight[torch.tensor(counts) == 0] = share @ embedding.weight
            value = plain_loss(plain(validation), torch.tensor(validation.target), kind).item()
        seen.append(value)
        best = min(best, value)
    np.testing.assert_allclose(found.history, seen, rtol=1e-4)
    assert found.validation_loss == pytest.approx(best, rel=1e-4)


def test_same_seed_same_bits_other_seed_other_bits():
    training, validation = table("binary")
    one, again, other = (
        train_tabular(training, validation, dimensions(2, 2, 2), seed=s, label="x", epochs=SHORT)
        for s in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.validation_losses, again.validation_losses)
    assert one.history != other.history


def test_the_users_torch_is_left_alone():
    training, validation = table("binary", rows=100)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        before = torch.random.get_rng_state()
        train_tabular(training, validation, dimensions(1, 1, 1), seed=1, label="x", epochs=SHORT)
        assert torch.get_num_threads() == 2
        assert torch.equal(before, torch.random.get_rng_state())
    finally:
        torch.set_num_threads(threads)


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
        training, validation, dimensions(0, 0, 0), seed=3, label="x", epochs=SHORT
    )
    assert only_numbers.tables == {}
    assert np.isfinite(only_numbers.validation_loss)


def test_levels_without_training_rows_contribute_nothing():
    training, validation = table("binary")
    few = training.take(np.flatnonzero(training.codes["noise0"] > 3))
    model = train_tabular(few, validation, dimensions(2, 2, 2), seed=1, label="x", epochs=SHORT)
    contribution = model.contributions()["noise0"]
    np.testing.assert_allclose(contribution[[0, 1, 2, 3]], 0.0, atol=1e-6)
    assert contribution[4:].abs().max() > 1e-3


def test_the_best_epoch_is_kept(monkeypatch):
    monkeypatch.setattr("embedalloc.data.network.LEARNING_RATE", 0.02)
    training, validation = table("binary")
    model = train_tabular(training, validation, dimensions(8, 5, 8), seed=1, label="x", epochs=30)
    assert len(model.history) == int(np.argmin(model.history)) + 1 + PATIENCE
    assert model.validation_loss == pytest.approx(min(model.history))


@pytest.mark.parametrize(("rows", "batch"), [(10, 64), (5000, 64), (51_300, 1024), (10**7, 4096)])
def test_batches_grow_with_the_rows(rows, batch):
    assert batch_size(rows) == batch
