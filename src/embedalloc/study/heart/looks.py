"""How the figures of the heart study show the models of Table 1 and name the predictors."""

from collections.abc import Mapping

from embedalloc.study.heart.table1 import MODEL_LABELS
from embedalloc.study.workflow.style import BLACK, BLUE, ORANGE, PURPLE, SKY, VERMILLION, Look

#: What the columns of the data hold.
PREDICTORS: Mapping[str, str] = {
    "sex": "sex",
    "cp": "chest pain",
    "fbs": "fasting blood sugar",
    "restecg": "resting ECG",
    "exang": "exercise angina",
    "slope": "slope of ST segment",
    "ca": "coloured vessels",
    "thal": "thallium scan",
    "source": "hospital",
}
#: Models of Table 1; rules that occur in Experiment 3 keep their colour.
MODELS: Mapping[str, Look] = {
    model: Look(MODEL_LABELS[model], color, marker)
    for model, color, marker in (
        ("proposed", BLUE, "o"),
        ("one_hot", BLACK, "P"),
        ("unconstrained", PURPLE, "v"),
        ("uniform", ORANGE, "s"),
        ("cardinality", VERMILLION, "^"),
        ("cardinality_per_dimension", VERMILLION, "2"),
        ("uniform_search", ORANGE, "X"),
        ("one_hot_best", BLACK, "*"),
        ("unconstrained_best", PURPLE, "<"),
        ("unit_coefficients", SKY, "D"),
    )
}
