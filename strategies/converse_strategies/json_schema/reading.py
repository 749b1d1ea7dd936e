"""Read JSON Schemas: the keywords of tool schemas as one table, and the nodes of a schema.

Source: JSON Schema 2020-12, and the tool schemas of pydantic, strands-agents and langchain.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import Any, Final, TypeGuard
from urllib.parse import unquote

from hypothesis.errors import InvalidArgument

from converse_harness.json_values import is_array, is_number, is_object

KINDS: Final = ("null", "boolean", "integer", "fraction", "string", "array", "object")
"""The kinds of JSON values, the simplest first; a number is an integer, 1.0 included, or a fraction."""

TYPES: Final[Mapping[str, frozenset[str]]] = {
    "null": frozenset({"null"}),
    "boolean": frozenset({"boolean"}),
    "integer": frozenset({"integer"}),
    "number": frozenset({"integer", "fraction"}),
    "string": frozenset({"string"}),
    "array": frozenset({"array"}),
    "object": frozenset({"object"}),
}
"""What the keyword `type` may say, and the kinds of values that it means."""


class Takes(Enum):
    """The kinds of values that a keyword can have."""

    ANYTHING = "any JSON value"
    BOOLEAN = "true or false"
    COUNT = "a whole number of 0 or more"
    NUMBER = "a number"
    POSITIVE = "a number above 0"
    PATTERN = "a regular expression that Python's re can read"
    REFERENCE = "a reference into the schema itself: #/$defs/Name, #/definitions/Name, or # for all of it"
    SCHEMA = "a schema: an object, true or false"
    SCHEMAS = "a list of at least one schema"
    SCHEMAS_BY_NAME = "an object whose values are schemas"
    SCHEMAS_BY_PATTERN = "an object of regular expressions that Python's re can read, and schemas"
    TEXT = "a string"
    TEXTS = "a list of strings"
    TYPES = f"one of {', '.join(TYPES)}, or a list of them"
    VALUES = "a list of at least one value"


@dataclass(frozen=True, slots=True)
class Keyword:
    """The kind of a keyword's value, and the type of values that it limits; empty for any type."""

    takes: Takes
    about: str = ""


KEYWORDS: Final[Mapping[str, Keyword]] = {
    "$ref": Keyword(Takes.REFERENCE),
    "type": Keyword(Takes.TYPES),
    "enum": Keyword(Takes.VALUES),
    "const": Keyword(Takes.ANYTHING),
    "allOf": Keyword(Takes.SCHEMAS),
    "anyOf": Keyword(Takes.SCHEMAS),
    "oneOf": Keyword(Takes.SCHEMAS),
    "not": Keyword(Takes.SCHEMA),
    "minimum": Keyword(Takes.NUMBER, "number"),
    "exclusiveMinimum": Keyword(Takes.NUMBER, "number"),
    "maximum": Keyword(Takes.NUMBER, "number"),
    "exclusiveMaximum": Keyword(Takes.NUMBER, "number"),
    "multipleOf": Keyword(Takes.POSITIVE, "number"),
    "minLength": Keyword(Takes.COUNT, "string"),
    "maxLength": Keyword(Takes.COUNT, "string"),
    "pattern": Keyword(Takes.PATTERN, "string"),
    "format": Keyword(Takes.TEXT, "string"),
    "items": Keyword(Takes.SCHEMA, "array"),
    "prefixItems": Keyword(Takes.SCHEMAS, "array"),
    "contains": Keyword(Takes.SCHEMA, "array"),
    "minItems": Keyword(Takes.COUNT, "array"),
    "maxItems": Keyword(Takes.COUNT, "array"),
    "uniqueItems": Keyword(Takes.BOOLEAN, "array"),
    "properties": Keyword(Takes.SCHEMAS_BY_NAME, "object"),
    "patternProperties": Keyword(Takes.SCHEMAS_BY_PATTERN, "object"),
    "additionalProperties": Keyword(Takes.SCHEMA, "object"),
    "propertyNames": Keyword(Takes.SCHEMA, "object"),
    "required": Keyword(Takes.TEXTS, "object"),
    "minProperties": Keyword(Takes.COUNT, "object"),
    "maxProperties": Keyword(Takes.COUNT, "object"),
}
"""Every keyword that limits values and is understood."""

