"""torchrec trains bags of different dimensions; its EmbeddingCollection refuses them."""

import pandas as pd
import torch
import torchrec
from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

from embedalloc import allocate, to_projections, to_torchrec

sales = pd.read_csv("docs/examples/sales.csv")
plan = allocate({name: sales[name].nunique() for name in ("town", "till")}, 4000, multiple_of=4)
assert len(set(plan.dimensions.values())) == 2, plan
configs = to_torchrec(plan)
bags = torchrec.EmbeddingBagCollection(
    tables=[torchrec.EmbeddingBagConfig(**each) for each in configs]
)
built = [tuple(each.shape) for each in bags.parameters()]
assert built == [(plan.cardinalities[n], d) for n, d in plan.dimensions.items()], built

names = [each["feature_names"][0] for each in configs]
values = torch.cat([torch.tensor(pd.factorize(sales[name])[0]) for name in names])
inputs = KeyedJaggedTensor.from_lengths_sync(names, values, torch.ones(len(values)).int())
head = torch.nn.Linear(sum(plan.dimensions.values()), 1)
optimizer = torch.optim.Adam([*bags.parameters(), *head.parameters()], lr=0.01)
target = torch.tensor(sales["bought"].to_numpy()).float()
losses = []
for _ in range(20):
    optimizer.zero_grad()
    logits = head(bags(inputs).values()).squeeze(1)
    loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, target)
    loss.backward()
    optimizer.step()
    losses.append(float(loss.detach()))
assert losses[-1] < losses[0], losses
wide = allocate(plan.cardinalities, 4000, multiple_of=4, width=16)
bags = torchrec.EmbeddingBagCollection(
    tables=[torchrec.EmbeddingBagConfig(**each) for each in to_torchrec(wide)]
)
vectors = to_projections(wide)(bags(inputs).to_dict())
assert vectors.shape == (len(sales), 2, 16), vectors.shape
try:
    torchrec.EmbeddingCollection(tables=[torchrec.EmbeddingConfig(**each) for each in configs])
except ValueError as error:
    print(f"EmbeddingCollection refuses mixed dimensions, as documented: {error}")
else:
    raise AssertionError("EmbeddingCollection takes mixed dimensions now: say so in to_torchrec")
print(f"torchrec {torchrec.__version__}: {built}, loss {losses[0]:.3f} to {losses[-1]:.3f}")
