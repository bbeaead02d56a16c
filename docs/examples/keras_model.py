"""From a CSV to a trained model in Keras (any backend; torch here), with the planned tables."""

import os
from pathlib import Path

import pandas as pd

from embedalloc import EmbeddingAllocator, effect_columns, to_keras

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras

sales = pd.read_csv(Path(__file__).with_name("sales.csv"))
fields, columns = ["town", "till"], ["town", "till", "hour"]
train, test = sales[:3000], sales[3000:]

plan = EmbeddingAllocator(budget=2500, columns=fields, random_state=0).set_output(
    transform="pandas"
)
inputs = plan.fit_transform(train[columns], train["bought"])
new = plan.transform(test[columns])

keras.utils.set_random_seed(0)
codes = {name: keras.Input((1,), dtype="int32", name=name) for name in plan.tables_}
effects = {name: keras.Input((1,), name=name) for name in effect_columns(plan.allocation_)}
layers = {name: keras.layers.Embedding(**each) for name, each in to_keras(plan.allocation_).items()}
parts = [keras.layers.Flatten()(layers[name](codes[name])) for name in codes] + [*effects.values()]
joined = keras.layers.Concatenate()(parts) if len(parts) > 1 else parts[0]
output = keras.layers.Dense(1, "sigmoid")(keras.layers.Dense(16, "relu")(joined))
model = keras.Model(codes | effects, output)
model.compile("adam", "binary_crossentropy")


def by_name(frame: pd.DataFrame) -> dict[str, object]:
    """Return the network's inputs by name."""
    return {name: frame[[name]].to_numpy() for name in frame}


model.fit(by_name(inputs), train["bought"].to_numpy(), epochs=8, batch_size=100, verbose=0)
built = {name: tuple(layer.embeddings.shape) for name, layer in layers.items()}
assert built == {name: (t["rows"], t["dimension"]) for name, t in plan.tables_.items()}
print(f"Keras trained exactly the planned tables: {built}")
loss = model.evaluate(by_name(new), test["bought"].to_numpy(), verbose=0)
print(f"{plan.allocation_.cost:,} parameters, test loss {loss:.3f}")
