"""Screening against second, naive implementations of its formulas."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from embedalloc.data.case import make_case, set_limits
from embedalloc.data.decision import ScreeningEvidence, check_spectrum
from embedalloc.data.network import one_thread, row_losses
from embedalloc.data.screening import (
    DropPath,
    find_drop_path,
    measure_explained_loss,
    measure_rank_curves,
    measure_relevance,
    train_half_pilots,
)
from embedalloc.data.table import find_task, learn_encoding, split_rows
from embedalloc.streams import stream
from tests.oracles.simulated_tables import make_table

FIELDS = ["noise0", "signal0", "signal1"]


@pytest.fixture(autouse=True)
def _one_thread():
    with one_thread():
        yield


def table(kind="binary", rows=600, seed=0):
    frame, y = make_table(seed, rows=rows, signal=(4, 15), noise=(60,), kind=kind)
    _, data = learn_encoding(frame, y, FIELDS, task=find_task(y))
    return data


@pytest.fixture(scope="module")
def pilots():
    data = table()
    limits = set_limits(data.cardinalities)
    case = make_case(data, limits, seed=0, epochs=6)
    return train_half_pilots(case, later=0)


def explicit_losses(pilots, change):
    """Losses by a forward pass in which `change(name, embedded rows, mean)` replaces a field."""
    losses = []
    for pilot in pilots:
        model, data = pilot.model, pilot.judged_on
        hidden = torch.tensor(data.numbers) @ model.number_block + model.first_bias
        for name in data.names:
            table, share = model.tables[name].double(), model.frequencies[name].double()
            mean = share @ table
            rows = change(name, table, share, mean)[data.codes[name]]
            hidden = hidden + rows.float() @ model.blocks[name]
        for weights, bias in model.layers:
            hidden = torch.relu(hidden) @ weights + bias
        losses.append(row_losses(hidden, torch.tensor(data.target), data.task).numpy())
    return np.concatenate(losses).astype(np.float64)


def without(fields):
    return lambda name, table, share, mean: mean.expand_as(table) if name in fields else table


def test_pilots_are_judged_on_rows_they_did_not_see(pilots):
    first, second = pilots
    assert abs(len(first.judged_on) - len(second.judged_on)) <= 1
    assert {name: t.shape[1] for name, t in first.model.tables.items()} == {
        "noise0": 12, "signal0": 5, "signal1": 12,
    }  # fmt: skip
    counts = first.model.frequencies["noise0"].numpy() * len(second.judged_on)
    seen = np.bincount(second.judged_on.codes["noise0"], minlength=len(counts))
    np.testing.assert_allclose(counts, seen, atol=1e-3)


def test_leaving_out_is_the_average_embedding_in_an_explicit_forward_pass(pilots):
    path = find_drop_path(pilots, FIELDS)
    full = explicit_losses(pilots, without(()))
    assert path.full_loss == pytest.approx(full.mean(), rel=1e-5)
    for name in FIELDS:
        expected = explicit_losses(pilots, without([name])).mean()
        assert path.removal_losses[name] == pytest.approx(expected, rel=1e-5)


def test_the_path_is_greedy_and_ends_at_three_standard_errors(pilots):
    path = find_drop_path(pilots, FIELDS)
    full = explicit_losses(pilots, without(()))
    left_out = []
    for step in range(len(FIELDS) + 1):
        waiting = [name for name in FIELDS if name not in left_out]
        if not waiting:
            break
        trials = {name: explicit_losses(pilots, without([*left_out, name])) for name in waiting}
        name = min(waiting, key=lambda each: trials[each].mean())
        difference = trials[name] - full
        error = difference.std(ddof=1) / np.sqrt(len(difference))
        if difference.mean() > 3 * error:
            break
        left_out.append(name)
        assert path.losses[step] == pytest.approx(trials[name].mean(), rel=1e-5)
        assert path.standard_errors[step] == pytest.approx(error, rel=1e-3)
    assert path.fields == tuple(left_out)
    assert find_drop_path(pilots, ["signal1"]).fields in ((), ("signal1",))


def test_gain_over_its_standard_error():
    path = DropPath(("a", "b", "c"), 1.0, (0.97, 0.95, 0.99), (0.01, 0.02, 0.03), {})
    assert path.gain == pytest.approx(0.05)
    assert path.gain_in_standard_errors == pytest.approx(2.5)
    assert DropPath((), 1.0, (), (), {}).gain_in_standard_errors == 0.0
    assert DropPath(("a",), 1.0, (1.01,), (0.01,), {}).gain == 0.0


def test_curves_truncate_the_contribution_by_an_explicit_svd(pilots):
    curves = measure_rank_curves(pilots)
    for name in FIELDS:
        ranks = pilots[0].model.tables[name].shape[1]
        assert len(curves[name]) == ranks + 1
        for rank in (1, 2, ranks):
            losses = []
            for pilot in pilots:
                model, data = pilot.model, pilot.judged_on
                table, share = model.tables[name].double(), model.frequencies[name].double()
                whole = (table - share @ table) @ model.blocks[name].double()
                root = share.sqrt()[:, None]
                _, _, vt = np.linalg.svd((root * whole).numpy(), full_matrices=False)
                projector = torch.tensor(vt[:rank].T @ vt[:rank])
                hidden = model.pre_activation(data).double()
                codes = data.codes[name]
                hidden += (whole @ projector - whole)[codes]
                losses.append(model.losses_from(hidden.float(), data.target))
            assert curves[name][rank] == pytest.approx(np.concatenate(losses).mean(), rel=1e-4)


def test_headroom_is_what_further_dimensions_add_to_the_first(pilots):
    spectrum = check_spectrum([pilot.model for pilot in pilots], weighted=False)
    path, curves = find_drop_path(pilots, FIELDS), measure_rank_curves(pilots)
    expected = sum(curve[1] - min(curve[1:]) for curve in curves.values()) / path.full_loss
    evidence = ScreeningEvidence(path, curves, {}, (), spectrum)
    assert evidence.headroom == pytest.approx(expected)
    assert ScreeningEvidence(path, {"a": np.ones(1)}, {}, (), spectrum).headroom == 0


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_relevance_is_the_smoothed_target_encoding_of_a_pandas_loop(kind):
    data = table(kind, rows=120)
    fold_of = stream(9, "relevance").permutation(len(data)) % 5
    for name in data.names:
        frame = pd.DataFrame({"level": data.codes[name], "y": data.target, "fold": fold_of})
        gained = []
        for fold in range(5):
            known, new = frame[frame.fold != fold], frame[frame.fold == fold]
            for _, row in new.iterrows():
                mine = known[known.level == row.level].y
                if kind == "regression":
                    before = (row.y - known.y.mean()) ** 2
                    guess = (mine.sum() + 20 * known.y.mean()) / (len(mine) + 20)
                    gained.append(before - (row.y - guess) ** 2)
                else:
                    share = (known.y == row.y).mean()
                    guess = ((mine == row.y).sum() + 20 * share) / (len(mine) + 20)
                    gained.append(np.log(guess) - np.log(share))
        found = measure_explained_loss(data, name, fold_of)
        assert found == pytest.approx(np.mean(gained), rel=1e-6), name
    values = measure_relevance(data, seed=9)
    assert min(values.values()) >= 0.02 * max(values.values())


def test_relevance_of_nothing_is_the_same_for_all():
    data = table(rows=200)
    rng = np.random.default_rng(0)
    shuffled = replace(
        data,
        cardinalities=dict.fromkeys(FIELDS, data.cardinalities["noise0"]),
        codes=dict.fromkeys(FIELDS, data.codes["noise0"]),
        target=rng.permutation(data.target),
    )
    values = set(measure_relevance(shuffled, seed=1).values())
    assert len(values) == 1


def test_splits_keep_the_shares_of_classes():
    data = table("multiclass", rows=500)
    kept, held_out = split_rows(data.target, data.task, 0.2, seed=3, label="x")
    assert np.array_equal(np.sort(np.r_[kept, held_out]), np.arange(500))
    for k in range(3):
        of_class = data.target == k
        assert abs(of_class[held_out].sum() - 0.2 * of_class.sum()) <= 1
