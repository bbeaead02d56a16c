"""A small made-up study with everything that the report page is made of."""

import importlib.util
import json
import struct
import zlib
from dataclasses import asdict
from types import SimpleNamespace

import pandas as pd
import yaml

from embedalloc.study.claims.verdicts import CLAIMS, SECTIONS, VERDICTS
from embedalloc.study.heart.table1 import (
    METRICS,
    MODELS,
    PAIRED,
    PAPER,
    PAPER_METRICS,
    SECONDS,
    TABLE,
)
from embedalloc.study.multiverse.regret import REGRET, RULES
from embedalloc.study.multiverse.runs import DRAWN_REGRET
from embedalloc.study.multiverse.summary import EFFECTS, SHARES
from embedalloc.study.workflow.document import Part
from embedalloc.study.workflow.tables import digest_of, write_table
from tests.places import ROOT, read_config

#: Text that breaks a page which does not escape it.
HOSTILE = 'a < b & "c" > d <script>document.title = "owned"</script> <img src=x>'
AUDITED = Part(
    "True together?",
    1,
    ["**No** test set < 9."],
    ["model", "TP"],
    [["proposed", "**7**"]],
    notes=["One cell."],
)
OUTCOMES = {
    "reproduced": ("holds",),
    "partly": ("partly", "partly"),
    "not reproduced": ("fails",),
    "depends on an unstated choice": ("holds", "fails"),
    "not testable": ("not testable",),
}
SHOWN = {
    "theory": "figures/theory_approximation.pdf",
    "exp1": "figures/exp1_main.pdf",
    "exp2": "figures/exp2_train_test.pdf",
    "exp3": "figures/exp3_performance.pdf",
    "heart": "figures/table1_paired.md",
    "data": "figures/table1_audit.md",
}


def claims_frame():
    """Every section with some verdicts: the k-th section lacks the k-th verdict."""
    rows = []
    for k, section in enumerate(SECTIONS):
        for count, verdict in enumerate(VERDICTS, start=1):
            if count - 1 == k:
                continue
            for number in range(1 + count % 2):
                for j, outcome in enumerate(OUTCOMES[verdict]):
                    known = outcome != "not testable"
                    rows.append(
                        {
                            "claim": f"{section}-{count}-{number}",
                            "section": section,
                            "place": "Section 3.3",
                            "statement": f"Statement {number} of {section}, {verdict}.",
                            "statistic": "Share of the budgets at which the rule is lowest.",
                            "decision": "holds if estimate ≥ 1; fails otherwise",
                            "verdict": verdict,
                            "why": f"Because of this: {HOSTILE}",
                            "data": "results/exp1/*/profiles*.parquet results/heart/x.parquet",
                            "figure": SHOWN[section],
                            "reading": f"reading {j + 1}",
                            "outcome": outcome,
                            "estimate": 0.1 * count if known else float("nan"),
                            "low": 0.1 * count - 0.05 if known else float("nan"),
                            "high": 0.1 * count + 0.05 if known else float("nan"),
                            "evidence": "The mean is 0.451 for one rule and 0.479 for another.",
                        }
                    )
    return pd.DataFrame(rows)


def table1_frame():
    missing = float("nan")
    rows = []
    for i, model in enumerate(MODELS):
        printed = dict(zip((*PAPER_METRICS, SECONDS), PAPER.get(model, ()), strict=False))
        for metric in METRICS:
            value = 0.5 + 0.01 * i
            known = metric in printed
            rows.append(
                (model, metric, value, value - 0.1, value + 0.1, 0.1,
                 printed.get(metric, missing), 40.0 if known else missing)
            )  # fmt: skip
        rows.append((model, SECONDS, 0.05, *[missing] * 3, printed.get(SECONDS, missing), missing))
    return pd.DataFrame(rows, columns=list(TABLE.columns))


def paired_frame():
    rows = [
        (rival, metric, 0.01, 0.0, 0.02, -0.01, 0.03, 0.2, 0.01 if metric == "f1" else 1.0, 0.6, 0)
        for rival in MODELS[1:]
        for metric in METRICS
    ]
    return pd.DataFrame(rows, columns=list(PAIRED.columns)).astype({"tied": float})


