"""Table 1 of the paper: its models, its metrics, what it prints, and the contracts of ours.

Names and contracts only, so that a reader of the tables pays for no statistics.
"""

from collections.abc import Mapping

from embedalloc.study.workflow.tables import Column, Contract

#: Models of Table 1 and what they are called: the paper's five in its order, then the readings
#: and controls.
MODEL_LABELS: Mapping[str, str] = {
    "proposed": "proposed",
    "one_hot": "one-hot",
    "unconstrained": "unconstrained",
    "uniform": "uniform",
    "cardinality": "cardinality",
    "cardinality_per_dimension": "cardinality per dimension",
    "uniform_search": "uniform, own search",
    "one_hot_best": "one-hot, best of restarts",
    "unconstrained_best": "unconstrained, best of restarts",
    "unit_coefficients": "all coefficients 1",
}
MODELS = tuple(MODEL_LABELS)
#: The paper's seven metrics in its order, then ours; True where more is better.
METRICS: Mapping[str, bool] = {
    "accuracy": True,
    "f1": True,
    "precision": True,
    "mcc": True,
    "validation_logloss": False,
    "brier": False,
    "ece": False,
    "test_logloss": False,
    "ece_15": False,
    "calibration_debiased": False,
}
#: Figures printed in the paper's Table 1; the last one is seconds per epoch.
PAPER: Mapping[str, tuple[float, ...]] = {
    "proposed": (0.837, 0.851, 0.860, 0.671, 0.400, 0.121, 0.037, 0.054),
    "one_hot": (0.804, 0.824, 0.824, 0.604, 0.517, 0.166, 0.158, 0.029),
    "unconstrained": (0.815, 0.833, 0.836, 0.620, 0.472, 0.148, 0.125, 0.059),
    "uniform": (0.819, 0.841, 0.820, 0.632, 0.553, 0.182, 0.207, 0.057),
    "cardinality": (0.757, 0.756, 0.852, 0.534, 0.526, 0.173, 0.105, 0.072),
}
PAPER_METRICS = tuple(METRICS)[:7]
SECONDS = "seconds_per_epoch"
#: How tables name the metrics.
METRIC_LABELS: Mapping[str, str] = {
    "accuracy": "Acc",
    "f1": "F1",
    "precision": "Prec",
    "mcc": "MCC",
    "validation_logloss": "Val logloss",
    "brier": "Brier",
    "ece": "ECE",
    "test_logloss": "Test logloss",
    "ece_15": "ECE, 15 bins",
    "calibration_debiased": "Debiased cal.",
    SECONDS: "s/epoch",
}

TABLE = Contract(
    "table1",
    {
        "model": Column("text", "row of Table 1", values=MODELS),
        "metric": Column("text", "column of Table 1", values=(*METRICS, SECONDS)),
        "mean": Column("number", "mean over splits"),
        "low": Column("number", "95 % interval of the mean over splits", may_be_missing=True),
        "high": Column("number", "95 % interval of the mean over splits", may_be_missing=True),
        "deviation": Column("number", "standard deviation over splits", may_be_missing=True),
        "paper": Column("number", "the paper's figure", may_be_missing=True),
        "percentile": Column("number", "of the paper's figure among our splits",
                             low=0, high=100, may_be_missing=True),
    },
    key=("model", "metric"),
)  # fmt: skip
PAIRED = Contract(
    "table1_paired",
    {
        "rival": Column("text", "model compared with the proposed one", values=MODELS),
        "metric": Column("text", "column of Table 1", values=tuple(METRICS)),
        "difference": Column("number", "mean of proposed minus rival"),
        "low": Column("number", "95 % interval over splits"),
        "high": Column("number", "95 % interval over splits"),
        "corrected_low": Column("number", "95 % interval, Nadeau and Bengio"),
        "corrected_high": Column("number", "95 % interval, Nadeau and Bengio"),
        "p_value": Column("number", "corrected t test", low=0, high=1),
        "p_holm": Column("number", "Holm over rivals and metrics", low=0, high=1),
        "won": Column("number", "share of splits with the proposed model better", low=0, high=1),
        "tied": Column("number", "share of splits with no difference", low=0, high=1),
    },
    key=("rival", "metric"),
)
TIMES = Contract(
    "heart_times",
    {
        "model": Column("text", "row of Table 1", values=MODELS),
        "dimensions": Column("integers", "of the predictors, none for one-hot inputs", low=1),
        SECONDS: Column("number", "CPU seconds of the plain loop, on one thread", low=0),
    },
    key=("model",),
)
