"""Read JSON Schemas: the table `KEYWORDS` of the supported keywords, and the class `Node` for the parts of a schema.

Source: JSON Schema 2020-12, and the tool schemas of pydantic, strands-agents and langchain.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from operator import getitem
from typing import Any, Final, NamedTuple, TypeGuard
from urllib.parse import unquote

from hypothesis.errors import InvalidArgument

from converse_harness.json_schema import patterns
from converse_harness.json_schema.parts import TYPES
from converse_harness.json_values import is_array, is_number, is_object


def _is_schema(value: object) -> bool:
    return isinstance(value, bool) or is_object(value)


def _are_schemas(value: object) -> bool:
    return is_object(value) and all(map(_is_schema, value.values()))


def _is_pattern(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(compiled(value))
    except InvalidArgument:
        return False


def _is_type(value: object) -> bool:
    return isinstance(value, str) and value in TYPES


def _is_finite(value: object) -> TypeGuard[int | float]:
    return is_number(value) and abs(value) < math.inf


_PATTERN: Final = "a regular expression that Python's re can read"

TAKES: Final[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {
    "anything": ("any JSON value", lambda value: True),
    "boolean": ("true or false", lambda value: isinstance(value, bool)),
    "count": (
        "a whole number of 0 or more",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
    ),
    "number": ("a number", _is_finite),
    "positive": ("a number above 0", lambda value: _is_finite(value) and value > 0),
    "pattern": (_PATTERN, _is_pattern),
    "reference": (
        "a reference into the schema itself: #/$defs/Name, #/definitions/Name, or # for all of it",
        lambda value: isinstance(value, str) and (value == "#" or value.startswith("#/")),
    ),
    "schema": ("a schema: an object, true or false", _is_schema),
    "schemas": (
        "a list of at least one schema",
        lambda value: is_array(value) and bool(value) and all(map(_is_schema, value)),
    ),
    "schemas by name": ("an object whose values are schemas", _are_schemas),
    "schemas by pattern": (
        "an object of regular expressions that Python's re can read, and schemas",
        lambda value: _are_schemas(value) and all(map(_is_pattern, value)),
    ),
    "text": ("a string", lambda value: isinstance(value, str)),
    "texts": ("a list of strings", lambda value: is_array(value) and all(isinstance(item, str) for item in value)),
    "types": (
        f"one of {', '.join(TYPES)}, or a list of them",
        lambda value: _is_type(value) or (is_array(value) and bool(value) and all(map(_is_type, value))),
    ),
    "values": ("a list of at least one value", lambda value: is_array(value) and bool(value)),
}
"""Kind of a keyword's value -> its description for messages, and a function that checks a value for this kind."""


class Keyword(NamedTuple):
    """A keyword of JSON Schema. `takes` is the kind of the keyword's value, a key of TAKES.

    `about` is the type of the values that the keyword restricts, or "" if it restricts values of every type.
    """

    takes: str
    about: str = ""


KEYWORDS: Final[Mapping[str, Keyword]] = {
    "$ref": Keyword("reference"),
    "type": Keyword("types"),
    "enum": Keyword("values"),
    "const": Keyword("anything"),
    "allOf": Keyword("schemas"),
    "anyOf": Keyword("schemas"),
    "oneOf": Keyword("schemas"),
    "not": Keyword("schema"),
    "minimum": Keyword("number", "number"),
    "exclusiveMinimum": Keyword("number", "number"),
    "maximum": Keyword("number", "number"),
    "exclusiveMaximum": Keyword("number", "number"),
    "multipleOf": Keyword("positive", "number"),
    "minLength": Keyword("count", "string"),
    "maxLength": Keyword("count", "string"),
    "pattern": Keyword("pattern", "string"),
    "format": Keyword("text", "string"),
    "items": Keyword("schema", "array"),
    "prefixItems": Keyword("schemas", "array"),
    "contains": Keyword("schema", "array"),
    "minItems": Keyword("count", "array"),
    "maxItems": Keyword("count", "array"),
    "uniqueItems": Keyword("boolean", "array"),
    "properties": Keyword("schemas by name", "object"),
    "patternProperties": Keyword("schemas by pattern", "object"),
    "additionalProperties": Keyword("schema", "object"),
    "propertyNames": Keyword("schema", "object"),
    "required": Keyword("texts", "object"),
    "minProperties": Keyword("count", "object"),
    "maxProperties": Keyword("count", "object"),
}
"""Every supported keyword that restricts values."""

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
        "nullable",
        "readOnly",
        "title",
        "writeOnly",
    }
)
"""Keywords that are ignored because they restrict nothing. Keywords that begin with `x-` are ignored, too.

`nullable` is a keyword of OpenAPI, not of JSON Schema. No null is drawn for it, so the values are valid in both.
"""

