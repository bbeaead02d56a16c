"""pytorch-widedeep trains a model whose tables have exactly the exported shapes."""

import sys

import pandas as pd
import torch

try:
    import torchvision  # noqa: F401
except RuntimeError:
    # pip's torchvision is built for GPUs: beside the small torch its operators on images are
    # missing. pytorch-widedeep imports it always; tables need none of it.
    print("torchvision is a build for GPUs; its operators on images are left out")
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
    for name in ("nms", "qnms"):
        torch.library.define(f"torchvision::{name}", "(Tensor a, Tensor b, float c) -> Tensor")
import pytorch_widedeep
from pytorch_widedeep import Trainer
from pytorch_widedeep.models import TabMlp, WideDeep
from pytorch_widedeep.preprocessing import TabPreprocessor
from torch import nn

from embedalloc import allocate, to_pytorch_widedeep

sales = pd.read_csv("docs/examples/sales.csv")
plan = allocate({name: sales[name].nunique() + 1 for name in ("town", "till")}, 4000)
export = to_pytorch_widedeep(plan)
encoder = TabPreprocessor(cat_embed_cols=[name for name, _, _ in export])
encoded = encoder.fit_transform(sales)
deep = TabMlp(column_idx=encoder.column_idx, cat_embed_input=export, mlp_hidden_dims=[8])
model = WideDeep(deeptabular=deep)
trainer = Trainer(model, objective="binary", verbose=0)
trainer.fit(X_tab=encoded, target=sales["bought"].to_numpy(), n_epochs=1, batch_size=100)
built = [tuple(m.weight.shape) for m in model.modules() if isinstance(m, nn.Embedding)]
assert built == [(plan.cardinalities[n], d) for n, d in plan.dimensions.items()], built
print(f"pytorch-widedeep {pytorch_widedeep.__version__}: {built}")
