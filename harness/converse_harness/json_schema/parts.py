"""Types, kinds and equality of JSON values, the forms of keywords' values, and SchemaPart: a schema with its place."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from operator import getitem
from typing import Any, Final, Self, TypeGuard
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
"""Maps the name of each type, as in the keyword `type`, to the kinds of values that the type allows."""

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
    """Whether a number is a multiple of `of`, both in exact decimal arithmetic and in the division of floats.

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
    """Raised if no value can be made for a schema, or if a schema is invalid. `path` is the path of the keyword in
    question.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path


def is_schema(value: object) -> bool:
    """Whether a JSON value can be a schema: it is an object, true or false."""
    return isinstance(value, bool) or is_object(value)


def is_finite(value: object) -> TypeGuard[int | float]:
    """Whether a JSON value is a number, but neither NaN nor infinite."""
    return is_number(value) and abs(value) < math.inf


def _are_texts(value: object) -> bool:
    return is_array(value) and all(isinstance(each, str) for each in value)


def are_types(value: object) -> bool:
    """Whether a JSON value is the name of a type, or a list of such names that is not empty."""
    names = value if is_array(value) and value else [value]
    return all(isinstance(name, str) and name in TYPES for name in names)


_Form = tuple[str, Callable[[Any], bool]]

_COUNT: Final[_Form] = (
    "a whole number of 0 or more",
    lambda value: is_number(value) and kind(value) == "integer" and value >= 0,
)
_TEXT: Final[_Form] = ("a string", lambda value: isinstance(value, str))
_SCHEMA: Final[_Form] = ("a schema: an object, true or false", is_schema)
_SCHEMAS: Final[_Form] = (
    "a list of at least one schema",
    lambda value: is_array(value) and bool(value) and all(map(is_schema, value)),
)
_NAMED: Final[_Form] = (
    "an object whose values are schemas",
    lambda value: is_object(value) and all(map(is_schema, value.values())),
)

FORMS: Final[Mapping[str, _Form]] = {
    "$ref": _TEXT,
    "type": (f"one of {', '.join(TYPES)}, or a list of them", are_types),
    "enum": ("a list of values", is_array),
    **dict.fromkeys(["allOf", "anyOf", "oneOf", "prefixItems"], _SCHEMAS),
    **dict.fromkeys(["not", "if", "then", "else", "contains", "propertyNames", "additionalItems"], _SCHEMA),
    **dict.fromkeys(["additionalProperties", "unevaluatedProperties", "unevaluatedItems"], _SCHEMA),
    "items": ("a schema", lambda value: is_schema(value) or (is_array(value) and all(map(is_schema, value)))),
    **dict.fromkeys(["minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains"], _COUNT),
    **dict.fromkeys(["minProperties", "maxProperties"], _COUNT),
    **dict.fromkeys(["minimum", "maximum"], ("a number", is_finite)),
    **dict.fromkeys(
        ["exclusiveMinimum", "exclusiveMaximum"],
        ("a number", lambda value: isinstance(value, bool) or is_finite(value)),
    ),
    "multipleOf": ("a number above 0", lambda value: is_finite(value) and value > 0),
    **dict.fromkeys(["pattern", "format"], _TEXT),
    "uniqueItems": ("true or false", lambda value: isinstance(value, bool)),
    "required": ("a list of names", _are_texts),
    **dict.fromkeys(["properties", "patternProperties", "dependentSchemas"], _NAMED),
    "dependencies": (
        "an object whose values are schemas or lists of names",
        lambda value: is_object(value) and all(is_schema(each) or _are_texts(each) for each in value.values()),
    ),
    "dependentRequired": (
        "an object whose values are lists of names",
        lambda value: is_object(value) and all(map(_are_texts, value.values())),
    ),
}
"""Maps each keyword to the form of its value: a description for messages, and a function that checks the form. `items`,
`exclusiveMinimum` and `exclusiveMaximum` may also have the forms of older drafts.
"""


def matches(path: str, pattern: str, text: str) -> bool:
    """Whether a text contains a match of the pattern.

    Raises Unsatisfied for a pattern that Python's re cannot read; `path` is the place of the pattern in the schema.
    """
    try:
        return compiled(pattern).search(text) is not None
    except (re.error, OverflowError, RecursionError) as error:
        raise Unsatisfied(path, f"is {pattern!r}, and Python's re cannot read it ({error})") from error


UNKNOWN: Final = frozenset({"$dynamicRef", "$recursiveRef"})
"""Keywords that restrict values, but are not supported here: a schema with one of them has no value."""


@dataclass(frozen=True)
class SchemaPart:
    """A schema at its place in the whole schema `root`. `path` is a JSON pointer such as `#/properties/city`."""

    path: str
    schema: Any = field(compare=False, repr=False)
    root: Any = field(compare=False, repr=False)

    def get(self, keyword: str, default: Any = None) -> Any:
        """Return the value of a keyword, or `default` if the schema does not have the keyword.

        Raises Unsatisfied if the value is not of the form that FORMS requires.
        """
        if not is_object(self.schema) or keyword not in self.schema:
            return default
        value = self.schema[keyword]
        form = FORMS.get(keyword)
        if form is not None and not form[1](value):
            raise Unsatisfied(f"{self.path}/{keyword}", f"is {value!r}, and {keyword} takes {form[0]}")
        return int(value) if form is _COUNT else value  # JSON Schema treats 2.0 as an integer

    def entries(self) -> Iterator[tuple[str, Any]]:
        """Yield each keyword with its value. Raises Unsatisfied for a wrong form, and for each keyword in UNKNOWN."""
        for name in self.schema if is_object(self.schema) else ():
            if name in UNKNOWN:
                raise Unsatisfied(f"{self.path}/{name}", "is not followed")
            yield name, self.get(name)

    def child(self, *steps: str | int) -> Self:
        """Return the part at a path below this part, for example `child("properties", "city")`."""
        path = self.path + "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)
        return self._at(path, reduce(getitem, steps, self.schema))

    def _at(self, path: str, schema: Any) -> Self:
        return replace(self, path=path, schema=schema)

    def children(self, keyword: str) -> list[Self]:
        """Return the parts in the list under a keyword such as `anyOf`; an empty list without this keyword."""
        return [self.child(keyword, index) for index in range(len(self.get(keyword, ())))]

    def targets(self) -> Sequence[Self]:
        """Return a list with the part to which `$ref` refers. The list is empty if the schema has no `$ref`.

        Raises Unsatisfied if the whole schema has no part at the place that `$ref` names.
        """
        reference: str | None = self.get("$ref")
        if reference is None:
            return []
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
        target = self._at(path, value)
        if not is_schema(value):
            raise Unsatisfied(f"{self.path}/$ref", f"is {reference!r}, and there is no schema at that place")
        return [target]

    def at_member(self, name: str) -> list[Self]:
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

    def at_item(self, index: int) -> list[Self]:
        """Return the parts that apply to an array's item at this index. In older drafts, `items` may be a list."""
        first, rest = ("items", "additionalItems") if is_array(self.get("items")) else ("prefixItems", "items")
        if index < len(self.get(first, ())):
            return [self.child(first, index)]
        return [self.child(rest)] if self.get(rest) is not None else []
