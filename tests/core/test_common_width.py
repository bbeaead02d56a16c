"""One width for all fields: priced as built, and the same after a round trip."""

import json

import pytest
import torch
from click.testing import CliRunner
from torch import nn

from embedalloc import allocate, from_json, to_json, to_projections, to_torch, to_torchrec
from embedalloc.command_line import main
from embedalloc.exporters import export_text
from embedalloc.rules import RULES

SIZES = {"user": 943, "item.id": 1682, "town": 40, "sex": 3}
CODES = torch.tensor([[0, 5, 39, 2], [942, 1681, 0, 0]])


def count(module):
    return sum(each.numel() for each in module.parameters())


@pytest.mark.parametrize("budget", [3_000, 20_000, 10**6])
@pytest.mark.parametrize("width", [1, 8, 16])
def test_the_module_has_the_parameters_that_were_priced(budget, width):
    plan = allocate(SIZES, budget, width=width)
    module = to_torch(plan)
    assert count(module) == plan.cost <= budget
    assert max(plan.dimensions.values()) <= width
    assert count(module.projections) == plan.projections
    assert module(CODES).shape == (2, 4, width)


@pytest.mark.parametrize("rule", [r.name for r in RULES.values() if r.function is not None])
def test_every_rule_keeps_budget_and_width(rule):
    wanted = RULES[rule].inputs[:1]
    inputs = {what: [1.0, 2.0, 3.0, 1.5] for what in wanted if what != "curves"}
    plan = allocate(SIZES, 30_000, rule=rule, width=12, **inputs)
    assert plan.cost <= 30_000
    assert max(plan.dimensions.values()) <= 12
    assert plan.gap is None
    for name, d in plan.dimensions.items():
        projected = 0 if d == 12 else 12
        assert plan.parameters[name] == (SIZES[name] + projected) * d
    assert "projected to 12 columns each" in str(plan)


def test_a_table_that_costs_less_without_a_projection_has_none():
    # 15 columns and a projection are 15 · 56 = 840 parameters, 16 columns 640.
    plan = allocate({"town": 40}, 900, maximum=16, width=16)
    assert plan.dimensions == {"town": 16}
    assert plan.cost == 640
    kept = allocate({"town": 40}, 900, maximum=15, width=16)
    assert kept.dimensions == {"town": 15}
    assert allocate({"town": 40}, 900, fixed={"town": 15}, width=16).dimensions == {"town": 15}


def test_the_objective_is_that_of_the_dimensions_in_the_end():
    a = [1.0, 2.0, 3.0, 1.0]
    plan = allocate(SIZES, 30_000, coefficients=a, width=16)
    expected = sum(each / d for each, d in zip(a, plan.dimensions.values(), strict=True))
    assert plan.objective == pytest.approx(expected)


def test_round_trip_through_json_builds_the_same_module():
    plan = allocate(SIZES, 20_000, width=16)
    again = from_json(to_json(plan))
    assert again == plan
    torch.manual_seed(0)
    first = to_torch(plan)
    torch.manual_seed(0)
    second = to_torch(again)
    assert torch.equal(first(CODES), second(CODES))
    assert from_json(to_json(allocate(SIZES, 20_000))).width is None


def test_bags_with_projections_come_to_the_same_as_the_plain_module():
    plan = allocate(SIZES, 20_000, width=16)
    plain, projections = to_torch(plan), to_projections(plan)
    projections.load_state_dict(plain.projections.state_dict())
    # What torchrec's collection returns: one tensor per feature, by its name.
    bags = {
        each["feature_names"][0]: nn.EmbeddingBag(
            each["num_embeddings"], each["embedding_dim"], mode="sum"
        )
        for each in to_torchrec(plan)
    }
    for bag, table in zip(bags.values(), plain.tables.values(), strict=True):
        bag.weight = table.weight
    pooled = {name: bag(CODES[:, [k]]) for k, (name, bag) in enumerate(bags.items())}
    assert torch.allclose(projections(pooled), plain(CODES))
    assert sum(count(bag) for bag in bags.values()) + count(projections) == plan.cost


def test_what_cannot_be_used_is_refused():
    with pytest.raises(ValueError, match="width: 0 is not between 1"):
        allocate(SIZES, 20_000, width=0)
    with pytest.raises(ValueError, match="leave cost_per_dimension out"):
        allocate(SIZES, 20_000, width=8, cost_per_dimension=[1, 1, 1, 1])
    with pytest.raises(ValueError, match="this allocation has no width"):
        to_projections(allocate(SIZES, 20_000))
    with pytest.raises(ValueError, match="the program for keras does not project"):
        export_text(allocate(SIZES, 20_000, width=8), "keras")
    with pytest.raises(ValueError, match="expected 4 columns"):
        to_torch(allocate(SIZES, 20_000, width=8))(CODES[:, :2])


def test_curves_keep_to_what_was_measured():
    curves = {"user": {1: 0.6, 4: 0.5}, "town": {1: 0.4, 15: 0.1}}
    plan = allocate({"user": 943, "town": 40}, 20_000, curves=curves, width=16)
    assert plan.dimensions == {"user": 4, "town": 15}
    assert plan.parameters == {"user": 4 * 959, "town": 15 * 56}


def test_the_command_projects_too():
    words = ["solve", "--cardinality", "user=943", "--cardinality", "town=40", "--budget", "9000"]
    out = CliRunner().invoke(main, [*words, "--width", "16"])
    assert "projected to 16 columns each" in out.stdout
    assert "full, at N - 1 or at the maximum: 'town'" in out.stdout
    content = json.loads(CliRunner().invoke(main, [*words, "--width", "16", "--json"]).stdout)
    assert content["width"] == 16
    wrong = CliRunner().invoke(main, [*words, "--width", "1.5"])
    assert wrong.exit_code == 2
    assert "--width: 1.5 is not a whole number" in wrong.stderr
