"""Check whether a value satisfies a schema: the table CHECKS has a function for each keyword.

Source: JSON Schema 2020-12; `dependencies`, `additionalItems` and lists under `items` come from older drafts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, TypeVar

from converse_harness.json_schema.formats import STRING_FORMATS
from converse_harness.json_schema.parts import TYPES, SchemaPart, is_multiple, key, kind, matches
from converse_harness.json_values import is_array, is_object


def broken(part: SchemaPart, value: Any) -> str | None:
    """Return the path of a keyword that a value breaks; None if the value satisfies the schema.

    Raises Unsatisfied for a keyword that this package does not support, or whose value has a wrong form.

    >>> schema = {"properties": {"days": {"minimum": 1}}}
    >>> broken(SchemaPart("#", schema, schema), {"days": 0})
    '#/properties/days/minimum'
    """
    if part.schema is False:
        return part.path
    for keyword, given in part.entries():
        for found in broken_by(part, keyword, given, value):
            return found or f"{part.path}/{keyword}"
    return None


def broken_by(part: SchemaPart, keyword: str, given: Any, value: Any) -> _Paths:
    """Return the paths of the keywords that `value` breaks: `keyword`, whose value in `part` is `given`, and keywords
    below it.

    None stands for the path of `keyword` itself.
    """
    check = CHECKS.get(keyword)
    if check is None or (check.about and kind(value) not in TYPES[check.about]):
        return ()
    return check.broken(part, given, value)


def holds(part: SchemaPart, value: Any) -> bool:
    """Whether a value satisfies a schema. Raises Unsatisfied like `broken`."""
    return broken(part, value) is None


Part = TypeVar("Part", bound=SchemaPart)
_Paths = Iterable[str | None]
"""The result of a check: the paths of the broken keywords; None stands for the path of the checked keyword itself."""

_Check = Callable[[SchemaPart, Any, Any], _Paths]
"""A function that returns the paths of broken keywords for a schema, a keyword's value in it, and the value to check.
"""


@dataclass(frozen=True, slots=True)
class KeywordCheck:
    """The check of one keyword. `about` is the type of the values that the keyword restricts; "" means all types."""

    about: str
    broken: _Check


def _plain(about: str, is_right: Callable[[Any, Any], object]) -> KeywordCheck:
    """Make a check from a function of the keyword's value and the value to check; it returns whether the latter is
    valid.
    """
    return KeywordCheck(about, lambda part, given, value: () if is_right(given, value) else (None,))


def _below(children: Iterable[SchemaPart], value: Any) -> Iterator[str]:
    return (found for child in children if (found := broken(child, value)) is not None)


def _branch(part: Part, value: Any) -> list[Part]:
    """Return the part under `then` if the value satisfies `if`, otherwise the part under `else`.

    The result is a list, which is empty if the schema does not have this keyword.
    """
    name = "then" if holds(part.child("if"), value) else "else"
    return [part.child(name)] if part.get(name) is not None else []


def limits(parts: Iterable[SchemaPart], keyword: str) -> Iterator[tuple[Fraction, bool]]:
    """Yield the lower or upper limits in these schemas, each with true if a number may be equal to the limit.

    `keyword` is `minimum` or `maximum`. The value of `exclusiveMinimum` or `exclusiveMaximum` is a number or, in older
    drafts, true or false.
    """
    for part in parts:
        exclusive = part.get(f"exclusive{keyword.capitalize()}")
        inclusive = part.get(keyword)
        if inclusive is not None:
            yield exact(inclusive), exclusive is not True
        if exclusive is not None and not isinstance(exclusive, bool):
            yield exact(exclusive), False


def exact(number: float) -> Fraction:
    """Return the fraction that is exactly equal to a number's decimal form: 1/10 for 0.1."""
    return Fraction(int(number)) if number == int(number) else Fraction(str(number))


def _is_above(part: SchemaPart, given: Any, value: Any) -> _Paths:
    return (None for low, allowed in limits([part], "minimum") if value < low or (value == low and not allowed))


def _is_below(part: SchemaPart, given: Any, value: Any) -> _Paths:
    return (None for high, allowed in limits([part], "maximum") if value > high or (value == high and not allowed))


def _items(part: SchemaPart, given: Any, value: Any) -> _Paths:
    return (found for index, item in enumerate(value) for found in _below(part.at_item(index), item))


def _members(part: SchemaPart, given: Any, value: Any) -> _Paths:
    return (found for name, member in value.items() for found in _below(part.at_member(name), member))


def _contains(part: SchemaPart, given: Any, value: Any) -> _Paths:
    found = sum(holds(part.child("contains"), item) for item in value)
    return () if part.get("minContains", 1) <= found <= part.get("maxContains", found) else (None,)


def _dependent(keyword: str) -> Callable[[SchemaPart, Any, Any], _Paths]:
    """Make the check of `keyword`, such as `dependentRequired`.

    If an object has a certain member, the keyword requires other members, or applies a schema to the object.
    """

    def check(part: SchemaPart, given: Any, value: Any) -> Iterator[str | None]:
        for name, then in given.items():
            if name in value:
                if is_array(then):
                    yield from [None for each in then if each not in value]
                else:
                    yield from _below([part.child(keyword, name)], value)

    return check


