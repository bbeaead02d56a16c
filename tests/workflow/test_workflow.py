"""The workflow as a user runs it: all targets, reruns, edits, and mistakes in the config."""

import hashlib
import os
import re
import shutil
import zipfile
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from embedalloc.study.heart.patients import PATIENTS
from embedalloc.study.multiverse.summary import SHARES
from embedalloc.study.workflow.tables import read_table
from tests.places import ROOT, SMOKE
from tests.study.heart.test_patients import csv_rows, write_csv
from tests.study.workflow.test_dependencies import EDITS
from tests.workflow.runner import TARGETS, complete, copy_study, planned, run

FIGURES = list(yaml.safe_load((ROOT / "workflow/report/figures.yaml").read_text()))
TABLES = [f"table1{kind}.{suffix}" for kind in ("", "_paired") for suffix in ("csv", "md", "tex")]
TABLES += ["table1_wide.tex", "table1_audit.md", "claims.md", "report.html"]


def digests(directory, pattern):
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.glob(pattern))
    }


@pytest.fixture(scope="module")
def finished(finished_run):
    """A project with the smoke configuration run to the end."""
    return finished_run.project


def test_every_target_is_made(finished):
    for name in FIGURES:
        assert (finished / f"figures/{name}.pdf").read_bytes().startswith(b"%PDF")
        assert (finished / f"figures/{name}.png").read_bytes().startswith(b"\x89PNG")
    made = {path.stem for path in (finished / "figures").glob("*.pdf")}
    assert made == set(FIGURES)
    for name in TABLES:
        assert "one" in (finished / "figures" / name).read_text()
    logs = [path.read_text() for path in (finished / "results/logs").rglob("*.log")]
    assert len(logs) >= 25
    assert all("s of CPU time" in log for log in logs)


def flaws_told(log):
    """What a figure's job says of its figure; see `find_flaws`."""
    return [line for line in log.read_text().splitlines() if ".pdf: " in line]


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_can_be_read_in_print(finished, name):
    assert flaws_told(finished / f"results/logs/plot_{name}.log") == []


def test_the_page_is_of_this_run(finished):
    """Its numbers are those of the configuration that ran, and it says which one that was."""
    page = (finished / "figures/report.html").read_text()
    assert "This run does not use the default configuration." in page
    assert page.count("data:image/png;base64,") == len(FIGURES)
    assert "not run from a git checkout" in page
    # Multiverse, benchmarks, archive and real tables are targets of their own.
    others = ("multiverse.smk", "benchmarks.smk", "archive.smk", "tables.smk", "sweep.smk")
    rules = [p for p in (finished / "workflow/rules").glob("*.smk") if p.name not in others]
    made = re.findall(r"^rule (\w+):", "".join(r.read_text() for r in rules), flags=re.MULTILINE)
    for rule in {*made} - {*TARGETS, *PAGE}:
        assert f"<code>{rule}</code>" in page, rule


def test_snakemakes_own_report_holds_every_figure_and_table(finished):
    complete(finished, "--report", "own.zip", project=finished)
    with zipfile.ZipFile(finished / "own.zip") as report:
        held = {Path(name).name for name in report.namelist()}
    (finished / "own.zip").unlink()
    tables = [name for name in TABLES if name.endswith((".md", ".html"))]
    assert {*(f"{name}.pdf" for name in FIGURES), *tables} <= held


def test_running_again_does_nothing_and_touching_changes_nothing(finished):
    assert planned(finished, project=finished) == {}
    for path in finished.rglob("*"):
        if ".snakemake" not in path.parts and path.suffix != ".log":
            path.touch()
    assert planned(finished, project=finished) == {}


def backwards(settings):
    """The same settings with every block's keys in the opposite order."""
    if not isinstance(settings, dict):
        return [backwards(s) for s in settings] if isinstance(settings, list) else settings
    return {key: backwards(settings[key]) for key in reversed(settings)}


def test_the_order_of_keys_in_the_configuration_changes_nothing(finished):
    config = finished / "config.yaml"
    before = config.read_text()
    config.write_text(yaml.safe_dump(backwards(yaml.safe_load(before)), sort_keys=False))
    plan = planned(finished, project=finished)
    config.write_text(before)
    assert plan == {}


