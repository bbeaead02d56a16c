"""How often the report's "yes" is right on the shipped tables, and what the plans gain there.

The protocol is that of `snakemake tables` with two contestants, equal dimensions and the
recommended rule, and the judge's small initialisation; a tenth of its time. Writes the track
record that the report quotes.

python -m tests.benchmarks.verdict_rates --splits 4
"""

import argparse
import json
from pathlib import Path

import pandas as pd

from embedalloc.data.verdict import TRACK_RECORD
from embedalloc.study.tables.contest import Split
from embedalloc.study.tables.protocol import read_protocol
from embedalloc.study.tables.sources import read_source
from embedalloc.study.tables.summary import (
    BASE,
    DECIDING,
    JUDGED,
    judge_verdicts,
    pair_with_equal,
    summarise_differences,
    track_record,
)
from tests.places import ROOT


def run(name, table, protocol, number):
    """Yield the two contestants' rows at every budget of one split."""
    split = Split(table, protocol, number)
    for multiple in protocol.budgets:
        for rule in (BASE, JUDGED):
            plan = split.plan(int(multiple * split.levels), rule)
            yield {
                "table": name,
                "split": number,
                "budget": multiple,
                "contestant": rule,
                "initialisation": DECIDING,
                "loss": split.judge(plan, DECIDING).test,
                "trainings": plan.trainings,
                "seconds": plan.seconds,
                "chosen": plan.chosen,
                "verdict": plan.verdict,
                "gain": plan.gain,
            }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--losses", type=Path, help="keep the losses in this CSV file")
    arguments = parser.parse_args()
    protocol = read_protocol(ROOT / "workflow/tables.yaml")
    rows = []
    for number in range(arguments.splits):
        for name in protocol.tables:
            place = f"tables/{name}.parquet" if name != "heart" else "heart_disease"
            table = read_source(name, ROOT / "workflow/resources" / place, protocol)
            rows += run(name, table, protocol, number)
            losses = pd.DataFrame(rows)
            if arguments.losses:
                losses.to_csv(arguments.losses, index=False)
        paired = pair_with_equal(losses)
        print(paired[paired["contestant"] == JUDGED].to_string(), flush=True)
        verdicts = judge_verdicts(losses, protocol.no_difference)
        print(summarise_differences(losses, 3 / 7).to_string(), verdicts.to_string(), flush=True)
        record = json.dumps(track_record(verdicts, losses), indent=2)
        (ROOT / "src/embedalloc/data" / TRACK_RECORD).write_text(f"{record}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
