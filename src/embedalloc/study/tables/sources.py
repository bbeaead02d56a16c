"""The real tables: read, checked and sampled."""

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from embedalloc.study.heart.patients import read_patients
from embedalloc.study.tables.protocol import Protocol
from embedalloc.study.workflow.tables import TableError


class Table(NamedTuple):
    """Predictors and target of a table."""

    frame: pd.DataFrame
    target: Any
    task: str


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
