"""Check whether a value satisfies a schema: the table CHECKS has a function for each keyword.

Source: JSON Schema 2020-12; `dependencies`, `additionalItems` and lists under `items` come from older drafts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

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
    for keyword, given in part.keywords():
        check = CHECKS.get(keyword)
        if check is None or (check.about and kind(value) not in TYPES[check.about]):
            continue
        for found in check.broken(part, given, value):
            return found or f"{part.path}/{keyword}"
    return None


def holds(part: SchemaPart, value: Any) -> bool:
    """Whether a value satisfies a schema. Raises Unsatisfied like `broken`."""
    return broken(part, value) is None


_Paths = Iterable[str | None]
"""The result of a check: the paths of broken keywords. None means that nothing is broken, "" the checked keyword
itself.
"""


class KeywordCheck:
    """The check of one keyword. `about` is the type of the values that the keyword restricts; "" means all types."""

    def __init__(self, about: str, broken: Callable[[SchemaPart, Any, Any], _Paths]) -> None:
        self.about = about
        self.broken = broken


def _plain(about: str, is_right: Callable[[Any, Any], object]) -> KeywordCheck:
    """Make a check from a function of two arguments: the keyword's value and the checked value."""
    return KeywordCheck(about, lambda part, given, value: () if is_right(given, value) else (None,))


def _below(children: Iterable[SchemaPart], value: Any) -> Iterator[str]:
    return (found for child in children if (found := broken(child, value)) is not None)


def _reference(part: SchemaPart, given: Any, value: Any) -> _Paths:
    target = part.target()
    return () if target is None else _below([target], value)


def _any_of(part: SchemaPart, given: Any, value: Any) -> _Paths:
    return () if any(holds(child, value) for child in part.children("anyOf")) else (None,)


def _one_of(part: SchemaPart, given: Any, value: Any) -> _Paths:
    return () if sum(holds(child, value) for child in part.children("oneOf")) == 1 else (None,)


def _if(part: SchemaPart, given: Any, value: Any) -> _Paths:
    branch = "then" if holds(part.child("if"), value) else "else"
    return _below([part.child(branch)], value) if part.get(branch) is not None else ()


def _limit(part: SchemaPart, keyword: str) -> tuple[Fraction, bool] | None:
    limits: list[tuple[Fraction, bool]] = []
    exclusive = part.get(f"exclusive{keyword.capitalize()}")
    inclusive = part.get(keyword)
    if inclusive is not None:
        limits.append((exact(inclusive), exclusive is not True))
    if exclusive is not None and not isinstance(exclusive, bool):
        limits.append((exact(exclusive), False))
    if not limits:
        return None
    if keyword == "minimum":
        return max(limits, key=lambda limit: (limit[0], not limit[1]))
    return min(limits)


def lowest(part: SchemaPart) -> tuple[Fraction, bool] | None:
    """Return the lower limit of a schema's numbers, and whether the limit itself is allowed; None without a limit.

    `exclusiveMinimum` may be a number, or (in older drafts) true or false.
    """
    return _limit(part, "minimum")


def highest(part: SchemaPart) -> tuple[Fraction, bool] | None:
    """Return the upper limit of a schema's numbers, and whether the limit itself is allowed; None without a limit."""
    return _limit(part, "maximum")


def exact(number: float) -> Fraction:
    """Return the exact fraction of a number's decimal form: 1/10 for 0.1."""
    return Fraction(int(number)) if number == int(number) else Fraction(str(number))


def _above(part: SchemaPart, given: Any, value: Any) -> _Paths:
    limit = lowest(part)
    return (None,) if limit and not (value > limit[0] or (limit[1] and value == limit[0])) else ()


def _under(part: SchemaPart, given: Any, value: Any) -> _Paths:
    limit = highest(part)
    return (None,) if limit and not (value < limit[0] or (limit[1] and value == limit[0])) else ()


