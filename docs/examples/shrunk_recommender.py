"""A trained recommender, shrunk to a memory budget without training it again."""

import torch
from torch import Tensor, nn

from embedalloc import allocate_from_model

torch.manual_seed(0)
users, items, width, ratings = 2000, 500, 32, 60_000
taste, offer = torch.randn(users, 4), torch.randn(items, 4)
who, what = torch.randint(users, (ratings,)), torch.randint(items, (ratings,))
rating = (taste[who] * offer[what]).sum(1) + 0.5 * torch.randn(ratings)
seen = torch.arange(ratings) < 50_000


class Recommender(nn.Module):
    """Ratings as inner products of a user's and an item's vector."""

    def __init__(self) -> None:
        super().__init__()
        self.user, self.item = nn.Embedding(users, width), nn.Embedding(items, width)
        for table in (self.user, self.item):
            nn.init.normal_(table.weight, std=0.1)

    def forward(self, who: Tensor, what: Tensor) -> Tensor:
        """Return the predicted ratings."""
        return (self.user(who) * self.item(what)).sum(1)


def error(model: Recommender) -> float:
    """Return the root mean squared error on ratings that were not seen."""
    with torch.no_grad():
        return float((model(who[~seen], what[~seen]) - rating[~seen]).square().mean().sqrt())


model = Recommender()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.02, weight_decay=1.0)
for _ in range(8):
    for rows in torch.where(seen)[0][torch.randperm(50_000)].split(2000):
        optimizer.zero_grad()
        (model(who[rows], what[rows]) - rating[rows]).square().mean().backward()
        optimizer.step()
before, full = error(model), 4 * (users + items) * width

plan = allocate_from_model(model, "60 kB", minimum=1)
for name, dimension in plan.dimensions.items():
    weight = getattr(model, name).weight
    with torch.no_grad():  # the best table of so few columns, and what turns it back
        left, values, right = torch.linalg.svd(weight, full_matrices=False)
        narrow, back = left[:, :dimension] * values[:dimension], right[:dimension]
        weight.copy_(narrow @ back)
print(plan)
print(
    f"{full / 1000:.0f} kB, error {before:.3f} → {4 * plan.cost / 1000:.0f} kB, "
    f"error {error(model):.3f}"
)
