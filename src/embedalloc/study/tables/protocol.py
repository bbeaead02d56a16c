"""The protocol of the study of real tables, and the tables."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import yaml
from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, PositiveFloat, PositiveInt

from embedalloc.study.heart.patients import read_patients
from embedalloc.study.workflow.tables import TableError

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


class Table(NamedTuple):
    """Predictors and target of a table."""

    frame: pd.DataFrame
    target: Any
    task: str


def read_protocol(path: str | Path) -> Protocol:
    """Return the checked protocol."""
    return Protocol.model_validate(yaml.safe_load(Path(path).read_text(encoding="utf-8")))


def read_source(name: str, place: str | Path, protocol: Protocol) -> Table:
    """Return a table from its file or, for the patients, from their folder."""
    source = protocol.tables[name]
    if source.sha256 is None:
        return _read_heart(Path(place), protocol)
    content = Path(place).read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != source.sha256:
        raise TableError(f"{place}: sha256 is {found}, expected {source.sha256}")
    frame = pd.read_parquet(place)
    return _sample(frame.drop(columns="y"), frame["y"].to_numpy(), protocol, source.task)


def _read_heart(place: Path, protocol: Protocol) -> Table:
    """Return the patients: nine fields as categories, the rest as numbers."""
    patients = read_patients(place, cholesterol_zero_is_missing=False).drop(columns="patient")
    fields = ["sex", "cp", "fbs", "restecg", "exang", "slope", "ca", "thal", "source"]
    frame = patients.drop(columns="disease").astype(dict.fromkeys(fields, "category"))
    return _sample(frame, patients["disease"].to_numpy(), protocol, "classification")


def _sample(frame: pd.DataFrame, target: Any, protocol: Protocol, task: str) -> Table:
    rows = np.random.default_rng(protocol.seed).permutation(len(frame))[: protocol.rows]
    return Table(frame.iloc[rows].reset_index(drop=True), target[rows], task)