ANNOTATIONS: Final = frozenset(
    {
        "$comment",
        "$defs",
        "$id",
        "$schema",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
        "default",
        "definitions",
        "deprecated",
        "description",
        "discriminator",
        "example",
        "examples",
        "externalDocs",
        "readOnly",
        "title",
        "writeOnly",
    }
)
"""Keywords that say something and limit nothing; so do those that begin with `x-`."""

_SIMPLE: Final = frozenset({"type", "enum", "const"})
"""What a schema under `not` may consist of: its opposite can be made without trying."""


def kind(value: object) -> str:
    """The kind of a JSON value, one of KINDS.

    >>> [kind(value) for value in (None, True, 1, 1.0, 1.5, "")]
    ['null', 'boolean', 'integer', 'integer', 'fraction', 'string']
    """
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if math.isfinite(value) and value.is_integer() else "fraction"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def key(value: Any) -> object:
    """A hashable key; two values have the same key if JSON Schema treats them as equal: 1 and 1.0, but not 1 and true.

    >>> key({"a": 1, "b": [2]}) == key({"b": [2.0], "a": 1.0}), key(1) == key(True)
    (True, False)
    """
    if is_number(value):
        return ("number", value)
    if is_array(value):
        return ("array", tuple(map(key, value)))
    if is_object(value):
        return ("object", frozenset((name, key(member)) for name, member in value.items()))
    return (kind(value), value)


_SUPPORTED: Final = ", ".join(KEYWORDS)


@dataclass(frozen=True, slots=True)
class Node:
    """A node: a part of a schema that is itself a schema; `path` is its place, for example `#/properties/city`.

    `keywords` are those that limit values; `never` marks the schema `false`.
    """

    path: str
    keywords: Mapping[str, Any] = field(compare=False)
    never: bool = field(default=False, compare=False)


OBJECT: Final = Node("#(an object)", {"type": "object"})
STRING: Final = Node("#(a name)", {"type": "string"})


class Schema:
    """One JSON Schema and its nodes. Raises InvalidArgument for an unsupported keyword, with its path."""

    def __init__(self, document: object) -> None:
        self.document = document
        self._nodes: dict[str, Node] = {}
        self.root = self._node("#", document)

    def child(self, node: Node, *steps: str | int) -> Node:
        """The node below a node: `child(node, "properties", "city")`."""
        path = node.path + "".join("/" + _escaped(str(step)) for step in steps)
        if path in self._nodes:
            return self._nodes[path]
        value: Any = node.keywords
        for step in steps:
            value = value[step]
        return self._node(path, value)

    def children(self, node: Node, keyword: str) -> list[Node]:
        """The nodes that a keyword lists."""
        return [self.child(node, keyword, index) for index in range(len(node.keywords.get(keyword, ())))]

    def target(self, node: Node) -> Node:
        """The node to which a `$ref` refers."""
        reference = str(node.keywords["$ref"])
        path = "#" + unquote(reference[1:])
        if path in self._nodes:
            return self._nodes[path]
        value: Any = self.document
        for step in path.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            try:
                value = value[int(name) if is_array(value) else name]
            except (KeyError, ValueError, IndexError, TypeError) as error:
                raise InvalidArgument(
                    f"{node.path}/$ref is {reference!r}, and the schema has nothing there. Its definitions: "
                    f"{', '.join(self._definitions()) or 'none'}."
                ) from error
        return self._node(path, value)

    def nodes(self) -> list[Node]:
        """All nodes that were read so far."""
        return list(self._nodes.values())

    def _definitions(self) -> Iterator[str]:
        if is_object(self.document):
            for keyword in ("$defs", "definitions"):
                yield from (f"#/{keyword}/{name}" for name in self.document.get(keyword, ()))

    def _node(self, path: str, value: object) -> Node:
        if value is True or value is False:
            node = Node(path, {}, never=not value)
        elif is_object(value):
            node = Node(path, dict(_keywords(path, value)))
        else:
            raise InvalidArgument(f"{path} is {value!r}, and a schema is an object, true or false.")
        self._nodes[path] = node
        return node


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    r"""Compile a pattern of JSON Schema for Python: `$` is the end of the text, `\d` and `\w` are ASCII.

    Raises InvalidArgument for a pattern that Python's re cannot read, for example `\p{L}`.

    >>> bool(compiled(r"^\d+$").search("12\n")), bool(compiled("b").search("abc"))
    (False, True)
    """
    try:
        return re.compile("".join(_python(pattern)), re.ASCII)
    except re.error as error:
        raise InvalidArgument(f"{pattern!r} is {error}; give {Takes.PATTERN.value}.") from error


