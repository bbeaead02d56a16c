"""From a CSV to a scikit-learn pipeline: the plan as a step before a linear model."""

from pathlib import Path

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from embedalloc import EmbeddingAllocator

sales = pd.read_csv(Path(__file__).with_name("sales.csv"))
fields, columns = ["town", "till"], ["town", "till", "hour"]
train, test = sales[:3000], sales[3000:]

# `fit` of a pipeline calls `fit_transform`, so a row's own target is not in its effect.
planned = make_pipeline(
    EmbeddingAllocator(budget=2500, columns=fields, random_state=0).set_output(transform="pandas"),
    make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), lambda frame: [*frame.filter(regex="^[^_]+$")]),
        remainder="passthrough",
    ),
    LogisticRegression(),
)
plain = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
for name, pipeline, read in (("one-hot", plain, fields), ("planned", planned, columns)):
    pipeline.fit(train[read], train["bought"])
    loss = log_loss(test["bought"], pipeline.predict_proba(test[read]))
    print(f"{name}: {pipeline[-1].coef_.size} inputs, test loss {loss:.3f}")
