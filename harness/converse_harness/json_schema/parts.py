"""SchemaPart (a schema at its place in the whole), the types and equality of JSON values, and the forms of keywords."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from operator import getitem
from typing import Any, Final
from urllib.parse import unquote

from converse_harness.json_schema.patterns import compiled
from converse_harness.json_values import is_array, is_number, is_object

KINDS: Final = ("null", "boolean", "integer", "fraction", "string", "array", "object")
"""The kinds of JSON values, the simplest first. A number is an `integer` (1.0 is one, too) or a `fraction`."""

TYPES: Final[Mapping[str, frozenset[str]]] = {
    "null": frozenset({"null"}),
    "boolean": frozenset({"boolean"}),
    "integer": frozenset({"integer"}),
    "number": frozenset({"integer", "fraction"}),
    "string": frozenset({"string"}),
    "array": frozenset({"array"}),
    "object": frozenset({"object"}),
}
"""The kinds of values that each name in the keyword `type` allows."""

_KINDS: Final[Mapping[type, str]] = {type(None): "null", bool: "boolean", int: "integer", str: "string", list: "array"}


def kind(value: object) -> str:
    """Return the kind of a JSON value, one of KINDS.

    >>> [kind(value) for value in (None, True, 1, 1.0, 1.5, "")]
    ['null', 'boolean', 'integer', 'integer', 'fraction', 'string']
    """
    if isinstance(value, float):
        return "integer" if math.isfinite(value) and value.is_integer() else "fraction"
    return _KINDS.get(type(value), "object")


def key(value: Any) -> object:
    """Return a hashable key for a JSON value. Two keys are equal only if JSON Schema treats the values as equal.

    For example, 1 and 1.0 are equal; 1 and true are not.

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


def is_multiple(number: float, of: float) -> bool:
    """Whether a number is a multiple of `of`, both in exact decimal arithmetic and in division of floats.

    >>> is_multiple(0.75, 0.25), is_multiple(0.07, 0.01), is_multiple(7, 7.5)
    (True, False, False)
    """
    exact = Fraction(str(number)) / Fraction(str(of))
    if exact.denominator != 1:
        return False
    try:
        return (isinstance(number, int) and isinstance(of, int)) or (number / of).is_integer()
    except OverflowError:
        return False