_SIMPLE: Final = frozenset({"type", "enum", "const"})
"""The keywords that a schema under `not` may have, besides annotations.

These keywords exclude few values, so few draws fail.
"""


def compiled(pattern: str) -> re.Pattern[str]:
    r"""Compile a pattern of JSON Schema for Python: `$` matches only the end of the text, `\d` and `\w` only ASCII.

    Raises InvalidArgument for a pattern that Python's re cannot read, for example `\p{L}`.
    """
    try:
        return patterns.compiled(pattern)
    except re.error as error:
        raise InvalidArgument(f"{pattern!r} is {error}; give {_PATTERN}.") from error


def _escaped(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")


def _keywords(path: str, schema: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in schema.items():
        if name in ANNOTATIONS or name.startswith("x-"):
            continue
        if name not in KEYWORDS:
            raise InvalidArgument(
                f"{path} has the keyword {name!r}, and no values are made for it. Leave it out, or write what it says "
                f"with: {', '.join(KEYWORDS)}."
            )
        what, is_right = TAKES[KEYWORDS[name].takes]
        if not is_right(value):
            raise InvalidArgument(f"{path}/{_escaped(name)} is {value!r}, and {name} takes {what}.")
        if name == "not" and is_object(value) and not _SIMPLE.union(ANNOTATIONS).issuperset(value):
            raise InvalidArgument(
                f"{path}/not is {value!r}, and values are made for `not` only over {', '.join(sorted(_SIMPLE))}. "
                "Say what is allowed instead of what is not."
            )
        yield name, value


class Node:
    """A node: a part of a schema that is itself a schema; `path` is the node's place, for example `#/properties/city`.

    `keywords` are the node's own keywords without annotations; `never` marks the schema `false`; `known` contains the
    nodes read so far, by path. Raises InvalidArgument, with the path, for an unsupported keyword or a wrong value.
    """

    def __init__(self, path: str, value: object, known: dict[str, Node] | None = None) -> None:
        if not _is_schema(value):
            raise InvalidArgument(f"{path} is {value!r}, and a schema is an object, true or false.")
        self.path = path
        self.never = value is False
        self.keywords: Mapping[str, Any] = dict(_keywords(path, value)) if is_object(value) else {}
        self.known = {} if known is None else known
        self.known[path] = self
        self._value: Any = value

    def child(self, *steps: str | int) -> Node:
        """The node at a path below this node, for example `child("properties", "city")`."""
        path = self.path + "".join("/" + _escaped(str(step)) for step in steps)
        return self.known.get(path) or Node(path, reduce(getitem, steps, self._value), self.known)

    def children(self, keyword: str) -> list[Node]:
        """The nodes for the schemas in the list under a keyword, such as `anyOf`; empty if the keyword is missing."""
        return [self.child(keyword, index) for index in range(len(self.keywords.get(keyword, ())))]

    def target(self) -> Node:
        """The node to which `$ref` refers. Raises InvalidArgument if the schema has nothing at the path in `$ref`."""
        reference = str(self.keywords["$ref"])
        path = "#" + unquote(reference[1:])
        if path in self.known:
            return self.known[path]
        document = value = self.known["#"]._value
        for step in path.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            try:
                value = value[int(name) if is_array(value) else name]
            except (KeyError, ValueError, IndexError, TypeError) as error:
                defined = [f"#/{each}/{name}" for each in ("$defs", "definitions") for name in document.get(each, ())]
                raise InvalidArgument(
                    f"{self.path}/$ref is {reference!r}, and the schema has nothing there. Its definitions: "
                    f"{', '.join(defined) or 'none'}."
                ) from error
        return Node(path, value, self.known)


OBJECT: Final = Node("#(an object)", {"type": "object"})
STRING: Final = Node("#(a name)", {"type": "string"})
NUMERAL: Final = Node("#(a number as text)", {"type": "string", "pattern": r"^[1-9]\d{0,2}(\.\d{1,2})?$"})
