"""Which code a rule depends on, by what it does, so that edits make the right jobs run again."""

import ast
import hashlib
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from embedalloc.study.workflow.places import PROJECT

#: The packages of this project, and where in it they lie.
HOMES = {"embedalloc": "src", "tests": "."}


def in_project(path: str) -> str:
    """Return the path of a project file from the working directory: moved together, it stays."""
    return os.path.relpath(PROJECT / path)


def code_of(script: str, project: Path = PROJECT) -> str:
    """Return a digest of what a script and all project modules that it imports do.

    Read from the source text, without running it; the script is named without folder and suffix.
    Comments, docstrings, formatting and the place of the project do not count.
    """
    digest = hashlib.sha256()
    for name, done in sorted(modules_of(script, project).items()):
        digest.update(f"{name}\n{done}\n".encode())
    return digest.hexdigest()


def code_when_planned(script: str) -> Callable[[object], str]:
    """Return a function that gives `code_of` a script to the jobs of a rule.

    A run that plans none of them does not read their code.
    """
    return lambda wildcards: _cached_code_of(script)


_cached_code_of = cache(code_of)


def modules_of(script: str, project: Path = PROJECT) -> dict[str, str]:
    """Return a digest of what a script and each module that it needs does, by dotted name."""
    found: dict[str, str] = {}
    waiting = {script: project / f"scripts/{script}.py"}
    while waiting:
        name, path = waiting.popitem()
        found[name], imports = _meaning(path.read_text(encoding="utf-8"))
        for imported, line in imports:
            try:
                loaded = _loaded_by(imported, project)
            except ValueError as error:
                raise ValueError(f"{path.relative_to(project)}:{line}: {error}") from None
            waiting |= {module: loaded[module] for module in loaded if module not in found}
    # A package that only says what it is adds nothing.
    return {name: done for name, done in found.items() if done}


@cache  # scripts share most of what they import
def _meaning(text: str) -> tuple[str, list[tuple[str, int]]]:
    """Return a digest of what a module does, and the names that it imports with their lines."""
    tree, imports = ast.parse(text), []
    tree.body = _without_idle(tree.body)
    for node in _statements(tree.body):
        if isinstance(node, ast.Import):
            imports += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            # `from package import name` may name a module or something inside one.
            module = "." * node.level + (node.module or "")
            imports += [(f"{module}.{alias.name}", node.lineno) for alias in node.names]
    # A dump has no places, and takes half the time of source text.
    done = hashlib.sha256(ast.dump(tree).encode()).hexdigest() if tree.body else ""
    return done, imports


def _without_idle(statements: list[ast.stmt]) -> list[ast.stmt]:
    """Take away what does nothing: docstrings, and what only a type checker sees.

    Only statements are looked at: looking at every expression would take twice as long.
    """
    kept: list[ast.stmt] = []
    for node in statements:
        for part, name in _blocks(node):
            setattr(part, name, _without_idle(getattr(part, name)))
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            kept += node.orelse
        elif not (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            kept.append(node)
    return kept


def _statements(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements and all inside them."""
    for node in statements:
        yield node
        for part, name in _blocks(node):
            yield from _statements(getattr(part, name))


def _blocks(node: ast.stmt) -> Iterator[tuple[ast.AST, str]]:
    """Yield where statements stand inside one: the part of it, and the name of the list."""
    for part in (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        for name in ("body", "orelse", "finalbody"):
            if hasattr(part, name):
                yield part, name


@cache
def _loaded_by(name: str, project: Path) -> dict[str, Path]:
    """Return the modules that importing a dotted name runs: packages on the way and the module.

    The package at the top is left out: it only knows where names live, and loads them when asked.
    """
    module, *parts = name.split(".")
    if (module and module not in HOMES) or parts == ["__version__"]:
        return {}  # other people's, or a name that does nothing
    folder, loaded = project / HOMES.get(module, "relative") / module, {}
    for part in parts:
        file = folder / f"{part}.py"
        folder, module = folder / part, f"{module}.{part}"
        file = file if file.exists() else folder / "__init__.py"
        if not file.exists():
            break
        loaded[module] = file
    if not loaded:
        raise ValueError(f"import {name!r} by the full name of the module where it lives")
    return loaded
