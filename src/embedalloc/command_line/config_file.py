"""All options of a command in a YAML file: read with --config, written with --save-config."""

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from embedalloc.command_line import InputError
from embedalloc.command_line.options import Option
from embedalloc.command_line.outputs import write_whole
from embedalloc.input_file import read_content

#: No configuration is larger; another file was meant.
MOST_BYTES = 1_000_000
#: Options that are not part of a configuration.
_LEFT_OUT = ("config", "save_config", "help")


def list_config_options() -> list[Option]:
    """Return --config and --save-config."""
    return [
        click.option(
            "--config",
            type=click.Path(path_type=Path),
            is_eager=True,
            expose_value=False,
            callback=_use_config,
            help="Read options from a YAML file; those of the command line come first.",
        ),
        click.option(
            "--save-config",
            type=click.Path(path_type=Path),
            help="Write the options that were used, guesses included, to a YAML file.",
        ),
    ]


def _use_config(ctx: click.Context, param: click.Parameter, path: Path | None) -> None:
    if path is not None:
        ctx.default_map = {**(ctx.default_map or {}), **read_config(path, ctx.command)}


def read_config(path: Path, command: click.Command) -> dict[str, Any]:
    """Return values by the names of the command's parameters."""
    import yaml  # only where it is used: other commands start sooner

    try:
        content = read_content(path, most=MOST_BYTES)
        # Every value stays text, as on a command line: `no` is a level and no truth value.
        found = yaml.load(content, Loader=yaml.BaseLoader)
    except OSError as error:
        raise InputError(f"--config: {path}: {error.strerror or error}") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"--config: {path} is not YAML: {error}") from None
    if not isinstance(found, dict):
        raise InputError(f"--config: {path} holds no options, such as `target: price`")
    known = {_name_option(each): each for each in command.params}
    values = {}
    for key, value in found.items():
        name = str(key).replace("_", "-")
        option = known.get(name)
        if option is None or option.name in _LEFT_OUT:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise InputError(f"--config: {path}: {key!r} is not an option of {command.name}{hint}")
        if value in ("", [], None):
            continue
        assert option.name is not None
        values[option.name] = _check_value(value, option, f"--config: {path}: {key}")
    return values


def _check_value(value: Any, option: click.Parameter, place: str) -> Any:
    """Return one text, or a list of them where the option may be repeated."""
    every = value if isinstance(value, list) else [value]
    if not all(isinstance(each, str) for each in every):
        raise InputError(f"{place}: neither a value nor a list of values")
    if option.multiple:
        return every
    if isinstance(value, list):
        raise InputError(f"{place}: {len(value)} values, and one is wanted")
    return value


def write_config(path: Path, context: click.Context, settled: Mapping[str, Any]) -> None:
    """Write the options of a command, with what was settled on the way in their place."""
    import yaml

    used = {**context.params, **settled}
    content = {}
    for parameter in context.command.params:
        value = used.get(parameter.name or "")
        if parameter.name in _LEFT_OUT or value is None or value == ():
            continue
        if isinstance(value, (list, tuple)):
            value = [str(each) for each in value]
        content[_name_option(parameter)] = str(value) if isinstance(value, Path) else value
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
    command = f"embedalloc {context.command.name} --config {path.name}"
    write_whole(path, f"# {command}\n{text}", "--save-config")


def _name_option(parameter: click.Parameter) -> str:
    """Return what stands on the command line, without dashes; for an argument its name."""
    if isinstance(parameter, click.Argument):
        return parameter.name or ""
    return max(parameter.opts, key=len).lstrip("-")
