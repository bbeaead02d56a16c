"""Where the project and its small configuration lie, and what the default one says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from embedalloc.study.settings.common import Settings
    from embedalloc.study.settings.configuration import Configuration

S = TypeVar("S", bound="Settings")
ROOT = Path(__file__).resolve().parents[1]
SMOKE = ROOT / "tests/smoke.yaml"
#: Table 1 as the paper prints it.
PRINTED_TABLE = ROOT / "workflow/resources/paper_table1.csv"


def read_config() -> dict[str, Any]:
    """Read the default configuration, anew each time: a test may change what it gets."""
    import yaml  # the tests of core, data and command line do without

    return yaml.safe_load((ROOT / "config.yaml").read_text())


def read_settings() -> Configuration:
    """Read the default configuration, typed."""
    from embedalloc.study.settings.configuration import read_configuration

    return read_configuration(read_config())


def changed(block: S, **values: Any) -> S:
    """Return settings with some values replaced, checked as those of a file."""
    return type(block).model_validate(block.plain() | values)