def applied(part: Part, value: Any) -> Iterator[Part]:
    """Yield the schemas that apply to a value: the part itself, the target of its `$ref`, and its branches.

    A branch, such as a child of `anyOf`, applies if the value satisfies it. The targets and branches of the yielded
    schemas are yielded, too.
    """
    yield part
    nearby = [*part.targets(), *(each for keyword in ("allOf", "anyOf", "oneOf") for each in part.children(keyword))]
    if part.get("if") is not None:
        nearby += [part.child("if"), *_branch(part, value)]
    if is_object(value):
        nearby += [part.child("dependentSchemas", name) for name in part.get("dependentSchemas", ()) if name in value]
    for each in nearby:
        if holds(each, value):
            yield from applied(each, value)


def _unevaluated_members(part: SchemaPart, given: Any, value: Any) -> _Paths:
    known: set[str] = set()
    for each in applied(part, value):
        known.update(name for name in value if each.at_member(name))
        if each != part and each.get("unevaluatedProperties") is not None:
            known.update(value)
    rest = [name for name in value if name not in known]
    return (found for name in rest for found in _below([part.child("unevaluatedProperties")], value[name]))


def _unevaluated_items(part: SchemaPart, given: Any, value: Any) -> _Paths:
    known: set[int] = set()
    for each in applied(part, value):
        known.update(index for index in range(len(value)) if each.at_item(index))
        if each.get("contains") is not None:
            known.update(index for index, item in enumerate(value) if holds(each.child("contains"), item))
        if each != part and each.get("unevaluatedItems") is not None:
            known.update(range(len(value)))
    rest = [item for index, item in enumerate(value) if index not in known]
    return (found for item in rest for found in _below([part.child("unevaluatedItems")], item))


def kinds(given: str | list[str]) -> frozenset[str]:
    """Return the kinds of values that the keyword `type` allows; `given` is the keyword's value."""
    return frozenset[str]().union(*(TYPES[name] for name in ([given] if isinstance(given, str) else given)))


CHECKS: Final[Mapping[str, KeywordCheck]] = {
    "$ref": KeywordCheck("", lambda part, given, value: _below(part.targets(), value)),
    "type": _plain("", lambda given, value: kind(value) in kinds(given)),
    "enum": _plain("", lambda given, value: key(value) in map(key, given)),
    "const": _plain("", lambda given, value: key(value) == key(given)),
    "allOf": KeywordCheck("", lambda part, given, value: _below(part.children("allOf"), value)),
    "anyOf": KeywordCheck(
        "", lambda part, given, value: () if any(holds(child, value) for child in part.children("anyOf")) else (None,)
    ),
    "oneOf": KeywordCheck(
        "",
        lambda part, given, value: () if sum(holds(each, value) for each in part.children("oneOf")) == 1 else (None,),
    ),
    "not": KeywordCheck("", lambda part, given, value: (None,) if holds(part.child("not"), value) else ()),
    "if": KeywordCheck("", lambda part, given, value: _below(_branch(part, value), value)),
    "minimum": KeywordCheck("number", _is_above),
    "exclusiveMinimum": KeywordCheck("number", _is_above),
    "maximum": KeywordCheck("number", _is_below),
    "exclusiveMaximum": KeywordCheck("number", _is_below),
    "multipleOf": _plain("number", lambda given, value: is_multiple(value, given)),
    "minLength": _plain("string", lambda given, value: len(value) >= given),
    "maxLength": _plain("string", lambda given, value: len(value) <= given),
    "pattern": KeywordCheck(
        "string", lambda part, given, value: () if matches(f"{part.path}/pattern", given, value) else (None,)
    ),
    "format": _plain(
        "string", lambda given, value: given not in STRING_FORMATS or bool(STRING_FORMATS[given].holds(value))
    ),
    "items": KeywordCheck("array", _items),
    "prefixItems": KeywordCheck("array", _items),
    "additionalItems": KeywordCheck("array", _items),
    "unevaluatedItems": KeywordCheck("array", _unevaluated_items),
    "contains": KeywordCheck("array", _contains),
    "minItems": _plain("array", lambda given, value: len(value) >= given),
    "maxItems": _plain("array", lambda given, value: len(value) <= given),
    "uniqueItems": _plain("array", lambda given, value: not given or len(set(map(key, value))) == len(value)),
    "properties": KeywordCheck("object", _members),
    "patternProperties": KeywordCheck("object", _members),
    "additionalProperties": KeywordCheck("object", _members),
    "unevaluatedProperties": KeywordCheck("object", _unevaluated_members),
    "propertyNames": KeywordCheck(
        "object",
        lambda part, given, value: (found for name in value for found in _below([part.child("propertyNames")], name)),
    ),
    "required": _plain("object", lambda given, value: all(name in value for name in given)),
    "minProperties": _plain("object", lambda given, value: len(value) >= given),
    "maxProperties": _plain("object", lambda given, value: len(value) <= given),
    "dependentRequired": KeywordCheck("object", _dependent("dependentRequired")),
    "dependentSchemas": KeywordCheck("object", _dependent("dependentSchemas")),
    "dependencies": KeywordCheck("object", _dependent("dependencies")),
}
"""Maps each keyword that restricts values to its check."""
