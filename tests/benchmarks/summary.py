"""What the measurements say: ratios with their spread, growth, and whether the aims are met."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from embedalloc.arrays import Floats
from embedalloc.text import markdown_table
from tests.benchmarks.measure import OURS

#: The contestant of `whole_workflow` that leaves start-up and imports out.
OWN = "jobs' own"
#: The contestants of `decomposition` that multiply matrices.
PRODUCT, PEAK = "one product", "square product"

#: CPU time of a peer over ours, at least.
RATIO_AIMS = {
    ("experiments", "literal"): 50.0,
    ("refits", "refits"): 20.0,
    ("networks", "DataLoader"): 50.0,
    ("table_set", "numpy SVD"): 20.0,
}
#: Our CPU time grows like size to this power, at most.
GROWTH_AIMS = {
    ("sample_size", "exp1"): 0.1,
    ("sample_size", "exp2"): 0.1,
    ("dimensions", "greedy"): 1.15,
    ("dimensions", "optimum"): 1.15,
}
#: Gram matrix and eigenvalues, in units of one product of the table with another.
PRODUCT_AIM = 1.5
#: Memory of the streaming spectra, in megabytes: a few blocks, whatever the tables' size.
MEMORY_AIM = 64.0
#: Start-up, imports and scheduling, as a share of the jobs' own time.
OVERHEAD_AIM = 0.15

WORK_WORDS = {
    "experiments": "Experiments 1 and 2, per replication",
    "sample_size": "cost over observations n",
    "decomposition": "singular values of one table",
    "refits": "Experiment 3, all allocations of a replication",
    "networks": "training networks, per model and epoch",
    "dimensions": "allocating dimensions",
    "table_set": "spectra of a table set",
    "workflow": "the whole workflow, cold",
}
CASE_WORDS = {
    "exp1": "Experiment 1",
    "exp2": "Experiment 2",
    "exp3": "Experiment 3",
    "rows": "rows N",
    "columns": "columns r",
}


@dataclass(frozen=True)
class Spread:
    """Median, smallest and largest value over the repetitions."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Floats) -> "Spread":
        """Summarise the values."""
        return cls(float(np.median(values)), float(values.min()), float(values.max()))


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
    return Spread.of(paired(frame, case, size, contestant, column) / np.maximum(ours, 1e-9))


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
        if contestant == PEAK:
            yield _share_of_peak(work, frame, case)
            continue
        size = int(mine["size"].max())
        if contestant == PRODUCT:
            yield _product(work, frame, case, size)
            continue
        found, aim = ratio(frame, case, size, contestant), RATIO_AIMS.get((work, contestant))
        yield Row(
            work,
            _what(case, size),
            seconds(frame, case, size, OURS),
            f"{contestant}: {seconds(frame, case, size, contestant)}",
            f"{number(found.median)}× ({number(found.low)}–{number(found.high)})",
            f"at least {aim:g}×" if aim else "",
            found.median >= aim if aim else None,
        )


def _product(work: str, frame: pd.DataFrame, case: str, size: int) -> Row:
    inverse = ratio(frame, case, size, PRODUCT)
    taken = 1 / inverse.median
    return Row(
        work,
        _what(case, size),
        seconds(frame, case, size, OURS),
        f"{PRODUCT}: {seconds(frame, case, size, PRODUCT)}",
        f"{number(taken)} products ({number(1 / inverse.high)}–{number(1 / inverse.low)})",
        f"at most {PRODUCT_AIM:g}",
        taken <= PRODUCT_AIM,
    )


def _share_of_peak(work: str, frame: pd.DataFrame, case: str) -> Row:
    """Return the rate of operations beside that of a square product with as many of them.

    More than the whole peak is possible: the symmetric product that we need does half of them.
    """
    size = int(frame[frame["case"] == case]["size"].max())
    return Row(
        work,
        _what(case, size),
        seconds(frame, case, size, OURS),
        f"{PEAK}: {seconds(frame, case, size, PEAK)}",
        f"{ratio(frame, case, size, PEAK).median:.0%} of BLAS peak, as a full product",
        "",
        None,
    )


def _memory(work: str, frame: pd.DataFrame) -> Iterator[Row]:
    if work == "experiments":
        for case, size in frame.groupby("case")["size"].max().items():
            found = ratio(frame, str(case), size, "literal", "peak_memory")
            yield _memory_row(work, frame, str(case), size, "literal", found.median >= 1, "below")
    if work == "table_set":
        (size,) = frame["size"].unique()
        ours = Spread.of(paired(frame, "table set", size, OURS, "peak_memory"))
        met, aim = ours.median <= MEMORY_AIM, f"at most {MEMORY_AIM:g} MB"
        yield _memory_row(work, frame, "table set", size, "numpy SVD", met, aim)


def _memory_row(
    work: str, frame: pd.DataFrame, case: str, size: int, peer: str, met: bool, aim: str
) -> Row:
    ours = Spread.of(paired(frame, case, size, OURS, "peak_memory"))
    theirs = Spread.of(paired(frame, case, size, peer, "peak_memory"))
    return Row(
        work,
        f"{_what(case, size)}, memory",
        f"{ours.median:.3g} MB",
        f"{peer}: {theirs.median:.3g} MB",
        f"{number(theirs.median / max(ours.median, 1e-9))}×",
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
    total = paired(frame, "workflow", jobs, OURS)
    own = paired(frame, "workflow", jobs, OWN)
    share = Spread.of(total / own - 1)
    return Row(
        "workflow",
        f"{jobs} jobs on 2 cores",
        seconds(frame, "workflow", jobs, OURS),
        f"{OWN}: {seconds(frame, 'workflow', jobs, OWN)}",
        f"{share.median:.0%} overhead",
        f"at most {OVERHEAD_AIM:.0%}",
        share.median <= OVERHEAD_AIM,
    )


def _what(case: str, size: int) -> str:
    return f"{CASE_WORDS.get(case, case)}, {size:,}"


def seconds(frame: pd.DataFrame, case: str, size: int, contestant: str) -> str:
    """Return a median CPU time in a readable unit."""
    value = Spread.of(paired(frame, case, size, contestant)).median
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


def machine_words(cpuinfo: str, cores: int) -> str:
    """Return the processor's name, from the text of /proc/cpuinfo, and the number of cores."""
    names = [line.split(":", 1)[1] for line in cpuinfo.splitlines() if "model name" in line]
    return f"{(names or ['unknown processor'])[0].strip()}, {cores} cores"
