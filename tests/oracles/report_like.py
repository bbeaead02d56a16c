"""A small made-up study with everything that the report page is made of."""

import importlib.util
import struct
import zlib
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
from embedalloc.study.workflow.tables import digest_of, write_table
from tests.places import ROOT, read_config

#: Text that breaks a page which does not escape it.
HOSTILE = 'a < b & "c" > d <script>document.title = "owned"</script> <img src=x>'
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


def sources(folder):
    """Write the study into a folder and return its files by name, as rule `write_report` does."""

    def put(name, content):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def table(name, frame, contract):
        write_table(folder / name, frame, contract, settings={}, seed=1)
        return str(folder / name)

    report = ROOT / "workflow/report"
    figures = yaml.safe_load((report / "figures.yaml").read_text())
    timing = (
        "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"
        "1.5\t0:00:01\t{}\t1\t1\t1\t0\t0\t50\t{}\n"
    )
    return SimpleNamespace(
        claims=table("results/claims.parquet", claims_frame(), CLAIMS),
        shares=[],
        reach=[],
        table1=table("figures/table1.parquet", table1_frame(), TABLE),
        table1_text=put("figures/table1.md", "| a |\n| --- |\n| 1 |\n\n- A note < another.\n"),
        paired=table("figures/table1_paired.parquet", paired_frame(), PAIRED),
        paired_text=put("figures/table1_paired.md", "| a |\n| --- |\n| 1 |\n\n- Paired.\n"),
        audit=put(
            "figures/table1_audit.md",
            "# True together?\n\n**No** test set < 9.\n\n| model | TP |\n| --- | ---: |\n"
            "| proposed | **7** |\n\n- One cell.\n",
        ),
        figures=[put(f"figures/{name}.png", png(1260, 540)) for name in figures],
        captions=[str(report / f"{name}.rst") for name in figures],
        listed=[str(report / name) for name in ("figures.yaml", "figures_beyond.yaml")],
        template=str(report / "page.html"),
        choices=str(ROOT / "workflow/choices.yaml"),
        citation=str(ROOT / "CITATION.cff"),
        data=[put("processed.va.data", "1,2\n")],
        timings=[
            put("results/timings/simulate_exp1/a_0.tsv", timing.format("100.5", "2.5")),
            put("results/timings/simulate_exp1/b_0.tsv", timing.format("90", "1")),
            put("results/timings/plot_exp1_main.tsv", timing.format("-", "NA")),
        ],
    )


def params():
    config = read_config()
    digest = digest_of(config)
    return SimpleNamespace(seed=config["seed"], config_digest=digest, default_digest=digest)


def write_report():
    """Load the script of the rule, whose `main` makes the page."""
    spec = importlib.util.spec_from_file_location("write_report", ROOT / "scripts/write_report.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
