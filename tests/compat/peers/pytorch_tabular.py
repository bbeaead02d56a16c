"""pytorch-tabular trains a model whose tables have exactly the exported shapes."""

import os
import tempfile
from importlib.metadata import version

import pandas as pd
import pytorch_tabular
from pytorch_tabular.config import DataConfig, OptimizerConfig, TrainerConfig
from pytorch_tabular.models import CategoryEmbeddingModelConfig
from torch import nn

from embedalloc import allocate, to_pytorch_tabular

sales = pd.read_csv("docs/examples/sales.csv")
plan = allocate({name: sales[name].nunique() + 1 for name in ("town", "till")}, 4000)
export = to_pytorch_tabular(plan)
os.chdir(tempfile.mkdtemp())  # it keeps a record of its runs in the working directory
model = pytorch_tabular.TabularModel(
    data_config=DataConfig(
        target=["bought"],
        categorical_cols=export["categorical_cols"],
        continuous_cols=["hour"],
        handle_unknown_categories=True,
    ),
    model_config=CategoryEmbeddingModelConfig(
        task="classification", embedding_dims=export["embedding_dims"], layers="8"
    ),
    optimizer_config=OptimizerConfig(),
    trainer_config=TrainerConfig(
        accelerator="cpu", max_epochs=1, progress_bar="none", checkpoints=None, load_best=False
    ),
    verbose=False,
)
model.fit(train=sales, seed=0)
built = [tuple(m.weight.shape) for m in model.model.modules() if isinstance(m, nn.Embedding)]
assert built == export["embedding_dims"], built
print(f"pytorch-tabular {version('pytorch-tabular')}: {built}")
