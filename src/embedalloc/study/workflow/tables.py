"""Parquet with a contract: what is written is checked, and so is what is read.

A contract declares a table's columns, their types and ranges, and the columns that identify a
row. Writing checks the frame, then puts a complete file in place at once. Reading refuses a
damaged, foreign or outdated file and names the command that rebuilds it.

Parquet's own checksums cover its pages but not its footer, and a parser given a damaged footer may
do anything. So each file carries a digest of all its bytes, which is compared before anything is
parsed: a seal among its metadata, computed with zeros in its own place. To every other reader the
files are plain parquet, and there is no second file to lose.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from embedalloc.study.workflow.files import whole_file

Kind = Literal["integer", "number", "text", "flag", "integers", "numbers"]
_ARROW_TYPES = {
    "integer": pa.int64(),
    "number": pa.float64(),
    "text": pa.string(),
    "flag": pa.bool_(),
    "integers": pa.list_(pa.int64()),
    "numbers": pa.list_(pa.float64()),
}
_METADATA_KEY = b"embedalloc"
#: What stands in a file of ours: a word, then the digest of all bytes with zeros in its place.
_SEAL_WORD, _ZEROS = b"embedalloc sha256 ", b"0" * 64
_SEAL = re.compile(_SEAL_WORD + b"([0-9a-f]{64})")


class TableError(ValueError):
    """A table breaks its contract, or its file cannot be trusted."""


@dataclass(frozen=True)
class Column:
    """One column: its kind, its meaning and the values it may take.

    Attributes
    ----------
    kind
        Type of the values; integers and numbers are lists, one per row.
    meaning
        What the column holds, for readers of the contract.
    low, high
        Inclusive range of a numeric column.
    values
        The only texts allowed, where they are known.
    may_be_missing
        Whether nan or null is allowed.
    """

    kind: Kind
    meaning: str
    low: float | None = None
    high: float | None = None
    values: tuple[str, ...] = ()
    may_be_missing: bool = False


@dataclass(frozen=True)
class Contract:
    """A table's name, its columns in order and the columns that identify a row."""

    name: str
    columns: Mapping[str, Column]
    key: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Fingerprint of the contract; a file with another one is outdated."""
        described = {name: asdict(column) for name, column in self.columns.items()}
        return digest_of({"name": self.name, "columns": described, "key": list(self.key)})

    def check(self, frame: pd.DataFrame, place: str) -> None:
        """Raise a `TableError` that names the first column and value that break the contract."""
        if list(frame.columns) != list(self.columns):
            missing = [c for c in self.columns if c not in frame.columns]
            unknown = [c for c in frame.columns if c not in self.columns]
            raise TableError(
                f"{place}: columns do not match the contract {self.name!r}: "
                f"missing {missing}, unknown {unknown}, expected {list(self.columns)}"
            )
        if frame.empty:
            raise TableError(f"{place}: the table is empty")
        for name, column in self.columns.items():
            _check_column(frame[name], column, f"{place}: column {name!r}")
        repeated = frame.duplicated(list(self.key))
        if repeated.any():
            row = frame.loc[repeated, list(self.key)].iloc[0].to_dict()
            raise TableError(f"{place}: more than one row for {row}")


def _check_column(values: "pd.Series[Any]", column: Column, place: str) -> None:
    if column.kind in ("integers", "numbers"):
        # A list per row: its entries are checked as one long column.
        single: Kind = "integer" if column.kind == "integers" else "number"
        entries = pd.Series(np.concatenate([np.asarray(entry) for entry in values]))
        _check_column(entries, replace(column, kind=single), f"{place}, inside the lists")
        return
    missing = values.isna()
    if missing.any() and not column.may_be_missing:
        raise TableError(f"{place}: missing value in row {int(np.flatnonzero(missing)[0])}")
    present = values[~missing]
    expected = {
        "integer": pd.api.types.is_integer_dtype,
        "number": pd.api.types.is_float_dtype,
        "flag": pd.api.types.is_bool_dtype,
        "text": pd.api.types.is_string_dtype,
    }[column.kind]
    if not expected(values):
        raise TableError(f"{place}: type {values.dtype} where {column.kind} is expected")
    if column.kind == "number" and not np.isfinite(present).all():
        raise TableError(f"{place}: infinite value")
    if column.low is not None and (present < column.low).any():
        raise TableError(f"{place}: {present.min()} is below {column.low}")
    if column.high is not None and (present > column.high).any():
        raise TableError(f"{place}: {present.max()} is above {column.high}")
    if column.values and not present.isin(column.values).all():
        wrong = present[~present.isin(column.values)].iloc[0]
        raise TableError(f"{place}: {wrong!r} is not one of {', '.join(column.values)}")


def digest_of(settings: object) -> str:
    """Return a fingerprint of plain settings that does not depend on the order of keys."""
    text = json.dumps(settings, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def write_table(
    path: str | Path, frame: pd.DataFrame, contract: Contract, *, settings: object, seed: int
) -> None:
    """Check a frame against its contract and put it in place as one complete parquet file.

    The file carries the digest of the settings that made it and the seed.
    """
    target = Path(path)
    contract.check(frame, str(target))
    schema = pa.schema([(name, _ARROW_TYPES[c.kind]) for name, c in contract.columns.items()])
    provenance = {
        "contract": contract.name,
        "contract_digest": contract.digest,
        "config_digest": digest_of(settings),
        "seed": seed,
    }
    table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
    table = table.replace_schema_metadata(
        {_METADATA_KEY: json.dumps(provenance, sort_keys=True), "seal": _SEAL_WORD + _ZEROS}
    )
    stream = pa.BufferOutputStream()
    pq.write_table(table, stream, compression="zstd", write_page_checksum=True)
    content = stream.getvalue().to_pybytes()
    digest = hashlib.sha256(content).hexdigest().encode()
    with whole_file(target) as partial:
        partial.write_bytes(content.replace(_SEAL_WORD + _ZEROS, _SEAL_WORD + digest))


def read_table(path: str | Path, contract: Contract) -> pd.DataFrame:
    """Return the frame of one file, or say what is wrong with it and how to rebuild it."""
    try:
        return _read_checked(Path(path), contract)
    except TableError as error:
        way_out = f"rebuild it with: snakemake --cores 1 --force {path}"
        raise TableError(f"{error}; {way_out}") from None


def read_tables(paths: Iterable[str | Path], contract: Contract) -> pd.DataFrame:
    """Return the rows of several files of the same contract, in the order given.

    A row that two files hold is refused: a part in the place of another would count twice.
    """
    frames = {path: read_table(path, contract) for path in paths}
    together = pd.concat(frames.values(), ignore_index=True)
    repeated = together.duplicated(list(contract.key))
    if repeated.any():
        owners = np.repeat(list(map(str, frames)), [len(frame) for frame in frames.values()])
        row = together.loc[repeated, list(contract.key)].iloc[0].to_dict()
        raise TableError(f"{owners[repeated][0]}: repeats {row} of another part")
    return together


def _read_checked(path: Path, contract: Contract) -> pd.DataFrame:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise TableError(f"{path}: no such file") from None
    except OSError as error:
        raise TableError(f"{path}: cannot be read ({error.strerror})") from None
    if not _is_as_written(content):
        raise TableError(f"{path}: damaged or not parquet, or not written by embedalloc")
    table = pq.ParquetFile(pa.BufferReader(content)).read()
    provenance = json.loads(table.schema.metadata[_METADATA_KEY])
    if provenance["contract"] != contract.name:
        raise TableError(f"{path}: holds {provenance['contract']!r}, not {contract.name!r}")
    if provenance["contract_digest"] != contract.digest:
        raise TableError(f"{path}: written for an older contract of {contract.name!r}")
    frame = table.to_pandas()
    contract.check(frame, str(path))
    return frame


def _is_as_written(content: bytes) -> bool:
    """Return whether the digest of a file's bytes is the one in its seal."""
    seal = _SEAL.search(content)
    if seal is None:
        return False
    written = content[: seal.start(1)] + _ZEROS + content[seal.end(1) :]
    return hashlib.sha256(written).hexdigest().encode() == seal[1]
