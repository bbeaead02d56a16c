"""From a CSV to a trained model in fastai, with the planned dimensions."""

from pathlib import Path

import pandas as pd
import torch
from fastai.tabular.all import (
    Categorify,
    CategoryBlock,
    TabularDataLoaders,
    set_seed,
    tabular_learner,
)
from torch import nn

from embedalloc import EmbeddingAllocator, effect_columns, to_fastai

sales = pd.read_csv(Path(__file__).with_name("sales.csv"))
fields, columns = ["town", "till"], ["town", "till", "hour"]
train, test = sales[:3000], sales[3000:]

plan = EmbeddingAllocator(budget=2500, columns=fields, pool_allowed=False, random_state=0)
inputs = plan.set_output(transform="pandas").fit_transform(train[columns], train["bought"])
new = plan.transform(test[columns]).assign(bought=test["bought"])
sizes = to_fastai(plan.allocation_)
set_seed(0)
loaders = TabularDataLoaders.from_df(
    inputs.assign(bought=train["bought"]),
    procs=[Categorify],
    cat_names=list(sizes),
    cont_names=effect_columns(plan.allocation_),
    y_names="bought",
    y_block=CategoryBlock(),
    bs=100,
    device=torch.device("cpu"),
)
learner = tabular_learner(loaders, layers=[16], emb_szs=sizes)
with learner.no_bar(), learner.no_logging():
    learner.fit(4, lr=0.01)
    loss = learner.validate(dl=loaders.test_dl(new, with_labels=True))[0]
built = [m.weight.shape for m in learner.model.modules() if isinstance(m, nn.Embedding)]
assert [tuple(each) for each in built] == [
    (t["rows"], t["dimension"]) for t in plan.tables_.values()
]
print(f"fastai trained exactly the planned tables: {plan.tables_}")
print(f"{plan.allocation_.cost:,} parameters, test loss {loss:.3f}")
