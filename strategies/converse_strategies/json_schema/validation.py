"""Check whether a value satisfies a schema, and draw and recognise string formats (one table).

Source: JSON Schema 2020-12, section 7.3. An unknown format is only an annotation, as in JSON Schema.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import re
import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, Final

from hypothesis import strategies as st

from converse_strategies.json_schema.reading import KEYWORDS, TYPES, Node, Schema, compiled, key, kind

_TIME: Final = r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)"
_LABEL: Final = r"[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_WORD: Final = string.ascii_lowercase + string.digits
_DURATION: Final = r"P(?!\Z)(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(?!\Z)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?)"


@dataclass(frozen=True, slots=True)
class Format:
    """A string format: a function that returns its strategy, and a function that recognises its texts."""

    texts: Callable[[], st.SearchStrategy[str]]
    holds: Callable[[str], object]


@cache
def _words(max_size: int = 12) -> st.SearchStrategy[str]:
    """Words of lower-case letters and digits, which are valid in every format that contains words."""
    return st.text(_WORD, min_size=1, max_size=max_size)


@cache
def _zones() -> st.SearchStrategy[str]:
    return st.sampled_from(("Z", "+00:00", "+02:00", "-05:30"))


def _joined(pattern: str, *parts: st.SearchStrategy[object]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map(lambda drawn: pattern.format(*drawn))


def _dates() -> st.SearchStrategy[str]:
    return st.dates().map(dt.date.isoformat)


def _times() -> st.SearchStrategy[str]:
    return _joined("{}{}", st.times().map(dt.time.isoformat), _zones())


def _date_times() -> st.SearchStrategy[str]:
    return _joined("{}{}", st.datetimes().map(dt.datetime.isoformat), _zones())


def _durations() -> st.SearchStrategy[str]:
    return _joined("P{}DT{}S", st.integers(0, 1000), st.integers(0, 86399))


def _emails() -> st.SearchStrategy[str]:
    return _joined("{}@example.{}", _words(), st.sampled_from(("com", "net", "org")))


def _uris() -> st.SearchStrategy[str]:
    return _joined("{}://example.com/{}", st.sampled_from(("https", "http")), _words())


def _hostnames() -> st.SearchStrategy[str]:
    return _joined("{}.example.{}", _words(), st.sampled_from(("com", "net", "org")))


def _uuids() -> st.SearchStrategy[str]:
    return st.uuids().map(str)


def _ipv4() -> st.SearchStrategy[str]:
    return st.integers(0, 2**32 - 1).map(lambda number: str(ipaddress.IPv4Address(number)))


def _ipv6() -> st.SearchStrategy[str]:
    return st.integers(0, 2**128 - 1).map(lambda number: str(ipaddress.IPv6Address(number)))


def _parses(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def _is_date(text: str) -> bool:
    return bool(re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII)) and _parses(dt.date.fromisoformat, text)


def _matches(pattern: str) -> Callable[[str], object]:
    return re.compile(pattern, re.ASCII).fullmatch


FORMATS: Final[Mapping[str, Format]] = {
    "date": Format(_dates, _is_date),
    "time": Format(_times, _matches(_TIME)),
    "date-time": Format(_date_times, lambda text: _is_date(text[:10]) and _matches(f"[Tt]{_TIME}")(text[10:])),
    "duration": Format(_durations, _matches(_DURATION)),
    "email": Format(_emails, _matches(rf"[^\s@\"(),:;<>\[\]\\]+@{_LABEL}(\.{_LABEL})*")),
    "uri": Format(_uris, _matches(r"[a-zA-Z][a-zA-Z0-9+.-]*:[!#-;=?-\[\]_a-z~]+")),
    "uuid": Format(_uuids, _matches(r"[\da-fA-F]{8}-([\da-fA-F]{4}-){3}[\da-fA-F]{12}")),
    "ipv4": Format(_ipv4, lambda text: _parses(ipaddress.IPv4Address, text)),
    "ipv6": Format(_ipv6, lambda text: "%" not in text and _parses(ipaddress.IPv6Address, text)),
    "hostname": Format(_hostnames, lambda text: len(text) <= 253 and _matches(rf"{_LABEL}(\.{_LABEL})*")(text)),
}
"""Every format that is kept to."""


@cache
def texts_of(name: str) -> st.SearchStrategy[str]:
    """Texts of a format, one of FORMATS.

    >>> from hypothesis import find
    >>> find(texts_of("email"), lambda text: True)
    '0@example.com'
    """
    return FORMATS[name].texts()


Check = Callable[[Schema, Node, Any, Any], bool]
"""Schema, the node that has the keyword, what the keyword says, the value."""


def is_valid(schema: Schema, node: Node, value: Any) -> bool:
    """Whether a value satisfies a part of a schema."""
    return not node.never and all(satisfies(schema, node, name, value) for name in node.keywords)


def satisfies(schema: Schema, node: Node, keyword: str, value: Any) -> bool:
    """Whether a value satisfies one keyword; values of other types than the keyword's always do."""
    about = KEYWORDS[keyword].about
    return bool(about and kind(value) not in TYPES[about]) or CHECKS[keyword](
        schema, node, node.keywords[keyword], value
    )


