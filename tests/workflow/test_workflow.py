"""The workflow as a user runs it: all targets, reruns, edits, and mistakes in the config."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from embedalloc.study.multiverse.summary import SHARES
from embedalloc.study.workflow.tables import read_table

ROOT = Path(__file__).resolve().parents[2]
SMOKE = ROOT / "tests/smoke.yaml"
FIGURES = [
    "theory_approximation",
    "theory_alternating",
    "theory_generalisation",
    "theory_allocation",
    "exp1_main",
    "exp1_gap",
    "exp1_loglog",
    "exp2_train_test",
    "exp2_decomposition",
    "exp2_optimal_dimension",
    "exp3_performance",
    "exp3_performance_samplesize",
    "exp3_allocations",
    "final_allocation",
    "heart_budget",
    "heart_metrics",
    "heart_pilot",
]
TABLES = [f"table1{kind}.{suffix}" for kind in ("", "_paired") for suffix in ("csv", "md", "tex")]
TABLES += ["table1_audit.md", "claims.md", "report.html"]
#: Rules that only name files to be made.
TARGETS = ("all", "theory", "benchmarks", "multiverse")


def snakemake(directory, *arguments, project=ROOT, config=SMOKE, env=None):
    """Run snakemake in a directory of its own and return the finished process."""
    command = [sys.executable, "-m", "snakemake", *arguments]
    command += ["--snakefile", str(project / "Snakefile"), "--directory", str(directory)]
    command += ["--nocolor"] if "--cores" in arguments else ["--nocolor", "--cores", "2"]
    command += ["--configfile", str(config)] if config else []
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=directory,
        env=os.environ | {"PYTHONPATH": str(project / "src")} | (env or {}),
    )


def planned(process):
    """Rules that a dry run would execute, with their counts."""
    assert process.returncode == 0, process.stdout + process.stderr
    table = re.search(r"^job +count\n-+ +-+\n((?:.+\n)+?)total", process.stdout, flags=re.MULTILINE)
    if table is None:
        assert "Nothing to be done" in process.stdout + process.stderr
        return {}
    rows = (line.split() for line in table[1].splitlines())
    return {rule: int(count) for rule, count in rows if rule not in TARGETS}


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


def test_the_page_is_of_this_run(finished):
    """Its numbers are those of the configuration that ran, and it says which one that was."""
    page = (finished / "figures/report.html").read_text()
    assert "This run does not use the default configuration." in page
    assert page.count("data:image/png;base64,") == len(FIGURES)
    assert "not run from a git checkout" in page
    # Multiverse and benchmarks are targets of their own.
    others = ("multiverse.smk", "benchmarks.smk")
    rules = [p for p in (finished / "workflow/rules").glob("*.smk") if p.name not in others]
    made = re.findall(r"^rule (\w+):", "".join(r.read_text() for r in rules), flags=re.MULTILINE)
    for rule in {*made} - {*TARGETS, "write_report"}:
        assert f"<code>{rule}</code>" in page, rule


def test_snakemakes_own_report_holds_every_figure_and_table(finished):
    done = snakemake(finished, "--report", "own.zip", project=finished)
    assert done.returncode == 0, done.stdout + done.stderr
    with zipfile.ZipFile(finished / "own.zip") as report:
        held = {Path(name).name for name in report.namelist()}
    (finished / "own.zip").unlink()
    tables = [name for name in TABLES if name.endswith((".md", ".html"))]
    assert {*(f"{name}.pdf" for name in FIGURES), *tables} <= held


def test_running_again_does_nothing_and_touching_changes_nothing(finished):
    assert planned(snakemake(finished, "--dry-run", project=finished)) == {}
    for path in finished.rglob("*"):
        if ".snakemake" not in path.parts and path.suffix != ".log":
            path.touch()
    assert planned(snakemake(finished, "--dry-run", project=finished)) == {}


def backwards(settings):
    """The same settings with every block's keys in the opposite order."""
    if not isinstance(settings, dict):
        return [backwards(s) for s in settings] if isinstance(settings, list) else settings
    return {key: backwards(settings[key]) for key in reversed(settings)}