_TOKENS: Final = re.compile(r"\\.|\[\^?\]?|\]|\(\?<(?![=!])|\$|.", re.DOTALL)


def _python(pattern: str) -> Iterator[str]:
    r"""A pattern's tokens, with `\Z` for `$` and `(?P<name>` for `(?<name>`, outside of classes of characters."""
    inside = False
    for token in _TOKENS.findall(pattern):
        if inside:
            inside = token != "]"
            yield r"\[" if token[0] == "[" else token
        elif token == "$":
            yield r"\Z"
        elif token == "(?<":
            yield "(?P<"
        else:
            inside = token[0] == "["
            yield token


def _escaped(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")


def _keywords(path: str, schema: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in schema.items():
        if name in ANNOTATIONS or name.startswith("x-"):
            continue
        if name not in KEYWORDS:
            raise InvalidArgument(
                f"{path} has the keyword {name!r}, and no values are made for it. Leave it out, or write what it says "
                f"with: {_SUPPORTED}."
            )
        takes = KEYWORDS[name].takes
        if not _RIGHT[takes](value):
            raise InvalidArgument(f"{path}/{_escaped(name)} is {value!r}, and {name} takes {takes.value}.")
        if name == "not" and not _is_simple(value):
            raise InvalidArgument(
                f"{path}/not is {value!r}, and values are made for `not` only over {', '.join(sorted(_SIMPLE))}. "
                "Say what is allowed instead of what is not."
            )
        yield name, value


def _is_simple(schema: bool | dict[str, Any]) -> bool:
    return isinstance(schema, bool) or _SIMPLE.union(ANNOTATIONS).issuperset(schema)


def _is_finite(value: object) -> TypeGuard[int | float]:
    return is_number(value) and abs(value) < math.inf


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_pattern(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        compiled(value)
    except InvalidArgument:
        return False
    return True


def _is_schema(value: object) -> bool:
    return isinstance(value, bool) or is_object(value)


def _is_type(value: object) -> bool:
    return isinstance(value, str) and value in TYPES


def _are_schemas(value: object) -> bool:
    return is_object(value) and all(map(_is_schema, value.values()))


_RIGHT: Final[Mapping[Takes, Callable[[Any], bool]]] = {
    Takes.ANYTHING: lambda value: True,
    Takes.BOOLEAN: lambda value: isinstance(value, bool),
    Takes.COUNT: _is_count,
    Takes.NUMBER: _is_finite,
    Takes.POSITIVE: lambda value: _is_finite(value) and value > 0,
    Takes.PATTERN: _is_pattern,
    Takes.REFERENCE: lambda value: isinstance(value, str) and (value == "#" or value.startswith("#/")),
    Takes.SCHEMA: _is_schema,
    Takes.SCHEMAS: lambda value: is_array(value) and bool(value) and all(map(_is_schema, value)),
    Takes.SCHEMAS_BY_NAME: _are_schemas,
    Takes.SCHEMAS_BY_PATTERN: lambda value: _are_schemas(value) and all(map(_is_pattern, value)),
    Takes.TEXT: lambda value: isinstance(value, str),
    Takes.TEXTS: lambda value: is_array(value) and all(isinstance(item, str) for item in value),
    Takes.TYPES: lambda value: _is_type(value) or (is_array(value) and bool(value) and all(map(_is_type, value))),
    Takes.VALUES: lambda value: is_array(value) and bool(value),
}
"""What each keyword's value is held to when a schema is read."""
