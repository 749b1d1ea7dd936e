"""Values that break a JSON Schema in exactly one place, with the place and the keyword."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, TypeVar

from hypothesis import reject
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness.json_values import is_array, is_number, is_object
from converse_strategies.json_schema.compiling import Compiler
from converse_strategies.json_schema.plans import Choice, Drawing
from converse_strategies.json_schema.reading import TYPES, Node, Schema, kind
from converse_strategies.json_schema.schemas import chosen
from converse_strategies.json_schema.validation import FORMATS, applying, is_valid, names, schemas_at, schemas_of
from converse_strategies.leaves import composite

Path = tuple[str | int, ...]
Break = Callable[[Any, Any], Iterable[Any]]
"""What a keyword says and a value -> values in its stead that may break the keyword."""

_FAR: Final = 10_000
"""Beyond this, a length is not exceeded."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class BrokenValue:
    """A value that satisfies a schema except at one place.

    `path` leads to the place by names and indexes; `keyword` is the keyword that the value there breaks.
    """

    value: Any
    path: Path
    keyword: str


@composite
def broken_values(
    draw: st.DrawFn, schema: Mapping[str, Any] | bool, *, texts: st.SearchStrategy[str] | None = None
) -> BrokenValue:
    """Values that break a JSON Schema in exactly one place, each with the place and the keyword, as BrokenValue.

    They are values of `schema_values(schema, texts=texts)` in which one thing is changed: of another type, out of
    bounds, not in the enum, a required member missing, and so on for every keyword. Raises InvalidArgument, when drawn,
    for a schema that nothing can break, and for all that `schema_values` refuses.

    >>> from hypothesis import find
    >>> days = {"type": "object", "properties": {"days": {"type": "integer", "maximum": 7}}}
    >>> find(broken_values(days), lambda broken: broken.keyword == "maximum")
    BrokenValue(value={'days': 8}, path=('days',), keyword='maximum')
    """
    broken = draw_broken(Drawing(draw, texts), "broken_values()", schema)
    if broken is None:
        raise InvalidArgument(
            f"broken_values(): {schema!r} allows every value, so none breaks it. Give a schema that asks for something."
        )
    return broken


def draw_broken(drawing: Drawing, function: str, schema: object, *, objects: bool = False) -> BrokenValue | None:
    """Draw a value that breaks a schema, an object if asked; None if no such value can break it."""
    compiler, choice = chosen(function, schema, objects=objects)
    root = compiler.schema.root
    if not _asks(compiler, root, objects):
        return None
    full = Drawing(drawing.draw, drawing.texts, full=True)
    for way in (drawing, full):
        broken = _broken(way, compiler.schema, choice, objects)
        if broken is not None:
            return broken
    return reject()


def _asks(compiler: Compiler, root: Node, objects: bool) -> bool:
    """Whether the schema has any constraint besides the type object at its root."""
    for node in compiler.schema.nodes():
        said = {keyword: value for keyword, value in node.keywords.items() if _can_break(keyword, value)}
        if objects and node is root:
            said.pop("type", None)
        if said or node.never:
            return True
    return False


def _can_break(keyword: str, said: Any) -> bool:
    if keyword == "format":
        return said in FORMATS
    is_nothing = keyword in _COUNTS and not said
    return not is_nothing and keyword != "additionalProperties" and BREAKS[keyword] is not _below


_COUNTS: Final = frozenset({"minItems", "minLength", "minProperties", "required", "uniqueItems"})
"""What asks for nothing if it is 0, false or empty."""


def _broken(drawing: Drawing, schema: Schema, choice: Choice, objects: bool) -> BrokenValue | None:
    value = choice.value(drawing)
    ways: dict[tuple[Path, str], list[Any]] = {}
    for path, node, here in _places((), [schema.root], schema, value):
        for keyword, said in node.keywords.items():
            others = [other for other in BREAKS[keyword](said, here) if path or not objects or is_object(other)]
            if others:
                ways.setdefault((path, keyword), []).extend(others)
    if not ways:
        return None
    places = list(ways)
    for path, keyword in _from(drawing, places):
        for other in _from(drawing, ways[path, keyword]):
            broken = _replaced(value, path, other)
            if not is_valid(schema, schema.root, broken):
                return BrokenValue(broken, path, keyword)
    return None


def _from(drawing: Drawing, some: list[_T]) -> list[_T]:
    """All of some items, in their order, starting at a drawn one and wrapping around."""
    first = drawing.draw(st.integers(0, len(some) - 1)) if len(some) > 1 else 0
    return some[first:] + some[:first]


