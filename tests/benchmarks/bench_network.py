"""Model-epochs per CPU second, beside nn.Module with DataLoader and scikit-learn's MLPClassifier.

Run it with: OMP_NUM_THREADS=1 python -m tests.benchmarks.bench_network

Rows, batches and layers are those of the heart-disease study. Our time holds everything that a
model needs: initial weights, row orders, masks, checks, training, the validation loss after every
epoch and predictions. The rivals draw and train only, and scikit-learn has no dropout. With one
plan for all models (a paired comparison) row orders and masks are drawn beforehand.
"""

import numpy as np
from sklearn.neural_network import MLPClassifier

from embedalloc.network import (
    NetworkShape,
    TrainingSettings,
    draw_plan,
    initial_weights,
    predict,
    train,
)
from embedalloc.study.plain_network import seconds_per_epoch
from tests.benchmarks.clock import cpu_seconds
from tests.heart_like import CARDINALITIES, SQUARE_ROOT, heart_like

DIMENSIONS = {"square root": SQUARE_ROOT, "uniform 28": (28,) * 9, "one-hot": None}


def ours(shape, rows, settings, models, rng, plan=None):
    """Train models that never stop early."""
    training, validation = rows
    for _ in range(models):
        weights = initial_weights(shape, rng)
        own = plan or draw_plan(
            rng, len(training.codes), settings.epochs, shape.hidden, settings.dropout
        )
        trained = train(shape, weights, own, training, validation, settings)
        assert trained.epochs_run == settings.epochs
        predict(trained, validation)


def scikit_learn(shape, rows, settings, epochs):
    """Train on one-hot inputs; partial_fit makes one pass over the rows."""
    parts = [np.eye(n)[rows.codes[:, j]] for j, n in enumerate(shape.cardinalities)]
    inputs = np.concatenate([*parts, rows.numbers], axis=1)
    model = MLPClassifier(
        shape.hidden,
        alpha=settings.weight_decay,
        batch_size=settings.batch,
        learning_rate_init=settings.learning_rate,
    )
    for _ in range(epochs):
        model.partial_fit(inputs, rows.labels, classes=[0, 1])


def main(epochs=50, models=4, torch_epochs=5, sklearn_epochs=25, repetitions=9):
    """Print the rates, and ours over those of the rivals."""
    rng = np.random.default_rng(0)
    rows = heart_like(rng, 515), heart_like(rng, 129)
    settings = TrainingSettings(epochs=epochs, patience=epochs)
    print(f"{'dimensions':12} {'ours':>7} {'one plan':>9} {'torch':>7} {'ratio':>12} ", end="")
    print(f"{'sklearn':>8} {'ratio':>10}")
    for name, dimensions in DIMENSIONS.items():
        shape = NetworkShape(CARDINALITIES, dimensions, 5)
        plan = draw_plan(rng, 515, epochs, shape.hidden, settings.dropout)
        contestants = {  # each with the number of its epochs
            "ours": (epochs * models, lambda: ours(shape, rows, settings, models, rng)),  # noqa: B023
            "one plan": (
                epochs * models,
                lambda: ours(shape, rows, settings, models, rng, plan),  # noqa: B023
            ),
            "torch": (
                torch_epochs + 1,  # one of warm-up
                lambda: seconds_per_epoch(
                    shape,  # noqa: B023
                    rows[0],
                    settings=settings,
                    epochs=torch_epochs,
                    rng=rng,
                ),
            ),
            "sklearn": (
                sklearn_epochs,
                lambda: scikit_learn(shape, rows[0], settings, sklearn_epochs),  # noqa: B023
            ),
        }
        runs = {way: run for way, (_, run) in contestants.items()}
        for run in runs.values():
            run()  # compile and warm up
        seconds = cpu_seconds(runs, repetitions)
        rate = {way: count / seconds[way] for way, (count, _) in contestants.items()}
        against = {
            rival: f"{rate['ours'] / rate[rival]:.0f}–{rate['one plan'] / rate[rival]:.0f}x"
            for rival in ("torch", "sklearn")
        }
        print(
            f"{name:12} {rate['ours']:7.0f} {rate['one plan']:9.0f} {rate['torch']:7.1f} "
            f"{against['torch']:>12} {rate['sklearn']:8.1f} {against['sklearn']:>10}"
        )


if __name__ == "__main__":
    main()
