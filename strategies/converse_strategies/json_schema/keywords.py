"""The keywords of JSON Schema that tool schemas contain, as one table, and the kinds of JSON values that they limit.

Source: JSON Schema 2020-12, and what pydantic, strands-agents and langchain write into the schemas of tools.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, TypeGuard

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
    """What the value of a keyword has to be."""

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
    """What a keyword takes, and the type of values that it limits: any if empty."""

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

SIMPLE: Final = frozenset({"type", "enum", "const"})
"""What a schema under `not` may consist of: its opposite can be made without trying."""


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Whether a JSON value is an array."""
    return isinstance(value, list)


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a JSON value is a number, which true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


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
    """Something hashable that two values share if JSON Schema holds them for equal: 1 and 1.0, not 1 and true.

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