@contextmanager
def edited(path):
    """Add a line to a file and take it away again."""
    before, times = path.read_text(), path.stat()
    path.write_text(before + "\nEDITED = True\n")
    try:
        yield
    finally:
        path.write_text(before)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


#: Verdicts and page follow whatever changes; some edits change the page alone.
PAGE = {"write_report": 1, "tabulate_targets": 1}
VERDICT = {"judge_claims": 1} | PAGE
EXP1 = {"simulate_exp1": 3}
EXP2 = {"simulate_exp2": 4}
EXP3 = {"simulate_exp3": 2}
THEORY = {
    f"simulate_theory_{part}": 1
    for part in ("approximation", "alternating", "generalisation", "allocation")
}
PLOTS = {f"plot_{name}": 1 for name in FIGURES}
HEART_PLOTS = {rule: 1 for rule in PLOTS if "heart" in rule or "final" in rule}
WARM = {"compile_heart": 1}
HEART = HEART_PLOTS | {
    "train_heart": 2,
    "select_heart": 1,
    "score_heart": 1,
    "time_heart": 1,
    "tabulate_heart": 1,
}


def plots(experiment):
    return {rule: 1 for rule in PLOTS if experiment in rule}


def theory(*parts):
    """Jobs of some figures of Section 2: each is one simulation and one plot."""
    return {f"{kind}_theory_{part}": 1 for part in parts for kind in ("simulate", "plot")}


def edit_everywhere(project):
    """Make every edit at once that no job may notice."""
    for edit, rules in EDITS.values():
        if not rules:
            edit(project)


def test_words_layout_and_place_rerun_nothing(clone, tmp_path):
    assert planned(clone, project=clone) == {}
    moved = clone.rename(tmp_path / "moved")
    edit_everywhere(moved)
    assert planned(moved, project=moved) == {}


def test_editing_a_module_reruns_what_imports_it_and_what_follows(clone):
    """Which rules an edit reaches stands in a table of its own; here is what follows from them."""
    with edited(clone / "src/embedalloc/greedy.py"):
        plan = planned(clone, project=clone)
    assert plan == EXP3 | plots("exp3") | theory("allocation") | HEART | VERDICT


def test_an_edit_counts_whatever_the_date_of_the_file(clone):
    script = clone / "scripts/plot_exp1_gap.py"
    with edited(script):
        os.utime(script, (0, 0))
        assert planned(clone, project=clone) == {"plot_exp1_gap": 1} | VERDICT


@pytest.mark.parametrize("path", ["", f"{ROOT / 'src'}:{ROOT}"])
def test_a_clone_runs_its_own_code_in_the_environment_of_another(tmp_path, path):
    """The package that Python finds is that of another clone: installed, or first on its path."""
    project = copy_study(tmp_path / "clone")
    cells = project / "src/embedalloc/study/workflow/start.py"
    cells.write_text(cells.read_text() + "\nprint('rules of the clone')\n")
    job = project / "src/embedalloc/study/workflow/job.py"
    job.write_text(job.read_text().replace('f"done in', 'f"job of the clone, done in'))
    target = "results/heart/patients.parquet"
    said = complete(project, target, project=project, environment={"PYTHONPATH": path})
    assert "rules of the clone" in said
    assert "job of the clone" in (project / "results/logs/prepare_heart.log").read_text()


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("src/embedalloc/study/page/report.py", PAGE),
        ("src/embedalloc/study/claims/exp1.py", VERDICT),
        ("workflow/report/page.css", PAGE),
        ("workflow/report/exp1_main.rst", PAGE),
        ("workflow/choices.yaml", PAGE),
        ("workflow/claims.yaml", VERDICT),
    ],
)
def test_words_and_looks_change_the_page_alone(finished, file, expected):
    with edited(finished / file):
        assert planned(finished, project=finished) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"exp3": {"ridge": 1e-3}}, EXP3 | plots("exp3")),
        ({"theory": {"approximation": {"replications": 4}}}, theory("approximation")),
        ({"exp2": {"curve_observations": [200, 500, 700]}},
         {"simulate_exp2": 2, "plot_exp2_optimal_dimension": 1}),
        ({"exp1": {"designs": {"exponential": {"rate": 0.9}}}},
         {"simulate_exp1": 1} | plots("exp1")),
        ({"heart": {"tolerance": 0.5}}, {r: n for r, n in HEART.items() if r != "select_heart"}
         | {"tabulate_heart": 1}),
        ({"audit": {"largest_test_set": 300}}, {"audit_table1": 1}),
        ({"claims": {"draws": 50}}, {}),
        ({"heart": {"splits": 6}},
         {"train_heart": 1, "score_heart": 1, "time_heart": 1, "tabulate_heart": 1} | HEART_PLOTS),
    ],
)  # fmt: skip
def test_a_change_of_config_reruns_only_its_cells(finished, tmp_path, change, expected):
    base = yaml.safe_load(SMOKE.read_text())
    for block, values in change.items():
        for key, value in values.items():
            nested = isinstance(base.setdefault(block, {}).get(key), dict)
            base[block][key] = base[block][key] | value if nested else value
    config = tmp_path / "changed.yaml"
    config.write_text(yaml.safe_dump(base))
    assert planned(finished, project=finished, config=config) == expected | VERDICT


