"""Files and command lines: tables of all formats, whole and damaged, and words of all kinds."""

import bz2
import datetime
import decimal
import gzip
import io
import json
import lzma
import os
import random
import re
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import strategies as st

from embedalloc.audit import AuditError, audit_table, implied_metrics, read_metrics_table
from embedalloc.command_line import COMMANDS, main
from embedalloc.study.heart.patients import PATIENTS, SOURCES, read_patients
from embedalloc.study.workflow.tables import TableError, read_table
from tests.fuzz.damage import damaged
from tests.places import PRINTED_TABLE, ROOT
from tests.study.heart.test_patients import csv_rows, write_csv

PAPER = PRINTED_TABLE.read_bytes()
HEART = ROOT / "workflow/resources/heart_disease"
SALES = b"town,shop,age,bought\n" + b"".join(
    b"t%d,s%d,%d.5,%d\n" % (row % 4, row % 7, row, row % 2) for row in range(60)
)
COUNTS = b"field,level,rows\n" + b"".join(
    b"town,t%d,%d\nshop,s%d,%d\n" % (k, 90 - k, k, 1 + k * k) for k in range(30)
)
#: What a command is given besides: quick options that make it work on an undamaged file.
LAST = {
    "audit": [("--n-max", "12"), ("--n", "7")],
    "solve": [("--cardinality", "a=9", "--cardinality", "b=5", "--budget", "60")],
    "rules": [()],
    "frontier": [
        ("--target", "bought", "--budgets", "60,90", "--splits", "1", "--rule", "equal"),
    ],
    "count": [("--output", "counts.parquet"), ("--output", "c.parquet", "--sample", "s.parquet")],
    "memory": [("--budget", "600 B"), ("--budget", "600 B", "--compare")],
    "plan": [("--target", "bought", "--budget", "60", "--rule", "equal")],
    "compare": [("--target", "bought", "--budget", "60", "--splits", "2", "--rules", "equal")],
}
ODD_WORDS = [
    *("", "0", "1", "-1", "7", "1e3", "1e30", "nan", "99999999999999999999", "½", "٣", "--", "-"),
    *("--n", "x", "a b", "../..", "/", "/dev/zero", "--help", "--json", "--percent", "--nothing"),
    *("\udcff", "a=1e400", "a=9=9", "=", "1e30 GB", "-1 MB", "town", "bought", "\x1b[31m", "a=٣"),
    *("64 kB", "1.5 MiB", "float16", "adam", "equal", "paper", "keras", "torch", "json", "utf-16"),
]
COMPRESSIONS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zip": lambda content: zipped(content),
    "": lambda content: content,
}


def zipped(content: bytes) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("table.csv", content)
    return held.getvalue()


def typed_table(rng: random.Random, write: Callable[..., None] = pq.write_table) -> bytes:
    """A file with columns of any type, nested ones among them."""
    day = datetime.date(2020, 1, 1)
    columns = {
        "whole": pa.array([k % 5 for k in range(40)]),
        "town": pa.array([f"t{k % 4}" for k in range(40)]).dictionary_encode(),
        "list": pa.array([[k] for k in range(40)]),
        "struct": pa.array([{"a": k} for k in range(40)]),
        "decimal": pa.array([decimal.Decimal(k) / 4 for k in range(40)]),
        "date": pa.array([day + datetime.timedelta(k) for k in range(40)]),
        "binary": pa.array([b"\xff%d" % (k % 3) for k in range(40)]),
        "null": pa.nulls(40),
        "flag": pa.array([None if k % 7 == 0 else k % 2 == 0 for k in range(40)]),
        "span": pa.array([datetime.timedelta(seconds=k) for k in range(40)]),
        "half": pa.array([float(k % 6) for k in range(40)], pa.float32()),
        "large": pa.array([2**62 + k for k in range(40)]),
        "far": pa.array([1e308 * (-1) ** k for k in range(40)]),
        "\x1b[31m": pa.array([str(k % 2) for k in range(40)]),
    }
    chosen = rng.sample(sorted(columns), rng.randint(1, 6))
    table = pa.table({name: columns[name] for name in chosen})
    table = table.append_column("bought", pa.array([k % 2 for k in range(40)]))
    held = io.BytesIO()
    write(table, held)
    return held.getvalue()


def input_file(rng: random.Random, folder: Path, whole: bytes) -> Path:
    """A table as CSV in some encoding and compression, or parquet; perhaps damaged."""
    if rng.random() < 0.2:
        path, content = folder / "input.parquet", typed_table(rng)
    elif rng.random() < 0.1:
        path, content = folder / "input.feather", typed_table(rng, feather.write_feather)
    elif rng.random() < 0.1:
        lines = [{"town": f"t{k % 3}", "bought": k % 2} for k in range(30)]
        content = "\n".join(map(json.dumps, lines)).encode()
        path, content = folder / "input.jsonl", damaged(rng, content)
    else:
        content = damaged(rng, whole) if rng.random() < 0.6 else whole
        if rng.random() < 0.2:
            text = content.decode("utf-8", "replace")
            content = text.encode(rng.choice(["utf-16", "utf-8-sig", "cp1252"]), "replace")
        suffix = rng.choice([*COMPRESSIONS, "", ""])
        path, content = folder / f"input.csv{suffix}", COMPRESSIONS[suffix](content)
    if rng.random() < 0.1:
        place = rng.randrange(len(content) + 1)
        content = content[:place] + bytes([rng.randrange(256)]) + content[place + 1 :]
    if rng.random() < 0.1:
        content = content[: rng.randrange(len(content) + 1)]
    path.write_bytes(content)
    return path


