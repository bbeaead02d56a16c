"""From a CSV to a trained model in plain torch, beside the table sizes of the usual formula."""

from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from embedalloc import Allocation, EmbeddingAllocator, allocate, to_torch

sales = pd.read_csv(Path(__file__).with_name("sales.csv"))
fields, columns = ["town", "till"], ["town", "till", "hour"]
train, test = sales[:3000], sales[3000:]


def fit(allocation: Allocation, inputs: Tensor, new: Tensor) -> float:
    """Train a small network on these tables and return its loss on the test rows."""
    torch.manual_seed(0)
    tables = to_torch(allocation)
    for table in tables.values():
        nn.init.normal_(table.weight, std=0.05)
    width = tables(inputs[:1]).shape[1]
    model = nn.Sequential(tables, nn.Linear(width, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    loss = nn.BCEWithLogitsLoss()
    target, answer = (torch.tensor(part["bought"].to_numpy()).float() for part in (train, test))
    for _ in range(5):
        for rows in torch.randperm(len(inputs)).split(100):
            optimizer.zero_grad()
            loss(model(inputs[rows]).squeeze(1), target[rows]).backward()
            optimizer.step()
    with torch.no_grad():
        return float(loss(model(new).squeeze(1), answer))


plan = EmbeddingAllocator(budget=2500, columns=fields, random_state=0)
inputs = torch.tensor(np.asarray(plan.fit_transform(train[columns], train["bought"])))
new = torch.tensor(np.asarray(plan.transform(test[columns])))
planned = fit(plan.allocation_, inputs, new)

levels = {name: {level: 1 + k for k, level in enumerate(train[name].unique())} for name in fields}
codes = [
    torch.tensor(np.stack([part[name].map(levels[name]).fillna(0) for name in fields], axis=1))
    for part in (train, test)
]
rows = {name: len(found) + 1 for name, found in levels.items()}
usual = allocate(rows, 10**6, rule="fastai", leftover="floored")
formula = fit(usual, *codes)

print(f"the usual formula: {usual.cost:,} parameters, test loss {formula:.3f}")
print(f"the plan: {plan.allocation_.cost:,} parameters, test loss {planned:.3f}")
