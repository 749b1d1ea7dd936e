"""Find the values that schemas list themselves (such as `enum` or `default`), and the types of values to try.

The schemas are a conjunction: a value must satisfy all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from converse_harness.json_schema.checking import kinds
from converse_harness.json_schema.parts import KINDS, TYPES, SchemaPart, Unsatisfied
from converse_harness.json_values import is_array

_Turned = Callable[[str, Sequence[Any]], Sequence[Any]]
"""A function that takes a place in the schema and a list of items, and returns the items rotated. The seed and the
place decide which item comes first."""


def given_values(form: Sequence[SchemaPart], turned: _Turned) -> Sequence[Any]:
    """Return the values of `const`, `default`, `examples`, `example` and `enum` in the schemas `form`, in this order.

    A returned value may violate the schemas.
    """
    schemas = [(part.path, part.schema) for part in form if part.schema is not True]
    constants = [schema["const"] for _, schema in schemas if "const" in schema]
    shown = [schema["default"] for _, schema in schemas if "default" in schema]
    shown += [each for _, schema in schemas if is_array(schema.get("examples")) for each in schema["examples"]]
    shown += [schema["example"] for _, schema in schemas if "example" in schema]
    listed = [each for part in form for each in part.get("enum", ())]
    where = "|".join(path for path, _ in schemas)
    return [*constants, *turned(f"{where}|given", shown), *turned(f"{where}|enum", listed)]


def is_closed(form: Sequence[SchemaPart]) -> bool:
    """Whether a keyword (`const` or `enum`) lists all allowed values, so that no other value is possible."""
    return any(keyword in part.schema for part in form if part.schema is not True for keyword in ("const", "enum"))


def types_to_try(form: Sequence[SchemaPart], turned: _Turned) -> Iterable[str]:
    """Return the types of values to try, in order: the types in `type`, otherwise the types that other keywords
    restrict.

    Raises Unsatisfied if the `type` keywords of the schemas have no type in common.
    """
    allowed = frozenset(KINDS)
    listed: Sequence[str] = ()
    for part in form:
        given = part.get("type")
        if given is not None:
            allowed &= kinds(given)
            listed = listed or ([given] if isinstance(given, str) else turned(f"{part.path}/type", given))
    if not allowed:
        path = next(part.path for part in form if part.get("type") is not None)
        raise Unsatisfied(f"{path}/type", "the types that are asked for together leave no type")
    keywords = frozenset[str]().union(*(part.schema for part in form if part.schema is not True))
    about = [name for name, its in _ABOUT.items() if its & keywords]
    return [name for name in listed or about or _ANY if TYPES[name] & allowed]


_ANY: Final = ("string", "integer", "number", "boolean", "object", "array", "null")
"""The order in which types are tried if neither `type` nor another keyword restricts the type."""

_ABOUT: Final[Mapping[str, frozenset[str]]] = {
    "object": frozenset(
        [
            "properties",
            "required",
            "additionalProperties",
            "patternProperties",
            "minProperties",
            "maxProperties",
            "propertyNames",
            "dependentRequired",
            "dependentSchemas",
        ]
    ),
    "array": frozenset(["items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"]),
    "string": frozenset(["minLength", "maxLength", "pattern", "format"]),
    "number": frozenset(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
}
"""Maps each type to the keywords that restrict values of this type."""
