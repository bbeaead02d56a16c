"""The same numbers to the last bit, whichever way the study is run."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.digests import digests
from tests.verify import WAYS, differences, numbers, run

#: The first way is that of the shared run.
OTHERS = list(WAYS)[1:]


@pytest.mark.parametrize("way", OTHERS)
def test_the_numbers_do_not_depend_on_the_way(finished_run, way, tmp_path):
    run(WAYS[way], tmp_path)
    found = numbers(tmp_path)
    assert len(found) > 50
    assert differences(finished_run.numbers, found) == []


def test_digests_see_every_bit_but_timings_and_parts(tmp_path):
    def digest(*parts, name="x"):
        for place in tmp_path.iterdir():
            place.unlink()
        for number, columns in enumerate(parts):
            pq.write_table(pa.table(columns), tmp_path / f"{name}{number}.parquet")
        return digests(tmp_path)

    whole = digest({"row": [1, 2], "value": [0.1, None]})
    assert list(whole) == ["x*.parquet"]
    in_parts = digest(
        {"row": [1], "value": [0.1]}, {"row": [2], "value": pa.array([None], "double")}
    )
    assert in_parts == whole
    assert digest({"row": [1, 2], "value": [0.1 + 2e-17, None]}) != whole
    assert digest({"row": [2, 1], "value": [None, 0.1]}) != whole
    timed = {"row": [1, 2], "value": [0.1, None], "seconds_per_epoch": [3.0, 4.0]}
    assert digest(timed) == whole
    rows = {"metric": ["brier", "seconds_per_epoch"], "mean": [0.1, 7.0]}
    assert digest(rows) == digest(rows | {"mean": [0.1, 8.0]})
    assert digest(rows) != digest(rows | {"mean": [0.2, 7.0]})