def words(rng: random.Random, name: str, file: list[str]) -> list[str]:
    """A call of a command with its own options, some of them odd."""
    command = main.get_command(click.Context(main), name)
    assert command is not None
    options = ["--help"]
    options += [o for p in command.params if isinstance(p, click.Option) for o in p.opts]
    given = file if rng.random() < 0.95 else [rng.choice(ODD_WORDS)]
    for _ in range(rng.choice([0, 0, 0, 1, 2, 3])):
        given = [*given, rng.choice(options) if rng.random() < 0.7 else rng.choice(ODD_WORDS)]
        if rng.random() < 0.7:
            given = [*given, rng.choice(ODD_WORDS)]
    return [name, *given, *rng.choice(LAST[name])]


#: Two in a hundred calls leave the quick options out of reach; they are cut to what is quick.
seeds = st.integers(0, 2**63)


def command_check(name: str):
    """Return a check of one command: an answer, or one line and exit code 2 and nothing written."""
    whole = {
        "audit": PAPER,
        "plan": SALES,
        "compare": SALES,
        "count": SALES,
        "frontier": SALES,
        "memory": COUNTS,
    }.get(name)

    def check(seed: int) -> None:
        rng = random.Random(seed)
        before_all = Path.cwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                place = [] if whole is None else [str(input_file(rng, Path(folder), whole))]
                call = words(rng, name, place)
                before = sorted(Path(folder).rglob("*"))
                done = CliRunner().invoke(main, call)
                after = sorted(Path(folder).rglob("*"))
            finally:
                os.chdir(before_all)
        context = f"{call}\n{done.output[:3000]}"
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise AssertionError(context) from done.exception
        assert done.exit_code in (0, 2), context
        assert "\x1b" not in done.output, context
        if done.exit_code == 2:
            assert done.stdout == "", context
            assert "Error: " in done.stderr, context
            assert after == before, context
        elif "--json" in call and not {"--help", "--output"} & {*call}:
            json.loads(done.stdout)

    return check


def check_printed_table(seed: int) -> None:
    """A printed table is read or refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(damaged(random.Random(seed), PAPER))
        said = ""
        try:
            read_metrics_table(path)
        except AuditError as error:
            said = str(error)
    assert said.isprintable()


def check_audit(seed: int) -> None:
    """The matrices that a table was printed from are among those found."""
    rng = random.Random(seed)
    n = rng.randint(2, 40)
    positives = rng.randint(0, n)
    rows, truth = {}, {}
    for row in "abc"[: rng.randint(1, 3)]:
        tp, fp = rng.randint(0, positives), rng.randint(0, n - positives)
        truth[row] = (tp, fp, positives - tp, n - positives - fp)
        values = {m: v for m, v in implied_metrics(*truth[row]).items() if v is not None}
        others = rng.sample(sorted(values), rng.randint(1, len(values)))
        decimals = rng.randint(1, 4)
        rows[row] = {m: f"{float(values[m]):.{decimals}f}" for m in {"accuracy", *others}}
    found = audit_table(rows, n=n, max_solutions=50)
    assert found.n_unexplained == 0
    same = [each for each in found.solutions if each.positives == positives]
    assert same or not found.complete
    for row, matrix in truth.items():
        assert not same or matrix in same[0].matrices[row]


def check_patients(seed: int) -> None:
    """Both forms of the heart-disease data; what is accepted has the original's cells."""
    rng = random.Random(seed)
    original = read_patients(HEART, cholesterol_zero_is_missing=False)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if rng.random() < 0.5:
            place = write_csv(place / "heart_disease_uci.csv", csv_rows(original))
            place.write_bytes(damaged(rng, place.read_bytes()))
        else:
            chosen = rng.choice(SOURCES)
            for source in SOURCES:
                content = (HEART / f"processed.{source}.data").read_bytes()
                content = damaged(rng, content) if source == chosen else content
                (place / f"processed.{source}.data").write_bytes(content)
        try:
            found = read_patients(place, cholesterol_zero_is_missing=False)
        except TableError:
            return
    assert found.equals(original)


def check_foreign_table(seed: int) -> None:
    """Parquet of other programs and files that are no parquet are refused, whole and damaged."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "patients.parquet"
        foreign = [typed_table(rng), PAPER, b"PAR1PAR1", b"PAR1" * 1000, b"\x00" * 5000, b""]
        content = rng.choice(foreign)
        path.write_bytes(damaged(rng, content) if rng.random() < 0.8 else content)
        with pytest.raises(TableError, match=re.escape(str(path))):
            read_table(path, PATIENTS)


COMMAND_CHECKS = {name: command_check(name) for name in COMMANDS}
