"""Write sales.csv, the made-up table of the examples: 4,000 visits, and who bought."""

import csv
from pathlib import Path

import numpy as np


def make_rows() -> list[list[str]]:
    """Return the rows: the town and the hour matter, the till does not."""
    rng = np.random.default_rng(21)
    town, till, hour = (rng.integers(size, size=4000) for size in (40, 800, 12))
    pull = 3 * rng.normal(size=40)[town] + 0.1 * (hour - 6)
    bought = rng.random(4000) < 1 / (1 + np.exp(-pull))
    columns = zip(town, till, hour, bought, strict=True)
    return [[f"town {a}", f"till {b}", str(9 + c), str(int(d))] for a, b, c, d in columns]


def write_sales(path: Path) -> None:
    """Write the table as CSV."""
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(
            [["town", "till", "hour", "bought"], *make_rows()]
        )


if __name__ == "__main__":
    write_sales(Path(__file__).with_name("sales.csv"))
