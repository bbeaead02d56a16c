"""Thousands of mutated inputs: each is used or refused in plain words, with exit code 2.

Seeds are fixed, so a failure comes back; its message holds the input.
"""

import copy
import json
import random
import traceback
from dataclasses import dataclass

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from embedalloc.audit.printed import AuditError, read_metrics_table
from embedalloc.command_line import main
from embedalloc.study.heart.patients import PATIENTS, SOURCES, read_patients
from embedalloc.study.settings.configuration import read_configuration
from embedalloc.study.settings.errors import ConfigError
from embedalloc.study.workflow.tables import TableError, read_table
from tests.places import PRINTED_TABLE, ROOT, read_config
from tests.study.heart.test_patients import csv_rows, write_csv

pytestmark = pytest.mark.slow

CONFIG = read_config()
HEART = ROOT / "workflow/resources/heart_disease"
PAPER = (PRINTED_TABLE).read_bytes()

#: Values that a hand or a program may put where another one belongs.
ODD_VALUES = [
    None, True, False, 0, 1, -1, 2, 10**9, 10**30, -(10**30), 0.5, 1e-300, 1e300, -0.0,
    float("nan"), float("inf"), float("-inf"), "", " ", "1", "1e3", "nan", "ü", "\x00", "../..",
    "/etc/passwd", "{x}", "a" * 10_000, "0x10", "-", [], [1], [1, 1], ["a"], [None], [[1]], {},
    {"a": 1}, {1: 2}, {None: None}, {"decay": "polynomial"}, b"bytes", [10**30], [-1], [0.5],
]  # fmt: skip
ODD_CELLS = [
    b"", b" ", b"-", b"0", b"1", b"-1", b"0.5", b"1e999", b"nan", b"inf", b"NaN", b"1.0000000001",
    b"0." + b"3" * 400, b"9" * 50, b"+.5", b".", b"1.", b"1_0", "½".encode(), "٣".encode(),
    b"\x00", b"\xff", b'"', b'""', b"'", b"\r", b"\n", b"a,b", b"?", b"TRUE", b"=1+1",
    b"\xef\xbb\xbf", b"x" * 140_000,
]  # fmt: skip


def mutated(rng: random.Random, content: bytes) -> bytes:
    """Damage a text file in one to four ways: bytes, cells, lines, its end."""
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(content) + 1)
        lines = content.split(b"\n")
        line = rng.randrange(len(lines))
        way = rng.randrange(8)
        if way == 0:
            content = content[:place] + bytes([rng.randrange(256)]) + content[place + 1 :]
        elif way == 1:
            content = content[:place] + content[place + rng.randint(1, 30) :]
        elif way == 2:
            content = content[:place] + rng.choice(ODD_CELLS) + content[place:]
        elif way == 3:
            content = content[:place]
        elif way in (4, 5):
            row = lines[line].split(b",")
            row[rng.randrange(len(row))] = rng.choice(ODD_CELLS)
            content = b"\n".join([*lines[:line], b",".join(row), *lines[line + 1 :]])
        elif way == 6:
            content = b"\n".join([*lines[:line], lines[line], *lines[line:]])
        else:
            rng.shuffle(lines)
            content = b"\n".join(lines)
    return content


def places(value, path=()):
    """Every place inside nested settings."""
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in children:
        if isinstance(child, (dict, list)):
            yield from places(child, (*path, key))
        else:
            yield (*path, key)


def at(value, path):
    for key in path:
        value = value[key]
    return value


def mutated_config(rng: random.Random):
    config = copy.deepcopy(CONFIG)
    for _ in range(rng.randint(1, 3)):
        *parents, key = rng.choice([path for path in places(config) if path])
        holder = at(config, parents)
        way = rng.randrange(4)
        if way == 0:
            del holder[key]
        elif way == 1 and isinstance(holder, dict):
            holder[rng.choice(["odd", 1, None, "", "replications", (1, 2)])] = rng.choice(
                ODD_VALUES
            )
        elif way == 2 and isinstance(holder[key], (int, float)):
            holder[key] = type(holder[key])(holder[key] * rng.choice([-1, 0, 0.5, 2, 1000]))
        else:
            holder[key] = copy.deepcopy(rng.choice(ODD_VALUES))
    return config


def plan(config):
    """What the workflow computes from a configuration before its first job."""
    seed, heart = config.seed, config.heart
    cells = [config.claims_cell(), config.allocation_cell()]
    cells += [config.exp1.cell(seed, name, config.exp1.parts[0]) for name in config.exp1.designs]
    cells += [config.exp2.cell(seed, 500, config.exp2.parts[0])]
    cells += [config.exp3.cell(seed, n, config.exp3.parts[0]) for n in config.exp3.observations]
    cells += [heart.cell(seed, heart.blocks[0]), heart.folds_cell(seed, heart.fold_blocks[0])]
    for cell in cells:
        assert json.loads(json.dumps(cell.plain())) == cell.plain()
    jobs = [block.parts for block in (config.exp1, config.exp2, config.exp3)]
    assert max(map(len, [*jobs, heart.blocks])) <= 2000


def test_a_configuration_is_planned_or_refused():
    rng = random.Random(1)
    refused = 0
    for _ in range(3000):
        config = mutated_config(rng)
        try:
            plan(read_configuration(config))
        except ConfigError:
            refused += 1
        except Exception as error:
            pytest.fail(f"{error!r} from {config}")
    assert 1500 < refused < 3000


