"""Files of settings, read as strictly as people expect: every key once, no block inside itself.

Snakemake reads the same files by itself, and there the last of two equal keys wins. It reads JSON
where it can and YAML otherwise, and so does this module.
"""

import argparse
import json
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import yaml

from embedalloc.study.settings.errors import ConfigError
from embedalloc.study.settings.words import check_shape

#: A hundred times the size of the default configuration.
MAX_BYTES = 1_000_000


class _RepeatedKeyError(Exception):
    """A key stands twice in one block."""


class _Loader(yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader):  # type: ignore[misc]
    """Refuses a key that stands twice in one block; what `<<` brings in may be replaced."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        lines: dict[str, int] = {}
        for key, _ in node.value:
            line = key.start_mark.line + 1
            if isinstance(key, yaml.ScalarNode) and key.value in lines:
                raise _RepeatedKeyError(f"in lines {lines[key.value]} and {line}", key.value)
            lines[str(key.value)] = line
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep)
        return mapping


def check_arguments(arguments: Sequence[str]) -> None:
    """End the process with one line if settings that Snakemake's arguments name are refused."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--configfile", "--configfiles", nargs="+", default=())
    parser.add_argument("--config", "-C", nargs="*", default=())
    named, _ = parser.parse_known_args(arguments)
    try:
        for path in named.configfile:
            check_file(Path(path))
        for given in named.config:
            check_value(given)
    except ConfigError as error:
        raise SystemExit(str(error)) from None


def check_value(given: str) -> None:
    """Refuse a value of `--config key=value` that does not say one thing."""
    key, _, text = given.partition("=")
    check_text(text, f"--config {key}")


def check_file(path: Path) -> None:
    """Refuse a file of settings that does not say one thing: the reason names line and key."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    if len(content) > MAX_BYTES:
        raise ConfigError(f"{path}: more than {MAX_BYTES:,} bytes are no settings of this study")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 at byte {error.start}") from None
    check_text(text, str(path))


def check_text(text: str, place: str) -> None:
    """Refuse settings whose text repeats a key, holds itself or cannot be read."""
    try:
        check_shape(_read(text))
    except ConfigError as error:
        raise ConfigError(f"{place}: {error}") from None
    except _RepeatedKeyError as error:
        lines, key = error.args
        raise ConfigError(f"{place}: the key {key!r} stands twice, {lines}; keep one") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        raise ConfigError(f"{place}{line}: {error.problem or error.context}") from None
    except RecursionError:
        raise ConfigError(f"{place}: blocks are nested too deep") from None
    except (ValueError, yaml.YAMLError) as error:
        # A date without such a day, or a number of thousands of digits.
        raise ConfigError(f"{place}: cannot be read ({' '.join(str(error).split())})") from None


def _read(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_block)
    except ValueError:
        return yaml.load(text, Loader=_Loader)


def _block(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    block = dict(pairs)
    if len(block) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _RepeatedKeyError("in one block", next(key for key in keys if keys.count(key) > 1))
    return block