class Unsatisfied(Exception):
    """Raised if no value can be made for a schema. `path` is the place of the wrong keyword, the message a reason."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path


def is_schema(value: object) -> bool:
    """Whether a JSON value can be a schema: it is an object, true or false."""
    return isinstance(value, bool) or is_object(value)


def _are_schemas(value: object) -> bool:
    return is_array(value) and bool(value) and all(map(is_schema, value))


def _is_count(value: object) -> bool:
    return kind(value) == "integer" and is_number(value) and value >= 0


def _is_limit(value: object) -> bool:
    return isinstance(value, bool) or _is_finite(value)


def _is_finite(value: object) -> bool:
    return is_number(value) and math.isfinite(value)


def _are_texts(value: object) -> bool:
    return is_array(value) and all(isinstance(each, str) for each in value)


def _is_type(value: object) -> bool:
    return isinstance(value, str) and value in TYPES


def _by_name(value: object) -> bool:
    return is_object(value) and all(map(is_schema, value.values()))


def _are_dependencies(value: object) -> bool:
    return is_object(value) and all(is_schema(each) or _are_texts(each) for each in value.values())


_Form = tuple[str, Callable[[Any], bool]]

_COUNT: Final[_Form] = ("a whole number of 0 or more", _is_count)
_NUMBER: Final[_Form] = ("a number", _is_finite)
_TEXT: Final[_Form] = ("a string", lambda value: isinstance(value, str))
_SCHEMA: Final[_Form] = ("a schema: an object, true or false", is_schema)
_SCHEMAS: Final[_Form] = ("a list of at least one schema", _are_schemas)
_NAMED: Final[_Form] = ("an object whose values are schemas", _by_name)

FORMS: Final[Mapping[str, _Form]] = {
    "$ref": _TEXT,
    "type": (
        f"one of {', '.join(TYPES)}, or a list of them",
        lambda value: _is_type(value) or (is_array(value) and bool(value) and all(map(_is_type, value))),
    ),
    "enum": ("a list of values", is_array),
    **dict.fromkeys(["allOf", "anyOf", "oneOf", "prefixItems"], _SCHEMAS),
    **dict.fromkeys(["not", "if", "then", "else", "contains", "propertyNames", "additionalItems"], _SCHEMA),
    **dict.fromkeys(["additionalProperties", "unevaluatedProperties", "unevaluatedItems"], _SCHEMA),
    "items": ("a schema", lambda value: is_schema(value) or (is_array(value) and all(map(is_schema, value)))),
    **dict.fromkeys(["minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains"], _COUNT),
    **dict.fromkeys(["minProperties", "maxProperties"], _COUNT),
    **dict.fromkeys(["minimum", "maximum"], _NUMBER),
    **dict.fromkeys(["exclusiveMinimum", "exclusiveMaximum"], ("a number", _is_limit)),
    "multipleOf": ("a number above 0", lambda value: _is_finite(value) and value > 0),
    **dict.fromkeys(["pattern", "format"], _TEXT),
    "uniqueItems": ("true or false", lambda value: isinstance(value, bool)),
    "required": ("a list of names", _are_texts),
    **dict.fromkeys(["properties", "patternProperties", "dependentSchemas"], _NAMED),
    "dependencies": ("an object whose values are schemas or lists of names", _are_dependencies),
    "dependentRequired": (
        "an object whose values are lists of names",
        lambda value: is_object(value) and all(map(_are_texts, value.values())),
    ),
}
"""Maps each keyword to the form of its value: a description for messages, and a function that checks the form. `items`,
`exclusiveMinimum` and `exclusiveMaximum` may also have the forms of older drafts.
"""


def matches(path: str, pattern: str, text: str) -> bool:
    """Whether a text contains a match of the pattern. If re rejects the pattern, raises Unsatisfied with its `path`."""
    try:
        return compiled(pattern).search(text) is not None
    except (re.error, OverflowError, RecursionError) as error:
        raise Unsatisfied(path, f"is {pattern!r}, and Python's re cannot read it ({error})") from error


UNKNOWN: Final = frozenset({"$dynamicRef", "$recursiveRef"})
"""Keywords that restrict values, but that this package does not support."""


@dataclass(frozen=True, slots=True)
class SchemaPart:
    """A schema at its place in the whole schema `root`. `path` is a JSON pointer such as `#/properties/city`."""

    path: str
    schema: Any = field(compare=False, repr=False)
    root: Any = field(compare=False, repr=False)

    def get(self, keyword: str, default: Any = None) -> Any:
        """Return a keyword's value, `default` if the schema lacks the keyword. Raises Unsatisfied for a wrong form."""
        if not is_object(self.schema) or keyword not in self.schema:
            return default
        value = self.schema[keyword]
        if keyword in FORMS:
            form, is_right = FORMS[keyword]
            if not is_right(value):
                raise Unsatisfied(f"{self.path}/{keyword}", f"is {value!r}, and {keyword} takes {form}")
            if FORMS[keyword] is _COUNT:
                return int(value)  # JSON Schema treats 2.0 as an integer
        return value

    def keywords(self) -> Iterator[tuple[str, Any]]:
        """Yield each keyword with its value. Raises Unsatisfied for a wrong form, and for a keyword in UNKNOWN."""
        for name in self.schema if is_object(self.schema) else ():
            if name in UNKNOWN:
                raise Unsatisfied(f"{self.path}/{name}", "is not followed")
            yield name, self.get(name)

    def child(self, *steps: str | int) -> SchemaPart:
        """Return the part at a path below this part, for example `child("properties", "city")`."""
        path = self.path + "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)
        return SchemaPart(path, reduce(getitem, steps, self.schema), self.root)

    def children(self, keyword: str) -> list[SchemaPart]:
        """Return the parts in the list under a keyword such as `anyOf`; an empty list without this keyword."""
        return [self.child(keyword, index) for index in range(len(self.get(keyword, ())))]

    def target(self) -> SchemaPart | None:
        """Return the part to which `$ref` refers; None without a `$ref`. Raises Unsatisfied if the part is missing."""
        reference: str | None = self.get("$ref")
        if reference is None:
            return None
        value, path = self.root, "#" + unquote(reference[1:])
        try:
            if (path != "#" and not path.startswith("#/")) or not reference.startswith("#"):
                raise KeyError(reference)
            for step in path.split("/")[1:]:
                name = step.replace("~1", "/").replace("~0", "~")
                value = value[int(name) if is_array(value) else name]
        except (KeyError, ValueError, IndexError, TypeError) as error:
            raise Unsatisfied(
                f"{self.path}/$ref", f"is {reference!r}, and only places of the same schema are followed (#/$defs/Name)"
            ) from error
        if not is_schema(value):
            raise Unsatisfied(f"{self.path}/$ref", f"is {reference!r}, and there is no schema at that place")
        return SchemaPart(path, value, self.root)

    def at_member(self, name: str) -> list[SchemaPart]:
        """Return the parts that apply to an object's member with this name."""
        found = [self.child("properties", name)] if name in self.get("properties", ()) else []
        found += [
            self.child("patternProperties", pattern)
            for pattern in self.get("patternProperties", ())
            if matches(f"{self.path}/patternProperties", pattern, name)
        ]
        if not found and self.get("additionalProperties") is not None:
            found.append(self.child("additionalProperties"))
        return found

    @property
    def first_items(self) -> list[SchemaPart]:
        """Return the parts for the first items of an array: `prefixItems`, or `items` in older drafts."""
        return self.children("items") if is_array(self.get("items")) else self.children("prefixItems")

    def at_item(self, index: int) -> list[SchemaPart]:
        """Return the parts that apply to an array's item at this index."""
        first = self.first_items
        if index < len(first):
            return [first[index]]
        rest = "additionalItems" if is_array(self.get("items")) else "items"
        return [self.child(rest)] if self.get(rest) is not None else []
