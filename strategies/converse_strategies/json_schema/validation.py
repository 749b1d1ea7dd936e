"""Whether a value satisfies a schema: one check per keyword, in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from converse_strategies.json_schema.formats import FORMATS
from converse_strategies.json_schema.keywords import KEYWORDS, TYPES, key, kind
from converse_strategies.json_schema.reading import Node, Schema, compiled

Check = Callable[[Schema, Node, Any, Any], bool]
"""Schema, the node that has the keyword, what the keyword says, the value."""


def is_valid(schema: Schema, node: Node, value: Any) -> bool:
    """Whether a value satisfies a part of a schema."""
    return not node.never and all(satisfies(schema, node, name, value) for name in node.keywords)


def satisfies(schema: Schema, node: Node, keyword: str, value: Any) -> bool:
    """Whether a value satisfies one keyword; one that speaks of another type of values lets it pass."""
    about = KEYWORDS[keyword].about
    return bool(about and kind(value) not in TYPES[about]) or CHECKS[keyword](
        schema, node, node.keywords[keyword], value
    )


def _all(schema: Schema, node: Node, keyword: str, value: Any) -> list[bool]:
    return [is_valid(schema, child, value) for child in schema.children(node, keyword)]


def schemas_of(schema: Schema, node: Node, name: str) -> list[Node]:
    """What an object schema says of the member of a name."""
    found: list[Node] = []
    if name in node.keywords.get("properties", {}):
        found.append(schema.child(node, "properties", name))
    patterns = [pattern for pattern in node.keywords.get("patternProperties", ()) if compiled(pattern).search(name)]
    found += [schema.child(node, "patternProperties", pattern) for pattern in patterns]
    if not found and "additionalProperties" in node.keywords:
        found.append(schema.child(node, "additionalProperties"))
    return found


def schemas_at(schema: Schema, node: Node, index: int) -> list[Node]:
    """What an array schema says of the item of an index."""
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
    """Whether both ways to tell agree: exactly as decimals, and as floats divide.

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
    """What `type` says, as a list."""
    return [said] if isinstance(said, str) else said


def applying(schema: Schema, node: Node, value: Any) -> Iterator[Node]:
    """A node and the nodes that it puts upon the same value: references, and the branches that the value satisfies."""
    yield node
    if "$ref" in node.keywords:
        yield from applying(schema, schema.target(node), value)
    for keyword in ("allOf", "anyOf", "oneOf"):
        for child in schema.children(node, keyword):
            if is_valid(schema, child, value):
                yield from applying(schema, child, value)