def _items(part: SchemaPart, given: Any, value: Any) -> _Paths:
    return (found for index, item in enumerate(value) for found in _below(part.at_item(index), item))


def _members(part: SchemaPart, given: Any, value: Any) -> _Paths:
    return (found for name, member in value.items() for found in _below(part.at_member(name), member))


def _names(part: SchemaPart, given: Any, value: Any) -> _Paths:
    return (found for name in value for found in _below([part.child("propertyNames")], name))


def _contains(part: SchemaPart, given: Any, value: Any) -> _Paths:
    found = sum(holds(part.child("contains"), item) for item in value)
    return () if part.get("minContains", 1) <= found <= part.get("maxContains", found) else (None,)


def _dependent(keyword: str) -> Callable[[SchemaPart, Any, Any], _Paths]:
    """Make the check of a keyword that requires names, or applies a schema, if the object has a certain member."""

    def check(part: SchemaPart, given: Any, value: Any) -> Iterator[str | None]:
        for name, then in given.items():
            if name in value:
                if is_array(then):
                    yield from [None for each in then if each not in value]
                else:
                    yield from _below([part.child(keyword, name)], value)

    return check


def _applied(part: SchemaPart, value: Any) -> Iterator[SchemaPart]:
    """Yield the schemas that apply to a value at this place: the part, the target of its `$ref`, and its branches."""
    yield part
    nearby = [each for keyword in ("allOf", "anyOf", "oneOf") for each in part.children(keyword)]
    target = part.target()
    if target is not None:
        nearby.append(target)
    if part.get("if") is not None:
        branch = "then" if holds(part.child("if"), value) else "else"
        nearby += [part.child(each) for each in ("if", branch) if part.get(each) is not None]
    if is_object(value):
        nearby += [part.child("dependentSchemas", name) for name in part.get("dependentSchemas", ()) if name in value]
    for each in nearby:
        if holds(each, value):
            yield from _applied(each, value)


def _unevaluated_members(part: SchemaPart, given: Any, value: Any) -> _Paths:
    known: set[str] = set()
    for each in _applied(part, value):
        known.update(name for name in value if each.at_member(name))
        if each != part and each.get("unevaluatedProperties") is not None:
            known.update(value)
    rest = [name for name in value if name not in known]
    return (found for name in rest for found in _below([part.child("unevaluatedProperties")], value[name]))


def _unevaluated_items(part: SchemaPart, given: Any, value: Any) -> _Paths:
    known: set[int] = set()
    for each in _applied(part, value):
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
    "$ref": KeywordCheck("", _reference),
    "type": _plain("", lambda given, value: kind(value) in kinds(given)),
    "enum": _plain("", lambda given, value: key(value) in map(key, given)),
    "const": _plain("", lambda given, value: key(value) == key(given)),
    "allOf": KeywordCheck("", lambda part, given, value: _below(part.children("allOf"), value)),
    "anyOf": KeywordCheck("", _any_of),
    "oneOf": KeywordCheck("", _one_of),
    "not": KeywordCheck("", lambda part, given, value: (None,) if holds(part.child("not"), value) else ()),
    "if": KeywordCheck("", _if),
    "minimum": KeywordCheck("number", _above),
    "exclusiveMinimum": KeywordCheck("number", _above),
    "maximum": KeywordCheck("number", _under),
    "exclusiveMaximum": KeywordCheck("number", _under),
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
    "propertyNames": KeywordCheck("object", _names),
    "required": _plain("object", lambda given, value: all(name in value for name in given)),
    "minProperties": _plain("object", lambda given, value: len(value) >= given),
    "maxProperties": _plain("object", lambda given, value: len(value) <= given),
    "dependentRequired": KeywordCheck("object", _dependent("dependentRequired")),
    "dependentSchemas": KeywordCheck("object", _dependent("dependentSchemas")),
    "dependencies": KeywordCheck("object", _dependent("dependencies")),
}
"""Maps each keyword that restricts values to its check."""
