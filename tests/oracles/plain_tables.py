"""The network for tables as one writes it in torch: the second witness of `data.network`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from embedalloc.data.gradients import draw_kept
from embedalloc.data.network import DROPOUT, HIDDEN, TabularModel
from embedalloc.data.table import FieldData, TaskKind
from embedalloc.streams import stream

# The products are small: on a busy machine two threads took ten times the CPU time.
torch.set_num_threads(1)


class PlainNetwork(nn.Module):
    """Embeddings, then linear layers with rectifiers between, from a model's values."""

    def __init__(self, model: TabularModel) -> None:
        super().__init__()
        self.kind = model.task.kind
        self.names = list(model.tables)
        self.tables = nn.ModuleList(
            nn.Embedding.from_pretrained(torch.tensor(table), freeze=False)
            for table in model.tables.values()
        )
        first = np.concatenate([*model.blocks.values(), model.number_block])
        layers = [(first, model.first_bias), *model.layers]
        self.linear = nn.ModuleList(nn.Linear(*weights.shape) for weights, _ in layers)
        with torch.no_grad():
            for layer, (weights, bias) in zip(self.linear, layers, strict=True):
                layer.weight.copy_(torch.tensor(weights.T))
                layer.bias.copy_(torch.tensor(bias))

    def losses(
        self,
        data: FieldData,
        kept: Sequence[NDArray[Any]] | None = None,
        dropout: float = DROPOUT,
    ) -> Tensor:
        """Return the loss of every row; with dropout, of the units that are kept."""
        precision = self.linear[0].weight.dtype
        parts = [
            table(torch.tensor(data.codes[name]).long())
            for name, table in zip(self.names, self.tables, strict=True)
        ]
        reached = self.linear[0](torch.cat([*parts, torch.tensor(data.numbers).to(precision)], 1))
        for depth, layer in enumerate(self.linear[1:]):
            units = torch.relu(reached)
            if kept is not None:
                units = units * torch.tensor(kept[depth]) / (1 - dropout)
            reached = layer(units)
        target = torch.tensor(data.target)
        return plain_losses(
            reached, target if self.kind == "multiclass" else target.to(precision), self.kind
        )


def plain_losses(outputs: Tensor, target: Tensor, kind: TaskKind) -> Tensor:
    """Return torch's loss of every row."""
    if kind == "multiclass":
        return functional.cross_entropy(outputs, target, reduction="none")
    measure = (
        functional.binary_cross_entropy_with_logits if kind == "binary" else functional.mse_loss
    )
    return measure(outputs.squeeze(1), target, reduction="none")


def train_plain(
    start: TabularModel,
    training: FieldData,
    validation: FieldData,
    *,
    rate: float,
    batch: int,
    epochs: int,
    seed: int,
    label: str,
) -> tuple[PlainNetwork, list[float]]:
    """Train for so many epochs; return the network and the validation loss after each."""
    network = PlainNetwork(start)
    adam = torch.optim.Adam(network.parameters(), lr=rate)
    history = []
    for epoch in range(1, epochs + 1):
        order = training.shuffle(seed, label, "order", epoch)
        chances = stream(seed, label, "dropout", epoch)
        for begin in range(0, len(order), batch):
            adam.zero_grad()
            rows = order[begin : begin + batch]
            kept = draw_kept(HIDDEN, len(rows), DROPOUT, chances)
            network.losses(training.take(rows), kept).mean().backward()
            adam.step()
        with torch.no_grad():
            for name, table in zip(network.names, network.tables, strict=True):
                counts = torch.tensor(
                    np.bincount(training.codes[name], minlength=len(table.weight))
                )
                share = (counts / len(training)).to(table.weight.dtype)
                table.weight[counts == 0] = share @ table.weight
            history.append(network.losses(validation).mean().item())
    return network, history
