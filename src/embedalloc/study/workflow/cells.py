"""The part of the configuration that one job needs, and nothing more.

What a job is given decides when it runs again: a change to another experiment, another sample
size or another design must not reach it.
"""

from collections.abc import Mapping
from typing import Any

Config = Mapping[str, Any]


def parts(block: Config) -> range:
    """Return the numbers of the jobs that a block's replications are split into."""
    return range(-(-block["replications"] // block["replications_per_job"]))


def in_order(value: Any) -> Any:
    """Return settings with their keys sorted: in which order a file lists them must not count."""
    if isinstance(value, Mapping):
        return {key: in_order(value[key]) for key in sorted(value)}
    return [in_order(entry) for entry in value] if isinstance(value, list) else value


def exp1_designs(block: Config) -> dict[str, Any]:
    """Return the spectral designs in the order of the figures: by law, the slowest decay first."""
    laws = block["designs"]

    def place(name: str) -> tuple[bool, float, str]:
        return laws[name]["decay"] != "polynomial", laws[name]["rate"], name

    return {name: laws[name] for name in sorted(laws, key=place)}


def exp1_cell(config: Config, design: str, part: int) -> dict[str, Any]:
    """Return what simulates one part of one spectral design of Experiment 1."""
    block = config["exp1"]
    keys = (
        "cardinality",
        "latent_rank",
        "observations",
        "concentration",
        "noise",
        "response_noise",
        "coefficient_fit",
    )
    return {
        "settings": {key: block[key] for key in keys} | {"spectrum": block["designs"][design]},
        "seed": config["seed"],
        "design": design,
        **_replications(block, part),
    }


def exp2_cell(config: Config, observations: int, part: int) -> dict[str, Any]:
    """Return what simulates one part of one sample size of Experiment 2."""
    block = config["exp2"]
    keys = (
        "cardinality",
        "latent_rank",
        "spectrum",
        "concentration",
        "noise",
        "test_observations",
    )
    return {
        "settings": {key: block[key] for key in keys},
        "seed": config["seed"],
        "observations": observations,
        **_replications(block, part),
    }


def exp3_cell(config: Config, observations: int, part: int) -> dict[str, Any]:
    """Return what simulates one part of one sample size of Experiment 3."""
    block = config["exp3"]
    keys = (
        "predictors",
        "concentration",
        "noise",
        "response_noise",
        "ridge",
        "response_support",
        "response_decay",
        "spectral_mass",
        "coefficient_fit",
        "test_observations",
    )
    budgets = {block["curve_budget"]} if observations in block["curve_observations"] else set()
    if observations == block["budget_observations"]:
        budgets |= set(block["budgets"])
    return {
        "settings": {key: block[key] for key in keys},
        "seed": config["seed"],
        "observations": observations,
        "budgets": sorted(budgets),
        **_replications(block, part),
    }


def theory_cell(config: Config, part: str) -> dict[str, Any]:
    """Return what computes one figure of Section 2, by the name of its block.

    The allocation part also needs Experiment 3's predictors; its budgets run between the
    smallest and the largest of Experiment 3 and hold all of them.
    """
    block = config["theory"][part]
    if part != "allocation":
        return {"settings": block, "seed": config["seed"]}
    exp3 = config["exp3"]
    low, high = min(exp3["budgets"]), max(exp3["budgets"])
    return {
        "settings": {key: block[key] for key in block if key != "budget_step"}
        | {key: exp3[key] for key in ("predictors", "coefficient_fit")},
        "seed": config["seed"],
        "budgets": sorted({*range(low, high + 1, block["budget_step"]), *exp3["budgets"]}),
    }


_TRAINING_KEYS = (
    "test_share",
    "validation_share",
    "hidden",
    "dropout",
    "embedding_sd",
    "learning_rate",
    "weight_decay",
    "batch",
    "epochs",
    "patience",
    "watch",
    "restore_best",
    "coefficient_fit",
    "sample_sizes",
    "rank_cap",
    "budgets",
)


def claims_cell(config: Config) -> dict[str, Any]:
    """Return what decides the claims, beside the results themselves."""
    cardinalities = [predictor["cardinality"] for predictor in config["exp3"]["predictors"]]
    return {
        "seed": config["seed"],
        "draws": config["claims"]["draws"],
        "theory": {"cardinalities": cardinalities},
        **{name: claims_settings(name, config[name]) for name in ("exp1", "exp2", "exp3")},
    }


def claims_settings(experiment: str, block: Config) -> dict[str, Any]:
    """Return what decides the claims on one experiment, from its block."""
    if experiment == "exp1":
        return {"designs": exp1_designs(block)}
    if experiment == "exp2":
        return {"panels": block["panel_observations"], "sizes": block["curve_observations"]}
    return {
        "budgets": block["budgets"],
        "budget_observations": block["budget_observations"],
        "sizes": block["curve_observations"],
        "curve_budget": block["curve_budget"],
        "categories": sum(predictor["cardinality"] for predictor in block["predictors"]),
    }


#: The rows of the table of benchmarks.
BENCHMARKS = (
    "experiments",
    "sample_size",
    "decomposition",
    "refits",
    "networks",
    "dimensions",
    "table_set",
    "workflow",
)


def benchmark_cell(config: Config, work: str) -> dict[str, Any]:
    """Return what measures one row of the table of benchmarks."""
    block, settings = config["benchmarks"], dict(config["benchmarks"][work])
    exp1, exp2, exp3 = config["exp1"], config["exp2"], config["exp3"]
    if work in ("experiments", "sample_size"):
        design, panel = next(iter(exp1["designs"])), max(exp2["panel_observations"])
        settings["exp1"] = exp1_cell(config, design, 0)["settings"]
        settings["exp2"] = exp2_cell(config, panel, 0)["settings"]
        sizes = {"exp1": exp1["observations"], "exp2": panel}
        settings.setdefault("observations", sizes)
    if work == "refits":
        observations = exp3["budget_observations"]
        cell = exp3_cell(config, observations, 0)
        settings |= {key: cell[key] for key in ("settings", "observations", "budgets")}
    if work == "workflow":
        settings["config"] = dict(config)
    return {"work": work, "settings": settings, "repetitions": block["repetitions"]}


def split_blocks(splits: int, per_job: int) -> range:
    """Return the numbers of the jobs that the splits are divided into."""
    return range(-(-splits // per_job))


def heart_cell(config: Config, block: int) -> dict[str, Any]:
    """Return what trains all networks of one block of splits."""
    heart = config["heart"]
    keys = (*_TRAINING_KEYS, "tolerance", "restarts")
    return _heart_block(config, keys, block, heart["splits"], heart["splits_per_job"])


def heart_folds_cell(config: Config, block: int) -> dict[str, Any]:
    """Return what selects the budget by folds on one block of splits."""
    heart = config["heart"]
    keys = (*_TRAINING_KEYS, "folds", "repetitions")
    return _heart_block(config, keys, block, heart["fold_splits"], heart["splits_per_job"])


def _heart_block(
    config: Config, keys: tuple[str, ...], block: int, splits: int, size: int
) -> dict[str, Any]:
    return {
        "settings": {key: config["heart"][key] for key in keys},
        "seed": config["seed"],
        "first": block * size,
        "last": min((block + 1) * size, splits),
    }


def _replications(block: Config, part: int) -> dict[str, int]:
    size = block["replications_per_job"]
    return {"first": part * size, "last": min((part + 1) * size, block["replications"])}
