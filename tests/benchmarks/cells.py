"""What measures one row of the table of benchmarks, and nothing more."""

from typing import TYPE_CHECKING, Any

from embedalloc.study.settings.benchmarks import Versus, WholeWorkflow
from embedalloc.study.settings.common import AtLeast1, AtLeast2, Several
from embedalloc.study.settings.exp1 import Exp1Design
from embedalloc.study.settings.exp2 import Exp2Model
from embedalloc.study.settings.exp3 import Exp3Model

if TYPE_CHECKING:
    from embedalloc.study.settings.configuration import Configuration


class ExperimentsCell(Versus):
    """Experiments 1 and 2, each at some sample sizes."""

    exp1: Exp1Design
    exp2: Exp2Model
    observations: dict[str, Several[AtLeast2]]
    """numbers of observations n, by experiment"""


class RefitsCell(Versus):
    """Experiment 3 at one sample size."""

    settings: Exp3Model
    observations: AtLeast2
    """number of observations n"""
    budgets: Several[AtLeast1]
    """total embedding parameters B"""


class WorkflowCell(WholeWorkflow):
    """The workflow with a configuration."""

    config: dict[str, Any]
    """the whole configuration, as it stands in a file"""


def benchmark_cell(config: "Configuration", work: str) -> dict[str, Any]:
    """Return what measures one row of the table of benchmarks."""
    block = getattr(config.benchmarks, work)
    exp1, exp2, exp3 = config.exp1, config.exp2, config.exp3
    if work in ("experiments", "sample_size"):
        panel = max(exp2.panel_observations)
        studied = {"exp1": [exp1.observations], "exp2": [panel]}
        block = ExperimentsCell.taken_from(
            block,
            exp1=Exp1Design.taken_from(exp1, spectrum=exp1.designs[min(exp1.designs)]),
            exp2=Exp2Model.taken_from(exp2),
            observations=(
                studied if work == "experiments" else dict.fromkeys(studied, block.observations)
            ),
        )
    elif work == "refits":
        block = RefitsCell.taken_from(
            block,
            settings=Exp3Model.taken_from(exp3),
            observations=exp3.budget_observations,
            budgets=exp3.budgets_at(exp3.budget_observations),
        )
    elif work == "workflow":
        block = WorkflowCell.taken_from(block, config=config.plain())
    repetitions = config.benchmarks.repetitions
    return {"work": work, "settings": block.plain(), "repetitions": repetitions}
