"""A wrong configuration stops before any job, with the key, the value and what is allowed."""

import copy
import typing

import pytest

from embedalloc.study.settings.common import Settings
from embedalloc.study.settings.configuration import Configuration, read_configuration
from embedalloc.study.settings.errors import ConfigError
from tests.places import ROOT, read_config

CONFIG = read_config()


def changed(path, value):
    """Return the default configuration with one value replaced, or one key added."""
    config = copy.deepcopy(CONFIG)
    *parents, last = path
    place = config
    for key in parents:
        place = place[key]
    place[last] = value
    return config


def test_the_default_configuration_is_valid():
    read_configuration(CONFIG)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("exp1", "replications"), -5, "exp1.replications: -5 must be at least 2 (number of"),
        (
            ("exp2", "spectrum", "decay"),
            "logarithmic",
            "exp2.spectrum.decay: 'logarithmic' must be one of polynomial, exponential",
        ),
        (
            ("exp1", "designs", "exponential", "decay"),
            "cubic",
            "exp1.designs.exponential.decay: 'cubic' must be one of polynomial, exponential",
        ),
        (("exp3", "budgets"), [300, 299], "exp3.budgets[1]: 299 must be at least 300, the sum"),
        (("exp3", "curve_budget"), 12, "exp3.curve_budget: 12 must be at least 300"),
        (
            ("exp3", "replicatons"),
            3,
            "exp3: unknown key 'replicatons'; did you mean 'replications'? allowed are budget_obs",
        ),
        (("colour",), 1, "the configuration: unknown key 'colour'; allowed are audit, bench"),
        (("seed",), [1], "seed: [1] must be a whole number"),
        (("exp2", "noise"), [1.0], "exp2.noise: [1.0] must be a number"),
        (("exp2", "noise"), 0.0, "exp2.noise: 0.0 must be at least 1e-12"),
        (("exp2", "noise"), float("nan"), "exp2.noise: nan must be a number"),
        (("exp2", "replications"), 150.0, "exp2.replications: 150.0 must be a whole number"),
        (("exp2", "replications"), True, "exp2.replications: True must be a whole number"),
        (("exp2", "replications"), "150", "exp2.replications: '150' must be a whole number"),
        (("exp2", "panel_observations"), 500, "exp2.panel_observations: 500 must be a list"),
        (("exp2", "panel_observations"), [], "must have at least 1 entries"),
        (("exp2", "panel_observations"), [500, 500], "must not repeat an entry"),
        (("exp2", "curve_observations"), [99], "exp2.curve_observations: 99 must be at least 100"),
        (
            ("exp3", "budget_observations"),
            170,
            "exp3.budget_observations: 170 must be at least 180",
        ),
        (
            ("exp1", "latent_rank"),
            101,
            "exp1.latent_rank: 101 must be at most the cardinality, 100",
        ),
        (("exp3", "predictors"), {}, "exp3.predictors: {} must be a list"),
        (("exp1", "designs"), {"Bad Name": CONFIG["exp2"]["spectrum"]}, "'Bad Name' must match"),
        (
            ("theory", "approximation", "latent_rank"),
            101,
            "theory.approximation.latent_rank: 101 must be at most the cardinality, 100",
        ),
        (
            ("theory", "alternating", "dimensions"),
            [2, 3, 4],
            "theory.alternating.dimensions: [2, 3, 4] must have one entry per cardinality, 2",
        ),
        (
            ("theory", "alternating", "penalty"),
            0.0,
            "penalty: 0.0 must be at least 1e-12",
        ),
        (
            ("theory", "generalisation", "cardinalities"),
            [5, 1001],
            "theory.generalisation.cardinalities: 1001 must be at most 1000 with 2 predictors",
        ),
        (
            ("theory", "generalisation", "observations"),
            [79, 80],
            "theory.generalisation.observations: 79 must be above 79, the number of free effects",
        ),
        (("theory", "generalisation", "dimensions"), [3], "must have at least 2 entries"),
        (
            ("theory", "allocation", "coefficient_range"),
            [2.0, 1.0],
            "theory.allocation.coefficient_range: 2.0 must be at most 1.0, the end of the range",
        ),
        (("theory", "allocation", "cardinality_range"), [2, 3, 4], "must have at most 2 entries"),
        (("theory", "allocation", "budget_ratios"), [0.5], "0.5 must be at least 1"),
        (("theory", "figures"), 4, "theory: unknown key 'figures'; allowed are allocation, alt"),
        (("exp1",), None, "exp1: None must be a block of keys"),
        (("exp1", "designs", None), {}, "exp1.designs: the key None must be a text"),
        (
            ("heart", "data"),
            "workflow/../../elsewhere",
            "heart.data: 'workflow/../../elsewhere' must stay inside the project; give an absolute",
        ),
        (("heart", "data"), "a\nb", "heart.data: 'a\\nb' must match"),
        (
            ("exp1", "replications"),
            10**9,
            "exp1.replications_per_job: 20000 makes 150,000 jobs of each kind, but 2,000 must do; "
            "it must be at least 1501502",
        ),
        (
            ("multiverse", "scale"),
            10**6,
            "multiverse.exp3.points_per_job: 20 makes 3,000,000 jobs of each kind, but 2,000 must "
            "do; it must be at least 30000",
        ),
        (
            ("multiverse", "heart", "at_most"),
            9,
            "multiverse.heart.at_most: 9 must be at least multiverse.heart.replications, 16",
        ),
        (
            ("exp3", "budgets"),
            [300, 10**9],
            "theory.allocation.budget_step: 10 makes 99,999,970 budgets between the smallest",
        ),
        *((("exp1", key), 10**400, f"exp1.{key}: 1000") for key in ("noise", "observations")),
        (("seed",), [10**5000], "seed: a number of thousands of digits must be a whole number"),
        (("exp2", "noise"), 1e308, "exp2.noise: 1e+308 must be at most 1000000000"),
        (("exp1", "observations"), 10**30, "must be at most 1000000000 (number of observations"),
        (
            ("exp1", "cardinality"),
            10**9,
            "exp1.cardinality, latent_rank and replications_per_job: a job would need about "
            "12,800 GB of memory, and 16 GB are allowed",
        ),
        (
            ("exp3", "predictors", 0, "cardinality"),
            10**9,
            "exp3.predictors, budgets, observations and replications_per_job: a job would need",
        ),
        (
            ("theory", "alternating", "cardinalities"),
            [10, 4991],
            "theory.alternating.cardinalities: 5,001 categories in all must be at most 5,000",
        ),
        (
            ("theory", "generalisation", "predictors"),
            10**9,
            "theory.generalisation.cardinalities: 40 must be at most 1 with 1000000000 predictors",
        ),
        (
            ("exp1", "designs", "exponential", "offset"),
            1e4,
            "exp1.designs.exponential: rate 0.5, scale 50 and offset 10000 make the first singular "
            "value e^5,003, which must be from 1e-12 to 1e+09",
        ),
        (
            ("heart", "budgets"),
            [10**9],
            "heart.budgets, hidden, epochs, restarts and splits_per_job: a job would need about",
        ),
        (
            ("heart", "epochs"),
            10**8,
            "heart.budgets, hidden, epochs, restarts and splits_per_job: a job would need about",
        ),
        (("exp2", "curve_observations"), list(range(100, 1200)), "must have at most 1000 entries"),
        (("exp2", "x" * 10**5), 1, "exp2: unknown key 'xxxxxxxx"),
        (("exp2", "\x1b[31m"), 1, "exp2: unknown key '\\x1b[31m'"),
    ],
)
def test_wrong_values_are_named(path, value, message):
    with pytest.raises(ConfigError) as caught:
        read_configuration(changed(path, value))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "place", ["/data/heart", "workflow/../data", "...", "..data/x", ".", "./", "/"]
)
def test_data_may_lie_anywhere_by_intent(place):
    read_configuration(changed(("heart", "data"), place))


