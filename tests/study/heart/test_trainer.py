"""The compiled trainer equals an ordinary torch module and training loop, bit by bit its own."""

import dataclasses
import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedalloc.study.heart.trainer import kernel as network_kernel
from embedalloc.study.heart.trainer.network import (
    NetworkShape,
    Rows,
    TrainedNetwork,
    compile_kernel,
    draw_schedule,
    draw_weights,
    predict,
    split_weights,
    train,
)
from embedalloc.study.heart.trainer.plain import PlainNetwork, time_in_turns
from tests.oracles.heart_like import (
    CARDINALITIES,
    SHAPES,
    SQUARE_ROOT,
    fingerprint,
    heart_like,
    start,
    training_with,
)
from tests.oracles.plain_training import train_plain
from tests.places import ROOT


@pytest.fixture(scope="module")
def data() -> tuple[Rows, Rows, Rows]:
    """Training, validation and test rows."""
    rng = np.random.default_rng(1)
    return heart_like(rng, 515), heart_like(rng, 129), heart_like(rng, 276)


def assert_equals_plain(shape, data, how, seed=0) -> TrainedNetwork:
    training, validation, test = data
    weights, schedule = start(shape, len(training.codes), seed, dropout=how.dropout)
    trained = train(shape, weights, schedule, training, validation, how)
    plain = train_plain(shape, weights, schedule, training, validation, how)
    assert (trained.best_epoch, trained.epochs_run) == (plain.best_epoch, plain.epochs_run)
    for name in ("validation_logloss", "validation_error"):
        ours, theirs = getattr(trained, name), getattr(plain, name)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10)
    assert np.abs(predict(trained, test) - plain.predict(test)).max() < 1e-10
    return trained


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize(("seed", "batch", "epochs"), [(0, 32, 20), (1, 128, 50)])
def test_training_equals_the_plain_loop(name, seed, batch, epochs, data):
    how = training_with(batch=batch, epochs=epochs)
    assert_equals_plain(SHAPES[name], data, how, seed=seed)


@pytest.mark.parametrize(
    "how",
    [
        training_with(),
        training_with(restore_best=False, patience=3, learning_rate=1e-2),
        training_with(watch="error", patience=5),
        training_with(batch=515, learning_rate=1e-2),
        training_with(batch=600),
        training_with(batch=103, epochs=7, weight_decay=0.0),
        training_with(batch=1, epochs=1),
        training_with(dropout=0.0, epochs=20),
        training_with(dropout=0.6, patience=1, learning_rate=1e-2),
    ],
    ids=str,
)
def test_settings_mean_the_same_as_in_the_plain_loop(how, data):
    assert_equals_plain(SHAPES["square root"], data, how)


def test_early_stopping_is_met(data):
    """At least one compared run stops before the last epoch, so that stopping is tested."""
    how = training_with(learning_rate=1e-2)
    trained = assert_equals_plain(SHAPES["large uniform"], data, how)
    assert trained.epochs_run == trained.best_epoch + 10 < 50
    assert trained.validation_logloss.argmin() + 1 == trained.best_epoch


def test_without_numeric_inputs_and_without_predictors(data):
    no_numbers = tuple(dataclasses.replace(r, numbers=r.numbers[:, :0]) for r in data)
    shape = NetworkShape(CARDINALITIES, SQUARE_ROOT, 0)
    assert_equals_plain(shape, no_numbers, training_with(epochs=20))
    no_predictors = tuple(dataclasses.replace(r, codes=r.codes[:, :0]) for r in data)
    assert_equals_plain(NetworkShape((), (), 5), no_predictors, training_with(epochs=20))


def test_negative_controls_are_noticed(data):
    """The comparison is sharp: each small change of the inputs moves the probabilities."""
    training, validation, test = data
    shape = SHAPES["square root"]
    weights, schedule = start(shape, 515)
    settings_ = training_with(epochs=20)
    reference = predict(train(shape, weights, schedule, training, validation, settings_), test)

    flipped = schedule.kept_first.copy()
    # a unit that is active, so that its mask matters: try the units of the first row in turn
    moved = 0.0
    for unit in range(shape.hidden[0]):
        flipped[0, 0, unit] ^= 1
        other = dataclasses.replace(schedule, kept_first=flipped.copy())
        flipped[0, 0, unit] ^= 1
        changed = train(shape, weights, other, training, validation, settings_)
        moved = max(moved, np.abs(predict(changed, test) - reference).max())
        if moved > 1e-6:
            break
    assert moved > 1e-6

    swapped = schedule.orders.copy()
    swapped[0, [3, 400]] = swapped[0, [400, 3]]
    other = dataclasses.replace(schedule, orders=swapped)
    changed = train(shape, weights, other, training, validation, settings_)
    assert np.abs(predict(changed, test) - reference).max() > 1e-6

    without = settings_.model_copy(update={"weight_decay": 0.0})
    changed = train(shape, weights, schedule, training, validation, without)
    assert np.abs(predict(changed, test) - reference).max() > 1e-6


