"""What the measurements say: ratios with their spread, growth, and whether the aims are met."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from embedalloc.arrays import Floats
from embedalloc.study.workflow.document import markdown_table
from embedalloc.study.workflow.receipts import Receipt
from tests.benchmarks.measure import OURS

#: The contestant of `whole_workflow` that leaves start-up and imports out.
OWN = "jobs' own"
#: The contestants of `decomposition` that multiply matrices.
PRODUCT, PEAK = "one product", "square product"

#: What `growth` measures, and over what.
GROWING = ("plan", "effects", "counts", "training")
AXES = ("rows", "levels", "fields", "budgets")

#: CPU time of a peer over ours, at least.
RATIO_AIMS = {
    ("experiments", "literal"): 50.0,
    ("refits", "refits"): 20.0,
    ("networks", "DataLoader"): 50.0,
    ("table_set", "numpy SVD"): 20.0,
}
#: The same, where a case has an aim of its own.
CASE_AIMS = {"square root": 150.0, "budget 1024": 75.0}
#: Our CPU time grows like size to this power, at most.
GROWTH_AIMS = {
    ("sample_size", "exp1"): 0.1,
    ("sample_size", "exp2"): 0.1,
    ("dimensions", "greedy"): 1.15,
    ("dimensions", "optimum"): 1.15,
    ("effects", "effects"): 1.15,
    ("growth", "effects, by rows"): 1.15,
    ("growth", "counts, by rows"): 1.15,
    ("growth", "training, by rows"): 1.15,
}
#: Gram matrix and eigenvalues, in units of one product of the table with another.
PRODUCT_AIM = 1.5
#: Memory of the streaming spectra, in megabytes: a few blocks, whatever the tables' size.
MEMORY_AIM = 64.0
#: Start-up, imports and scheduling, as a share of the jobs' own time.
OVERHEAD_AIM = 0.12

WORK_WORDS = {
    "experiments": "Experiments 1 and 2, per replication",
    "sample_size": "cost over observations n",
    "decomposition": "singular values of one table",
    "refits": "Experiment 3, all allocations of a replication",
    "networks": "training networks, per model and epoch",
    "dimensions": "allocating dimensions",
    "table_set": "spectra of a table set",
    "effects": "crossed random effects",
    "planner": "a whole plan",
    "growth": "growth of our own cost",
    "workflow": "the whole workflow, cold",
}
CASE_WORDS = {
    "exp1": "Experiment 1",
    "exp2": "Experiment 2",
    "exp3": "Experiment 3",
    "rows": "rows N",
    "columns": "columns r",
}


class Spread(NamedTuple):
    """Median, smallest and largest value over the repetitions."""

    median: float
    low: float
    high: float


class Row(NamedTuple):
    """One line of the table; no verdict where there is no aim."""

    work: str
    what: str
    ours: str
    beside: str
    measured: str
    aim: str
    met: bool | None


def paired(
    frame: pd.DataFrame, case: str, size: int, contestant: str, column: str = "cpu_seconds"
) -> Floats:
    """Return a contestant's values by repetition."""
    chosen = (frame["case"] == case) & (frame["size"] == size) & (frame["contestant"] == contestant)
    return frame[chosen].sort_values("repetition")[column].to_numpy()


def ratio(
    frame: pd.DataFrame, case: str, size: int, contestant: str, column: str = "cpu_seconds"
) -> Spread:
    """Return what a contestant takes over what we take, turn by turn."""
    ours = paired(frame, case, size, OURS, column)
    ratios = paired(frame, case, size, contestant, column) / np.maximum(ours, 1e-9)
    return Spread(float(np.median(ratios)), float(ratios.min()), float(ratios.max()))


def ratio_aim(work: str, case: str, contestant: str) -> float | None:
    """Return what a ratio should be at least, where there is such an aim."""
    aim = RATIO_AIMS.get((work, contestant))
    return aim and CASE_AIMS.get(case, aim)