def png(width, height):
    """A grey picture, without any library."""

    def chunk(kind, content):
        body = kind + content
        return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = (b"\0" + b"\xdd" * width) * height
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def put(folder, name, content):
    """Write a file into a folder and return its path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def table(folder, name, frame, contract):
    """Write a table into a folder and return its path."""
    write_table(folder / name, frame, contract, settings={}, seed=1)
    return str(folder / name)


def sources(folder):
    """Write the study into a folder and return its files by name, as rule `write_report` does."""
    report = ROOT / "workflow/report"
    figures = yaml.safe_load((report / "figures.yaml").read_text())
    return SimpleNamespace(
        claims=table(folder, "results/claims.parquet", claims_frame(), CLAIMS),
        table1=table(folder, "figures/table1.parquet", table1_frame(), TABLE),
        paired=table(folder, "figures/table1_paired.parquet", paired_frame(), PAIRED),
        notes=put(
            folder,
            "figures/table1_notes.json",
            json.dumps({"table": ["A note < another."], "paired": ["Paired."]}),
        ),
        audit=put(folder, "results/audit.json", json.dumps([asdict(AUDITED)])),
        figures=[put(folder, f"figures/{name}.png", png(1260, 540)) for name in figures],
        captions=[str(report / f"{name}.rst") for name in figures],
        listed=str(report / "figures.yaml"),
        template=str(report / "report.html"),
        choices=str(ROOT / "workflow/choices.yaml"),
        citation=str(ROOT / "CITATION.cff"),
        data=[put(folder, "processed.va.data", "1,2\n")],
    )


def shares_frame():
    """Two followed claims of the made-up study."""
    share = dict.fromkeys(("share", "low", "high", "partly", "partly_low", "partly_high"), 0.5)
    rows = [
        {
            "claim": claim, "experiment": claim[:4], "statement": f"Of {claim}: {HOSTILE}",
            "default": "holds", "default_settled": True, "draws": 40, "settled": 33, **share,
            "repetitions": 2, "same": 1.0, "settled_repetitions": 1, "same_settled": 1.0,
            "singles": 9, "settled_singles": 8, "overturning": 0, "pairs": 0, "settled_pairs": 0,
            "overturning_pairs": 0, "fewest": 0, "overturned_by": "",
        }
        for claim in ("exp1-1-0", "exp3-2-0")
    ]  # fmt: skip
    return pd.DataFrame(rows)[list(SHARES.columns)]


def effects_frame():
    rows = [
        (claim, claim[:4], "rank", value, value == "20", 20, 0.5, 0.4, 0.6, 0.5, 0.3)
        for claim in ("exp1-1-0", "exp3-2-0")
        for value in ("10", "20")
    ]
    return pd.DataFrame(rows, columns=list(EFFECTS.columns))


def regret_frame():
    rows = [
        (n, replication, budget, rule, [1, 2, 3], 1.1, [3, 2, 1], 1.0, 0.1 + 0.01 * replication)
        for n in (500, 1000)
        for replication in range(3)
        for budget in (300, 1000)
        for rule in RULES
    ]
    return pd.DataFrame(rows, columns=list(REGRET.columns))


def drawn_regret_frame():
    rows = [
        (number, "{}", budget, rule, 0.1 * number + 0.01 * i)
        for number in range(3)
        for budget in (300, 1000)
        for i, rule in enumerate(RULES)
    ]
    return pd.DataFrame(rows, columns=list(DRAWN_REGRET.columns))


def multiverse_sources(folder):
    """Write a multiverse into a folder and return its files, as rule `write_multiverse` does."""
    report = ROOT / "workflow/report"
    figures = yaml.safe_load((report / "figures_multiverse.yaml").read_text())
    return SimpleNamespace(
        claims=table(folder, "results/claims.parquet", claims_frame(), CLAIMS),
        shares=table(folder, "results/multiverse/shares.parquet", shares_frame(), SHARES),
        effects=table(folder, "results/multiverse/choices.parquet", effects_frame(), EFFECTS),
        regret=[table(folder, "results/exp3_regret/n.parquet", regret_frame(), REGRET)],
        draws=[
            table(folder, "results/multiverse/regret0.parquet", drawn_regret_frame(), DRAWN_REGRET)
        ],
        figures=[put(folder, f"figures/{name}.png", png(1260, 540)) for name in figures],
        captions=[str(report / f"{name}.rst") for name in figures],
        listed=str(report / "figures_multiverse.yaml"),
        template=str(report / "multiverse.html"),
        citation=str(ROOT / "CITATION.cff"),
    )


def receipts(numpy="2.4.6"):
    """Receipts of three jobs of two rules, the last of them with a numpy of its own."""
    simulate, plot = "simulate_exp1", "plot_exp1_main"
    rules = ((simulate, 1.5, 2.5, 100.5), (simulate, 1.5, 1.0, 90.0), (plot, 1.0, 0.0, 9.0))
    machine = {"system": "Linux x86_64", "processor": "AMD EPYC", "linear algebra": "openblas Zen"}
    return [
        {
            "rule": rule,
            "cost": {"seconds": seconds, "cpu_seconds": cpu, "peak_megabytes": megabytes},
            "versions": {"Python": "3.11.7", "numpy": numpy if rule == plot else "2.4.6"},
            "machine": machine,
        }
        for rule, seconds, cpu, megabytes in rules
    ]


def params():
    config = read_config()
    digest = digest_of(config)
    return SimpleNamespace(
        seed=config["seed"], config_digest=digest, default_digest=digest, budget_observations=500
    )


def load_script(name):
    """Load the script of a rule, whose `main` makes the page."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"scripts/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_report(folder, source=None, about=None, made=None):
    """Return the report page of the made-up study."""
    given = (source or sources(folder), about or params(), ROOT, made or receipts())
    return load_script("write_report").main(*given)


def write_multiverse(folder):
    """Return the multiverse's page of the made-up study."""
    given = (multiverse_sources(folder), params(), ROOT, receipts())
    return load_script("write_multiverse").main(*given)
