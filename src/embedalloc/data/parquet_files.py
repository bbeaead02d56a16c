"""Parquet files that make up one table: found, checked to fit together, and read by column."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet

from embedalloc.checks import list_names, show
from embedalloc.data.table import DataError

PathLike = str | os.PathLike[str]

#: Rows of a column that are read at a time.
BATCH = 1 << 20


class ParquetFiles(NamedTuple):
    """Files with the same columns.

    Attributes
    ----------
    paths
        In the order of their rows.
    schema
        Columns and their types.
    rows
        Of all files together.
    """

    paths: tuple[Path, ...]
    schema: pa.Schema
    rows: int

    def scan(self, column: str) -> Iterator[pa.Array]:
        """Yield the values of a column in the order of the rows, a batch at a time."""
        # Not by a dataset's scanner: it reads far ahead of whoever takes the batches.
        for path in self.paths:
            with pyarrow.parquet.ParquetFile(path, pre_buffer=False) as file:
                for batch in file.iter_batches(BATCH, columns=[column], use_threads=False):
                    values = batch.column(column)
                    is_coded = pa.types.is_dictionary(values.type)
                    yield values.dictionary_decode() if is_coded else values

    def choose_fields(self, names: Sequence[str] | None) -> list[str]:
        """Return the columns to count: those that are named, or all that look like categories."""
        if names is None:
            fields = [each.name for each in self.schema if _holds_categories(each.type)]
            if not fields:
                raise DataError("no column of text, whole numbers or booleans; name the fields")
            return fields
        for name in names:
            if name not in self.schema.names:
                known = list_names(self.schema.names, most=8)
                raise DataError(f"fields: no column {show(name)}; there are {known}")
            if pa.types.is_nested(self.schema.field(name).type):
                raise DataError(f"fields: {name!r} holds {self.schema.field(name).type}, no levels")
        return list(dict.fromkeys(names))


def open_files(paths: PathLike | Sequence[PathLike]) -> ParquetFiles:
    """Return the parquet files at some paths; of a folder all that lie in it, by name.

    Only the ends of the files are read, where parquet says what is in them.
    """
    found = tuple(_find(paths))
    schemas, rows = [], 0
    for path in found:
        try:
            metadata = pyarrow.parquet.read_metadata(path)
            schemas.append(metadata.schema.to_arrow_schema().remove_metadata())
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{path}: not a parquet file, or damaged ({error})") from None
        rows += metadata.num_rows
    _check_schemas(found, schemas)
    if not rows:
        raise DataError(f"{found[0]}: no rows")
    return ParquetFiles(found, schemas[0], rows)


def _find(paths: PathLike | Sequence[PathLike]) -> Iterator[Path]:
    listed = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not listed:
        raise DataError("no file is named")
    for path in map(Path, listed):
        if not path.is_dir():
            yield path
            continue
        inside = sorted(path.glob("*.parquet"))
        if not inside:
            raise DataError(f"{path}: no file in this folder ends in .parquet")
        yield from inside


def _check_schemas(paths: Sequence[Path], schemas: Sequence[pa.Schema]) -> None:
    """Refuse columns that are there twice, and files that do not have those of the first."""
    first = schemas[0]
    twice = [name for name in first.names if first.names.count(name) > 1]
    if twice:
        raise DataError(f"{paths[0]}: column {twice[0]!r} is there twice; names must differ")
    for path, schema in zip(paths[1:], schemas[1:], strict=True):
        for each in first:
            if each.name not in schema.names:
                raise DataError(f"{path}: no column {each.name!r}, which {paths[0]} has")
            other = schema.field(each.name).type
            if other != each.type:
                raise DataError(
                    f"{path}: column {each.name!r} holds {other}, in {paths[0]} {each.type}"
                )


def _holds_categories(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer, pa.types.is_boolean)
    return any(test(kind) for test in tests)