def growth(frame: pd.DataFrame, case: str, contestant: str) -> float | None:
    """Return the exponent of CPU time over size, fitted to the larger half of the sizes."""
    chosen = frame[(frame["case"] == case) & (frame["contestant"] == contestant)]
    medians = chosen.groupby("size")["cpu_seconds"].median()
    upper = medians.iloc[(len(medians) - 1) // 2 :]
    if len(upper) < 2:
        return None
    return float(np.polyfit(np.log(upper.index.to_numpy()), np.log(upper.to_numpy()), 1)[0])


def table(frame: pd.DataFrame) -> list[Row]:
    """Return every comparison, each at the largest size that both sides did."""
    rows = []
    for work, mine in frame.groupby("work", sort=False):
        if work == "workflow":
            rows.append(_overhead(mine))
            continue
        rows.extend(_ratios(str(work), mine))
        rows.extend(_memory(str(work), mine))
        rows.extend(_growth(str(work), mine))
    return rows


def _ratios(work: str, frame: pd.DataFrame) -> Iterator[Row]:
    peers = frame[frame["contestant"] != OURS]
    for keys, mine in peers.groupby(["case", "contestant"], sort=False):
        case, contestant = map(str, keys)
        size = int(mine["size"].max())
        found = ratio(frame, case, size, contestant)
        aim, met = "", None
        if contestant == PEAK:
            # More than the whole is possible: the symmetric product that we need does half of it.
            measured = f"{found.median:.0%} of BLAS peak, as a full product"
        elif contestant == PRODUCT:
            taken, least, most = 1 / found.median, 1 / found.high, 1 / found.low
            measured = f"{number(taken)} products ({number(least)}–{number(most)})"
            aim, met = f"at most {PRODUCT_AIM:g}", taken <= PRODUCT_AIM
        else:
            measured = f"{number(found.median)}× ({number(found.low)}–{number(found.high)})"
            if wanted := ratio_aim(work, case, contestant):
                aim, met = f"at least {wanted:g}×", found.median >= wanted
        times = _times(frame, case, size, contestant)
        yield Row(work, _what(case, size), *times, measured, aim, met)


def _memory(work: str, frame: pd.DataFrame) -> Iterator[Row]:
    peers = {
        "experiments": "literal",
        "table_set": "numpy SVD",
        "effects": "conjugate gradients",
        "planner": "boosted trees",
    }
    if work not in peers:
        return
    peer = peers[work]
    for case, size in frame.groupby("case")["size"].max().items():
        ours, theirs = (
            float(np.median(paired(frame, str(case), size, who, "peak_memory")))
            for who in (OURS, peer)
        )
        if work == "table_set":
            aim, met = f"at most {MEMORY_AIM:g} MB", ours <= MEMORY_AIM
        elif work == "experiments":
            found = ratio(frame, str(case), size, peer, "peak_memory")
            aim, met = "below", found.median >= 1
        else:
            aim, met = "", None
        yield Row(
            work,
            f"{_what(str(case), size)}, memory",
            f"{ours:.3g} MB",
            f"{peer}: {theirs:.3g} MB",
            f"{number(theirs / max(ours, 1e-9))}×",
            aim,
            met,
        )


def _growth(work: str, frame: pd.DataFrame) -> Iterator[Row]:
    for case in frame["case"].unique():
        exponent, aim = growth(frame, case, OURS), GROWTH_AIMS.get((work, case))
        if exponent is None or work == "networks":
            continue
        low, high = (int(f(frame[frame["case"] == case]["size"])) for f in (min, max))
        yield Row(
            work,
            f"{CASE_WORDS.get(case, case)}, growth",
            f"{low:,} to {high:,}",
            "",
            f"exponent {exponent:.2f}",
            f"at most {aim:g}" if aim else "",
            exponent <= aim if aim else None,
        )


def _overhead(frame: pd.DataFrame) -> Row:
    (jobs,) = frame["size"].unique()
    total, own = (paired(frame, "workflow", jobs, who) for who in (OURS, OWN))
    share = float(np.median(total / own - 1))
    return Row(
        "workflow",
        f"{jobs} jobs on 2 cores",
        *_times(frame, "workflow", jobs, OWN),
        f"{share:.0%} overhead",
        f"at most {OVERHEAD_AIM:.0%}",
        share <= OVERHEAD_AIM,
    )


def _what(case: str, size: int) -> str:
    return f"{CASE_WORDS.get(case, case)}, {size:,}"


def _times(frame: pd.DataFrame, case: str, size: int, peer: str) -> tuple[str, str]:
    """Return the median CPU times of us and of a peer, the peer's with its name."""
    ours, theirs = (
        seconds(float(np.median(paired(frame, case, size, who)))) for who in (OURS, peer)
    )
    return ours, f"{peer}: {theirs}"


def seconds(value: float) -> str:
    """Return a time in a readable unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if value >= scale:
            return f"{number(value / scale)} {unit}"
    return f"{number(value / 1e-6)} µs"


def number(value: float) -> str:
    """Return a number with two or three digits that mean something."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def page(rows: list[Row], machine: str) -> str:
    """Return the table as a page of Markdown."""
    lines = [
        "# Benchmarks",
        "",
        "Medians of CPU time (smallest to largest ratio in brackets), contestants in turns, each",
        f"run in a process of its own, one thread. Machine: {machine}. Both sides computed the",
        "same numbers, or there would be no table. Memory is the peak above the start.",
        "",
    ]
    cells, last = [], ""
    for row in rows:
        words = WORK_WORDS[row.work] if row.work != last else ""
        met = {True: "yes", False: "**no**", None: ""}[row.met]
        cells.append((words, row.what, row.ours, row.beside, row.measured, row.aim, met))
        last = row.work
    head = ("work", "what", "ours", "beside", "ratio", "aim", "met")
    return "\n".join([*lines, markdown_table(head, cells)]) + "\n"


def machine_words(receipts: Iterable[Receipt]) -> str:
    """Return processor and number of cores of the machines that measured."""
    machines = [receipt["machine"] for receipt in receipts]
    return "; ".join(sorted({f"{each['processor']}, {each['cores']} cores" for each in machines}))
