"""Check whether a value satisfies a schema; the table `FORMATS` has strategies and checks for string formats.

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
from functools import partial
from typing import Any, Final

from hypothesis import strategies as st

from converse_strategies.json_schema.reading import KEYWORDS, TYPES, Node, compiled, key, kind

_TIME: Final = r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)"
_LABEL: Final = r"[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DURATION: Final = r"P(?!\Z)(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(?!\Z)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?)"


@dataclass(frozen=True, slots=True)
class Format:
    """A string format: a strategy for valid texts, and a function that checks a text."""

    texts: st.SearchStrategy[str]
    holds: Callable[[str], object]


_WORDS: Final = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=12)
"""Short texts of lowercase letters and digits, which are valid parts of email addresses, URIs and host names."""

_ZONES: Final = st.sampled_from(("Z", "+00:00", "+02:00", "-05:30"))
_DOMAINS: Final = st.sampled_from(("com", "net", "org"))


def _joined(pattern: str, *parts: st.SearchStrategy[object]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map(lambda drawn: pattern.format(*drawn))


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
    "date": Format(st.dates().map(dt.date.isoformat), _is_date),
    "time": Format(_joined("{}{}", st.times().map(dt.time.isoformat), _ZONES), _matches(_TIME)),
    "date-time": Format(
        _joined("{}{}", st.datetimes().map(dt.datetime.isoformat), _ZONES),
        lambda text: _is_date(text[:10]) and _matches(f"[Tt]{_TIME}")(text[10:]),
    ),
    "duration": Format(_joined("P{}DT{}S", st.integers(0, 1000), st.integers(0, 86399)), _matches(_DURATION)),
    "email": Format(
        _joined("{}@example.{}", _WORDS, _DOMAINS), _matches(rf"[^\s@\"(),:;<>\[\]\\]+@{_LABEL}(\.{_LABEL})*")
    ),
    "uri": Format(
        _joined("{}://example.com/{}", st.sampled_from(("https", "http")), _WORDS),
        _matches(r"[a-zA-Z][a-zA-Z0-9+.-]*:[!#-;=?-\[\]_a-z~]+"),
    ),
    "uuid": Format(st.uuids().map(str), _matches(r"[\da-fA-F]{8}-([\da-fA-F]{4}-){3}[\da-fA-F]{12}")),
    "ipv4": Format(
        st.integers(0, 2**32 - 1).map(lambda number: str(ipaddress.IPv4Address(number))),
        partial(_parses, ipaddress.IPv4Address),
    ),
    "ipv6": Format(
        st.integers(0, 2**128 - 1).map(lambda number: str(ipaddress.IPv6Address(number))),
        lambda text: "%" not in text and _parses(ipaddress.IPv6Address, text),
    ),
    "hostname": Format(
        _joined("{}.example.{}", _WORDS, _DOMAINS),
        lambda text: len(text) <= 253 and _matches(rf"{_LABEL}(\.{_LABEL})*")(text),
    ),
}
"""Every supported format; other formats are ignored."""


Check = Callable[[Node, Any, Any], bool]
"""(node with a keyword, the keyword's value in the schema, a value) -> whether the value satisfies the keyword."""


def is_valid(node: Node, value: Any) -> bool:
    """Whether a value satisfies a schema node."""
    return not node.never and all(satisfies(node, name, value) for name in node.keywords)


def satisfies(node: Node, keyword: str, value: Any) -> bool:
    """Whether a value satisfies one keyword; always true if the keyword does not restrict values of this type."""
    about = KEYWORDS[keyword].about
    return bool(about and kind(value) not in TYPES[about]) or CHECKS[keyword](node, node.keywords[keyword], value)


def schemas_of(node: Node, name: str) -> list[Node]:
    """The schemas that an object schema applies to the member of this name."""
    found = [node.child("properties", name)] if name in node.keywords.get("properties", {}) else []
    patterns = node.keywords.get("patternProperties", ())
    found += [node.child("patternProperties", each) for each in patterns if compiled(each).search(name)]
    if not found and "additionalProperties" in node.keywords:
        found.append(node.child("additionalProperties"))
    return found


def schemas_at(node: Node, index: int) -> list[Node]:
    """The schemas that an array schema applies to the item at this index."""
    if index < len(node.keywords.get("prefixItems", ())):
        return [node.child("prefixItems", index)]
    return [node.child("items")] if "items" in node.keywords else []


def _branches(node: Node, keyword: str, value: Any) -> Iterator[bool]:
    return (is_valid(child, value) for child in node.children(keyword))


def _items(node: Node, said: Any, value: list[Any]) -> bool:
    return all(is_valid(child, item) for index, item in enumerate(value) for child in schemas_at(node, index))


def _members(node: Node, said: Any, value: Mapping[str, Any]) -> bool:
    return all(is_valid(child, member) for name, member in value.items() for child in schemas_of(node, name))


def is_multiple(number: float, of: float) -> bool:
    """Whether a number is a multiple of `of`, both in exact decimal arithmetic and in float division.

    >>> is_multiple(0.75, 0.25), is_multiple(0.07, 0.01), is_multiple(7, 7.5)
    (True, False, False)
    """
    exact = Fraction(str(number)) / Fraction(str(of))
    if exact.denominator != 1:
        return False
    return (isinstance(number, int) and isinstance(of, int)) or (number / of).is_integer()


CHECKS: Final[Mapping[str, Check]] = {
    "$ref": lambda node, said, value: is_valid(node.target(), value),
    "type": lambda node, said, value: kind(value) in types(said),
    "enum": lambda node, said, value: key(value) in map(key, said),
    "const": lambda node, said, value: key(value) == key(said),
    "allOf": lambda node, said, value: all(_branches(node, "allOf", value)),
    "anyOf": lambda node, said, value: any(_branches(node, "anyOf", value)),
    "oneOf": lambda node, said, value: sum(_branches(node, "oneOf", value)) == 1,
    "not": lambda node, said, value: not is_valid(node.child("not"), value),
    "minimum": lambda node, said, value: value >= said,
    "exclusiveMinimum": lambda node, said, value: value > said,
    "maximum": lambda node, said, value: value <= said,
    "exclusiveMaximum": lambda node, said, value: value < said,
    "multipleOf": lambda node, said, value: is_multiple(value, said),
    "minLength": lambda node, said, value: len(value) >= said,
    "maxLength": lambda node, said, value: len(value) <= said,
    "pattern": lambda node, said, value: bool(compiled(said).search(value)),
    "format": lambda node, said, value: said not in FORMATS or bool(FORMATS[said].holds(value)),
    "items": _items,
    "prefixItems": _items,
    "contains": lambda node, said, value: any(is_valid(node.child("contains"), item) for item in value),
    "minItems": lambda node, said, value: len(value) >= said,
    "maxItems": lambda node, said, value: len(value) <= said,
    "uniqueItems": lambda node, said, value: not said or len(set(map(key, value))) == len(value),
    "properties": _members,
    "patternProperties": _members,
    "additionalProperties": _members,
    "propertyNames": lambda node, said, value: all(is_valid(node.child("propertyNames"), name) for name in value),
    "required": lambda node, said, value: all(name in value for name in said),
    "minProperties": lambda node, said, value: len(value) >= said,
    "maxProperties": lambda node, said, value: len(value) <= said,
}
"""Each keyword of KEYWORDS -> the function that checks whether a value satisfies this keyword."""


def types(said: str | list[str]) -> frozenset[str]:
    """The kinds of values, from KINDS, that the keyword `type` allows; `said` is the keyword's value."""
    return frozenset[str]().union(*(TYPES[name] for name in ([said] if isinstance(said, str) else said)))


def applying(node: Node, value: Any) -> Iterator[Node]:
    """Yield the schema nodes that apply to a value: the node itself, then its `$ref` target and its valid branches.

    Branches are the children of `allOf`, `anyOf` and `oneOf`; a branch is valid if the value satisfies it. The targets
    and branches of these nodes follow in the same way.
    """
    yield node
    if "$ref" in node.keywords:
        yield from applying(node.target(), value)
    for keyword in ("allOf", "anyOf", "oneOf"):
        for child in node.children(keyword):
            if is_valid(child, value):
                yield from applying(child, value)
