"""Which code a rule depends on, so that the workflow can compare it by content, like data."""

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "embedalloc"
#: The folder that holds the package, whichever way it was installed.
SOURCE = Path(__file__).resolve().parents[2]


def imports_of(script: str | Path) -> list[str]:
    """Return a script and the package files it imports, directly or through other package files.

    Read from the source text, without running it. Imports that only a type checker sees do not
    count. The list is sorted and holds paths relative to the working directory where possible.
    """
    found = {Path(script)}
    waiting = [Path(script)]
    while waiting:
        for module in _imported_modules(waiting.pop()):
            for path in _files_of(module):
                if path not in found:
                    found.add(path)
                    waiting.append(path)
    return sorted(_shown(path) for path in found)


def _imported_modules(path: Path) -> Iterator[str]:
    """Yield the dotted names of this package that a file imports, wherever in the file."""
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"), str(path))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            waiting.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"{path}:{node.lineno}: write the import with its full name")
            # `from package import name` may name a module or something inside one.
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            names = []
            waiting.extend(ast.iter_child_nodes(node))
        yield from (name for name in names if name.split(".")[0] == PACKAGE)


def _files_of(module: str) -> Iterator[Path]:
    """Yield the files that importing a dotted name runs: packages on the way and the module."""
    place = SOURCE
    for part in module.split("."):
        place = place / part
        if (place / "__init__.py").exists():
            yield place / "__init__.py"
        elif place.with_suffix(".py").exists():
            yield place.with_suffix(".py")
            return


def _shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
