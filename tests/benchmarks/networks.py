"""Training small networks: ours beside what a user of torch or scikit-learn writes.

Rows, batches and layers are those of the heart-disease study. Our time holds everything that a
model needs: initial weights, row orders, masks, checks, training, the validation loss after every
epoch and predictions. The peers draw and train only, in float32, after an epoch of
warm-up; scikit-learn has no dropout.

Before the clock runs, all train the same model from the same weights with the same row orders,
without dropout and in float64, and must predict the same probabilities.
"""

import copy
import multiprocessing
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.neural_network import MLPClassifier
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from embedalloc.arrays import Floats, Ints
from embedalloc.streams import stream
from embedalloc.study.heart.trainer.network import (
    NetworkShape,
    Rows,
    Schedule,
    draw_schedule,
    draw_weights,
    predict,
    split_weights,
    train,
)
from embedalloc.study.heart.trainer.plain import PlainNetwork, adam_for, tensors
from embedalloc.study.settings.benchmarks import Networks
from embedalloc.study.settings.heart import Training
from tests.benchmarks.measure import (
    OURS,
    Case,
    Contestant,
    DisagreementError,
    require_close,
    run_alone,
)
from tests.oracles.heart_like import CARDINALITIES, NUMERIC, SQUARE_ROOT, heart_like, training_with

PROCESSES = "ours, two processes"
ONE_HOT = "one-hot"
#: Float64 through autograd and through our loops.
TOLERANCE = 1e-9
#: scikit-learn adds Adam's epsilon before the correction of the bias, we and torch after it.
LOOSE = 1e-4


class Task(NamedTuple):
    """One model to be trained.

    Attributes
    ----------
    shape, weights, training, validation, settings
        As in `embedalloc.study.heart.trainer.network.train`.
    orders
        Row order of each epoch; drawn by the trainer itself where there is none.
    dtype
        Precision of torch's parameters.
    """

    shape: NetworkShape
    weights: Floats
    training: Rows
    validation: Rows
    settings: Training
    orders: Ints | None = None
    dtype: torch.dtype = torch.float32


Trainer = Callable[[Task], Floats]