def test_the_order_of_keys_in_the_configuration_changes_nothing(finished):
    config = finished / "config.yaml"
    before = config.read_text()
    config.write_text(yaml.safe_dump(backwards(yaml.safe_load(before)), sort_keys=False))
    run = snakemake(finished, "--dry-run", project=finished)
    config.write_text(before)
    assert planned(run) == {}


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
PAGE = {"write_report": 1}
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


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("allocation.py", EXP3 | plots("exp3") | theory("allocation") | HEART),
        (
            "spectra.py",
            EXP1
            | EXP3
            | plots("exp1")
            | plots("exp3")
            | theory("allocation", "approximation")
            | HEART,
        ),
        ("study/exp2.py", EXP2 | plots("exp2")),
        ("network_kernel.py", HEART | WARM),
        ("study/heart_data.py", HEART | {"prepare_heart": 1}),
        ("study/heart_table.py", {"tabulate_heart": 1}),
        (
            "study/table1.py",
            PLOTS | {"score_heart": 1, "time_heart": 1, "tabulate_heart": 1},
        ),
        ("streams.py", EXP1 | EXP2 | EXP3 | THEORY | PLOTS | HEART),
        ("study/style.py", PLOTS),
        ("study/theory_allocation.py", theory("allocation")),
        ("linear.py", theory("alternating", "generalisation")),
        # The registry of rules holds one that is an exact optimum.
        ("optimum.py", EXP3 | plots("exp3") | theory("allocation") | HEART),
        ("budget.py", HEART),
        ("confusion_search.py", {"audit_table1": 1}),
        ("study/claims/exp1.py", {}),
    ],
)
def test_editing_a_module_reruns_what_imports_it_and_nothing_else(finished, module, expected):
    with edited(finished / "src/embedalloc" / module):
        run = snakemake(finished, "--dry-run", project=finished)
    assert planned(run) == expected | VERDICT


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("src/embedalloc/command_line/audit.py", {}),
        ("src/embedalloc/study/report.py", PAGE),
        ("workflow/report/page.css", PAGE),
        ("workflow/report/exp1_main.rst", PAGE),
        ("workflow/choices.yaml", PAGE),
        ("workflow/claims.yaml", VERDICT),
    ],
)
def test_words_and_looks_change_the_page_alone(finished, file, expected):
    with edited(finished / file):
        assert planned(snakemake(finished, "--dry-run", project=finished)) == expected


def test_editing_a_script_reruns_its_own_figure(finished):
    with edited(finished / "scripts/plot_exp1_gap.py"):
        run = snakemake(finished, "--dry-run", project=finished)
    assert planned(run) == {"plot_exp1_gap": 1} | VERDICT


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
    run = snakemake(finished, "--dry-run", project=finished, config=config)
    assert planned(run) == expected | VERDICT


def test_one_figure_can_be_made_alone_and_bytes_are_stable(finished, tmp_path):
    """A figure by name, on one core, with other thread settings: the same bytes."""
    process = snakemake(
        tmp_path,
        "figures/exp3_performance.pdf",
        "--cores",
        "1",
        project=finished,
        env={"OMP_NUM_THREADS": "8", "OPENBLAS_NUM_THREADS": "8"},
    )
    assert process.returncode == 0, process.stdout + process.stderr
    again = digests(tmp_path, "figures/*") | digests(tmp_path, "results/exp3/**/*.parquet")
    assert len(again) == 4
    for name, digest in again.items():
        assert hashlib.sha256((finished / name).read_bytes()).hexdigest() == digest, name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exp1: {replications: -4}", "exp1.replications: -4 must be at least 2"),
        ("exp3: {budgets: [299]}", "exp3.budgets[0]: 299 must be at least 300"),
        ("exp2: {spectrum: {decay: odd}}", "exp2.spectrum.decay: 'odd' must be one of polynomial"),
        ("exp2: {nosie: 1.0}", "unknown key 'nosie'; did you mean 'noise'?"),
        (
            "theory: {alternating: {dimensions: [2]}}",
            "theory.alternating.dimensions: [2] must have one entry per cardinality, 2",
        ),
        ("exp2: {noise: [1.0]}", "exp2.noise: [1.0] must be a number"),
        ("heart: {data: ../elsewhere}", "heart.data: '../elsewhere' must stay inside the project"),
    ],
)
def test_a_wrong_configuration_stops_before_any_job(tmp_path, text, message):
    config = tmp_path / "wrong.yaml"
    config.write_text(text)
    process = snakemake(tmp_path, config=config)
    output = process.stdout + process.stderr
    assert process.returncode != 0
    assert message in output
    assert "Traceback" not in output
    assert not (tmp_path / "results").exists()