@pytest.fixture(scope="module")
def fingerprints() -> dict[str, str]:
    return {name: fingerprint(name, 3) for name in SHAPES}


def test_bits_do_not_depend_on_earlier_models(fingerprints):
    for name in reversed(SHAPES):
        assert fingerprint(name, 3) == fingerprints[name]
    assert len(set(fingerprints.values())) == len(SHAPES)


def test_bits_are_equal_in_a_thread_pool(fingerprints):
    jobs = [(name, seed) for seed in (3, 4, 5) for name in SHAPES]
    with ThreadPoolExecutor(4) as pool:
        results = dict(zip(jobs, pool.map(lambda job: fingerprint(*job), jobs), strict=True))
    assert all(results[name, 3] == fingerprints[name] for name in SHAPES)


#: Compiles anew, for the oldest processors: their vectors are shorter.
OTHER_CODE = """
import numba
njit = numba.njit
numba.njit = lambda *functions, **options: njit(*functions, **options | {"cache": False})
from tests.oracles.heart_like import fingerprint
print(fingerprint("square root", 3), fingerprint("other hidden", 3))
"""


@pytest.mark.slow  # compiles
def test_bits_are_equal_in_another_process_with_other_machine_code(fingerprints):
    done = subprocess.run(
        [sys.executable, "-c", OTHER_CODE],
        capture_output=True, text=True, check=True, cwd=ROOT,
        env=os.environ | {"NUMBA_CPU_NAME": "generic"},
    )  # fmt: skip
    assert done.stdout.split() == [fingerprints["square root"], fingerprints["other hidden"]]


def test_arguments_are_left_as_they_are_and_may_be_read_only(data):
    training, validation, _ = data
    shape = SHAPES["square root"]
    weights, schedule = start(shape, 515)
    frozen = [weights, schedule.orders, schedule.kept_first, schedule.kept_second]
    before = [array.copy() for array in frozen]
    expected = train(shape, weights, schedule, training, validation, training_with()).weights
    for array in frozen:
        array.flags.writeable = False
    compiled = len(network_kernel.fit.signatures)
    fortran = dataclasses.replace(
        training, codes=np.asfortranarray(training.codes, dtype=np.int8),
        labels=training.labels.astype(bool),
    )  # fmt: skip
    np.testing.assert_array_equal(
        train(shape, weights, schedule, fortran, validation, training_with()).weights, expected
    )
    assert len(network_kernel.fit.signatures) == compiled
    for array, old in zip(frozen, before, strict=True):
        np.testing.assert_array_equal(array, old)


def test_restore_best_keeps_the_weights_of_the_best_epoch(data):
    training, validation, _ = data
    shape = SHAPES["one-hot"]
    how = training_with(learning_rate=1e-2)
    weights, schedule = start(shape, 515)
    trained = train(shape, weights, schedule, training, validation, how)
    assert trained.best_epoch < trained.epochs_run
    short = how.model_copy(update={"epochs": trained.best_epoch, "restore_best": False})
    shorter = train(shape, weights, schedule, training, validation, short)
    np.testing.assert_array_equal(trained.weights, shorter.weights)
    probability = predict(trained, validation)
    loss = -np.log(np.where(validation.labels == 1, probability, 1 - probability)).mean()
    assert trained.validation_logloss[trained.best_epoch - 1] == pytest.approx(loss, abs=1e-12)
    wrong = ((probability > 0.5) != (validation.labels == 1)).mean()
    assert trained.validation_error[trained.best_epoch - 1] == wrong


@pytest.mark.parametrize("name", SHAPES)
def test_parameter_counts_equal_torch(name):
    shape = SHAPES[name]
    model = PlainNetwork(shape, np.zeros(shape.parameters))
    assert shape.parameters == sum(p.numel() for p in model.parameters())
    assert shape.embedding_parameters == sum(p.numel() for p in model.embeddings.parameters())


def test_initial_weights_have_the_stated_distributions():
    shape = NetworkShape((100, 400), (50, 30), 20, (64, 32))
    tables, layers = split_weights(shape, draw_weights(shape, np.random.default_rng(0), 0.5))
    assert [table.shape for table in tables] == [(100, 50), (400, 30)]
    assert np.concatenate([t.ravel() for t in tables]).std() == pytest.approx(0.5, rel=0.02)
    first = np.concatenate([layers.categorical.ravel(), layers.numeric.ravel()])
    assert np.abs(first).max() == pytest.approx(0.1, rel=0.01)
    assert np.abs(first).max() <= 0.1
    assert first.std() == pytest.approx(0.1 / math.sqrt(3), rel=0.02)
    assert np.abs(layers.second).max() == pytest.approx(1 / 8, rel=0.01)
    assert np.abs(layers.last).max() <= 1 / math.sqrt(32)