def test_one_figure_can_be_made_alone_and_bytes_are_stable(finished, tmp_path):
    """A figure by name, on one core, with other thread settings: the same bytes."""
    threads = {"OMP_NUM_THREADS": "8", "OPENBLAS_NUM_THREADS": "8"}
    complete(
        tmp_path, "figures/exp3_performance.pdf", cores=1, project=finished, environment=threads
    )
    again = digests(tmp_path, "figures/*") | digests(tmp_path, "results/exp3/**/*.parquet")
    assert len(again) == 3  # PDF, PNG and the table behind them
    for name, digest in again.items():
        assert hashlib.sha256((finished / name).read_bytes()).hexdigest() == digest, name


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (
            "exp1: {replications: -4}\nexp2: {spectrum: {decay: odd}, nosie: 1.0, noise: [1.0]}\n",
            [
                "exp1.replications: -4 must be at least 2",
                "exp2.spectrum.decay: 'odd' must be one of polynomial",
                "unknown key 'nosie'; did you mean 'noise'?",
                "exp2.noise: [1.0] must be a number",
            ],
        ),
        (
            "exp3: {budgets: [299]}\n"
            "theory: {alternating: {dimensions: [2]}}\n"
            "heart: {data: ../elsewhere}\n",
            [
                "exp3.budgets[0]: 299 must be at least 300",
                "theory.alternating.dimensions: [2] must have one entry per cardinality, 2",
                "heart.data: '../elsewhere' must stay inside the project",
            ],
        ),
    ],
    ids=["mistakes in single keys", "keys that contradict each other"],
)
def test_a_wrong_configuration_stops_before_any_job(tmp_path, text, messages):
    """All mistakes of a kind in one message; each alone is in `tests/study/workflow`."""
    config = tmp_path / "wrong.yaml"
    config.write_text(text)
    process = run(tmp_path, config=config)
    assert process.returncode != 0
    for message in messages:
        assert message in process.stdout
    assert "Traceback" not in process.stdout
    assert not (tmp_path / "results").exists()


def test_each_part_can_be_made_alone(tmp_path):
    assert planned(tmp_path, "theory") == THEORY | plots("theory")
    assert planned(tmp_path, "exp2") == EXP2 | plots("exp2")
    assert planned(tmp_path, "heart") == HEART | WARM | {"prepare_heart": 1, "audit_table1": 1}


