"""Refusing a wrong configuration before any job starts, in words that say what to change."""

import math
import os
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache, reduce
from operator import getitem
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

#: JSON Schema counts 150.0 as a whole number and nan as a number; both would fail much later.
_TYPES = Draft202012Validator.TYPE_CHECKER.redefine_many(
    {
        "integer": lambda _, value: isinstance(value, int) and not isinstance(value, bool),
        "number": lambda _, value: (
            isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        ),
    }
)
_Validator = extend(Draft202012Validator, type_checker=_TYPES)  # type: ignore[no-untyped-call]

#: As in `embedalloc.study.theory.generalisation`, which is not imported to keep the start quick.
MAX_COMBINATIONS = 1_000_000
#: Jobs that one rule may be split into; planning more takes longer than the work.
MAX_JOBS = 2000
#: Budgets at which figure theory_allocation solves its problem.
MAX_BUDGETS = 100_000

_TYPE_WORDS = {
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "array": "a list",
    "object": "a block of keys",
    "boolean": "true or false",
}


class ConfigError(ValueError):
    """The configuration holds values that are not allowed; the message lists all of them."""


def check_config(config: Mapping[str, Any], schema_path: str | Path) -> None:
    """Check types, ranges and unknown keys by the schema, then what holds between keys."""
    problems = list(_odd_keys(config, ""))
    if not problems:
        errors = _validator(str(schema_path)).iter_errors(config)
        found = sorted(errors, key=lambda e: e.json_path)
        problems = [problem for error in found for problem in _explain(error)]
    if not problems:
        problems = list(_contradictions(config))
    if problems:
        raise ConfigError("the configuration is not valid:\n  " + "\n  ".join(problems))


