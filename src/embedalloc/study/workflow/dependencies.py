"""Which code a rule depends on, so that the workflow can compare it by content, like data."""

import ast
from functools import cache
from pathlib import Path

PACKAGE = "embedalloc"
#: The folder that holds the package, whichever way it was installed.
SOURCE = Path(__file__).resolve().parents[3]


def imports_of(script: str | Path) -> list[str]:
    """Return a script and the package files it imports, directly or through other package files.

    Read from the source text, without running it. Imports that only a type checker sees do not
    count. The list is sorted and holds paths relative to the working directory where possible.
    """
    found = {Path(script)}
    waiting = [Path(script)]
    while waiting:
        path = waiting.pop()
        for module in _imported_modules(path.read_text(encoding="utf-8"), str(path)):
            for needed in _files_of(module):
                if needed not in found:
                    found.add(needed)
                    waiting.append(needed)
    return sorted(_shown(path) for path in found)


@cache  # scripts share most of what they import
def _imported_modules(text: str, path: str) -> tuple[str, ...]:
    """Return the dotted names of this package that a file imports, wherever in the file."""
    found: list[str] = []
    waiting: list[ast.AST] = [ast.parse(text, path)]
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
            # Imports are statements: there are none inside expressions.
            children = ast.iter_child_nodes(node)
            waiting.extend(child for child in children if not isinstance(child, ast.expr))
        found.extend(name for name in names if name.split(".")[0] == PACKAGE)
    return tuple(found)


@cache
def _files_of(module: str) -> tuple[Path, ...]:
    """Return the files that importing a dotted name runs: packages on the way and the module."""
    place, found = SOURCE, []
    for part in module.split("."):
        place = place / part
        if (place / "__init__.py").exists():
            found.append(place / "__init__.py")
        elif place.with_suffix(".py").exists():
            found.append(place.with_suffix(".py"))
            break
    return tuple(found)


def _shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