def _places(path: Path, nodes: Iterable[Node], schema: Schema, value: Any) -> Iterator[tuple[Path, Node, Any]]:
    """Yield every place of a value with each schema node that applies there."""
    here = list(dict.fromkeys(each for node in nodes for each in applying(schema, node, value)))
    for node in here:
        yield path, node, value
    if is_object(value):
        for name, member in value.items():
            below = [child for node in here for child in schemas_of(schema, node, name)]
            yield from _places((*path, name), below, schema, member)
    elif is_array(value):
        for index, item in enumerate(value):
            below = [child for node in here for child in schemas_at(schema, node, index)]
            yield from _places((*path, index), below, schema, item)


def _replaced(value: Any, path: Path, other: Any) -> Any:
    """A copy of a value with another value at one place."""
    if not path:
        return other
    copied = value.copy()
    copied[path[0]] = _replaced(value[path[0]], path[1:], other)
    return copied


def _other_types(said: Any, value: Any) -> Iterator[Any]:
    allowed = frozenset[str]().union(*(TYPES[name] for name in names(said)))
    return (each for each in _samples() if kind(each) not in allowed)


def _samples() -> Iterator[Any]:
    """One sample value of each kind."""
    yield from (None, False, 0, 0.5, "", [], {})


def _others(said: Any, value: Any) -> Iterator[Any]:
    """Values that differ from a value, those of its own type first."""
    if isinstance(value, str):
        yield value + "0"
    elif is_number(value):
        yield value + 1
    yield from _samples()


def _below(said: Any, value: Any) -> tuple[()]:
    """Nothing to change here: the keyword's constraints apply to values below it."""
    return ()


def _forbidden(said: Any, value: Any) -> Iterator[Any]:
    if is_object(said):
        yield from said.get("enum", ())
        if "const" in said:
            yield said["const"]
    yield from _samples()


def _texts(said: Any, value: Any) -> list[str]:
    return ["", "!", f"{value}!", f"!{value}"] if isinstance(value, str) else []


def _longer(said: Any, value: Any) -> list[str]:
    return [value + "0" * (said + 1 - len(value))] if isinstance(value, str) and said < _FAR else []


def _shorter(said: Any, value: Any) -> list[Any]:
    """A shortened string or array."""
    return [value[: said - 1]] if said and (isinstance(value, str) or is_array(value)) else []


def _more_items(said: Any, value: Any) -> list[Any]:
    if not is_array(value) or said >= _FAR:
        return []
    return [value + (value[-1:] or [None]) * (said + 1 - len(value))]


def _twice(said: Any, value: Any) -> list[Any]:
    return [value + value[:1]] if said and is_array(value) and value else []


def _less(said: Any, value: Any) -> list[Any]:
    """An object without one of its members."""
    if not is_object(value):
        return []
    return [{name: value[name] for name in value if name != left} for left in said if left in value]


def _fewer(said: Any, value: Any) -> list[Any]:
    return [dict(list(value.items())[: said - 1])] if said and is_object(value) else []


def _more(said: Any, value: Any) -> list[Any]:
    """An object with too many members."""
    if not is_object(value) or said >= _FAR:
        return []
    return [{**value, **dict.fromkeys(_free(value, said + 1 - len(value)))}]


def _unknown(said: Any, value: Any) -> list[Any]:
    """An object with a member that its schema does not name."""
    return [{**value, **dict.fromkeys(_free(value, 1), other)} for other in _samples()] if is_object(value) else []


def _free(value: Mapping[str, Any], count: int) -> Iterator[str]:
    return islice((name for name in map("unknown{}".format, itertools.count(1)) if name not in value), count)


def _named(said: Any, value: Any) -> list[Any]:
    return [{**value, name: None} for name in ("", "!", "0", "A" * 99)] if is_object(value) else []


BREAKS: Final[Mapping[str, Break]] = {
    "$ref": _below,
    "type": _other_types,
    "enum": _others,
    "const": _others,
    "allOf": _below,
    "anyOf": _others,
    "oneOf": _others,
    "not": _forbidden,
    "minimum": lambda said, value: [said - 1] if is_number(value) else [],
    "exclusiveMinimum": lambda said, value: [said] if is_number(value) else [],
    "maximum": lambda said, value: [said + 1] if is_number(value) else [],
    "exclusiveMaximum": lambda said, value: [said] if is_number(value) else [],
    "multipleOf": lambda said, value: [value + 1, value + said / 2] if is_number(value) else [],
    "minLength": _shorter,
    "maxLength": _longer,
    "pattern": _texts,
    "format": _texts,
    "items": _below,
    "prefixItems": _below,
    "contains": lambda said, value: [[]] if is_array(value) else [],
    "minItems": _shorter,
    "maxItems": _more_items,
    "uniqueItems": _twice,
    "properties": _below,
    "patternProperties": _below,
    "additionalProperties": _unknown,
    "propertyNames": _named,
    "required": _less,
    "minProperties": _fewer,
    "maxProperties": _more,
}
"""For every keyword of KEYWORDS, what to put in the place of a value to break it; what still satisfies is not used."""
