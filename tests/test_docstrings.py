"""Every public name says what it takes, what it returns and how it is used."""

import doctest
import inspect
import re
import runpy

import pytest
from griffe import Docstring

import embedalloc
from embedalloc import audit, exporters
from tests.places import ROOT

API = (ROOT / "docs/api.md").read_text()


def public_names():
    """What the package and the audit export, the exporters, and what public classes can do."""
    found = {name: getattr(embedalloc, name) for name in embedalloc.__all__}
    found |= {name: getattr(audit, name) for name in audit.__all__}
    found |= {
        name: each
        for name, each in vars(exporters).items()
        if getattr(each, "__module__", "") == exporters.__name__ and not name.startswith("_")
    }
    methods = {
        f"{name}.{method}": each
        for name, owner in found.items()
        for method, each in vars(owner).items()
        if inspect.isclass(owner) and inspect.isfunction(each) and not method.startswith("_")
    }
    return found | methods


PUBLIC = public_names()


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_a_public_name_is_described_with_an_example(name):
    """As the site reads it; that the examples run is what the doctests of `src` say."""
    each = PUBLIC[name]
    sections = Docstring(inspect.getdoc(each)).parse("numpy")
    found = {section.kind.value: section.value for section in sections}
    assert doctest.DocTestParser().get_examples(inspect.getdoc(each)), "no example"
    assert "examples" in found
    if inspect.isclass(each) and issubclass(each, Exception):
        return
    signature = inspect.signature(each)
    known = [*found.get("parameters", ()), *found.get("attributes", ())]
    described = {part.strip(" *") for entry in known for part in entry.name.split(",")}
    assert {*signature.parameters} - {"self"} <= described
    assert inspect.isclass(each) or found["returns"]
    assert all(entry.description.strip() for entry in [*known, *found.get("returns", ())])


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_words_described_together_have_one_default(name):
    """Because the site shows the first one's default for all of them."""
    if inspect.isclass(PUBLIC[name]) and issubclass(PUBLIC[name], Exception):
        return
    words = inspect.signature(PUBLIC[name]).parameters
    together = re.findall(r"^(\w+(?:, \w+)+)(?: :.*)?$", inspect.getdoc(PUBLIC[name]), re.MULTILINE)
    for line in together:
        defaults = [words[word].default for word in line.split(", ") if word in words]
        assert len({*map(str, defaults)}) <= 1, line


def test_the_site_lists_every_public_name():
    listed = {line.rpartition(".")[2] for line in API.splitlines() if line.startswith(":::")}
    assert {*embedalloc.__all__, *audit.__all__} == listed


def test_names_in_backticks_become_links_but_once():
    """That the places exist is what `make docs` checks, which is strict about links."""
    link = runpy.run_path(str(ROOT / "docs/link_names.py"))["on_page_content"]
    for name, place in (
        ("parse_budget", "embedalloc.parse_budget"),
        ("audit_table", "embedalloc.audit.audit_table"),
        ("EmbeddingAllocator.fit", "embedalloc.EmbeddingAllocator.fit"),
        ("fit_transform", "embedalloc.EmbeddingAllocator.fit_transform"),
    ):
        text = f"<p>see <code>{name}</code></p>"
        assert f'<autoref identifier="{place}"><code>{name}</code></autoref>' in link(text)
        for kept in (f"<a href='x'>{text}</a>", f"<pre>{text}</pre>", f"<h2>{text}</h2>"):
            assert link(kept) == kept
    assert link("<code>no_such_name</code>") == "<code>no_such_name</code>"
