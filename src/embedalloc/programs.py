"""Complete programs that build the allocated tables and train a network with them.

A program runs as it is: with the rows of the user's file where the plan was made from one, and
otherwise with made-up rows that the user replaces.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from embedalloc import __version__
from embedalloc.result import Allocation

#: Libraries that programs are written for.
LIBRARIES = ("torch", "keras")
#: Lists that are longer stand on several lines.
LONGEST_LIST = 88


class FileRows(NamedTuple):
    """Where a program finds its rows, and what it does with them.

    Attributes
    ----------
    path
        The file, as the user named it.
    words
        Of `embedalloc.read_rows`.
    fields
        The categorical columns.
    plan
        As `EmbeddingAllocator(tables=…)` takes it.
    regression
        Whether the target is a number.
    min_frequency
        Levels with fewer rows are pooled.
    """

    path: str
    words: Mapping[str, Any]
    fields: Sequence[str]
    plan: Mapping[str, Mapping[str, Any]]
    regression: bool
    min_frequency: int

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return bool(self.words.get("weight"))


def write_program(allocation: Allocation, library: str, rows: FileRows | None = None) -> str:
    """Return a program for torch or Keras; without rows of a file it makes some up."""
    effects = sum(len(columns) for columns in allocation.effects.values())
    tables = {
        name: (allocation.cardinalities[name], dimension)
        for name, dimension in allocation.dimensions.items()
        if dimension
    }
    if rows is None:
        known = _write_dictionary("TABLES", tables, "Rows and dimension of each table.")
        data = known + _MADE_UP.format(effects=effects)
    else:
        data = _write_file_part(rows)
    regression = rows is not None and rows.regression
    weighted = rows is not None and rows.weighted
    if library == "torch":
        loss = "mse_loss" if regression else "cross_entropy"
        model = _TORCH.replace("LOSS", (_TORCH_WEIGHTED if weighted else _TORCH_LOSS) % loss)
    else:
        classes = "keras.losses.SparseCategoricalCrossentropy(from_logits=True)"
        model = _KERAS.replace("LOSS", '"mse"' if regression else classes)
        model = model.replace("WEIGHTS", "    sample_weight=known[3],\n" if weighted else "")
    head = _HEAD.format(
        version=__version__,
        library=library,
        more=_KERAS_NOTE if library == "keras" else "",
        imports=_IMPORTS[library],
        ours="" if rows is None else _OUR_IMPORT,
    )
    return re.sub("\n{4,}", "\n\n\n", f"{head}\n{data}\n{model}").rstrip() + "\n"


def _write_dictionary(name: str, values: Mapping[str, Any], note: str) -> str:
    lines = [f"    {key!r}: {value!r}," for key, value in values.items()]
    return "\n".join([f"# {note}", f"{name} = {{", *lines, "}"])


def _write_value(value: Any) -> str:
    """Return a value as Python writes it, an item of a long list per line."""
    if not isinstance(value, list) or len(repr(value)) < LONGEST_LIST:
        return repr(value)
    return "\n".join(["[", *(f"        {each!r}," for each in value), "    ]"])


def _write_file_part(rows: FileRows) -> str:
    words = "".join(
        f"    {name}={_write_value(value)},\n" for name, value in rows.words.items() if value
    )
    target = _NUMBER_TARGET if rows.regression else _CLASS_TARGET
    task = "regression" if rows.regression else "classification"
    note = "Rows and dimension of each field's table, and whether its effect is an input."
    plan = _write_dictionary("PLAN", rows.plan, note)
    return plan + _FROM_FILE.format(
        path=rows.path,
        words=words,
        fields=_write_value(list(rows.fields)),
        min_frequency=rows.min_frequency,
        task=task,
        target=target,
        split=_write_split(rows.words),
        weights=_WEIGHTS if rows.weighted else "",
        fit=", sample_weight=weights[first]" if rows.weighted else "",
        weight=", weights[rows]" if rows.weighted else "",
    )


def _write_split(words: Mapping[str, Any]) -> str:
    """Return the lines that hold out a fifth of the rows in the way that the plan did."""
    if words.get("time"):
        return 'first, rest = hold_out_some(y, times=about["times"])  # the last fifth validates'
    if words.get("group"):
        return 'first, rest = hold_out_some(y, groups=about["groups"])  # whole groups validate'
    return "first, rest = hold_out_some(y)  # a random fifth validates"


_HEAD = '''"""Train a network with the tables that embedalloc {version} planned, in {library}.{more}