def cases(cell: Networks) -> list[Case]:
    """Return square-root dimensions, uniform ones at growing budgets, and one-hot inputs."""
    import_lazy_parts()
    shapes = {"square root": SQUARE_ROOT, ONE_HOT: None} | {
        f"budget {budget}": (budget // sum(CARDINALITIES),) * len(CARDINALITIES)
        for budget in cell.budgets
    }
    return [
        _case(name, NetworkShape(CARDINALITIES, dimensions, NUMERIC), cell)
        for name, dimensions in shapes.items()
    ]


def _case(name: str, shape: NetworkShape, cell: Networks) -> Case:
    rng = stream(1, "benchmark", "networks")
    training, validation = heart_like(rng, cell.rows), heart_like(rng, cell.rows // 4)
    epochs, models = cell.epochs, range(cell.models)
    settings = training_with(epochs=epochs, patience=epochs)
    task = Task(shape, draw_weights(shape, rng), training, validation, settings)
    few = task._replace(settings=settings.model_copy(update={"epochs": cell.peer_epochs}))
    once = task._replace(settings=settings.model_copy(update={"epochs": 1, "patience": 1}))
    check_peers(few)
    contestants = [
        Contestant(OURS, lambda: [ours(task, model) for model in models], epochs * len(models)),
        Contestant(PROCESSES, lambda: in_processes(task, models), epochs * len(models)),
    ]
    for peer, trainer in peers(shape).items():
        units = cell.peer_epochs * (STACKED if trainer is stacked else 1)
        run, warm_up = partial(trainer, few), partial(trainer, once)
        contestants.append(Contestant(peer, run, units, prepare=warm_up))
    return Case(name, max(1, shape.embedding_parameters), contestants, agree)


def import_lazy_parts() -> None:
    """Let torch import what it imports late, before any clock runs.

    Autograd must not run here: it refuses to in processes that are forked afterwards.
    """
    parameter = torch.zeros(1)
    parameter.grad = torch.zeros(1)
    torch.optim.Adam([parameter]).step()
    torch.func.vmap(torch.sin)(parameter)


def peers(shape: NetworkShape) -> dict[str, Trainer]:
    """Return who can train networks of this shape."""
    everyone: dict[str, Trainer] = {"DataLoader": data_loader, "tensor slicing": tensor_slicing}
    if shape.dimensions is None:
        return everyone | {"scikit-learn": scikit_learn}
    return everyone | {"torch.func.vmap": stacked}


def agree(results: Mapping[str, Any]) -> None:
    """Refuse probabilities that depend on the number of processes."""
    if not np.array_equal(results[OURS], results[PROCESSES]):
        raise DisagreementError("two processes came to other bits than one")


def check_peers(task: Task) -> None:
    """Train the same model by everyone, without dropout and weight decay, and compare."""
    plain = {"dropout": 0.0, "weight_decay": 0.0, "restore_best": False}
    settings = task.settings.model_copy(update=plain)
    rng = stream(1, "benchmark", "orders")
    rows = len(task.training.codes)
    schedule = draw_schedule(rng, rows, settings.epochs, task.shape.hidden, 0.0)
    same = task._replace(settings=settings, orders=schedule.orders, dtype=torch.float64)
    expected = train_ours(same, schedule)
    for name, trainer in peers(task.shape).items():
        found = run_alone(partial(trainer, same)).value
        tolerance = LOOSE if trainer is scikit_learn else TOLERANCE
        require_close(found, expected, name, relative=0.0, absolute=tolerance)


def ours(task: Task, model: int) -> Floats:
    """Train one model of many from its own stream."""
    rng = stream(1, "benchmark", "model", model)
    rows, epochs = len(task.training.codes), task.settings.epochs
    weights = draw_weights(task.shape, rng)
    schedule = draw_schedule(rng, rows, epochs, task.shape.hidden, task.settings.dropout)
    return train_ours(task._replace(weights=weights), schedule)


def train_ours(task: Task, schedule: Schedule) -> Floats:
    """Train by `embedalloc.study.heart.trainer.network` and return the validation probabilities."""
    shape, weights, training, validation, settings = task[:5]
    return predict(train(shape, weights, schedule, training, validation, settings), validation)


def in_processes(task: Task, models: Iterable[int]) -> list[Floats]:
    """Train the models in two processes."""
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.starmap(ours, [(task, model) for model in models])
        pool.close()
        pool.join()
    return found


def data_loader(task: Task) -> Floats:
    """Train by the loop of the tutorials."""
    data = TensorDataset(*tensors(task.training, task.dtype))

    def batches(epoch: int) -> Iterable[Any]:
        if task.orders is None:
            return DataLoader(data, batch_size=task.settings.batch, shuffle=True)
        order = task.orders[epoch].tolist()
        return DataLoader(data, batch_size=task.settings.batch, sampler=order)

    return _by_autograd(task, batches)


def tensor_slicing(task: Task) -> Floats:
    """Train by slices of the tensors, without a loader."""
    data = tensors(task.training, task.dtype)

    def batches(epoch: int) -> Iterable[Any]:
        for rows in torch.split(_order(task, epoch), task.settings.batch):
            yield tuple(tensor[rows] for tensor in data)

    return _by_autograd(task, batches)


def _by_autograd(task: Task, batches: Callable[[int], Iterable[Any]]) -> Floats:
    dropout = task.settings.dropout
    model = PlainNetwork(task.shape, task.weights, dropout=dropout, dtype=task.dtype)
    adam, loss = adam_for(model, task.settings), nn.BCEWithLogitsLoss()
    for epoch in range(task.settings.epochs):
        for codes, numbers, labels in batches(epoch):
            adam.zero_grad()
            loss(model(codes, numbers), labels).backward()
            adam.step()
    return _probabilities(model, task)


def _order(task: Task, epoch: int) -> Tensor:
    if task.orders is None:
        return torch.randperm(len(task.training.codes))
    return torch.tensor(task.orders[epoch])


def _probabilities(model: PlainNetwork, task: Task) -> Floats:
    codes, numbers, _ = tensors(task.validation, task.dtype)
    model.train(mode=False)
    with torch.no_grad():
        found: Floats = torch.sigmoid(model(codes, numbers)).numpy()
    return found


#: Models that `stacked` trains together.
STACKED = 64


def stacked(task: Task) -> Floats:
    """Train many copies together by `torch.func.vmap`, each with its own rows and masks.

    Returned are the probabilities of the first.
    """
    dropout = task.settings.dropout
    model = PlainNetwork(task.shape, task.weights, dropout=dropout, dtype=task.dtype)
    parameters = {
        name: value.detach().expand(STACKED, *value.shape).clone()
        for name, value in model.named_parameters()
    }
    skeleton = copy.deepcopy(model).to("meta")
    adam = torch.optim.Adam(
        parameters.values(),
        lr=task.settings.learning_rate,
        weight_decay=task.settings.weight_decay,
    )

    def loss(values: dict[str, Tensor], codes: Tensor, numbers: Tensor, labels: Tensor) -> Tensor:
        logits = torch.func.functional_call(skeleton, values, (codes, numbers))
        return nn.functional.binary_cross_entropy_with_logits(logits, labels)

    gradient = torch.func.vmap(torch.func.grad(loss), randomness="different")
    data = tensors(task.training, task.dtype)
    for epoch in range(task.settings.epochs):
        orders = torch.stack([_order(task, epoch) for _ in range(STACKED)])
        for rows in torch.split(orders, task.settings.batch, dim=1):
            found = gradient(parameters, *(tensor[rows] for tensor in data))
            for name, value in parameters.items():
                value.grad = found[name]
            adam.step()
    model.load_state_dict({name: value[0] for name, value in parameters.items()})
    return _probabilities(model, task)


def scikit_learn(task: Task) -> Floats:
    """Train on one-hot inputs; `partial_fit` makes one pass over the rows."""
    settings, labels = task.settings, task.training.labels
    model = MLPClassifier(
        task.shape.hidden,
        alpha=settings.weight_decay,
        batch_size=settings.batch,
        learning_rate_init=settings.learning_rate,
        shuffle=task.orders is None,
    )
    inputs = _one_hot(task.shape, task.training)
    if task.orders is not None:
        _set_weights(model, task, inputs, labels)
    for epoch in range(settings.epochs):
        order = slice(None) if task.orders is None else task.orders[epoch]
        model.partial_fit(inputs[order], labels[order], classes=[0, 1])
    found: Floats = model.predict_proba(_one_hot(task.shape, task.validation))[:, 1]
    return found


def _set_weights(model: MLPClassifier, task: Task, inputs: Floats, labels: Any) -> None:
    """Give the model our weights; its first pass makes the arrays, and its optimiser goes."""
    model.partial_fit(inputs, labels, classes=[0, 1])
    _, layers = split_weights(task.shape, task.weights)
    first = np.concatenate([layers.categorical, layers.numeric])
    model.coefs_ = [first.copy(), layers.second.T.copy(), layers.last[:, None].copy()]
    biases = (layers.first_bias, layers.second_bias, layers.last_bias)
    model.intercepts_ = [bias.copy() for bias in biases]
    del model._optimizer  # noqa: SLF001 (scikit-learn has no other way to start Adam anew)


def _one_hot(shape: NetworkShape, rows: Rows) -> Floats:
    parts = [np.eye(n)[rows.codes[:, j]] for j, n in enumerate(shape.cardinalities)]
    return np.concatenate([*parts, rows.numbers], axis=1)
