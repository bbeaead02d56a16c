"""A memory plan in torch and in torchrec's words."""

import numpy as np
import pytest
import torch

from embedalloc import TableChoice, plan_memory

COUNTS = {
    "user": np.maximum(1, 500 * np.arange(1, 301) ** -0.9).astype(np.int64),
    "item.id": np.maximum(1, 900 * np.arange(1, 121) ** -1.2).astype(np.int64),
    "noise": np.array([5, 5]),
    "sex": np.array([6000, 4000]),
}
MEASURED = {
    "user": [TableChoice(40, 16, 8, "int4", 0.1)],
    "item.id": [TableChoice(20, 1, 6, "int8", 0.1)],
    "noise": [TableChoice(0, 0, 0, "float32", 0.1)],
    "sex": [TableChoice(2, 1, 2, "float16", 0.1)],
}
CODES = torch.tensor([[0, 5, 1], [39, 19, 0], [40, 20, 7], [299, 119, -1], [10**12, -3, 1]])


def build(**words):
    return plan_memory(COUNTS, "10 kB", measured=MEASURED, **words)


def test_rows_are_those_of_the_plan():
    plan = build()
    module = plan.to_torch()
    assert module.fields == ("user", "item.id", "sex")
    for column, (name, table) in enumerate(zip(module.fields, module.tables.values(), strict=True)):
        found = table.rows_of(torch.arange(-50, 5000)).numpy()
        assert (found == plan.tables[name].rows_of(np.arange(-50, 5000))).all()
        mine = table.rows_of(CODES[:, column]).numpy()
        assert (mine == plan.tables[name].rows_of(CODES[:, column].numpy())).all()
        assert table.weight.shape == (plan.tables[name].rows, plan.tables[name].dimension)


def test_outputs_are_the_rows_side_by_side_and_learn():
    plan = build()
    module = plan.to_torch()
    out = module(CODES)
    assert out.shape == (5, 8 + 6 + 2)
    assert out.dtype == torch.float32
    row = plan.tables["user"].rows_of(np.array([299]))[0]
    user = module.tables["user"].weight
    assert torch.equal(out[3, :8], user[row])
    out.sum().backward()
    assert user.grad[row].abs().sum() > 0


def test_packed_tables_take_the_bytes_of_the_plan_and_serve_nearly_the_same():
    plan = build()
    module = plan.to_torch()
    before = module(CODES)
    module.pack()
    held = sum(each.nbytes for each in (*module.buffers(), *module.parameters()))
    assert held == plan.bytes
    after = module(CODES)
    assert 0 < (after - before).abs().max() < 0.3  # 15 steps between -2 and 2
    module.pack()
    assert torch.equal(module(CODES), after)


@pytest.mark.parametrize("optimizer", [None, "adam"])
def test_a_common_width_is_built_as_it_is_priced(optimizer):
    plan = plan_memory(COUNTS, "20 kB", optimizer=optimizer, formats=["float32"], width=8)
    module = plan.to_torch()
    assert module(torch.zeros(3, len(module.fields), dtype=torch.int64)).shape == (
        3,
        len(module.fields),
        8,
    )
    numbers = sum(each.numel() for each in module.parameters())
    assert plan.bytes == numbers * 4 * (1 if optimizer is None else 3)
    assert {table.dimension for table in plan.tables.values()} - {8, 0}  # some are projected


def test_a_wrong_number_of_columns_is_refused():
    with pytest.raises(ValueError, match=r"expected a column for each of user, item\.id, sex"):
        build().to_torch()(CODES[:, :2])


def test_torchrec_gets_a_bag_per_table():
    assert build().to_torchrec() == [
        {
            "name": "t_user",
            "num_embeddings": 56,
            "embedding_dim": 8,
            "feature_names": ["user"],
            "data_type": "INT4",
        },
        {
            "name": "t_item%2Eid",
            "num_embeddings": 21,
            "embedding_dim": 6,
            "feature_names": ["item.id"],
            "data_type": "INT8",
        },
        {
            "name": "t_sex",
            "num_embeddings": 3,
            "embedding_dim": 2,
            "feature_names": ["sex"],
            "data_type": "FP16",
        },
    ]
