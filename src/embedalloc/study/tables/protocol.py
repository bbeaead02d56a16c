"""The protocol of the study of real tables."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, PositiveFloat, PositiveInt

Share = Annotated[float, Field(gt=0, lt=1)]


class _Block(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Judge(_Block):
    """The network that judges."""

    hidden: tuple[PositiveInt, ...]
    dropout: Annotated[float, Field(ge=0, lt=1)]
    learning_rate: PositiveFloat
    weight_decay: NonNegativeFloat
    batch: PositiveInt
    epochs: PositiveInt
    patience: PositiveInt
    validation_share: Share


class TableSource(_Block):
    """A table: what is predicted, and the digest of its file."""

    task: Literal["classification", "regression"]
    sha256: str | None = None


class Protocol(_Block):
    """Everything that decides what is measured; see `workflow/tables.yaml`."""

    rows: PositiveInt
    test_share: Share
    splits: PositiveInt
    budgets: tuple[PositiveFloat, ...]
    seed: PositiveInt
    judge: Judge
    initialisations: Mapping[str, PositiveFloat]
    no_difference: PositiveFloat
    corrupted_share: Share
    tables: Mapping[str, TableSource]


def read_protocol(path: str | Path) -> Protocol:
    """Return the checked protocol."""
    return Protocol.model_validate(yaml.safe_load(Path(path).read_text(encoding="utf-8")))