def test_a_missing_key_is_named():
    config = copy.deepcopy(CONFIG)
    del config["exp3"]["ridge"]
    with pytest.raises(ConfigError, match="exp3: 'ridge' is a required property"):
        read_configuration(config)


def test_all_mistakes_are_listed_at_once():
    config = changed(("exp1", "noise"), -1)
    config["exp3"]["noise"] = "loud"
    with pytest.raises(ConfigError, match=r"exp1\.noise: -1(.|\n)*exp3\.noise: 'loud'"):
        read_configuration(config)


def test_a_block_inside_itself_is_refused():
    block = copy.deepcopy(CONFIG["exp2"]["spectrum"])
    block["rate"] = block
    with pytest.raises(ConfigError, match=r"exp2\.spectrum: nested more than 20 deep"):
        read_configuration(changed(("exp2", "spectrum"), block))


def test_aliases_that_multiply_are_refused():
    value = 1
    for _ in range(12):
        value = [value] * 9
    with pytest.raises(ConfigError, match=r"exp3\.budgets: more than 100,000 values in all"):
        read_configuration(changed(("exp3", "budgets"), value))


def test_of_very_many_mistakes_the_first_are_listed():
    with pytest.raises(ConfigError, match=r"budgets\[29\].*\n  and 970 more of the kind$"):
        read_configuration(changed(("exp3", "budgets"), ["x"] * 1000))


def walk(block, place=""):
    """Every key with its description, and whether the block that holds it refuses others."""
    for key, field in block.model_fields.items():
        inside = [kind for kind in kinds_in(field.annotation) if issubclass(kind, Settings)]
        sentence = block.sentences().get(key) or (inside and inside[0].__doc__)
        yield f"{place}.{key}", sentence, block.model_config["extra"]
        for kind in inside:
            yield from walk(kind, f"{place}.{key}")


def kinds_in(annotation):
    """The classes that an annotation is made of."""
    if isinstance(annotation, type) and not typing.get_args(annotation):
        return [annotation]
    return [kind for each in typing.get_args(annotation) for kind in kinds_in(each)]


def test_every_key_is_described_and_unknown_ones_are_refused():
    keys = list(walk(Configuration))
    assert len(keys) > 150
    for key, sentence, extra in keys:
        assert sentence, key
        assert extra == "forbid", key


def test_a_number_may_be_written_without_a_point():
    assert read_configuration(changed(("exp2", "noise"), 1)) == read_configuration(CONFIG)


def test_the_order_of_keys_does_not_count():
    turned = {key: CONFIG[key] for key in reversed(CONFIG)}
    turned["exp1"] = {key: CONFIG["exp1"][key] for key in reversed(CONFIG["exp1"])}
    designs = CONFIG["exp1"]["designs"]
    turned["exp1"]["designs"] = {key: designs[key] for key in sorted(designs)}
    assert repr(read_configuration(turned).plain()) == repr(read_configuration(CONFIG).plain())
    assert list(read_configuration(turned).exp1.designs) == list(designs)


def test_every_line_of_the_configuration_is_commented():
    for line in (ROOT / "config.yaml").read_text().splitlines():
        inside_list = line.lstrip().startswith("- ")
        assert not line.strip() or "#" in line or inside_list, line