def test_what_each_target_costs_is_counted_from_its_own_jobs(finished):
    lines = (finished / "figures/targets.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if "`" in line]
    jobs, disk = ({row[0]: float(row[at]) for row in rows if row[1:]} for at in (1, 4))
    plan = planned(finished, "all", "--forceall", project=finished)
    assert jobs["`all`"] == sum(plan.values()) - 1  # but for the table itself
    parts = ("`theory`", "`exp1`", "`exp2`", "`exp3`", "`heart`")
    assert sum(jobs[part] for part in parts) == jobs["`figures/claims.md`"] - 1
    assert jobs["`figures/claims.md`"] == jobs["`all`"] - 1
    made = [*finished.glob("results/**/*.parquet"), *finished.glob("figures/*")]
    made += [finished / "results/audit.json", finished / "results/heart/trainer.compiled"]
    size = sum(path.stat().st_size for path in made if path.stem != "targets")
    assert disk["`all`"] == pytest.approx(size / 1e6, abs=0.05)


def test_the_patients_may_come_as_one_csv_file(clone, finished, tmp_path):
    """The same scores as from the four files, and a page that names the file.

    Here and below by the code of the finished run, which has compiled the trainer.
    """
    patients = read_table(clone / "results/heart/patients.parquet", PATIENTS)
    data = write_csv(tmp_path / "heart_disease_uci.csv", csv_rows(patients))
    settings = yaml.safe_load(SMOKE.read_text())
    settings["heart"]["data"] = str(data)
    config = tmp_path / "csv.yaml"
    config.write_text(yaml.safe_dump(settings))
    scores = "results/heart/scores.parquet"
    complete(clone, scores, project=finished, config=config)
    assert (clone / scores).read_bytes() == (finished / scores).read_bytes()
    complete(clone, "figures/report.html", project=finished, config=config)
    assert data.name in (clone / "figures/report.html").read_text()


def test_the_multiverse_is_a_target_of_its_own(clone, finished):
    """Shares, deciding choices, regret and their page; the study is the same with and without."""
    assert "simulate_multiverse" not in planned(clone, "--forceall", project=finished)
    complete(clone, "multiverse", project=finished)
    for name in ("multiverse_curves", "multiverse_choices", "exp3_regret"):
        assert (clone / f"figures/{name}.pdf").read_bytes().startswith(b"%PDF")
        assert (clone / f"figures/{name}.png").read_bytes().startswith(b"\x89PNG")
        assert flaws_told(clone / f"results/logs/plot_{name}.log") == []
    shares = read_table(clone / "results/multiverse/shares.parquet", SHARES)
    page = (clone / "figures/multiverse.md").read_text()
    assert all(f"`{claim}`" in page for claim in shares["claim"])
    assert "response-aware" in (clone / "figures/exp3_regret.md").read_text()
    assert planned(clone, "multiverse", project=finished) == {}
    page = (clone / "figures/multiverse.html").read_text()
    assert page.count("data:image/png;base64,") == 3
    for claim in shares["claim"]:
        assert f"<code>{claim}</code>" in page
    assert planned(clone, project=finished) == {}
    complete(clone, "--force", "figures/claims.md", project=finished)
    assert digests(clone, "figures/claims.md") == digests(finished, "figures/claims.md")
    for folder in ("results/multiverse", "results/exp3_regret"):
        shutil.rmtree(clone / folder)
    for path in clone.glob("figures/multiverse*"):
        path.unlink()
    assert {*planned(clone, project=finished)} <= {"tabulate_targets"}  # counts the costs anew


def test_rules_follow_the_house():
    """Stem of script = rule name; docstring, log and benchmark everywhere; no run blocks."""
    for path in sorted((ROOT / "workflow/rules").glob("*.smk")):
        text = path.read_text()
        assert text.startswith("# "), path
        assert "exists" not in text, path  # what was built before does not count
        assert "run:" not in text
        for rule in re.split(r"^rule ", text, flags=re.MULTILINE)[1:]:
            name = rule.split(":", 1)[0]
            assert re.match(rf'{name}:\n    """.+"""\n', rule), name
            if name in TARGETS:
                assert set(re.findall(r"^    (\w+):", rule, flags=re.MULTILINE)) == {"input"}
                continue
            assert f'"../../scripts/{name}.py"' in rule
            assert "log:" in rule
            assert "benchmark:" in rule
            assert 'conda:\n        "../../environment.yml"' in rule
            assert f'code=code_of("{name}")' in rule
    everything = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    scripts = {path.stem for path in (ROOT / "scripts").glob("*.py")}
    rules = set(re.findall(r"^rule (\w+):", everything, flags=re.MULTILINE))
    assert scripts == rules - set(TARGETS)
    assert len((ROOT / "Snakefile").read_text().splitlines()) <= 72
