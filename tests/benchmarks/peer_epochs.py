"""A whole plan beside one epoch of the same network in fastai and in pytorch-tabular.

Neither is a dependency of the project: run it where both are installed beside it,

    python -m tests.benchmarks.peer_epochs --rows 10000 100000 1000000

The peers' networks have the layers that the planner trains and tables of equal dimensions at the
same budget, and are trained with the peers' own size of batches and with the planner's. An epoch is
four fifths of the rows, as in the planner. Peers train on some batches, because a row costs them
the same in a table of any length; reading the table and validation are not counted for them.
Everyone has one thread; CPU seconds, contestants in turns, medians.
"""

import argparse
import contextlib
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import torch

from embedalloc.data.case import VALIDATION_SHARE
from embedalloc.data.network import DROPOUT, HIDDEN, LEARNING_RATE, batch_size
from embedalloc.from_cardinalities import allocate
from tests.benchmarks.measure import run_alone
from tests.benchmarks.planner import Table, boosted_trees, draw, plan, torch_epoch

LEVELS, BUDGET = (10, 100, 1000), 10_000
#: Rows of a batch by default in fastai 2.8 and in pytorch-tabular 1.2.
BATCH_BY_DEFAULT = 64
#: Batches that a peer trains on, after as many that do not count.
BATCHES = 24


def dimensions_of(table: Table) -> dict[str, int]:
    """Return equal dimensions of the fields at the budget."""
    fields = [str(name) for name in table[0] if name != "number"]
    sizes = {name: len(table[0][name].cat.categories) for name in fields}
    return dict(allocate(sizes, budget=BUDGET).dimensions)


def fastai_epoch(batch: int) -> float:
    """Return the CPU seconds per row of an epoch by fastai's learner."""
    fastai = import_module("fastai.tabular.all")

    table = draw(BATCHES * batch, LEVELS)
    dimensions = dimensions_of(table)
    frame = table[0].assign(target=table[1].astype("float32"))
    loaders = fastai.TabularDataLoaders.from_df(
        frame,
        procs=[fastai.Categorify, fastai.Normalize],
        cat_names=list(dimensions),
        cont_names=["number"],
        y_names="target",
        valid_idx=[0],
        bs=batch,
        device="cpu",
    )
    learner = fastai.tabular_learner(
        loaders,
        layers=list(HIDDEN),
        emb_szs=dimensions,
        n_out=1,
        config={"ps": [DROPOUT, DROPOUT]},
        loss_func=torch.nn.BCEWithLogitsLoss(),
        lr=LEARNING_RATE,
    )
    with learner.no_bar(), learner.no_logging():
        return cpu_of_second(lambda: learner.fit(1)) / len(frame)


def tabular_epoch(batch: int) -> float:
    """Return the CPU seconds per row of an epoch by pytorch-tabular's trainer."""
    config, models = (import_module(f"pytorch_tabular.{name}") for name in ("config", "models"))

    table = draw(BATCHES * batch, LEVELS)
    dimensions = dimensions_of(table)
    frame = table[0].assign(target=table[1])
    frame[list(dimensions)] = frame[list(dimensions)].astype(str)
    sizes = [(frame[name].nunique() + 1, d) for name, d in dimensions.items()]

    def seconds(epochs: int) -> float:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            model = import_module("pytorch_tabular").TabularModel(
                data_config=config.DataConfig(["target"], ["number"], list(dimensions)),
                model_config=models.CategoryEmbeddingModelConfig(
                    task="classification", layers="-".join(map(str, HIDDEN)), dropout=DROPOUT,
                    embedding_dims=sizes, learning_rate=LEARNING_RATE,
                ),
                optimizer_config=config.OptimizerConfig(),
                trainer_config=config.TrainerConfig(
                    batch_size=batch, max_epochs=epochs, accelerator="cpu", progress_bar="none",
                    early_stopping=None, checkpoints=None, load_best=False,
                ),
                verbose=False,
            )  # fmt: skip
            begin = time.process_time()
            model.fit(train=frame, validation=frame.iloc[:2])
            return time.process_time() - begin

    seconds(1)
    return (seconds(3) - seconds(1)) / 2 / len(frame)


def cpu_of_second(call: Callable[[], Any]) -> float:
    """Return the CPU seconds of a call after one that does not count."""
    call()
    begin = time.process_time()
    call()
    return time.process_time() - begin


def main() -> None:
    """Print a line for every number of rows and contestant."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for rows in arguments.rows:
        epoch, table = (1 - VALIDATION_SHARE) * rows, draw(rows, LEVELS)
        contestants: dict[str, Callable[[], Any]] = {
            "plan": partial(plan, table, BUDGET),
            "torch epoch": partial(torch_epoch, table, BUDGET),
            "boosted trees": partial(boosted_trees, table),
        }
        peers = {}
        for size in (BATCH_BY_DEFAULT, batch_size(round(epoch))):
            peers[f"fastai epoch, batch {size}"] = partial(fastai_epoch, size)
            peers[f"pytorch-tabular epoch, batch {size}"] = partial(tabular_epoch, size)
        taken: dict[str, list[float]] = {name: [] for name in (*contestants, *peers)}
        memory = 0.0
        for _ in range(arguments.turns):
            for name, call in contestants.items():
                small = partial(call.func, draw(4000, LEVELS), *call.args[1:])  # type: ignore[attr-defined]
                usage = run_alone(call, prepare=small)
                taken[name].append(usage.cpu_seconds)
                memory = max(memory, usage.peak_memory) if name == "plan" else memory
            for name, call in peers.items():
                taken[name].append(epoch * run_alone(call).value)
        ours = statistics.median(taken["plan"])
        held = table[0].memory_usage(deep=True).sum() / 2**20
        print(f"{rows:,} rows: table {held:.1f} MB, the plan's peak above it {memory:.1f} MB")
        for name, seconds in taken.items():
            typical = statistics.median(seconds)
            print(f"  {name:42} {typical:8.2f} s   a plan costs {ours / typical:6.2f} of it")


if __name__ == "__main__":
    main()
