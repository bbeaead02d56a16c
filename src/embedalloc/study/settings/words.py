"""Wrong settings in words that say what to change: the key, the value and what is allowed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from embedalloc.study.settings.common import Settings
from embedalloc.study.settings.errors import ConfigError

S = TypeVar("S", bound=Settings)

#: How deep settings may be nested, how many there may be, and how much of one a message shows.
MAX_DEPTH, MAX_VALUES, MAX_SHOWN = 20, 100_000, 120
MAX_PROBLEMS = 30

#: What must be, by pydantic's kind of error; its limits stand in braces.
_ALLOWED = {
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a number",
    "bool_type": "must be true or false",
    "string_type": "must be a text",
    "tuple_type": "must be a list",
    "dict_type": "must be a block of keys",
    "model_type": "must be a block of keys",
    "greater_than_equal": "must be at least {ge:.12g}",
    "greater_than": "must be above {gt:.12g}",
    "less_than_equal": "must be at most {le:.12g}",
    "less_than": "must be below {lt:.12g}",
    "too_short": "must have at least {min_length} entries",
    "too_long": "must have at most {max_length} entries",
    "string_too_short": "must not be empty",
    "string_pattern_mismatch": "must match {pattern}",
    "repeated": "must not repeat an entry",
}


def check(kind: type[S], values: Any, place: str = "") -> S:
    """Return values as settings of a kind, or raise a `ConfigError` that lists all mistakes.

    The place stands before every key in the messages.
    """
    check_shape(values, place)
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        schema = _schema(kind)
        found = error.errors(include_url=False)
        raise refusal(_explain(each, schema, place) for each in found if _counts(each)) from None


@cache
def _schema(kind: type[Settings]) -> dict[str, Any]:
    return kind.model_json_schema()


def refusal(problems: Iterable[str]) -> ConfigError:
    """Return the error that lists problems, of very many the first."""
    listed = list(problems)
    if len(listed) > MAX_PROBLEMS:
        listed[MAX_PROBLEMS:] = [f"and {len(listed) - MAX_PROBLEMS:,} more of the kind"]
    return ConfigError("the configuration is not valid:\n  " + "\n  ".join(listed))


def check_shape(values: Any, place: str = "") -> None:
    """Refuse what no settings look like: keys that are no text, or far too much of anything.

    Aliases of YAML make a short text that holds itself, or stands for more than memory can.
    """
    left = iter(range(MAX_VALUES))
    if problems := list(_odd_keys(values, place, (), left)):
        raise refusal(problems)


def _odd_keys(value: Any, place: str, path: tuple[Any, ...], left: Iterator[int]) -> Iterator[str]:
    """Yield keys that are no text, which YAML allows and no description can name."""
    top = _joined(place, path[:2]) or "the configuration"
    if len(path) > MAX_DEPTH:
        raise refusal(
            [f"{top}: nested more than {MAX_DEPTH} deep; an alias may name its own block"]
        )
    if next(left, None) is None:
        raise refusal([f"{top}: more than {MAX_VALUES:,} values in all; look for repeated aliases"])
    if isinstance(value, Mapping):
        for key, child in value.items():
            if not isinstance(key, str):
                where = _joined(place, path) or "the configuration"
                yield f"{where}: the key {show(key)} must be a text"
            yield from _odd_keys(child, place, (*path, key), left)
    elif isinstance(value, (list, tuple)):
        for index, child in enumerate(value):
            yield from _odd_keys(child, place, (*path, index), left)


def show(value: Any) -> str:
    """Return a value as a file would spell it, cut where it is long."""
    try:
        text = repr(value)
    except ValueError:
        return "a number of thousands of digits"
    return _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN // 2]} … {text[-10:]}"


def _joined(place: str, path: Sequence[Any]) -> str:
    """Return a place and the keys below it, as in exp3.budgets[0]."""
    for step in path:
        if isinstance(step, int):
            place += f"[{step}]"
        else:
            name = step if isinstance(step, str) and step.isprintable() else show(step)
            place += f".{_cut(name)}" if place else _cut(name)
    return place


def _counts(error: ErrorDetails) -> bool:
    """Return whether an error is one of its own: wrong entries alone make no list too short."""
    return error["type"] != "too_short" or len(error["input"]) < error["ctx"]["min_length"]


def _explain(error: ErrorDetails, schema: dict[str, Any], place: str) -> str:
    """Return one sentence: the key, the value and what is allowed."""
    *above, last = error["loc"] or ("",)
    if last == "[key]":
        above, last = above[:-1], ""
    path = [*above, last] if last != "" else above
    parent = _joined(place, above) or "the configuration"
    if error["type"] == "missing":
        return f"{parent}: {last!r} is a required property"
    if error["type"] == "extra_forbidden":
        known = sorted(_described(schema, above)[0]["properties"])
        near = get_close_matches(str(last)[:MAX_SHOWN], known, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        return f"{parent}: unknown key {show(last)}; {hint}allowed are {', '.join(known)}"
    node, sentence = _described(schema, path)
    if error["type"] == "literal_error":
        allowed = f"must be one of {', '.join(map(str, node['enum']))}"
    else:
        allowed = _ALLOWED.get(error["type"], "is not allowed").format(**error.get("ctx", {}))
    key = _joined(place, path) or "the configuration"
    return f"{key}: {show(error['input'])} {allowed} ({sentence})"


def _described(schema: dict[str, Any], path: Sequence[Any]) -> tuple[dict[str, Any], str]:
    """Return a key's JSON schema, and the sentence of the key or of what it is an entry of."""
    node, sentence = schema, str(schema["description"])
    for step in path:
        inside = node["items"] if isinstance(step, int) else _child(node, step)
        node = schema["$defs"][inside["$ref"].rsplit("/", 1)[1]] if "$ref" in inside else inside
        sentence = inside.get("description") or node.get("description") or sentence
    return node, " ".join(sentence.split("\n\n")[0].split()).removesuffix(".")


def _child(node: dict[str, Any], key: str) -> dict[str, Any]:
    child: dict[str, Any]
    if "properties" in node:
        child = node["properties"][key]
    else:
        # A block whose keys are names; those of designs follow one pattern.
        (child,) = node["patternProperties"].values()
    return child
