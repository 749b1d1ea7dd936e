"""A strategy for values that break a JSON Schema in exactly one place, with this place and the broken keyword."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, TypeVar

from hypothesis import reject
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness.json_schema.checking import applied, holds, kinds
from converse_harness.json_schema.parts import TYPES, kind
from converse_harness.json_values import is_array, is_number, is_object
from converse_strategies.basics import composite
from converse_strategies.json_schema.compiling import plan
from converse_strategies.json_schema.plans import Drawing
from converse_strategies.json_schema.reading import KEYWORDS, Node

Path = tuple[str | int, ...]
Break = Callable[[Any, Any], Iterable[Any]]
"""Function that takes the value of a keyword in a schema, and a value that satisfies the keyword. It returns
replacements for the latter; those that break the keyword are used.
"""

_FAR: Final = 10_000
"""A maxItems, maxLength or maxProperties of this number or more is never broken, because the value would be too large.
"""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class BrokenValue:
    """A value that satisfies a schema except at one place.

    `path` contains the names and indexes that lead to the place; the value at the place breaks `keyword`.

    >>> BrokenValue({"city": 7}, ("city",), "type").keyword
    'type'
    """

    value: Any
    path: Path
    keyword: str


@composite
def broken_values(
    draw: st.DrawFn, schema: Mapping[str, Any] | bool, *, texts: st.SearchStrategy[str] | None = None
) -> BrokenValue:
    """Values that break a JSON Schema in exactly one place, each with the place and the keyword, as BrokenValue.

    Each is a value of `schema_values(schema, texts=texts)` with one change: another type, a number out of bounds, a
    value that is not in the enum, a required member missing, and so on for every keyword. Raises InvalidArgument, when
    drawn, for a schema that allows every value, and for every schema that `schema_values` rejects.

    >>> from hypothesis import find
    >>> days = {"type": "object", "properties": {"days": {"type": "integer", "maximum": 7}}}
    >>> find(broken_values(days), lambda broken: broken.keyword == "maximum")
    BrokenValue(value={'days': 8}, path=('days',), keyword='maximum')
    """
    broken = draw_broken(draw, "broken_values(schema=...)", schema, texts)
    if broken is None:
        raise InvalidArgument(
            f"broken_values(): {schema!r} allows every value, so none breaks it. Give a schema that asks for something."
        )
    return broken


def draw_broken(
    draw: st.DrawFn, function: str, schema: object, texts: st.SearchStrategy[str] | None, *, objects: bool = False
) -> BrokenValue | None:
    """Draw a value that breaks a schema; return None if every value satisfies the schema.

    If `objects` is true, the drawn value is an object.
    """
    root, choice = plan(function, schema, texts, objects=objects)
    nodes = [*root.known.values()]
    asked = {(node, keyword) for node in nodes for keyword in _breakable(node)}
    if not asked - ({(root, "type")} if objects else set()) and not any(node.never for node in nodes):
        return None
    for full in (False, True):
        broken = _broken(draw, root, choice.value(Drawing(draw, full)), objects)
        if broken is not None:
            return broken
    return reject()


def _breakable(node: Node) -> list[str]:
    """Return the keywords of a schema node that restrict the value itself, not only values nested in the value."""
    return [
        keyword
        for keyword, said in node.entries()
        if (said or keyword not in _COUNTS) and keyword != "additionalProperties" and BREAKS[keyword] is not _below
    ]


_COUNTS: Final = frozenset({"minItems", "minLength", "minProperties", "required", "uniqueItems"})
"""Keywords that restrict nothing if their value is 0, false or empty."""

_MOST: Final = frozenset({"maxItems", "maxLength", "maxProperties"})


def _broken(draw: st.DrawFn, root: Node, value: Any, objects: bool) -> BrokenValue | None:
    ways: dict[tuple[Path, str], list[Any]] = {}
    for path, node, here in _places((), [root], value):
        for keyword, said in node.keywords.items():
            about = KEYWORDS[keyword].about
            is_nothing = (keyword in _COUNTS and not said) or (keyword in _MOST and said >= _FAR)
            if is_nothing or (about and kind(here) not in TYPES[about]):
                continue
            others = [other for other in BREAKS[keyword](said, here) if path or not objects or is_object(other)]
            if others:
                ways.setdefault((path, keyword), []).extend(others)
    for path, keyword in _from(draw, [*ways]):
        for other in _from(draw, ways[path, keyword]):
            broken = _replaced(value, path, other)
            if not holds(root, broken):
                return BrokenValue(broken, path, keyword)
    return None


def _from(draw: st.DrawFn, some: list[_T]) -> list[_T]:
    """Return the items of `some` in their order, but beginning with a drawn item; those before it come last."""
    first = draw(st.integers(0, len(some) - 1)) if len(some) > 1 else 0
    return some[first:] + some[:first]


def _places(path: Path, nodes: Iterable[Node], value: Any) -> Iterator[tuple[Path, Node, Any]]:
    """Yield (path, node, value at the path) for every place in `value` and each node that applies to the value at this
    place.
    """
    here = list(dict.fromkeys(each for node in nodes for each in applied(node, value)))
    for node in here:
        yield path, node, value
    if is_object(value):
        for name, member in value.items():
            below = [child for node in here for child in node.at_member(name)]
            yield from _places((*path, name), below, member)
    elif is_array(value):
        for index, item in enumerate(value):
            below = [child for node in here for child in node.at_item(index)]
            yield from _places((*path, index), below, item)


def _replaced(value: Any, path: Path, other: Any) -> Any:
    """Return a copy of `value` in which `other` replaces the nested value at `path`."""
    if not path:
        return other
    copied = value.copy()
    copied[path[0]] = _replaced(value[path[0]], path[1:], other)
    return copied


def _samples() -> Iterator[Any]:
    """Yield sample values of each JSON type.

    One of the values is True: since `isinstance(True, int)` and `True == 1` hold, code that expects an integer accepts
    it.
    """
    yield from (None, False, True, 0, 0.5, "", [], {})


def _others(said: Any, value: Any) -> Iterator[Any]:
    """Yield replacements for `value`: first, if it is a string or a number, a different one; then sample values of each
    JSON type.
    """
    if isinstance(value, str):
        yield value + "0"
    elif is_number(value):
        yield value + 1
    yield from _samples()


def _below(said: Any, value: Any) -> tuple[()]:
    """Return no replacements. This is for keywords that only refer to subschemas, whose own keywords are broken
    instead.
    """
    return ()


def _forbidden(said: Any, value: Any) -> Iterator[Any]:
    if is_object(said):
        yield from said.get("enum", ())
        if "const" in said:
            yield said["const"]
    yield from _samples()


def _more(value: Mapping[str, Any], count: int, member: Any = None) -> dict[str, Any]:
    """Return `count` members with the value `member`, whose names are not in the object `value`."""
    names = (name for name in map("unknown{}".format, itertools.count(1)) if name not in value)
    return dict.fromkeys(islice(names, count), member)


BREAKS: Final[Mapping[str, Break]] = {
    "$ref": _below,
    "type": lambda said, value: [each for each in _samples() if kind(each) not in kinds(said)],
    "enum": _others,
    "const": _others,
    "allOf": _below,
    "anyOf": _others,
    "oneOf": _others,
    "not": _forbidden,
    "minimum": lambda said, value: [said - 1],
    "exclusiveMinimum": lambda said, value: [said],
    "maximum": lambda said, value: [said + 1],
    "exclusiveMaximum": lambda said, value: [said],
    "multipleOf": lambda said, value: [value + 1, value + said / 2],
    "minLength": lambda said, value: [value[: said - 1]],
    "maxLength": lambda said, value: [value + "0" * (said + 1 - len(value))],
    "pattern": lambda said, value: ["", "!", f"{value}!", f"!{value}"],
    "format": lambda said, value: ["", "!", f"{value}!", f"!{value}"],
    "items": _below,
    "additionalItems": _below,
    "prefixItems": _below,
    "contains": lambda said, value: [[]],
    "minItems": lambda said, value: [value[: said - 1]],
    "maxItems": lambda said, value: [value + (value[-1:] or [None]) * (said + 1 - len(value))],
    "uniqueItems": lambda said, value: [value + value[:1]],
    "properties": _below,
    "patternProperties": _below,
    "additionalProperties": lambda said, value: [{**value, **_more(value, 1, each)} for each in _samples()],
    "propertyNames": lambda said, value: [{**value, name: None} for name in ("", "!", "0", "A" * 99)],
    "required": lambda said, value: [
        {name: value[name] for name in value if name != left} for left in said if left in value
    ],
    "minProperties": lambda said, value: [dict([*value.items()][: said - 1])],
    "maxProperties": lambda said, value: [{**value, **_more(value, said + 1 - len(value))}],
}
"""Keyword -> function that makes replacements for a valid value. Replacements that still satisfy the schema are
discarded.
"""
