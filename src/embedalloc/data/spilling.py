"""Rows per level from partial counts, in bounded memory: what is too much waits on disk.

A level's partial counts all go to the same of some files, which its hash names; so each file is
added up by itself. One that is still too large is divided once more.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

#: Files that too many levels are divided into; each division takes so many other bits.
BITS = 5
#: Levels whose hashes are computed at a time: pandas makes objects of text.
HASHED = 1 << 18


def add_up(
    parts: Iterable[pa.Table], folder: Path, most: int, depth: int = 0
) -> Iterator[pa.Table]:
    """Yield tables of `level` and `rows`, each level once in all of them.

    Parameters
    ----------
    parts
        Tables of `level` and `rows`; a level is there once in each, but may be in several.
    folder
        Where what is too much waits; it must exist, and nothing is left in it.
    most
        Bytes of partial counts that are held at a time.
    depth
        How often these levels were divided before.
    """
    held: list[pa.Table] = []
    size = 0
    with ExitStack() as closing:
        spill: _Spill | None = None
        for part in parts:
            held.append(part)
            size += part.nbytes
            if size <= most:
                continue
            held = [_merge(held)]
            size = held[0].nbytes
            if size > most // 2 and (depth + 1) * BITS <= 64:
                spill = spill or closing.enter_context(_Spill(folder, depth, part.schema))
                spill.write(held[0])
                held, size = [], 0
        if spill is None:
            if held:
                yield _merge(held)
            return
        if held:
            spill.write(_merge(held))
        spill.close()
        for place in spill.places:
            with pa.OSFile(str(place)) as file, pa.ipc.open_stream(file) as stored:
                batches = (pa.Table.from_batches([batch]) for batch in stored)
                yield from add_up(batches, folder, most, depth + 1)
            place.unlink()


def _merge(parts: list[pa.Table]) -> pa.Table:
    """Return one table in which every level is there once, in the order in which they came."""
    if len(parts) == 1:
        return parts[0]
    # Without threads: the order of the levels is then always the same.
    found = pa.concat_tables(parts).group_by("level", use_threads=False)
    return found.aggregate([("rows", "sum")]).rename_columns(["level", "rows"])


class _Spill:
    """Files of partial counts, one for each value of some bits of the levels' hashes."""

    def __init__(self, folder: Path, depth: int, schema: pa.Schema) -> None:
        self.places = [folder / f"{depth}-{number}.arrow" for number in range(1 << BITS)]
        self._shift, self._schema, self._open = np.uint64(depth * BITS), schema, ExitStack()

    def __enter__(self) -> "_Spill":
        files = [self._open.enter_context(pa.OSFile(str(each), "wb")) for each in self.places]
        self._writers = [
            self._open.enter_context(pa.ipc.new_stream(file, self._schema)) for file in files
        ]
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        for place in self.places:
            place.unlink(missing_ok=True)

    def close(self) -> None:
        """End writing."""
        self._open.close()

    def write(self, table: pa.Table) -> None:
        """Divide a table among the files."""
        for batch in table.combine_chunks().to_batches(max_chunksize=HASHED):
            bits = (hash_levels(batch["level"]) >> self._shift) & np.uint64((1 << BITS) - 1)
            order = np.argsort(bits, kind="stable")
            edges = np.searchsorted(bits[order], np.arange(len(self.places) + 1, dtype=np.uint64))
            sorted_batch = batch.take(pa.array(order))
            for writer, begin, end in zip(self._writers, edges[:-1], edges[1:], strict=True):
                if end > begin:
                    writer.write_batch(sorted_batch.slice(begin, end - begin))


def hash_levels(levels: pa.Array) -> NDArray[np.uint64]:
    """Return a hash of every level, the same in every process; missing ones have the hash 0."""
    missing = levels.is_null().to_numpy(zero_copy_only=False)
    known = levels.drop_null()
    if not pa.types.is_primitive(known.type) or pa.types.is_temporal(known.type):
        known = known.cast(pa.string())
    hashes = np.zeros(len(levels), dtype=np.uint64)
    hashes[~missing] = pd.util.hash_array(known.to_numpy(zero_copy_only=False), categorize=False)
    return hashes
