"""The commands plan and compare: readable in 80 columns, mistakes in one line before any work."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree

import click
import numpy as np
import pandas as pd
import pyarrow.csv
import pyarrow.parquet
import pytest
import yaml
from click.testing import CliRunner
from PIL import Image
from sklearn.metrics import accuracy_score, log_loss, r2_score, roc_auc_score

from embedalloc import EmbeddingAllocator
from embedalloc.command_line import main
from embedalloc.data.comparison import compare_rules
from embedalloc.data.comparison_result import paired_difference
from embedalloc.data.table import find_task, learn_encoding
from embedalloc.data.yardsticks import score_losses
from tests.oracles.simulated_tables import make_table


def run(*arguments):
    return CliRunner().invoke(main, [*map(str, arguments)])


@pytest.fixture(scope="module")
def sales(tmp_path_factory):
    frame, y = make_table(0, rows=300, signal=(5, 12), noise=(40,))
    frame["bought"] = np.where(y == 1, "yes", "no")
    path = tmp_path_factory.mktemp("data") / "sales.csv"
    frame.to_csv(path, index=False)
    return path


def test_plan_reads_well_in_80_columns(sales):
    done = run("plan", sales, "--target", "bought", "--budget", 200, "--fixed", "signal0=2")
    assert done.exit_code == 0
    assert max(map(len, done.stderr.splitlines()[1:])) <= 80
    assert "target bought: 2 classes\n" in done.stderr
    assert "  signal0  table     5 levels\n" in done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    head = lines[0].split()
    assert head[:2] == ["field", "levels"]
    assert head[-2:] == ["worth", "decision"]
    assert lines[1].split()[:2] == ["signal0", "6"]
    assert lines[1].endswith("fixed by you")
    assert "Does the plan beat equal dimensions?" in done.stdout
    column = lines[0].index("params") + len("params")
    spent = sum(int(line[:column].split()[-1]) for line in lines[1:4])
    assert f"screened: {spent} of 200 parameters" in done.stdout


def test_plan_fits_a_budget_below_one_dimension_per_level(sales):
    done = run("plan", sales, "--target", "bought", "--budget", 9, "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["spent"] <= 9


def test_plan_from_parquet_as_json_is_the_same(sales, tmp_path):
    # Not by pandas, whose version 2 reads some numbers a last digit off.
    pyarrow.parquet.write_table(pyarrow.csv.read_csv(sales), tmp_path / "sales.parquet")
    words = ("--target", "bought", "--bytes", "800 B", "--json", "--rule", "paper")
    found = json.loads(run("plan", tmp_path / "sales.parquet", *words).stdout)
    assert found == json.loads(run("plan", sales, *words).stdout)
    assert found["budget"] == 200
    assert found["task"] == "binary"
    assert set(found["dimensions"]) == {"signal0", "signal1", "noise0"}


def test_plan_exports_and_draws(sales, tmp_path):
    words = ("plan", sales, "--target", "bought", "--budget", 200, "--rule", "equal")
    found = json.loads(run(*words, "--export", "fastai", "--plot", tmp_path / "plan.png").stdout)
    assert list(found) == ["signal0", "signal1", "noise0"]
    with Image.open(tmp_path / "plan.png") as picture:
        assert picture.width > 800


def test_numbers_as_categories_and_columns_left_out(sales):
    frame = pd.read_csv(sales)
    frame["week"] = np.arange(len(frame)) % 50
    frame["id"] = [f"r{k}" for k in range(len(frame))]
    path = sales.with_name("more.csv")
    frame.to_csv(path, index=False)
    words = ("--target", "bought", "--budget", 300, "--rule", "equal", "--json")
    found = json.loads(run("plan", path, *words, "--categorical", "week", "--ignore", "id").stdout)
    assert list(found["dimensions"]) == ["signal0", "signal1", "noise0", "week"]
    again = run("plan", path, *words, "--categorical", "week", "--ignore", "id", "--numeric", "id")
    assert json.loads(again.stdout) == found  # a column that is left out need not be numbers


def test_every_option_of_the_estimator_is_one_of_the_command():
    """But for those that a file, a bar or another name stands for."""
    options = {each.name for each in main.get_command(click.Context(main), "plan").params}
    renamed = {"columns": "categorical", "random_state": "seed"}
    wanted = {renamed.get(name, name) for name in EmbeddingAllocator().get_params()} - {
        "progress",
        "tables",
    }
    assert wanted <= options


def test_without_a_budget_one_is_stated(sales):
    """Levels 5, 12 and 40, each with one for the unseen: 60 levels and three dimensions."""
    words = (sales, "--target", "bought")
    done = run("plan", *words, "--rule", "equal", "--json")
    assert "budget: 180 parameters, 3 dimensions of every field\n" in done.stderr
    assert json.loads(done.stdout)["budget"] == 180
    done = run("compare", *words, "--rules", "equal", "--splits", 2, "--epochs", 1, "--json")
    assert json.loads(done.stdout)["budget"] == 180
    frame = pd.read_csv(sales)
    fit = EmbeddingAllocator(rule="equal").fit(frame.drop(columns="bought"), frame["bought"])
    assert fit.budget_ == 180


def test_limits_of_all_fields_and_of_one(sales):
    words = ("plan", sales, "--target", "bought", "--budget", "4 kB", "--rule", "equal", "--json")
    words = (*words, "--maximum", 3, "--maximum", "signal1=5", "--epochs", 2, "--max-rows", 100)
    found = json.loads(run(*words).stdout)
    assert (found["budget"], found["rows_used"]) == (1000, 100)
    assert found["dimensions"] == {"signal0": 3, "signal1": 5, "noise0": 3}
    found = json.loads(run(*words, "--minimum", "noise0=2", "--fixed", "signal0=1").stdout)
    assert found["dimensions"] == {"signal0": 1, "signal1": 5, "noise0": 3}
    done = run(*words, "--minimum", "shop=2")
    assert "minimum: 'shop' is not a categorical column" in done.stderr


GOOD = "a,x,y\n" + "".join(f"{'pqr'[k % 3]},{k},{k % 2}\n" for k in range(30))
TWICE = "a,y\n" + "".join(f"{'pqr'[k % 3]},{'pq'[k % 2]}\n" for k in range(30))
NAMES = "".join(f"n{k},{k % 2}\n" for k in range(30))


@pytest.mark.parametrize("command", ["plan", "compare"])
@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (None, (), "data.csv: No such file or directory"),
        ("", (), "data.csv: the file is empty"),
        ("a,y\n", (), "data.csv: no rows"),
        (b"a,y\n\xff,1\n", ("--encoding", "utf-8"), "byte 4 is not utf-8; name the encoding"),
        ("a,y\n1,2\n1,2,3\n1\n", (), "line 3 has 3 cells, the header has 2; mend it"),
        ("a,a,y\n1,2,3\n", (), "column 'a' is there twice; rename one"),
        (GOOD, ("--target", "z"), "--target: no column 'z'; there are 'a', 'x', 'y'"),
        (GOOD.replace(",0\n", ",1\n"), (), "target 'y' is '1' in all 30 rows"),
        (GOOD.replace(",0\n", ",\n"), (), "target 'y' is '1' in all 15 rows"),
        (re.sub(",[01]\n", ",\n", GOOD), (), "target 'y' is missing in every row"),
        (GOOD, ("--ignore", "a"), "so there is nothing to embed; name columns of codes"),
        (GOOD, ("--fixed", "a=2", "--budget", "3"), "budget 3 is below 8, the cost of"),
        (GOOD, ("--budget", "many"), "--budget: 'many' is neither a number of parameters"),
        (GOOD, ("--bytes", "64 XB"), "'XB' in '64 XB' is not a unit"),
        (GOOD, ("--numeric", "a"), "column 'a' holds 'p' in row 1, which is not a number"),
        (GOOD, ("--fixed", "a=two"), "--fixed: 'a=two' is not NAME=DIM"),
        (GOOD, ("--fixed", "x=2"), "--fixed: 'x' is not a categorical column"),
        (GOOD, ("--categorical", "b"), "--categorical: no column 'b'"),
        ("b,y\n" + NAMES, (), "no categorical column"),
        (TWICE, ("--task", "regression", "--target", "y"), "'p' is not a number"),
    ],
)
def test_mistakes_end_in_one_line(tmp_path, command, content, options, message):
    path = tmp_path / "data.csv"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    words = options if "--target" in options else ("--target", "y", *options)
    done = run(command, path, *words)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    *roles, last = done.stderr.splitlines()
    assert last.startswith("Error: ")
    assert message in last
    assert not roles or "column" in done.stderr  # the roles, where it came as far as that


def test_roles_are_shown_before_the_work_and_can_be_changed(tmp_path):
    rng = np.random.default_rng(0)
    codes = rng.integers(10_000, 10_040, size=400)
    frame = pd.DataFrame(
        {
            "id": np.arange(400),
            "when": [f"{1 + k % 28}.{1 + k % 12}.2020" for k in range(400)],
            "price": [f"${1000 + k * 3:,}.50" for k in range(400)],
            "share": [f"{k % 97}.5 %" for k in range(400)],
            "code": [f"{k % 7:03}" for k in range(400)],
            "month": np.arange(400) % 12 + 1,
            "zip": codes,
            "size": rng.integers(100, size=400),
            "name": [f"n {k}" for k in range(400)],
            "same": "x",
            "town": np.where(np.arange(400) % 3, "A", "NA"),
            "y": rng.normal(size=40)[codes - 10_000] + 0.1 * rng.normal(size=400),
        }
    )
    frame.loc[:9, "y"] = np.nan
    frame.to_csv(tmp_path / "data.csv", index=False, sep=";")
    words = ("plan", tmp_path / "data.csv", "--target", "y", "--budget", 900, "--rule", "equal")
    done = run(*words, "--json")
    expected = f"""{tmp_path}/data.csv: 390 rows