def test_a_printed_table_is_read_or_refused(tmp_path):
    rng = random.Random(2)
    path = tmp_path / "table.csv"
    outcomes = {True: 0, False: 0}
    for _ in range(4000):
        content = mutated(rng, PAPER)
        path.write_bytes(content)
        try:
            read_metrics_table(path)
            outcomes[True] += 1
        except AuditError:
            outcomes[False] += 1
        except Exception as error:
            pytest.fail(f"{error!r} from {content[:2000]!r}")
    assert min(outcomes.values()) > 300


def test_patients_are_the_original_s_or_refused(tmp_path):
    """Both forms of the heart-disease data; what is accepted has the original's cells."""
    rng = random.Random(3)
    original = read_patients(HEART, cholesterol_zero_is_missing=False)
    path = write_csv(tmp_path / "heart_disease_uci.csv", csv_rows(original))
    content = path.read_bytes()
    for case in range(300):
        if case == 0:
            path.write_bytes(content)
        else:
            path.write_bytes(mutated(rng, content))
        expect_original_or_refusal(path, original)
    for source in SOURCES:
        (tmp_path / f"processed.{source}.data").write_bytes(
            (HEART / f"processed.{source}.data").read_bytes()
        )
    for _ in range(100):
        file = tmp_path / f"processed.{rng.choice(SOURCES)}.data"
        whole = file.read_bytes()
        file.write_bytes(mutated(rng, whole))
        expect_original_or_refusal(tmp_path, original)
        file.write_bytes(whole)


def expect_original_or_refusal(place, original):
    try:
        found = read_patients(place, cholesterol_zero_is_missing=False)
    except TableError:
        return
    except Exception as error:
        pytest.fail(f"{error!r} from {place}")
    assert found.equals(original)


def test_foreign_tables_are_refused(tmp_path):
    """Parquet of other programs and files that are no parquet, whole and damaged."""
    rng = random.Random(4)
    path = tmp_path / "patients.parquet"
    pq.write_table(pa.table({"patient": [1, 2], "age": [1.0, None]}), path)
    foreign = [path.read_bytes(), PAPER, b"PAR1PAR1", b"PAR1" * 1000, b"\x00" * 5000, b""]
    for _ in range(2000):
        content = rng.choice(foreign)
        path.write_bytes(mutated(rng, content) if rng.random() < 0.8 else content)
        with pytest.raises(TableError, match=str(path)) as caught:
            read_table(path, PATIENTS)
        assert "snakemake --cores 1 --force" in str(caught.value)


@dataclass(frozen=True)
class Case:
    """How to call one command: the content of its file, if it has one, and quick options."""

    content: bytes | None
    last: tuple[tuple[str, ...], ...] = ((),)
    runs: int = 1500


#: A command added to the command line is fuzzed from here on with an entry of its own.
SALES = b"town,shop,age,bought\n" + b"".join(
    b"t%d,s%d,%d.5,%d\n" % (row % 4, row % 7, row, row % 2) for row in range(60)
)
CASES = {
    "audit": Case(PAPER, last=(("--n-max", "12"), ("--n", "7"))),
    "solve": Case(None, last=(("--cardinality", "a=9", "--cardinality", "b=5", "--budget", "60"),)),
    "rules": Case(None, runs=100),
    "plan": Case(SALES, last=(("--target", "bought", "--budget", "60"),), runs=500),
    "compare": Case(
        SALES,
        last=(("--target", "bought", "--budget", "60", "--splits", "2", "--rules", "equal"),),
        runs=250,
    ),
}
ODD_WORDS = [
    *("", "0", "1", "-1", "7", "1e3", "nan", "99999999999999999999", "½", "--", "-", "--n", "x"),
    *("a b", "../..", "/", "--help", "--json", "--percent", "--nothing", "\udcff"),
]


def words(rng: random.Random, command: click.Command, file: list[str]) -> list[str]:
    """A call of a command with its own options, some of them odd."""
    options = ["--help"]
    options += [o for p in command.params if isinstance(p, click.Option) for o in p.opts]
    given = file if rng.random() < 0.95 else [rng.choice(ODD_WORDS)]
    for _ in range(rng.choice([0, 0, 1, 2, 3])):
        given = [*given, rng.choice(options) if rng.random() < 0.7 else rng.choice(ODD_WORDS)]
        if rng.random() < 0.7:
            given = [*given, rng.choice(ODD_WORDS)]
    return given


@pytest.mark.parametrize("name", CASES)
def test_a_command_answers_or_refuses(name, tmp_path, monkeypatch):
    case, rng, runner = CASES[name], random.Random(5), CliRunner()
    command = main.get_command(click.Context(main), name)
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "input.csv"
    codes = []
    for _ in range(case.runs):
        content = case.content or b""
        file.write_bytes(mutated(rng, content) if rng.random() < 0.7 else content)
        place = [] if case.content is None else [str(file)]
        call = [name, *words(rng, command, place), *rng.choice(case.last)]
        before = sorted(tmp_path.rglob("*"))
        done = runner.invoke(main, call)
        context = f"{call} with {file.read_bytes()[:2000]!r}:\n{done.output}"
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            pytest.fail(context + "".join(traceback.format_exception(done.exception)))
        assert done.exit_code in (0, 2), context
        if done.exit_code == 2:
            assert done.stdout == "", context
            assert "Error: " in done.stderr, context
            assert sorted(tmp_path.rglob("*")) == before, context
        codes.append(done.exit_code)
    assert min(codes.count(0), codes.count(2)) > case.runs // 20
