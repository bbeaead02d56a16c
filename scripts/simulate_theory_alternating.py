"""Run Theorem 1's scheme from several starts and write its tables."""

from embedalloc.study.settings.common import Cell
from embedalloc.study.settings.theory import Alternating
from embedalloc.study.theory.theorem1 import PATHS, RUNS, simulate
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table


def main(cell: Cell[Alternating], paths: str, runs: str) -> None:
    """Run the computation that the cell describes."""
    paths_frame, runs_frame = simulate(cell)
    write_table(paths, paths_frame, PATHS, settings=cell.plain(), seed=cell.seed)
    write_table(runs, runs_frame, RUNS, settings=cell.plain(), seed=cell.seed)


if __name__ == "__main__":
    with job(snakemake.log[0]):
        main(Cell[Alternating].model_validate(snakemake.params.cell), **snakemake.output)
