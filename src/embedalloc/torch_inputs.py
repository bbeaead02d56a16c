"""The first layer of a planned network in torch: embedding tables, and effects passed through."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn


class InputTables(nn.ModuleDict):
    """Embedding tables by field that read the columns of `EmbeddingAllocator.transform`.

    Parameters
    ----------
    tables
        By field, in the order of the columns with codes.
    effects
        Number of effect columns, which follow the codes.

    Examples
    --------
    >>> layer = InputTables({"town": nn.Embedding(31, 4)}, effects=2)
    >>> layer(torch.tensor([[7, 0.5, -1.2], [0, 0.0, 0.3]])).shape  # 4 dimensions, 2 effects
    torch.Size([2, 6])
    """

    def __init__(self, tables: Mapping[str, nn.Embedding], effects: int = 0) -> None:
        super().__init__(tables)
        self.effects = effects

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the rows' embeddings side by side, then their effects.

        Parameters
        ----------
        inputs
            One row per row of the data; columns as `transform` orders them.
        """
        expected = len(self) + self.effects
        if inputs.ndim != 2 or inputs.shape[1] != expected:
            raise ValueError(
                f"inputs of shape {tuple(inputs.shape)}: expected {len(self)} columns of codes "
                f"and {self.effects} of effects"
            )
        codes = inputs[:, : len(self)].long()
        parts = [table(codes[:, k]) for k, table in enumerate(self.values())]
        effects = inputs[:, len(self) :].to(torch.get_default_dtype())
        return torch.cat([*parts, effects], dim=1)
