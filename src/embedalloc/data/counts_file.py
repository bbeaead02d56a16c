"""A file of counts, which any engine can make: field, level and rows, one line per level.

In SQL it is one GROUP BY (see `docs/scale.md`); `count_levels` writes the same.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.parquet
from numpy.typing import NDArray

from embedalloc.checks import show
from embedalloc.data.parquet_files import PathLike
from embedalloc.data.table import DataError

#: Columns of the file.
COLUMNS = ("field", "level", "rows")
SCHEMA = pa.schema([("field", pa.string()), ("level", pa.string()), ("rows", pa.int64())])


def read_counts(path: PathLike) -> dict[str, NDArray[np.int64]]:
    r"""Return the rows of every level by field, the most frequent first.

    A missing level and an empty one are the same. The names of levels are not kept.

    Parameters
    ----------
    path
        Parquet or CSV with the columns field, level and rows; or a folder of parquet files, as
        engines on several machines write them.

    Returns
    -------
    dict
        Array of counts by field.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "counts.csv"
    >>> _ = path.write_text("field,level,rows\ntown,a,2\ntown,b,9\nsex,f,11\n")
    >>> read_counts(path)
    {'town': array([9, 2]), 'sex': array([11])}
    """
    place = Path(path)
    known: dict[str, list[NDArray[np.int64]]] = {}
    missing: dict[str, int] = {}
    try:
        kind = "csv" if place.suffix.lower() in (".csv", ".gz") else "parquet"
        data = pyarrow.dataset.dataset(str(place), format=kind)
        absent = [name for name in COLUMNS if name not in data.schema.names]
        if absent:
            raise DataError(f"{place}: no column {absent[0]!r}; it needs {', '.join(COLUMNS)}")
        for batch in data.scanner(columns=list(COLUMNS), batch_readahead=1).to_batches():
            if len(batch):
                _sort_in(batch, known, missing)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{place}: cannot be read as a file of counts ({error})") from None
    for name, rows in missing.items():
        known[name].append(np.array([rows]))
    if not known:
        raise DataError(f"{place}: no rows")
    return {name: sort_counts(parts) for name, parts in known.items()}


def sort_counts(parts: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return counts in one array, the largest first."""
    counts = np.concatenate([np.empty(0, dtype=np.int64), *parts])
    counts.sort()
    return counts[::-1]


def _sort_in(
    batch: pa.RecordBatch, known: dict[str, list[NDArray[np.int64]]], missing: dict[str, int]
) -> None:
    """Add counts to those of their fields; those of missing levels are added up."""
    rows, level = batch["rows"], batch["level"]
    if not pa.types.is_integer(rows.type):
        raise DataError(f"rows: {show(rows[0].as_py())} is not a whole number of at least 1")
    counts = rows.fill_null(0).cast(pa.int64()).to_numpy()
    if counts.min() < 1:
        raise DataError(f"rows: {counts.min()} is not a whole number of at least 1")
    if batch["field"].null_count:
        raise DataError("field: a line has none")
    is_text = pa.types.is_string(level.type) or pa.types.is_large_string(level.type)
    empty = pc.equal(level.fill_null(""), "") if is_text else level.is_null()
    nameless = empty.to_numpy(zero_copy_only=False)
    fields = batch["field"].cast(pa.string()).dictionary_encode()
    codes = fields.indices.to_numpy()
    for code, name in enumerate(fields.dictionary.to_pylist()):
        own = codes == code
        known.setdefault(name, []).append(counts[own & ~nameless])
        if (own & nameless).any():
            missing[name] = missing.get(name, 0) + int(counts[own & nameless].sum())


class CountsWriter:
    """Writes levels with their rows to a parquet file, or nowhere if there is no path.

    The file is there when all is written, and not before.
    """

    def __init__(self, path: PathLike | None) -> None:
        self._path = None if path is None else Path(path)

    def __enter__(self) -> Self:
        self._file: Any = None
        if self._path is not None:
            self._unfinished = self._path.with_name(f".{self._path.name}.unfinished")
            self._file = pyarrow.parquet.ParquetWriter(
                str(self._unfinished), SCHEMA, use_dictionary=["field"], compression="zstd"
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is None or self._path is None:
            return
        self._file.close()
        if kind is None:
            os.replace(self._unfinished, self._path)
        else:
            self._unfinished.unlink(missing_ok=True)

    def copy(self, field: str, levels: Path) -> None:
        """Write the levels of a field, which are in an arrow file of `level` and `rows`."""
        with pa.OSFile(str(levels)) as file, pa.ipc.open_stream(file) as stored:
            for batch in stored:
                names = pa.DictionaryArray.from_arrays(np.zeros(len(batch), np.int8), [field])
                columns = [names.cast(pa.string()), batch["level"].cast(pa.string()), batch["rows"]]
                self._file.write_batch(pa.record_batch(columns, schema=SCHEMA))