def _odd_keys(value: Any, place: str) -> Iterator[str]:
    """Yield keys that are no text, which YAML allows and a schema cannot name."""
    if isinstance(value, Mapping):
        for key, child in value.items():
            if not isinstance(key, str):
                yield f"{place or 'the configuration'}: the key {key!r} must be a text"
            yield from _odd_keys(child, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _odd_keys(child, f"{place}[{index}]")


@cache
def _validator(schema_path: str) -> Any:
    return _Validator(yaml.safe_load(Path(schema_path).read_text(encoding="utf-8")))


def _explain(error: ValidationError) -> Iterator[str]:
    """Yield one sentence per mistake: the key, the value and what is allowed."""
    key = error.json_path.removeprefix("$").removeprefix(".") or "the configuration"
    schema: Any = error.schema
    value: Any = error.instance
    limit: Any = error.validator_value
    if error.validator == "additionalProperties":
        known = sorted(schema["properties"])
        for unknown in sorted(set(value) - set(known), key=str):
            near = get_close_matches(str(unknown), known, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            yield f"{key}: unknown key {unknown!r}; {hint}allowed are {', '.join(known)}"
    elif error.validator == "required":
        # One error per missing key; the message is the only place that says which.
        yield f"{key}: {error.message}"
    else:
        meaning = f" ({schema['description']})" if "description" in schema else ""
        yield f"{key}: {value!r} {_allowed(str(error.validator), limit)}{meaning}"


def _allowed(validator: str, limit: Any) -> str:
    """Return what a rule of the schema allows, in words."""
    if validator == "type":
        return f"must be {_TYPE_WORDS[limit]}"
    if validator == "enum":
        return f"must be one of {', '.join(map(str, limit))}"
    return {
        "minimum": f"must be at least {limit}",
        "exclusiveMinimum": f"must be above {limit}",
        "maximum": f"must be at most {limit}",
        "exclusiveMaximum": f"must be below {limit}",
        "maxItems": f"must have at most {limit} entries",
        "minLength": "must not be empty",
        "minItems": f"must have at least {limit} entries",
        "minProperties": f"must have at least {limit} entries",
        "uniqueItems": "must not repeat an entry",
        "pattern": f"must match {limit}",
    }[validator]


def _contradictions(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the schema cannot say: how keys must relate to each other."""
    yield from _theory_contradictions(config["theory"])
    yield from _too_many_jobs(config)
    budgets, step = config["exp3"]["budgets"], config["theory"]["allocation"]["budget_step"]
    steps = (max(budgets) - min(budgets)) // step
    if steps > MAX_BUDGETS:
        yield (
            f"theory.allocation.budget_step: {step} makes {steps:,} budgets between the smallest "
            f"and the largest of exp3.budgets; it must be at least "
            f"{-(-(max(budgets) - min(budgets)) // MAX_BUDGETS)}"
        )
    for name in ("exp1", "exp2"):
        block = config[name]
        yield from _rank_fits(block, name)
        for key in (
            "observations",
            "panel_observations",
            "curve_observations",
            "test_observations",
        ):
            if key in block:
                yield from _enough(block[key], block["cardinality"], f"{name}.{key}")
    block = config["exp3"]
    for index, predictor in enumerate(block["predictors"]):
        yield from _rank_fits(predictor, f"exp3.predictors[{index}]")
    largest = max(predictor["cardinality"] for predictor in block["predictors"])
    for key in ("budget_observations", "curve_observations"):
        yield from _enough(block[key], largest, f"exp3.{key}")
    least = sum(predictor["cardinality"] for predictor in block["predictors"])
    for key, budget in [
        *((f"exp3.budgets[{i}]", b) for i, b in enumerate(block["budgets"])),
        ("exp3.curve_budget", block["curve_budget"]),
    ]:
        if budget < least:
            yield (
                f"{key}: {budget} must be at least {least}, the sum of the predictors' "
                "cardinalities, so that each can have one dimension"
            )
    heart = config["heart"]
    if Path(os.path.normpath(heart["data"])).parts[0] == "..":
        yield (
            f"heart.data: {heart['data']!r} must stay inside the project; give an absolute path if "
            "another place is meant"
        )
    if heart["fold_splits"] > heart["splits"]:
        yield (
            f"heart.fold_splits: {heart['fold_splits']} must be at most heart.splits, "
            f"{heart['splits']}"
        )
    for name in ("exp1", "exp2", "exp3", "heart"):
        size = config["multiverse"][name]
        if size["at_most"] < size["replications"]:
            yield (
                f"multiverse.{name}.at_most: {size['at_most']} must be at least "
                f"multiverse.{name}.replications, {size['replications']}"
            )


def _too_many_jobs(config: Mapping[str, Any]) -> Iterator[str]:
    multiverse = config["multiverse"]
    # Where the size of a job stands, and how much there is to do.
    work = [
        (f"{name}.replications_per_job", config[name]["replications"])
        for name in ("exp1", "exp2", "exp3")
    ]
    work.append(("heart.splits_per_job", config["heart"]["splits"]))
    for name in ("exp1", "exp2", "exp3", "heart"):
        draws = multiverse["scale"] * multiverse[name]["draws"]
        work.append((f"multiverse.{name}.points_per_job", draws))
    draws = multiverse["scale"] * multiverse["exp3"]["draws"]
    work.append(("multiverse.regret.draws_per_job", draws))
    for place, total in work:
        per_job = reduce(getitem, place.split("."), config)
        jobs = -(-total // per_job)
        if jobs > MAX_JOBS:
            yield (
                f"{place}: {per_job} makes {jobs:,} jobs of each kind, but "
                f"{MAX_JOBS:,} must do; it must be at least {-(-total // MAX_JOBS)}"
            )


def _theory_contradictions(theory: Mapping[str, Any]) -> Iterator[str]:
    yield from _rank_fits(theory["approximation"], "theory.approximation")
    block = theory["alternating"]
    if len(block["cardinalities"]) != len(block["dimensions"]):
        yield (
            f"theory.alternating.dimensions: {block['dimensions']} must have one entry per "
            f"cardinality, {len(block['cardinalities'])}"
        )
    block = theory["generalisation"]
    largest, predictors = max(block["cardinalities"]), block["predictors"]
    if largest**predictors > MAX_COMBINATIONS:
        yield (
            f"theory.generalisation.cardinalities: {largest} must be at most "
            f"{int(MAX_COMBINATIONS ** (1 / predictors) + 1e-9)} with {predictors} predictors, "
            "because test risks sum over all combinations of categories"
        )
    effects = predictors * (largest - 1) + 1
    for n in block["observations"]:
        if n <= effects:
            yield (
                f"theory.generalisation.observations: {n} must be above {effects}, the number of "
                "free effects of the largest cardinality"
            )
    for key in ("cardinality_range", "coefficient_range"):
        low, high = theory["allocation"][key]
        if low > high:
            yield f"theory.allocation.{key}: {low} must be at most {high}, the end of the range"


def _rank_fits(block: Mapping[str, Any], place: str) -> Iterator[str]:
    rank, cardinality = block["latent_rank"], block["cardinality"]
    if rank > cardinality:
        yield f"{place}.latent_rank: {rank} must be at most the cardinality, {cardinality}"


def _enough(observations: int | list[int], cardinality: int, place: str) -> Iterator[str]:
    for n in observations if isinstance(observations, list) else [observations]:
        if n < cardinality:
            yield (
                f"{place}: {n} must be at least {cardinality}, the number of categories, because "
                "every category is observed"
            )
