"""A file of counts, which any engine can make: field, level and rows, one line per level.

In SQL it is one GROUP BY (see `docs/scale.md`); `count_levels` writes the same.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet
from numpy.typing import NDArray

from embedalloc.checks import list_names, show
from embedalloc.data.parquet_files import PathLike
from embedalloc.data.table import DataError
from embedalloc.input_file import read_content

#: Columns of the file.
COLUMNS = ("field", "level", "rows")
#: A CSV file's levels may look like numbers at first and be text later.
AS_TEXT = pyarrow.csv.ConvertOptions(column_types={"field": pa.string(), "level": pa.string()})
CSV = pyarrow.dataset.CsvFileFormat(convert_options=AS_TEXT)
#: With this a parquet file begins.
PARQUET = b"PAR1"
SCHEMA = pa.schema([("field", pa.string()), ("level", pa.string()), ("rows", pa.int64())])


def read_counts(path: PathLike) -> dict[str, NDArray[np.int64]]:
    r"""Return the rows of every level by field, the most frequent first.

    A missing level and an empty one are the same. The names of levels are not kept.

    Parameters
    ----------
    path
        Parquet or CSV with the columns field, level and rows, `-` for the standard input; or a
        folder of parquet files, as engines on several machines write them. Without the column
        level, every line is a level of its own.

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
        for batch in _read_batches(place):
            if len(batch):
                _sort_in(batch, known, missing)
        if not known:
            raise ValueError("no rows")
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise DataError(f"{place}: {reason or error}") from None
    for name, rows in missing.items():
        known[name].append(np.array([rows]))
    return {name: sort_counts(parts) for name, parts in known.items()}


def _read_batches(place: Path) -> Iterator[pa.RecordBatch]:
    """Yield parts of a file or folder as they are read; of a pipe all must be read first."""
    if place.is_dir():
        data = pyarrow.dataset.dataset(str(place), format="parquet")
    elif place.is_file():
        with place.open("rb") as file:
            is_parquet = file.read(4) == PARQUET
        data = pyarrow.dataset.dataset(str(place), format="parquet" if is_parquet else CSV)
    else:
        content = read_content(place)
        read = pyarrow.parquet.read_table if content[:4] == PARQUET else _read_csv
        data = pyarrow.dataset.dataset(read(pa.BufferReader(content)))
    there = data.schema.names
    if not there:
        raise ValueError("no file with columns in this folder")
    absent = [name for name in ("field", "rows") if name not in there]
    if absent:
        raise ValueError(
            f"no column {absent[0]!r}; it needs {', '.join(COLUMNS)} and has {list_names(there)}"
        )
    columns = [name for name in COLUMNS if name in there]
    yield from data.scanner(columns=columns, batch_readahead=1).to_batches()


def _read_csv(source: Any) -> pa.Table:
    return pyarrow.csv.read_csv(source, convert_options=AS_TEXT)


def sort_counts(parts: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return counts in one array, the largest first."""
    counts = np.concatenate([np.empty(0, dtype=np.int64), *parts])
    counts.sort()
    return counts[::-1]


def _sort_in(
    batch: pa.RecordBatch, known: dict[str, list[NDArray[np.int64]]], missing: dict[str, int]
) -> None:
    """Add counts to those of their fields; those of missing levels are added up."""
    rows = batch["rows"]
    if rows.null_count:
        raise ValueError("rows: a line has none")
    if not pa.types.is_integer(rows.type):
        raise ValueError(f"rows: {show(rows[0].as_py())} is not a whole number of at least 1")
    counts = rows.cast(pa.int64()).to_numpy()
    if counts.min() < 1:
        raise ValueError(f"rows: {counts.min()} is not a whole number of at least 1")
    if batch["field"].null_count:
        raise ValueError("field: a line has none")
    nameless = _find_nameless(batch)
    fields = batch["field"].cast(pa.string()).dictionary_encode()
    codes = fields.indices.to_numpy()
    for code, name in enumerate(fields.dictionary.to_pylist()):
        own = codes == code
        known.setdefault(name, []).append(counts[own & ~nameless])
        if (own & nameless).any():
            missing[name] = missing.get(name, 0) + int(counts[own & nameless].sum())


def _find_nameless(batch: pa.RecordBatch) -> NDArray[np.bool_]:
    """Tell the lines whose level is missing or empty."""
    if "level" not in batch.schema.names:
        return np.zeros(len(batch), dtype=np.bool_)
    level = batch["level"]
    is_text = pa.types.is_string(level.type) or pa.types.is_large_string(level.type)
    empty = pc.equal(level.fill_null(""), "") if is_text else level.is_null()
    found: NDArray[np.bool_] = empty.to_numpy(zero_copy_only=False)
    return found


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
