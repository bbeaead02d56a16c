"""Files that a command writes: refused before the work, and written whole or not at all."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from embedalloc.command_line import InputError


def check_place(path: Path | None, option: str, endings: Sequence[str] = ()) -> None:
    """Refuse a file that cannot be written, before the work starts."""
    if path is None:
        return
    if endings and path.suffix.lower() not in endings:
        raise InputError(f"{option}: {path} is none of {', '.join(endings)}")
    if not path.parent.is_dir():
        raise InputError(f"{option}: {path.parent} is not a folder")
    if path.exists() and not path.is_file():
        raise InputError(f"{option}: {path} is there and is not a file")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"{option}: {path.parent} cannot be written to")


def write_whole(path: Path, text: str, option: str) -> None:
    """Write text to a file, or leave the file as it was."""
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".embedalloc") as folder:
            new = Path(folder) / path.name
            new.write_text(text, encoding="utf-8", errors="backslashreplace")
            os.replace(new, path)
    except OSError as error:
        raise InputError(f"{option}: {path}: {error.strerror or error}") from None


def print_or_write(text: str, output: Path | None) -> None:
    """Print text, or write it where the user wants it."""
    if output is None:
        click.echo(text)
    else:
        write_whole(output, text.rstrip("\n") + "\n", "--output")