Edit it as you like: the tables are what was planned, the rest is a start.
"""
{imports}{ours}
EPOCHS = 10
BATCH = 256
'''
_KERAS_NOTE = "\n\nSet KERAS_BACKEND to torch, jax or tensorflow, whichever is installed."
_IMPORTS = {
    "torch": "\nimport numpy as np\nimport torch\nfrom torch import nn\n",
    "keras": "\nimport keras\nimport numpy as np\n",
}
_OUR_IMPORT = "\nfrom embedalloc import EmbeddingAllocator, hold_out_some, read_rows\n"
_WEIGHTS = """weights = about["sample_weight"].to_numpy(np.float32)
weights /= weights.mean()
"""

_MADE_UP = """
# Made-up rows; put yours in their place. A column of codes per table, each below its rows.
rng = np.random.default_rng(0)


def draw_rows(count):
    codes = [rng.integers(rows, size=count) for rows, _ in TABLES.values()]
    codes = np.array(codes, np.int64).reshape(len(TABLES), count).T
    numbers = rng.normal(size=(count, {effects})).astype(np.float32)
    return codes, numbers, rng.integers(2, size=count)


known, new = draw_rows(2000), draw_rows(500)
outputs = 2
"""

_FROM_FILE = """
TABLES = {{
    name: (each["rows"], each["dimension"]) for name, each in PLAN.items() if each["dimension"]
}}

X, y, about = read_rows(
    {path!r},
{words})
{weights}{split}
plan = EmbeddingAllocator(
    tables=PLAN,
    columns={fields},
    min_frequency={min_frequency},
    task={task!r},
    random_state=0,
).set_output(transform="pandas")
{target}

# Codes of tables, numbers (effects among them) and target of some rows.
def arrange(inputs, rows):
    effects = inputs.drop(columns=list(TABLES)).to_numpy(np.float32)
    numbers = np.hstack([effects, plan.transform_numbers(X.iloc[rows])])
    return inputs[list(TABLES)].to_numpy(np.int64), numbers, target[rows]{weight}


known = arrange(plan.fit_transform(X.iloc[first], y[first]{fit}), first)
new = arrange(plan.transform(X.iloc[rest]), rest)
"""
_CLASS_TARGET = """classes, target = np.unique(y.astype(str), return_inverse=True)
outputs = len(classes)
"""
_NUMBER_TARGET = """target = (y - y[first].mean()) / y[first].std()  # standardised
target = target.astype(np.float32)[:, None]
outputs = 1
"""

_TORCH = """

class Network(nn.Module):
    def __init__(self, numbers):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(*size) for size in TABLES.values())
        for table in self.tables:
            nn.init.normal_(table.weight, std=0.05)
        width = sum(dimension for _, dimension in TABLES.values()) + numbers
        self.layers = nn.Sequential(
            *(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU()),
            nn.Linear(16, outputs),
        )

    def forward(self, codes, numbers):
        parts = [table(codes[:, k]) for k, table in enumerate(self.tables)]
        return self.layers(torch.cat([*parts, numbers], dim=1))


torch.manual_seed(0)
known, new = ([torch.tensor(each) for each in part] for part in (known, new))
network = Network(known[1].shape[1])
adam = torch.optim.Adam(network.parameters(), lr=2e-3)
LOSS
for epoch in range(1, EPOCHS + 1):
    for rows in torch.randperm(len(known[2])).split(BATCH):
        codes, numbers, *goal = (each[rows] for each in known)
        adam.zero_grad()
        loss_of(network(codes, numbers), *goal).backward()
        adam.step()
    with torch.no_grad():
        loss = loss_of(network(new[0], new[1]), *new[2:])
    print(f"epoch {epoch}: validation loss {loss:.5f}")
"""

_TORCH_LOSS = "loss_of = nn.functional.%s"
_TORCH_WEIGHTED = """

def loss_of(outputs, goal, weight):
    losses = nn.functional.%s(outputs, goal, reduction="none").ravel()
    return (losses * weight).sum() / weight.sum()

"""

_KERAS = """
keras.utils.set_random_seed(0)
codes = keras.Input((len(TABLES),), dtype="int32", name="codes")
numbers = keras.Input((known[1].shape[1],), name="numbers")
start = keras.initializers.RandomNormal(0, 0.05)
parts = [
    keras.layers.Embedding(rows, dimension, embeddings_initializer=start)(codes[:, k])
    for k, (rows, dimension) in enumerate(TABLES.values())
]
if known[1].shape[1]:
    parts.append(numbers)
hidden = parts[0] if len(parts) == 1 else keras.layers.Concatenate()(parts)
for units in (32, 16):
    hidden = keras.layers.Dense(units, activation="relu")(hidden)
network = keras.Model([codes, numbers], keras.layers.Dense(outputs)(hidden))
network.compile(optimizer=keras.optimizers.Adam(2e-3), loss=LOSS)
network.fit(
    [known[0], known[1]],
    known[2],
WEIGHTS    validation_data=([new[0], new[1]], *new[2:]),
    epochs=EPOCHS,
    batch_size=BATCH,
    verbose=2,
)
"""
