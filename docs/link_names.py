"""Make links of public names: `allocate` in a docstring leads to its place on the site."""

import inspect
import re
from typing import Any

import embedalloc
from embedalloc import audit

#: Where names already are links, code or headings, and single names elsewhere.
_NAMES = re.compile(
    r"<a\b.*?</a>|<pre\b.*?</pre>|<h\d.*?</h\d>|<code>(?P<name>[\w.]+)</code>", re.DOTALL
)


def list_places() -> dict[str, str]:
    """Return every public name, methods with and without their class, and its place."""
    places = {name: f"embedalloc.{name}" for name in embedalloc.__all__}
    places |= {name: f"embedalloc.audit.{name}" for name in audit.__all__}
    methods = vars(embedalloc.EmbeddingAllocator)
    for name in (n for n, each in methods.items() if inspect.isfunction(each) and n[0] != "_"):
        owner = "EmbeddingAllocator"
        places |= dict.fromkeys((name, f"{owner}.{name}"), f"embedalloc.{owner}.{name}")
    return places


PLACES = list_places()


def _link(found: re.Match[str]) -> str:
    place = PLACES.get(found["name"] or "")
    return f'<autoref identifier="{place}">{found[0]}</autoref>' if place else found[0]


def on_page_content(html: str, **_: Any) -> str:
    """Link the names of a page, which mkdocs hands over as HTML."""
    return _NAMES.sub(_link, html)
