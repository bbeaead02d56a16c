"""Rows per level, and a sample of rows, from parquet files that are larger than memory.

Parquet keeps columns apart, so each is read by itself, a batch at a time. Memory holds the partial
counts of a few columns, and in the end one number per level.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from embedalloc.checks import whole_number
from embedalloc.data.counts_file import CountsWriter, sort_counts
from embedalloc.data.parquet_files import ParquetFiles, PathLike, open_files
from embedalloc.data.spilling import add_up
from embedalloc.data.table import DataError
from embedalloc.streams import stream

#: Partial counts take this share of the memory; the rest is for adding them up.
HELD_SHARE = 0.125
#: With less memory every batch would go to disk.
LEAST_MEMORY = 10**7


@dataclass(frozen=True)
class LevelCounts:
    """How often every level occurs.

    Attributes
    ----------
    rows
        Rows of data.
    counts
        By field the rows of every level, the most frequent first. A missing value is a level.
    sample
        Rows drawn at random, with all columns, in the order of the data.

    Examples
    --------
    >>> sample = pa.table({"town": ["a", "b"]})
    >>> LevelCounts(16, {"town": np.array([9, 5, 2])}, sample).counts["town"]
    array([9, 5, 2])
    """

    rows: int
    counts: Mapping[str, NDArray[np.int64]]
    sample: pa.Table


def count_levels(
    paths: PathLike | Sequence[PathLike],
    fields: Sequence[str] | None = None,
    *,
    output: PathLike | None = None,
    sample_rows: int = 0,
    seed: int = 0,
    memory: int = 10**9,
    jobs: int = 1,
    folder: PathLike | None = None,
    done: Callable[[int, int], None] = lambda done, most: None,
) -> LevelCounts:
    """Count the rows of every level of some fields in parquet files, in bounded memory.

    Parameters
    ----------
    paths
        Parquet files with the same columns, or folders of such files.
    fields
        Columns to count; by default those of text, whole numbers and booleans.
    output
        Where to write every level with its rows: parquet with the columns field, level and rows.
        The names of levels are never all in memory.
    sample_rows
        Rows to draw at random, without replacement, from all files together.
    seed
        Of the sample.
    memory
        Bytes that counting may take beside its result, about; what is more waits on disk.
    jobs
        Columns at a time, which share the memory; the result is the same.
    folder
        Where it waits; by default the folder for temporary files.
    done
        Called after each column with how many are done and how many there are.

    Returns
    -------
    LevelCounts
        Rows in all, rows of every level by field, and the sample.

    Examples
    --------
    >>> import pandas as pd
    >>> path = getfixture("tmp_path") / "visits.parquet"
    >>> pd.DataFrame({"town": ["a", "b", "a", None], "spent": [1.5, 2, 3, 4]}).to_parquet(path)
    >>> count_levels(path).counts
    {'town': array([2, 1, 1])}
    """
    jobs = whole_number(jobs, "jobs", least=1)
    wanted = whole_number(sample_rows, "sample_rows", least=0)
    most = int(HELD_SHARE * whole_number(memory, "memory", least=LEAST_MEMORY)) // jobs
    files = open_files(paths)
    counted = files.choose_fields(fields)
    rows = draw_rows(files.rows, wanted, seed)
    columns = [name for name in files.schema.names if name in counted or wanted]
    counts, sample = {}, {}
    with (
        tempfile.TemporaryDirectory(prefix="embedalloc", dir=folder) as place,
        CountsWriter(output) as writer,
        _start_workers(jobs) as workers,
    ):
        reader = _Reader(files, frozenset(counted), rows, most, Path(place), output is not None)
        results = zip(columns, workers.map(reader.read, columns), strict=True)
        for number, (name, found) in enumerate(results, start=1):
            sample[name] = found.sample
            if found.counts is not None:
                values = int(found.counts.sum())
                if values != files.rows:
                    raise DataError(
                        f"column {name!r} has {values:,} values in {files.rows:,} rows: a file is "
                        "damaged"
                    )
                counts[name] = found.counts
            if found.levels is not None:
                writer.copy(name, found.levels)
            done(number, len(columns))
    return LevelCounts(files.rows, {name: counts[name] for name in counted}, pa.table(sample))


def draw_rows(total: int, wanted: int, seed: int) -> NDArray[np.int64]:
    """Return the numbers of rows that are drawn without replacement, in order."""
    if wanted > total:
        raise DataError(f"sample_rows: {wanted:,} of {total:,} rows cannot be drawn")
    drawn = stream(seed, "sample of rows").choice(total, wanted, replace=False, shuffle=False)
    return np.sort(drawn)


@contextmanager
def _start_workers(jobs: int) -> Iterator[ThreadPoolExecutor]:
    """Yield threads; after an error or an interrupt they begin nothing new."""
    workers = ThreadPoolExecutor(jobs)
    try:
        yield workers
    finally:
        workers.shutdown(cancel_futures=True)


class _Column(NamedTuple):
    """What was found in a column: sorted counts, a file of levels, and the sampled values."""

    counts: NDArray[np.int64] | None
    levels: Path | None
    sample: pa.ChunkedArray


class _Reader(NamedTuple):
    """Reads one column: counts its levels, and takes the values of the sampled rows."""

    files: ParquetFiles
    counted: frozenset[str]
    rows: NDArray[np.int64]
    most: int
    folder: Path
    keeps_levels: bool

    def read(self, name: str) -> _Column:
        """Return what is found in a column, or say that it cannot be read."""
        try:
            return self._read(name)
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno:
                raise  # of the disk, not of the file
            raise DataError(f"column {name!r} cannot be read ({error})") from None

    def _read(self, name: str) -> _Column:
        taken: list[pa.Array] = []
        batches = self._take(self.files.scan(name), taken)
        counts = levels = None
        if name in self.counted:
            place = self.folder / str(self.files.schema.get_field_index(name))
            place.mkdir()
            levels = place / "levels.arrow" if self.keeps_levels else None
            found = add_up(map(_count, batches), place, self.most)
            counts = sort_counts(_keep(found, levels))
        else:
            for _ in batches:
                pass
        kind = self.files.schema.field(name).type
        values = kind.value_type if pa.types.is_dictionary(kind) else kind
        return _Column(counts, levels, pa.chunked_array(taken, values))

    def _take(self, batches: Iterator[pa.Array], taken: list[pa.Array]) -> Iterator[pa.Array]:
        """Pass batches on, and keep the values of the sampled rows."""
        first = 0
        for batch in batches:
            begin, end = np.searchsorted(self.rows, [first, first + len(batch)])
            if end > begin:
                taken.append(batch.take(pa.array(self.rows[begin:end] - first)))
            first += len(batch)
            yield batch


def _count(values: pa.Array) -> pa.Table:
    """Return the rows of every level of a batch; empty text is missing."""
    if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
        values = values.cast(pa.string())
    found = pa.table({"level": values}).group_by("level", use_threads=False)
    table = found.aggregate([([], "count_all")]).rename_columns(["level", "rows"])
    is_text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    if is_text and pc.any(pc.equal(table["level"], "")).as_py():
        return _count(pc.if_else(pc.equal(values, ""), pa.scalar(None, values.type), values))
    return table


def _keep(tables: Iterator[pa.Table], path: Path | None) -> Iterator[NDArray[np.int64]]:
    """Yield the counts of levels, and keep levels with counts in a file if one is named."""
    with ExitStack() as closing:
        writer: Any = None
        for table in tables:
            if path is not None:
                if writer is None:
                    file = closing.enter_context(pa.OSFile(str(path), "wb"))
                    writer = closing.enter_context(pa.ipc.new_stream(file, table.schema))
                writer.write_table(table)
            yield table["rows"].to_numpy()
