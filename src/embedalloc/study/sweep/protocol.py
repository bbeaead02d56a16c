"""What a sweep tries."""

from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt, ValidationError

from embedalloc.study.settings.errors import ConfigError


class Cell(BaseModel):
    """What every job must know, whatever the number of splits and budgets."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    target: str
    task: Literal["auto", "classification", "regression"]
    rules: Annotated[tuple[str, ...], Field(min_length=1)]
    max_rows: PositiveInt
    epochs: PositiveInt
    seed: Annotated[int, Field(ge=0)]


class Sweep(Cell):
    """Everything that decides what is measured; see `workflow/sweep.yaml`."""

    data: str
    budgets: Annotated[tuple[PositiveFloat, ...], Field(min_length=2)]
    splits: PositiveInt
    margin: Annotated[float, Field(ge=0, lt=1)]

    def plain_cell(self) -> dict[str, Any]:
        """Return what a job must know: further splits and budgets run nothing again."""
        return self.model_dump(mode="json", include=set(Cell.model_fields))


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
