"""AutoGluon beside ours: its fastai model trains on the planned columns, in one environment.

AutoGluon chooses its networks' tables itself and has no place for dimensions, so the columns are
all that a plan can give it.
"""

import tempfile

import pandas as pd
from autogluon.common import __version__
from autogluon.tabular import TabularPredictor

from embedalloc import EmbeddingAllocator, to_torch

sales = pd.read_csv("docs/examples/sales.csv")
fields = ["town", "till"]
plan = EmbeddingAllocator(budget=2500, columns=fields, random_state=0).set_output(
    transform="pandas"
)
inputs = plan.fit_transform(sales.drop(columns="bought"), sales["bought"])
built = [tuple(table.weight.shape) for table in to_torch(plan.allocation_).values()]
assert built == [(t["rows"], t["dimension"]) for t in plan.tables_.values()]
columns = inputs.astype(dict.fromkeys(plan.tables_, "category")).assign(bought=sales["bought"])
with tempfile.TemporaryDirectory() as folder:
    predictor = TabularPredictor("bought", path=folder, verbosity=0)
    predictor.fit(columns, hyperparameters={"NN_TORCH": {"num_epochs": 1}, "FASTAI": {"epochs": 1}})
    trained = predictor.model_names()
assert any("Neural" in name for name in trained), trained
print(f"AutoGluon {__version__}: {trained}")
