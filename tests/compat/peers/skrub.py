"""skrub beside ours: its cleaner before our plan, in one pipeline."""

import pandas as pd
import skrub
from sklearn.pipeline import make_pipeline

from embedalloc import EmbeddingAllocator, to_torch

sales = pd.read_csv("docs/examples/sales.csv")
fields = ["town", "till"]
allocator = EmbeddingAllocator(budget=2500, columns=fields, random_state=0)
pipeline = make_pipeline(skrub.Cleaner(), allocator.set_output(transform="pandas"))
inputs = pipeline.fit_transform(sales.drop(columns="bought"), sales["bought"])
assert list(inputs) == list(allocator.get_feature_names_out())
built = [tuple(table.weight.shape) for table in to_torch(allocator.allocation_).values()]
assert built == [(t["rows"], t["dimension"]) for t in allocator.tables_.values()]
assert skrub.TableReport(inputs).html()
print(f"skrub {skrub.__version__}: {allocator.tables_}")