def _all(schema: Schema, node: Node, keyword: str, value: Any) -> list[bool]:
    return [is_valid(schema, child, value) for child in schema.children(node, keyword)]


def schemas_of(schema: Schema, node: Node, name: str) -> list[Node]:
    """The schemas that an object schema applies to the member of this name."""
    found: list[Node] = []
    if name in node.keywords.get("properties", {}):
        found.append(schema.child(node, "properties", name))
    patterns = [pattern for pattern in node.keywords.get("patternProperties", ()) if compiled(pattern).search(name)]
    found += [schema.child(node, "patternProperties", pattern) for pattern in patterns]
    if not found and "additionalProperties" in node.keywords:
        found.append(schema.child(node, "additionalProperties"))
    return found


def schemas_at(schema: Schema, node: Node, index: int) -> list[Node]:
    """The schemas that an array schema applies to the item at this index."""
    if index < len(node.keywords.get("prefixItems", ())):
        return [schema.child(node, "prefixItems", index)]
    return [schema.child(node, "items")] if "items" in node.keywords else []


def _items(schema: Schema, node: Node, said: Any, value: list[Any]) -> bool:
    return all(
        is_valid(schema, child, item) for index, item in enumerate(value) for child in schemas_at(schema, node, index)
    )


def _members(schema: Schema, node: Node, said: Any, value: Mapping[str, Any]) -> bool:
    return all(
        is_valid(schema, child, member) for name, member in value.items() for child in schemas_of(schema, node, name)
    )


def is_multiple(number: float, of: float) -> bool:
    """Whether a number is a multiple of another both exactly, as decimals, and in float division.

    >>> is_multiple(0.75, 0.25), is_multiple(0.07, 0.01), is_multiple(7, 7.5)
    (True, False, False)
    """
    exact = Fraction(str(number)) / Fraction(str(of))
    if exact.denominator != 1:
        return False
    return (isinstance(number, int) and isinstance(of, int)) or (number / of).is_integer()


def _has_names(schema: Schema, node: Node, said: Any, value: Mapping[str, Any]) -> bool:
    return all(is_valid(schema, schema.child(node, "propertyNames"), name) for name in value)


CHECKS: Final[Mapping[str, Check]] = {
    "$ref": lambda schema, node, said, value: is_valid(schema, schema.target(node), value),
    "type": lambda schema, node, said, value: any(kind(value) in TYPES[name] for name in names(said)),
    "enum": lambda schema, node, said, value: key(value) in map(key, said),
    "const": lambda schema, node, said, value: key(value) == key(said),
    "allOf": lambda schema, node, said, value: all(_all(schema, node, "allOf", value)),
    "anyOf": lambda schema, node, said, value: any(_all(schema, node, "anyOf", value)),
    "oneOf": lambda schema, node, said, value: sum(_all(schema, node, "oneOf", value)) == 1,
    "not": lambda schema, node, said, value: not is_valid(schema, schema.child(node, "not"), value),
    "minimum": lambda schema, node, said, value: value >= said,
    "exclusiveMinimum": lambda schema, node, said, value: value > said,
    "maximum": lambda schema, node, said, value: value <= said,
    "exclusiveMaximum": lambda schema, node, said, value: value < said,
    "multipleOf": lambda schema, node, said, value: is_multiple(value, said),
    "minLength": lambda schema, node, said, value: len(value) >= said,
    "maxLength": lambda schema, node, said, value: len(value) <= said,
    "pattern": lambda schema, node, said, value: bool(compiled(said).search(value)),
    "format": lambda schema, node, said, value: said not in FORMATS or bool(FORMATS[said].holds(value)),
    "items": _items,
    "prefixItems": _items,
    "contains": lambda schema, node, said, value: any(
        is_valid(schema, schema.child(node, "contains"), item) for item in value
    ),
    "minItems": lambda schema, node, said, value: len(value) >= said,
    "maxItems": lambda schema, node, said, value: len(value) <= said,
    "uniqueItems": lambda schema, node, said, value: not said or len(set(map(key, value))) == len(value),
    "properties": _members,
    "patternProperties": _members,
    "additionalProperties": _members,
    "propertyNames": _has_names,
    "required": lambda schema, node, said, value: all(name in value for name in said),
    "minProperties": lambda schema, node, said, value: len(value) >= said,
    "maxProperties": lambda schema, node, said, value: len(value) <= said,
}
"""The check of every keyword of KEYWORDS."""


def names(said: str | list[str]) -> list[str]:
    """The value of `type` as a list."""
    return [said] if isinstance(said, str) else said


def applying(schema: Schema, node: Node, value: Any) -> Iterator[Node]:
    """A node and all nodes that apply to the same value: references, and the branches that the value satisfies."""
    yield node
    if "$ref" in node.keywords:
        yield from applying(schema, schema.target(node), value)
    for keyword in ("allOf", "anyOf", "oneOf"):
        for child in schema.children(node, keyword):
            if is_valid(schema, child, value):
                yield from applying(schema, child, value)