def test_the_schedule_is_random_as_stated():
    schedule = draw_schedule(np.random.default_rng(0), 515, 50, (32, 8), 0.25)
    assert schedule.kept_first.shape == (50, 515, 32)
    assert schedule.kept_second.shape == (50, 515, 8)
    for kept in (schedule.kept_first, schedule.kept_second):
        deviation = (kept.mean() - 0.75) * math.sqrt(kept.size / (0.75 * 0.25))
        assert abs(deviation) < 4
    assert (schedule.orders[0] != schedule.orders[1]).any()
    assert draw_schedule(np.random.default_rng(0), 9, 2, (3, 2), 0.0).kept_first.all()
    again = draw_schedule(np.random.default_rng(0), 515, 50, (32, 8), 0.25)
    np.testing.assert_array_equal(schedule.kept_second, again.kept_second)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 9)), min_size=0, max_size=4),
    st.integers(1, 3),
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
    st.integers(1, 40),
    st.integers(1, 40),
    st.booleans(),
)
def test_any_shape_equals_the_plain_loop(fields, numeric, hidden, rows, batch, one_hot):
    cardinalities = tuple(n for n, _ in fields)
    dimensions = None if one_hot else tuple(d for _, d in fields)
    shape = NetworkShape(cardinalities, dimensions, numeric, hidden)
    rng = np.random.default_rng(rows)

    def some(count: int) -> Rows:
        codes = rng.integers(0, np.array(cardinalities, dtype=np.int64), (count, len(fields)))
        return Rows(codes, rng.standard_normal((count, numeric)), rng.integers(0, 2, count))

    how = training_with(epochs=3, batch=batch)
    training, validation = some(rows), some(5)
    weights, schedule = start(shape, rows, epochs=3)
    trained = train(shape, weights, schedule, training, validation, how)
    plain = train_plain(shape, weights, schedule, training, validation, how)
    assert (trained.best_epoch, trained.epochs_run) == (plain.best_epoch, plain.epochs_run)
    np.testing.assert_allclose(
        predict(trained, validation), plain.predict(validation), rtol=0, atol=1e-10
    )


def with_code(rows: Rows, place: tuple[int, int], code: int) -> Rows:
    codes = rows.codes.copy()
    codes[place] = code
    return dataclasses.replace(rows, codes=codes)


def test_what_the_kernel_would_read_beside_its_arrays_is_refused(data):
    training, validation, test = data
    shape, how = SHAPES["square root"], training_with(epochs=2)
    weights, schedule = start(shape, 515, epochs=2)
    with pytest.raises(ValueError, match=r"code 4 of predictor 3 in row 17 is not in 0\.\.3"):
        train(shape, weights, schedule, with_code(training, (17, 3), 4), validation, how)
    with pytest.raises(ValueError, match="code -1 of predictor 8 in row 0"):
        train(shape, weights, schedule, training, with_code(validation, (0, 8), -1), how)
    with pytest.raises(ValueError, match="code 9 of predictor 0"):
        predict(
            train(shape, weights, schedule, training, validation, how), with_code(test, (0, 0), 9)
        )
    with pytest.raises(ValueError, match=r"masks \(2, 515, 32\) for 3 epochs"):
        train(shape, weights, schedule, training, validation, training_with(epochs=3))
    with pytest.raises(ValueError, match=r"masks \(2, 515, 32\)"):
        train(shape, weights, schedule, test, validation, how)
    other = draw_schedule(np.random.default_rng(0), 515, 2, (32, 3), 0.25)
    with pytest.raises(ValueError, match=r"masks \(2, 515, 3\) for 2 epochs and 8 units"):
        train(shape, weights, other, training, validation, how)
    with pytest.raises(ValueError, match="expected 1224 weights"):
        split_weights(shape, weights[1:])


def test_divergence_is_said(data):
    shape = SHAPES["square root"]
    # No configuration may say so; copies are not checked.
    hasty = training_with().model_copy(update={"learning_rate": 1e200})
    with pytest.raises(FloatingPointError, match="diverged"):
        train(shape, *start(shape, 515), *data[:2], hasty)


def test_wrong_settings():
    for wrong in (
        {"learning_rate": 0.0},
        {"learning_rate": math.nan},
        {"weight_decay": -1.0},
        {"batch": 0},
        {"epochs": 0},
        {"patience": 0},
        {"dropout": 1.0},
        {"watch": "accuracy"},
    ):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            training_with(**wrong)


def test_one_compilation_serves_every_shape(fingerprints):
    """So that one job compiles for all: after it, no shape or kind of the study asks for more."""
    compile_kernel()
    assert len(fingerprints) == len(SHAPES)
    assert len(network_kernel.fit.signatures) == 1
    assert len(network_kernel.logits_of.signatures) == 1


def test_the_ordinary_loop_is_timed(data):
    shapes = [SHAPES["mixed"], SHAPES["one-hot"]]
    times = time_in_turns(shapes, data[0], training_with(), 2)
    assert len(times) == 2
    assert np.min(times) > 0
