"""Training by torch's autograd: the second witness of the compiled trainer.

`train_plain` takes the same weights, row orders and dropout masks as
`embedalloc.study.heart.trainer.network.train` and must come to the same result.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from embedalloc.arrays import Floats
from embedalloc.study.heart.trainer.network import (
    NetworkShape,
    Rows,
    Schedule,
)
from embedalloc.study.heart.trainer.plain import PlainNetwork, adam_for, tensors
from embedalloc.study.settings.heart import Training

# The products are small: on a busy machine two threads took ten times the CPU time.
torch.set_num_threads(1)


class GivenMasks(nn.Module):
    """Dropout by given masks, one after the other; none without training."""

    masks: list[Tensor]

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden * self.masks.pop(0) if self.training else hidden


@dataclass(frozen=True)
class PlainTraining:
    """What `network.TrainedNetwork` holds, with a torch module for the weights."""

    model: PlainNetwork
    best_epoch: int
    epochs_run: int
    validation_logloss: Floats
    validation_error: Floats

    def predict(self, rows: Rows) -> Floats:
        """Return the probability of label 1 for each row, without dropout."""
        return torch.sigmoid(_logits(self.model, rows)).numpy()


def train_plain(
    shape: NetworkShape,
    weights: Floats,
    schedule: Schedule,
    training: Rows,
    validation: Rows,
    settings: Training,
) -> PlainTraining:
    """Train a `PlainNetwork` in float64 by autograd and `torch.optim.Adam`.

    Arguments and result mean the same as those of `embedalloc.study.heart.trainer.network.train`.
    """
    model = PlainNetwork(shape, weights)
    model.dropout = GivenMasks()
    adam = adam_for(model, settings)
    loss = nn.BCEWithLogitsLoss()
    codes, numbers, labels = tensors(training, torch.float64)
    held_labels = torch.tensor(validation.labels, dtype=torch.float64)
    scale = 1 / (1 - settings.dropout)
    best, best_epoch, best_state = math.inf, 0, _copy_of_state(model)
    history = []
    for epoch in range(settings.epochs):
        order = torch.tensor(schedule.orders[epoch])
        model.train()
        for start in range(0, len(order), settings.batch):
            batch = slice(start, start + settings.batch)
            rows = order[batch]
            model.dropout.masks = [
                torch.tensor(scale * kept[epoch, batch])
                for kept in (schedule.kept_first, schedule.kept_second)
            ]
            adam.zero_grad()
            loss(model(codes[rows], numbers[rows]), labels[rows]).backward()
            adam.step()
        logits = _logits(model, validation)
        wrong = (logits > 0) != (held_labels > 0.5)
        history.append((loss(logits, held_labels).item(), wrong.double().mean().item()))
        value = history[-1][settings.watch == "error"]
        if value < best:
            best, best_epoch, best_state = value, epoch + 1, _copy_of_state(model)
        elif epoch + 1 - best_epoch >= settings.patience:
            break
    if settings.restore_best:
        model.load_state_dict(best_state)
    logloss, error = np.array(history).T
    return PlainTraining(model, best_epoch, len(history), logloss, error)


def _logits(model: PlainNetwork, rows: Rows) -> Tensor:
    codes, numbers, _ = tensors(rows, torch.float64)
    model.train(mode=False)
    with torch.no_grad():
        return model(codes, numbers)


def _copy_of_state(model: PlainNetwork) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}
