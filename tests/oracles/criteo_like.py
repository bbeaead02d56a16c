"""Made-up rows of Criteo's shape: 26 fields with its published numbers of levels, a power law.

What every level's count is follows from a formula, so that a streamed count has a second witness
that reads no file.
"""

import itertools
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

#: Levels of C1 to C26 in the data of Criteo's contest: 33,762,577 in all.
LEVELS = (
    *(1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194),
    *(27, 14992, 5461306, 10, 5652, 2173, 4, 7046547, 18, 15, 286181, 105, 142572),
)
NAMES = tuple(f"C{j}" for j in range(1, 27))
#: A prime above 2^26: multiplied by it, row numbers visit every residue of their count once.
STEP = 67_108_879
#: An odd number: multiplied by it modulo 2^32, level numbers stay different.
SCRAMBLE = 2_654_435_761
_QUADS = np.array([f"{each:04x}" for each in range(65536)], dtype="S4")


def draw_levels(field, first, rows, total, levels=LEVELS):
    """Return the level numbers of one field for rows first, …, first + rows − 1 of all.

    As many rows as the field has levels hold one level each, so that all are there; in the
    others a level's share falls as one over its rank.
    """
    count = min(levels[field], total)
    place = (np.arange(first, first + rows, dtype=np.int64) * STEP + field) % total
    share = np.random.default_rng([field, first]).random(rows)
    drawn = np.exp(share * np.log(count)).astype(np.int64) - 1
    return np.where(place < count, place, np.minimum(drawn, count - 1))


def name_levels(field, numbers):
    """Return eight hexadecimal digits for every level number."""
    names = ((numbers * SCRAMBLE + field * 97_003) % 2**32).astype(np.uint32)
    text = np.stack([_QUADS[names >> 16], _QUADS[names & 0xFFFF]], axis=1)
    offsets = np.arange(0, 8 * len(numbers) + 1, 8, dtype=np.int32)
    return pa.StringArray.from_buffers(
        len(numbers), pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(text))
    )


def make_rows(first, rows, total, levels=LEVELS):
    """Return a table of `click` and the fields; C1, C2 and C10 decide who clicks."""
    numbers = [draw_levels(field, first, rows, total, levels) for field in range(len(levels))]
    signal = sum(np.sin(1.0 + numbers[field]) for field in (0, 1, 9) if field < len(levels))
    noise = np.random.default_rng([99, first]).logistic(size=rows)
    columns = {"click": pa.array((signal + noise > 1).astype(np.int8))}
    for field, each in enumerate(numbers):
        columns[NAMES[field]] = name_levels(field, each)
    return pa.table(columns)


def write_files(folder, total, *, levels=LEVELS, files=8, block=500_000):
    """Write so many rows as parquet files and return their paths."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    paths = []
    edges = np.linspace(0, total, files + 1).astype(int)
    for number, (begin, end) in enumerate(itertools.pairwise(edges)):
        path = Path(folder) / f"part{number:02}.parquet"
        with pq.ParquetWriter(path, make_rows(0, 1, total, levels).schema) as writer:
            for first in range(begin, end, block):
                writer.write_table(make_rows(first, min(block, end - first), total, levels))
        paths.append(path)
    return paths
