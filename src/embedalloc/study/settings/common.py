"""What the blocks of the configuration share: strict types, shared ranges, jobs and their cells.

A key's sentence is the docstring below it. A job is given a cell: the settings that it needs and
nothing more, because what a job is given decides when it runs again.
"""

import ast
import inspect
from itertools import pairwise
from typing import Annotated, Any, Generic, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    SerializeAsAny,
    Strict,
)
from pydantic_core import CoreSchema, PydanticCustomError

_T = TypeVar("_T")


class Settings(BaseModel):
    """Named values that cannot change; a whole number is no 150.0, and true is no number."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        defer_build=True,  # a job uses few of the blocks that it imports
    )

    def plain(self) -> dict[str, Any]:
        """Return the settings as plain data; in which order a file lists them does not count."""
        return self.model_dump(mode="json")

    @classmethod
    def taken_from(cls, block: "Settings", **others: Any) -> Self:
        """Return the keys that a larger block shares with this one, and some others."""
        shared = {key: getattr(block, key) for key in cls.model_fields if key not in others}
        return cls.model_validate(shared | others)

    @classmethod
    def sentences(cls) -> dict[str, str]:
        """Return the keys' sentences, read from the source.

        Pydantic's own `use_attribute_docstrings` would read them at every start, for 0.3 s.
        """
        found: dict[str, str] = {}
        for kind in reversed(cls.__mro__):
            # A kind with its parameter filled in has no source of its own.
            if issubclass(kind, Settings) and not kind.__pydantic_generic_metadata__["args"]:
                (block,) = ast.parse(inspect.getsource(kind)).body
                for key, below in pairwise(getattr(block, "body", ())):
                    match key, below:
                        case (
                            ast.AnnAssign(target=ast.Name(id=name)),
                            ast.Expr(value=ast.Constant(value=str() as sentence)),
                        ):
                            found[name] = inspect.cleandoc(sentence)
        return found

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Return pydantic's schema with the keys' sentences."""
        schema = handler(core)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for key, sentence in cls.sentences().items():
            if key in properties:
                properties[key].setdefault("description", sentence)
        return schema


S = TypeVar("S", bound=Settings)


def _refuse_repeated(values: tuple[_T, ...]) -> tuple[_T, ...]:
    if len(set(values)) < len(values):
        raise PydanticCustomError("repeated", "must not repeat an entry")
    return values


#: Lists of YAML become tuples. All have entries, and those of `Different` do not repeat.
MAX_ENTRIES = 1000
Several = Annotated[tuple[_T, ...], Strict(False), Field(min_length=1, max_length=MAX_ENTRIES)]
Different = Annotated[
    tuple[_T, ...],
    Strict(False),
    Field(min_length=1, max_length=MAX_ENTRIES),
    AfterValidator(_refuse_repeated),
]
Pair = Annotated[tuple[_T, ...], Strict(False), Field(min_length=2, max_length=2)]

#: Numbers have two ends, far beyond any study and within what squares and 64 bits can hold. What
#: many large numbers would need together stands in `sizes`.
MAX_COUNT = 10**9
LEAST, MOST = 1e-12, 1e9
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
AtLeast1 = Annotated[int, Field(ge=1, le=MAX_COUNT)]
AtLeast2 = Annotated[int, Field(ge=2, le=MAX_COUNT)]
Positive = Annotated[float, Field(ge=LEAST, le=MOST)]
NotNegative = Annotated[float, Field(ge=0, le=MOST)]

#: Panels, rows and colours that a figure has room for.
MAX_SHOWN = 12
CoefficientFit = Literal["least_squares", "log", "mean"]


class Spectrum(Settings):
    """Singular values scale * k^-rate (polynomial) or scale * e^(-rate (k - offset))."""

    decay: Literal["polynomial", "exponential"]
    """law of the decay"""
    rate: Positive
    """rate alpha of the decay"""
    scale: Positive
    """factor of the singular values"""
    offset: Annotated[float, Field(ge=-MOST, le=MOST)] = 0.0
    """subtracted from k in the exponential law, so that 1 makes the scale the first value"""


class LatentMatrix(Settings):
    """The size of a latent matrix U."""

    cardinality: AtLeast2
    """number of categories N"""
    latent_rank: AtLeast2
    """number of columns r of the latent matrix, at most the cardinality"""


class Predictor(LatentMatrix):
    """One categorical predictor."""

    spectrum: Spectrum


class Sampling(Settings):
    """How the categories of Section 3 are sampled."""

    concentration: Positive
    """Dirichlet parameter of the category probabilities"""
    noise: Positive
    """standard deviation of the noisy samples, eq. (3)"""


class Replicated(Settings):
    """How often a block is simulated, and how that is split into jobs."""

    replications: AtLeast2
    """number of Monte Carlo replications"""
    replications_per_job: AtLeast1
    """replications that one job simulates at most"""

    @property
    def parts(self) -> dict[int, range]:
        """The replications of each job, by its number."""
        return split_work(self.replications, self.replications_per_job)


class Cell(Settings, Generic[S]):
    """What one job needs: the settings of its simulation and the seed."""

    settings: SerializeAsAny[S]
    seed: Seed
    """whole number from which every random stream is derived by name"""


class ReplicatedCell(Cell[S], Generic[S]):
    """What one job needs that simulates replications first … last − 1."""

    first: Count
    """the first replication"""
    last: AtLeast1
    """the first replication that is left to the next job"""


def split_work(total: int, per_job: int) -> dict[int, range]:
    """Return the part of some work that each job does, by the number of the job."""
    starts = range(0, total, per_job)
    return {job: range(start, min(start + per_job, total)) for job, start in enumerate(starts)}
