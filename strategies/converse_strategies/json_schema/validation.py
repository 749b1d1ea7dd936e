"""Check whether a value satisfies a schema; the table `FORMATS` has strategies and checks for string formats.

Source: JSON Schema 2020-12, section 7.3. An unknown format is only an annotation, as in JSON Schema.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st

from converse_harness.json_schema.formats import STRING_FORMATS
from converse_harness.json_schema.parts import TYPES, is_multiple, key, kind
from converse_strategies.json_schema.reading import KEYWORDS, Node, compiled


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


_POINTERS: Final = st.lists(_WORDS | st.sampled_from(("a~1b", "~0", "")), max_size=3).map(
    lambda steps: "".join(f"/{step}" for step in steps)
)

_TEXTS: Final[Mapping[str, st.SearchStrategy[str]]] = {
    "date": st.dates().map(dt.date.isoformat),
    "time": _joined("{}{}", st.times().map(dt.time.isoformat), _ZONES),
    "date-time": _joined("{}{}", st.datetimes().map(dt.datetime.isoformat), _ZONES),
    "duration": _joined("P{}DT{}S", st.integers(0, 1000), st.integers(0, 86399)),
    "email": _joined("{}@example.{}", _WORDS, _DOMAINS),
    "uri": _joined("{}://example.com/{}", st.sampled_from(("https", "http")), _WORDS),
    "uuid": st.uuids().map(str),
    "ipv4": st.integers(0, 2**32 - 1).map(lambda number: str(ipaddress.IPv4Address(number))),
    "ipv6": st.integers(0, 2**128 - 1).map(lambda number: str(ipaddress.IPv6Address(number))),
    "hostname": _joined("{}.example.{}", _WORDS, _DOMAINS),
    "json-pointer": _POINTERS,
    "relative-json-pointer": _joined("{}{}", st.integers(0, 9), _POINTERS),
}

FORMATS: Final[Mapping[str, Format]] = {
    name: Format(texts, STRING_FORMATS[name].holds) for name, texts in _TEXTS.items()
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
