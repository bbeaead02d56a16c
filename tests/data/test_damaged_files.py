"""Hundreds of damaged files of every format: each is read or refused in plain words.

Seeds are fixed, so a failure comes back; its message holds the seed.
"""

import gzip
import io
import json
import random

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from embedalloc.data.reading import read_table
from embedalloc.data.table import DataError

pytestmark = pytest.mark.slow

ROWS = range(60)
TABLE = pa.table(
    {
        "a": [f"level {k % 4}" for k in ROWS],
        "day": pd.date_range("2020-01-01", periods=60),
        "x": [k * 0.5 for k in ROWS],
        "c": pa.array([f"u{k % 3}" for k in ROWS]).dictionary_encode(),
        "list": [[k] for k in ROWS],
        "y": [k % 2 for k in ROWS],
    }
)


def written(write):
    file = io.BytesIO()
    write(TABLE, file)
    return file.getvalue()


LINES = [{"a": f"level {k % 4}", "x": k * 0.5, "s": {"q": 1}, "y": k % 2} for k in ROWS]
FILES = {
    "t.parquet": written(pq.write_table),
    "t.feather": written(pyarrow.feather.write_feather),
    "t.jsonl": "\n".join(map(json.dumps, LINES)).encode(),
    "t.parquet.gz": gzip.compress(written(pq.write_table)),
}


def damaged(rng, content):
    """Change, take out or put in some bytes, or cut the end."""
    content = bytearray(content)
    for _ in range(rng.randint(1, 5)):
        place, way = rng.randrange(len(content) + 1), rng.randrange(4)
        if way == 0:
            content[place : place + 1] = bytes([rng.randrange(256)])
        elif way == 1:
            del content[place : place + rng.randint(1, 40)]
        elif way == 2:
            content[place:place] = rng.randbytes(rng.randint(1, 10))
        elif rng.random() < 0.3:
            del content[place:]
    return bytes(content)


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_read_or_refused(name):
    refused = 0
    for seed in range(400):
        content = damaged(random.Random(seed), FILES[name])
        try:
            frame, *_ = read_table(content, name)
        except DataError:
            refused += 1
        except Exception as error:
            pytest.fail(f"{error!r} from seed {seed}")
        else:
            assert frame.map(str).shape == frame.shape  # every cell can be looked at
    assert refused > 200
