"""The first layer of a planned network in torch: tables, effects, and a common width."""

from collections.abc import Mapping, Sequence

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


class Projections(nn.Module):
    """Brings embeddings of different dimensions to one width, for dot products and the like.

    Parameters
    ----------
    dimensions
        By field. A field that has the width already is passed on as it is; the others are
        multiplied by a matrix of their own, without a constant.
    width
        Columns of every field in the end.

    Examples
    --------
    >>> layer = Projections({"town": 2, "user": 4}, width=4)
    >>> layer({"town": torch.ones(3, 2), "user": torch.ones(3, 4)}).shape  # rows, fields, width
    torch.Size([3, 2, 4])
    >>> sum(each.numel() for each in layer.parameters())
    8
    """

    def __init__(self, dimensions: Mapping[str, int], width: int) -> None:
        super().__init__()
        self.fields = tuple(dimensions)
        self.layers = nn.ModuleList(
            nn.Identity() if dimension == width else nn.Linear(dimension, width, bias=False)
            for dimension in dimensions.values()
        )

    def forward(self, embeddings: Mapping[str, Tensor] | Sequence[Tensor]) -> Tensor:
        """Return one vector per row and field.

        Parameters
        ----------
        embeddings
            By field, such as `to_dict()` of what torchrec's bags return, or in order.
        """
        in_order = (
            [embeddings[name] for name in self.fields]
            if isinstance(embeddings, Mapping)
            else embeddings
        )
        return torch.stack(
            [layer(each) for layer, each in zip(self.layers, in_order, strict=True)], dim=1
        )


class ProjectedTables(nn.Module):
    """Embedding tables by field and the projections to their common width.

    Examples
    --------
    >>> layer = ProjectedTables({"town": nn.Embedding(31, 2), "sex": nn.Embedding(3, 4)}, width=4)
    >>> layer(torch.tensor([[7, 0], [30, 2]])).shape  # rows, fields, width
    torch.Size([2, 2, 4])
    """

    def __init__(self, tables: Mapping[str, nn.Embedding], width: int) -> None:
        super().__init__()
        self.tables = nn.ModuleDict(tables)
        dimensions = {key: table.embedding_dim for key, table in tables.items()}
        self.projections = Projections(dimensions, width)

    def forward(self, codes: Tensor) -> Tensor:
        """Return one vector per row and field; a column of codes per table."""
        if codes.ndim != 2 or codes.shape[1] != len(self.tables):
            raise ValueError(
                f"codes of shape {tuple(codes.shape)}: expected {len(self.tables)} columns"
            )
        parts = [table(codes[:, k]) for k, table in enumerate(self.tables.values())]
        out: Tensor = self.projections(parts)
        return out
