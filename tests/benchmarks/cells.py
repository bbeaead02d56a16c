"""What measures one row of the table of benchmarks, and nothing more."""

from typing import Any

from embedalloc.study.settings.configuration import Configuration
from embedalloc.study.settings.exp1 import Exp1Design
from embedalloc.study.settings.exp2 import Exp2Model
from embedalloc.study.settings.exp3 import Exp3Model


def benchmark_cell(config: Configuration, work: str, snakefile: str) -> dict[str, Any]:
    """Return what measures one row of the table of benchmarks."""
    exp1, exp2, exp3 = config.exp1, config.exp2, config.exp3
    settings = getattr(config.benchmarks, work).plain()
    if work in ("experiments", "sample_size"):
        design, panel = min(exp1.designs), max(exp2.panel_observations)
        spectrum = exp1.designs[design]
        settings["exp1"] = Exp1Design.taken_from(exp1, spectrum=spectrum).plain()
        settings["exp2"] = Exp2Model.taken_from(exp2).plain()
        settings.setdefault("observations", {"exp1": exp1.observations, "exp2": panel})
    if work == "refits":
        observations = exp3.budget_observations
        settings["settings"] = Exp3Model.taken_from(exp3).plain()
        settings["observations"] = observations
        settings["budgets"] = exp3.budgets_at(observations)
    if work == "workflow":
        settings |= {"config": config.plain(), "snakefile": snakefile}
    return {"work": work, "settings": settings, "repetitions": config.benchmarks.repetitions}