def test_a_damaged_table_stops_the_figure_with_the_file_and_the_way_out(finished):
    victim = finished / "results/exp1/exponential/profiles0.parquet"
    content = victim.read_bytes()
    victim.write_bytes(content[: len(content) // 2])
    process = snakemake(
        finished, "--force", "figures/exp1_main.pdf", "--rerun-triggers", "mtime", project=finished
    )
    victim.write_bytes(content)
    assert process.returncode != 0
    log = (finished / "results/logs/plot_exp1_main.log").read_text()
    assert "results/exp1/exponential/profiles0.parquet: damaged or not parquet" in log
    assert "snakemake --cores 1 --force results/exp1/exponential/profiles0.parquet" in log
    assert "Traceback" not in log


def test_the_figures_of_section_2_can_be_made_alone(tmp_path):
    process = snakemake(tmp_path, "theory", "--dry-run")
    assert planned(process) == THEORY | plots("theory")


def test_the_multiverse_is_a_target_of_its_own(tmp_path):
    """Shares, deciding choices, regret and their page; the study is the same without them."""
    assert not {"multiverse", "simulate_multiverse"} & {*planned(snakemake(tmp_path, "--dry-run"))}
    process = snakemake(tmp_path, "multiverse")
    assert process.returncode == 0, process.stdout + process.stderr
    for name in ("multiverse_curves", "multiverse_choices", "exp3_regret"):
        assert (tmp_path / f"figures/{name}.pdf").read_bytes().startswith(b"%PDF")
        assert (tmp_path / f"figures/{name}.png").read_bytes().startswith(b"\x89PNG")
    shares = read_table(tmp_path / "results/multiverse/shares.parquet", SHARES)
    page = (tmp_path / "figures/multiverse.md").read_text()
    assert all(f"`{claim}`" in page for claim in shares["claim"])
    assert "response-aware" in (tmp_path / "figures/exp3_regret.md").read_text()
    assert planned(snakemake(tmp_path, "multiverse", "--dry-run")) == {}
    page = (tmp_path / "figures/multiverse.html").read_text()
    assert page.count("data:image/png;base64,") == 3
    for claim in shares["claim"]:
        assert f"<code>{claim}</code>" in page
    assert snakemake(tmp_path, "all").returncode == 0
    made = digests(tmp_path, "figures/claims.md")
    for folder in ("results/multiverse", "results/exp3_regret"):
        shutil.rmtree(tmp_path / folder)
    for path in tmp_path.glob("figures/multiverse*"):
        path.unlink()
    assert planned(snakemake(tmp_path, "--dry-run")) == {}
    snakemake(tmp_path, "--force", "figures/claims.md")
    assert digests(tmp_path, "figures/claims.md") == made


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
            assert f'imports_of(f"{{SCRIPTS}}/{name}.py")' in rule
    everything = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    scripts = {path.stem for path in (ROOT / "scripts").glob("*.py")}
    rules = set(re.findall(r"^rule (\w+):", everything, flags=re.MULTILINE))
    assert scripts == rules - set(TARGETS)
    assert len((ROOT / "Snakefile").read_text().splitlines()) <= 60
