"""What a sweep tries."""

from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt, ValidationError

from embedalloc.study.settings.errors import ConfigError


class Sweep(BaseModel):
    """Everything that decides what is measured; see `workflow/sweep.yaml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: str
    target: str
    task: Literal["auto", "classification", "regression"]
    rules: Annotated[tuple[str, ...], Field(min_length=1)]
    budgets: Annotated[tuple[PositiveFloat, ...], Field(min_length=2)]
    splits: PositiveInt
    max_rows: PositiveInt
    epochs: PositiveInt
    margin: Annotated[float, Field(ge=0, lt=1)]
    seed: Annotated[int, Field(ge=0)]


def read_sweep(path: str | Path) -> Sweep:
    """Return the checked settings of a sweep, or say in one line what to change."""
    try:
        return Sweep.model_validate(yaml.safe_load(Path(path).read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ConfigError(f"{path}: {place}: {first['msg']}, got {first['input']!r}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not YAML: {' '.join(str(error).split())}") from None
