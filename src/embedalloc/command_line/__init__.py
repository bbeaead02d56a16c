"""The command `embedalloc`: what the library can do for a file, without writing Python.

One module per command. A command's module is imported when the command is called, so that the
quick ones do not wait for the imports of the heavy ones.
"""

import errno
import importlib
import io
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import click

from embedalloc import __version__
from embedalloc.extras import MissingExtraError, needed_for
from embedalloc.visible import make_visible


class InputError(click.ClickException):
    """Input that cannot be used: one line on standard error, exit code 2."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(make_visible(" ".join(message.split())))


#: Each command (a module of this package with a command of the same name) in one line.
COMMANDS: Mapping[str, str] = {
    "plan": "Choose embedding dimensions for the table in a file.",
    "compare": "Compare allocation rules on the table in a file.",
    "frontier": "Show held-out loss over budgets, with a plan and with equal dimensions.",
    "solve": "Choose dimensions from cardinalities and a budget; no data needed.",
    "count": "Count the rows of every level in parquet files larger than memory.",
    "memory": "Choose rows, columns and number formats under a budget of bytes.",
    "rules": "List the allocation rules, each in one sentence with its source.",
    "audit": "Find the confusion matrices behind printed metrics.",
}


class _LazyGroup(click.Group):
    """Commands by name; the module of one is imported when that one is needed."""

    def main(self, *args: Any, **words: Any) -> Any:
        _prepare_output()
        return super().main(*args, **words)

    def make_context(self, *args: Any, **words: Any) -> click.Context:
        with _in_plain_words():
            return super().make_context(*args, **words)

    def invoke(self, ctx: click.Context) -> Any:
        with _in_plain_words():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = getattr(importlib.import_module(f"{__name__}.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from `COMMANDS`, without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _prepare_output() -> None:
    """Print what the terminal has no sign for as an escape, and let closed output be nothing."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the caller; it stays open until the program ends
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def _in_plain_words() -> Iterator[None]:
    """Tell of a full disk or a missing package in a line; show no escape sequence of the input."""
    try:
        with needed_for("this command"):
            yield
    except click.exceptions.NoArgsIsHelpError:
        raise  # the help, which has lines
    except click.UsageError as error:
        raise click.UsageError(make_visible(error.format_message()), error.ctx) from None
    except MissingExtraError as error:
        raise InputError(str(error)) from None
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise  # the reader has seen enough; click ends without a word
        with suppress(OSError):  # or Python tries once more at its end, with a traceback
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise InputError(
            f"{error.filename or 'standard output'}: {error.strerror or error}"
        ) from None


_COMPLETION = """\b
Completion in bash (in zsh and fish with zsh_source and fish_source):
  eval "$(_EMBEDALLOC_COMPLETE=bash_source embedalloc)"
"""


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_COMPLETION,
)
@click.version_option(__version__, prog_name="embedalloc")
def main() -> None:
    """Embedding dimensions under a parameter budget, and checks of printed tables."""
