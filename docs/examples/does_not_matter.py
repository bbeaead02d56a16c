"""A case in which dimensions do not matter, and the report says so."""

import numpy as np
import pandas as pd

from embedalloc import EmbeddingAllocator

rng = np.random.default_rng(0)
sizes = {"sex": 2, "chest pain": 4, "slope": 3}
codes = {name: rng.integers(size, size=1000) for name, size in sizes.items()}
risk = sum(rng.normal(size=sizes[name])[column] for name, column in codes.items())
ill = rng.random(1000) < 1 / (1 + np.exp(-risk))
table = pd.DataFrame({name: [f"{name} {c}" for c in column] for name, column in codes.items()})

plan = EmbeddingAllocator(budget=200, random_state=0).fit(table, ill)
print(plan.report_)
print(f"Is it worth planning here? {plan.report_.verdict}")