cells are separated by semicolons
10 of 400 rows have no 'y' and are left out
target y: a number
  column  taken as    why
  id      identifier  it counts the rows
  when    date        month, weekday, days since 2020-01-01
  price   number      with commas for thousands
  share   number
  code    table       7 levels
  month   table       only 12 different whole numbers
  zip     table       40 whole numbers that act as codes
  size    number      97 different whole numbers
  name    identifier  390 different values in 390 rows
  same    ignored     one value only
  town    table       2 levels; NA is a level
If a guess is wrong: --categorical NAME, --numeric NAME or --ignore NAME.
If NA means that a value is missing: --missing NA

"""
    assert done.stderr.startswith(expected)
    fields = list(json.loads(done.stdout)["dimensions"])
    assert fields == ["when month", "when weekday", "code", "month", "zip", "town"]
    named = ("--numeric", "month", "--numeric", "when", "--categorical", "size", "--ignore", "zip")
    done = run(*words, "--json", *named, "--missing", "NA", "--categorical", "price")
    assert list(json.loads(done.stdout)["dimensions"]) == ["price", "code", "size"]
    assert "  when    date        days since 2020-01-01\n" in done.stderr
    assert "  month   number      named by you\n" in done.stderr
    assert "  zip     ignored     named by you\n" in done.stderr
    assert "  town    ignored     one value only\n" in done.stderr


def test_a_missing_file_is_told_before_the_heavy_imports(tmp_path):
    code = (
        "import sys; from embedalloc.command_line import main\n"
        "try: main(['plan', 'none.csv', '--target', 'y'])\n"
        "except SystemExit as end: assert end.code == 2\n"
        "heavy = {'torch', 'pandas', 'sklearn', 'scipy', 'pyarrow'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "Error: none.csv: No such file or directory\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--rule", "best"), "unknown allocation rule 'best'"),
        (("--plot", "plan.gif"), "plan.gif is none of .png, .pdf, .svg"),
        (("--plot", "nowhere/plan.png"), "nowhere is not a folder"),
        (("--json", "--export", "keras"), "both want the output"),
    ],
)
def test_plan_refuses_wrong_options_before_reading(tmp_path, options, message):
    done = run("plan", tmp_path / "none.csv", "--target", "y", *options)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_damaged_parquet_file_is_named(tmp_path):
    path = tmp_path / "data.parquet"
    path.write_bytes(b"PAR1 no")
    done = run("plan", path, "--target", "y")
    assert done.exit_code == 2
    assert "data.parquet: not a parquet file" in done.stderr
    assert done.stderr.count("\n") == 1


def test_compare_reads_well_and_all_rules_keep_the_budget(sales):
    words = ("compare", sales, "--target", "bought", "--budget", 150, "--splits", 2)
    done = run(*words, "--rules", "screened,square_root,equal", "--epochs", 3)
    assert done.exit_code == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "mean of 2 splits; budget 150 for every rule" in " ".join(done.stdout.split())
    for yardstick in ("equal, restarts", "effects only", "one-hot ridge", "gradient boosting"):
        assert re.search(rf"^{yardstick} +\d", done.stdout, re.MULTILINE)
    head = done.stdout.splitlines()[1].split()
    assert head[:3] == ["rule", "loss", "AUC"]
    assert re.search("^dimension of +equal +screened +square_root$", done.stdout, re.MULTILINE)
    assert "step 10 of at most 10 done" in done.stderr


def test_compare_says_when_rules_are_the_same(sales):
    words = ("compare", sales, "--target", "bought", "--splits", 2, "--epochs", 1)
    done = run(*words, "--budget", 10**5, "--rules", "paper")  # pays for full rank everywhere
    assert "paper and equal chose the same tables in every split." in done.stdout
    assert "These are the dimensions of the first split." in done.stdout
    frame = pd.read_csv(sales)
    fields = ["signal0", "signal1", "noise0"]
    found = compare_rules(frame[fields], frame["bought"], fields, 10**5, [], splits=2, epochs=1)
    assert found.same == ()
    told = str(replace(found, same=(("equal", "paper", 1),)))
    assert "paper and equal chose the same tables in 1 of 2 splits." in told


def test_compare_as_json(sales):
    words = ("compare", sales, "--target", "bought", "--budget", 150, "--splits", 2, "--json")
    done = run(*words, "--rules", "equal,square_root", "--epochs", 2)
    found = json.loads(done.stdout)
    yardsticks = {"equal, restarts", "effects only", "one-hot ridge", "gradient boosting"}
    assert set(found["losses"]) == {"equal", "square_root", *yardsticks}
    assert set(found["dimensions"]["equal"]) == {"signal0", "signal1", "noise0"}
    assert max(found["parameters"]["square_root"]) <= 150
    expected = np.mean(found["losses"]["square_root"]) - np.mean(found["losses"]["equal"])
    assert found["differences"]["square_root"]["mean"] == pytest.approx(expected)
    assert "equal dimensions" in done.stderr.splitlines()[-1]


def test_compare_refuses_auto_and_unknown_rules(sales):
    assert "needs one number" in run("compare", sales, "--target", "y", "--budget", "auto").stderr
    done = run("compare", sales, "--target", "bought", "--rules", "equal,best")
    assert "unknown allocation rule 'best'" in done.stderr


def test_intervals_by_hand():
    """Four differences with mean 2 and variance 4; t(0.975, 3) = 3.18245; test/train = 1/3."""
    found = paired_difference(np.array([0.0, 1.0, 3.0, 4.0]), 1 / 3)
    deviation = np.sqrt(10 / 3)
    assert found.mean == 2.0
    assert found.interval[1] == pytest.approx(2 + 3.182446 * deviation / 2, rel=1e-5)
    assert found.corrected[0] == pytest.approx(
        2 - 3.182446 * deviation * np.sqrt(1 / 4 + 1 / 3), rel=1e-5
    )
    assert np.isnan(paired_difference(np.array([1.0]), 0.3).interval[0])


def test_a_comparison_is_paired_and_repeatable(sales):
    frame = pd.read_csv(sales)
    target = frame.pop("bought").to_numpy(dtype=object)
    words = {"splits": 2, "epochs": 2, "seed": 4}
    fields = ["signal0", "signal1", "noise0"]
    one = compare_rules(frame, target, fields, 60, ["equal", "unit"], **words)
    again = compare_rules(frame, target, fields, 60, ["unit"], jobs=2, **words)
    pd.testing.assert_frame_equal(one.losses, again.losses)
    assert (one.parameters <= 60).all(axis=None)
    assert "No rule differs clearly" in str(one) or "than equal" in str(one)


def test_scores_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    for kind, known in (("binary", roc_auc_score), ("multiclass", accuracy_score)):
        frame, y = make_table(2, rows=200, signal=(5,), noise=(), kind=kind)
        _, data = learn_encoding(frame, y, ["signal0"], task=find_task(y))
        classes = len(data.task.classes)
        chances = rng.dirichlet(np.ones(classes), size=len(data))
        found = score_losses(-np.log(chances).T.ravel(), data)
        answers = chances[:, 1] if kind == "binary" else chances.argmax(axis=1)
        assert found.score == pytest.approx(known(data.target, answers))
        assert found.loss == pytest.approx(log_loss(data.target, chances))
    target = rng.normal(size=50).astype(np.float32)
    data = data.take(np.arange(50))
    data = replace(data, target=target, task=find_task(target))
    found = score_losses((target - 0.5 * target) ** 2, data)
    assert found.score == pytest.approx(r2_score(target, 0.5 * target))


def test_options_from_a_file_and_back(sales, tmp_path):
    """A saved configuration gives the same plan, without a guess; the command line comes first."""
    saved, other = tmp_path / "plan.yaml", tmp_path / "again.yaml"
    words = ("--rule", "equal", "--json", "--maximum", "noise0=2", "--save-config")
    done = run("plan", sales, "--target", "bought", *words, saved)
    again = run("plan", "--config", saved, "--save-config", other)
    assert done.exit_code == 0
    assert again.stdout == done.stdout
    assert "If a guess is wrong" not in again.stderr
    settings, more = (yaml.safe_load(each.read_text()) for each in (saved, other))
    assert settings == more
    assert settings["categorical"] == ["signal0", "signal1", "noise0"]
    assert settings["budget"] == 180
    assert settings["task"] == "classification"
    found = json.loads(run("plan", "--config", saved, "--budget", 120).stdout)
    assert found["budget"] == 120
    names = {each.removeprefix("--") for each in all_options("plan")}
    assert set(settings) <= names | {"data"}


def all_options(command):
    parameters = main.get_command(click.Context(main), command).params
    return {name for each in parameters for name in each.opts}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("budgt: 3", "'budgt' is not an option of plan; did you mean 'budget'?"),
        ("- a", "holds no options"),
        ("a: [", "is not YAML"),
        ("target: [a, b]", "target: 2 values, and one is wanted"),
        ("max_rows: many\ntarget: bought", "'many' is not a valid integer"),
    ],
)
def test_a_wrong_configuration_is_one_line(sales, tmp_path, text, message):
    path = tmp_path / "plan.yaml"
    path.write_text(text)
    done = run("plan", sales, "--config", path)
    assert done.exit_code == 2
    assert message in done.stderr


def test_verdict_and_warnings_go_to_standard_error_and_output_to_a_file(sales, tmp_path):
    words = ("plan", sales, "--target", "bought", "--budget", 120, "--epochs", 2)
    page, picture, output = (tmp_path / name for name in ("p.html", "p.svg", "plan.json"))
    done = run(*words, "--json", "--output", output, "--html", page, "--plot", picture)
    assert done.exit_code == 0
    assert done.stdout == ""
    assert "Does the plan beat equal dimensions?" in done.stderr
    assert json.loads(output.read_text())["budget"] == 120
    ElementTree.parse(picture)
    text = page.read_text()
    assert text.count("<tr>") == 4
    assert "Does the plan beat equal dimensions?" in text
    assert "http" not in text.replace("http-equiv", "")  # it needs nothing from elsewhere
    assert "prefers-color-scheme: dark" in text


def test_groups_times_and_weights_from_columns(sales, tmp_path):
    frame = pd.read_csv(sales)
    frame["shop"] = np.arange(len(frame)) % 30
    frame["day"] = pd.date_range("2021-01-01", periods=len(frame)).astype("str")
    frame["counts"] = np.arange(len(frame)) % 4 + 1
    path = tmp_path / "more.csv"
    frame.to_csv(path, index=False)
    words = ("plan", path, "--target", "bought", "--budget", 200, "--epochs", 2, "--json")
    plain = json.loads(run(*words, "--ignore", "shop", "--ignore", "counts").stdout)
    for option in (
        ("--group", "shop", "--ignore", "counts"),
        ("--weight", "counts"),
        ("--time", "day"),
    ):
        done = run(*words, *option)
        assert done.exit_code == 0, done.stderr
        assert json.loads(done.stdout)["candidates"] != plain["candidates"]
    assert "counts   ignored   it says what rows count" in run(*words, "--weight", "counts").stderr
    assert "--group: no column 'user'" in run(*words, "--group", "user").stderr
    frame["counts"] = -1
    frame.to_csv(path, index=False)
    assert "-1.0 in row 1 is not a number of 0 or" in run(*words, "--weight", "counts").stderr
