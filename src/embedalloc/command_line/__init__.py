"""The command `embedalloc`: what the library can do for a file, without writing Python.

One module per command. A command's module is imported when the command is called, so that the
quick ones do not wait for the imports of the heavy ones.
"""

import importlib
from collections.abc import Mapping

import click

from embedalloc import __version__


class InputError(click.ClickException):
    """Input that cannot be used: one line on standard error, exit code 2."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


#: Each command (a module of this package with a command of the same name) in one line.
COMMANDS: Mapping[str, str] = {
    "solve": "Choose dimensions from cardinalities and a budget; no data needed.",
    "rules": "List the allocation rules, each in one sentence with its source.",
    "audit": "Find the confusion matrices behind printed metrics.",
}


class _LazyGroup(click.Group):
    """Commands by name; the module of one is imported when that one is needed."""

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
