"""What a check says of an archive's files, receipts and cells, without running a workflow."""

from io import BytesIO

import pandas as pd
import pytest
from click.testing import CliRunner

from embedalloc.study.archive.__main__ import main
from embedalloc.study.archive.check import (
    Cell,
    choose,
    compare,
    find_broken_links,
    find_other_settings,
)
from embedalloc.study.archive.container import ArchiveError, zip_files
from embedalloc.study.archive.contents import digest_bytes
from embedalloc.study.workflow.agreement import TOLERANCE
from embedalloc.study.workflow.receipts import write_receipt

TABLE, PLACE = "results/x.parquet", "results/receipts/simulate_x/0.json"
HERE = {"system": "Linux x86_64", "processor": "A", "cores": "2", "linear algebra": "openblas Z"}


def as_parquet(**columns):
    stream = BytesIO()
    pd.DataFrame({"n": [1, 2], "value": [1.0, 2.0], "seconds_per_epoch": 1.0} | columns).to_parquet(
        stream
    )
    return stream.getvalue()


def cell_of(name="simulate_x/0", rule="simulate_x", table=TABLE, **parts):
    receipt = {
        "rule": rule,
        "settings": "s",
        "code": "c",
        "inputs": {},
        "outputs": {table: digest_bytes(as_parquet())},
        "cost": {},
        "versions": {"numpy": "2"},
        "machine": HERE,
    }
    return Cell(f"results/receipts/{name}.json", receipt | parts)


def compared(tmp_path, again, **now):
    """Compare a table with one made anew by a job with another receipt."""
    (tmp_path / "results").mkdir()
    (tmp_path / TABLE).write_bytes(again)
    write_receipt(tmp_path / PLACE, cell_of().receipt | now)
    return compare(cell_of(), {TABLE: as_parquet()}, tmp_path)


OTHER = {"machine": HERE | {"processor": "B", "cores": "64"}}


def test_the_same_bits_agree_whatever_the_clock_and_the_cores(tmp_path):
    again = as_parquet(seconds_per_epoch=2.0)
    found = compared(tmp_path, again, machine=HERE | {"cores": "64"})
    assert found == (True, "the same bits")


def test_last_bits_may_differ_on_another_processor_only(tmp_path):
    again = as_parquet(value=[1.0, 2.0 + TOLERANCE])
    found = compared(tmp_path, again, **OTHER)
    assert found == (True, f"the same within {TOLERANCE:g} (processor A, here B)")


@pytest.mark.parametrize(
    ("again", "now", "words"),
    [
        (as_parquet(value=[1.0, 2.0 + TOLERANCE]), {}, f"{TABLE} differs in last bits"),
        (
            as_parquet(value=[1.0, 2.1]),
            OTHER,
            f"{TABLE} differs in value (processor A, here B)",
        ),
        (as_parquet(n=[1, 3]), {"versions": {"numpy": "3"}}, f"{TABLE} differs in n (numpy 2, he"),
        (as_parquet(), {"settings": "t"}, "configuration.yaml is another configuration"),
    ],
)
def test_anything_else_disagrees(tmp_path, again, now, words):
    found = compared(tmp_path, again, **now)
    assert not found.agrees
    assert found.words.startswith(words)


def test_receipts_and_files_must_fit():
    made = as_parquet()
    files = {TABLE: made, "source/workflow/a.yaml": b"1", "results/receipts/x.json": b"{}"}
    sound = cell_of(inputs={"workflow/a.yaml": digest_bytes(b"1"), "elsewhere.csv": "0"})
    assert list(find_broken_links(files, [sound])) == []
    assert list(find_broken_links(files, [])) == [f"{TABLE}: no receipt says what made it"]
    spoilt = files | {TABLE: b"other", "source/workflow/a.yaml": b"2"}
    assert list(find_broken_links(spoilt, [sound])) == [
        f"{TABLE}: not what simulate_x/0 made",
        "workflow/a.yaml: not what simulate_x/0 was made from",
    ]
    needs = cell_of(inputs={"results/gone.parquet": "0"})
    (missing,) = find_broken_links(files, [needs])
    assert missing == "results/gone.parquet: missing, and simulate_x/0 was made from it"


def test_cells_are_drawn_by_seed_or_named():
    cells = [cell_of(f"simulate_x/{i}") for i in range(20)]
    cells += [cell_of("time_heart", "time_heart"), cell_of("plot_x", table="figures/x.pdf")]
    drawn = choose(cells, [], 3, 1)
    assert len({cell.name for cell in drawn}) == 3
    assert choose(cells, [], 3, 1) == drawn
    assert {cell.receipt["rule"] for cell in choose(cells, [], 99, 1)} == {"simulate_x"}
    assert [cell.name for cell in choose(cells, ["simulate_x/7"], 3, 1)] == ["simulate_x/7"]
    with pytest.raises(ArchiveError, match="no cell 'plot_x'; there are simulate_x/0, "):
        choose(cells, ["plot_x"], 3, 1)


def test_the_command_refuses_in_one_line(tmp_path):
    hostile = tmp_path / "a.zip"
    hostile.write_bytes(b"PK")
    for call in ([str(hostile)], [str(tmp_path / "none.zip")], [str(hostile), "--cells", "-1"]):
        done = CliRunner().invoke(main, call)
        assert done.exit_code == 2
        assert done.stderr.splitlines()[-1].startswith("Error: ")
    damaged = tmp_path / "b.zip"
    damaged.write_bytes(zip_files({"a": b"1"}))
    done = CliRunner().invoke(main, [str(damaged)])
    assert done.exit_code == 1
    assert "Damaged:\n  configuration.yaml: missing" in done.stdout
    assert done.stdout.endswith("The archive does not hold.\n")


def test_other_settings_are_named_with_both_values():
    ours, theirs = {"a": {"b": [1, 2], "c": 1}, "d": 1}, {"a": {"b": [1], "c": 1}}
    assert list(find_other_settings(ours, theirs)) == ["a.b is [1, 2], not [1]", "d is 1, not null"]
