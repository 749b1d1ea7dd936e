"""Check values by a schema that is compiled once: quickly by the usual keywords of tools, otherwise as `checking` does.

`breaks` compiles the keywords that nearly all tools have. A value that passes them is valid. Whatever does not pass, or
has other keywords, is checked by the module `checking`, which also returns the path of the broken keyword.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from converse_harness.json_schema.checking import broken
from converse_harness.json_schema.parts import SchemaPart, Unsatisfied
from converse_harness.json_values import is_array, is_object, object_of

_Passes = Callable[[Any], bool]


def breaks(schema: Mapping[str, Any]) -> Callable[[Any], str | None]:
    """Return a function that returns the path of a keyword that a value breaks; None for a valid value.

    None is also returned if nothing is known: for a schema with a keyword that `checking` does not support, or one that
    refers to itself without an end.

    >>> check = breaks({"type": "object", "properties": {"days": {"minimum": 1}}, "required": ["city"]})
    >>> check({"city": "Bern", "days": 0}), check({"city": "Bern"}), check({})
    ('#/properties/days/minimum', None, '#/required')
    """
    passes, part = _compiled(schema), SchemaPart("#", schema, schema)

    def check(value: Any) -> str | None:
        if passes is not None and passes(value):
            return None
        try:
            return broken(part, value)
        except (Unsatisfied, RecursionError):
            return None

    return check


_ONLY_TOLD: Final = frozenset({"$schema", "title", "description", "default", "examples", "$comment", "deprecated"})
"""The keywords that restrict no value."""

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}
"""The Python types of values that surely have a type. A bool is no integer; 1.0 is one, and is left to `checking`."""


def _compiled(schema: object) -> _Passes | None:
    """Return a function that returns True only for valid values; None for a schema with a keyword of another kind."""
    if not is_object(schema):
        return None
    checks: list[_Passes] = []
    for keyword, given in schema.items():
        if keyword in _ONLY_TOLD:
            continue
        make = _MAKERS.get(keyword)
        check = _others(given, schema) if keyword == "additionalProperties" else None if make is None else make(given)
        if check is None:
            return None
        checks.append(check)
    if len(checks) == 1:
        return checks[0]
    if schema.keys() - _ONLY_TOLD <= {"type", "properties", "required"} and schema.get("type") == "object":
        return _object(schema)

    def passes(value: Any) -> bool:
        for check in checks:  # noqa: SIM110 - `all` with a generator takes twice as long
            if not check(value):
                return False
        return True

    return passes


def _object(schema: Mapping[str, Any]) -> _Passes:
    """Compile the schema of most tools as one function, which is the quickest. Its keywords can all be compiled."""
    members = {name: check for name, each in schema.get("properties", {}).items() if (check := _compiled(each))}
    wanted = frozenset(schema.get("required", ()))

    def passes(value: Any) -> bool:
        if not is_object(value) or not wanted <= value.keys():
            return False
        for name, each in value.items():
            check = members.get(name)
            if check is not None and not check(each):
                return False
        return True

    return passes


def _type(given: object) -> _Passes | None:
    names = [given] if isinstance(given, str) else given
    if not is_array(names) or not all(isinstance(name, str) and name in _TYPES for name in names):
        return None
    types = frozenset(each for name in names for each in _TYPES[name])
    return lambda value: type(value) in types


def _properties(given: object) -> _Passes | None:
    members = {name: _compiled(each) for name, each in given.items()} if is_object(given) else {"": None}
    known = [(name, check) for name, check in members.items() if check is not None]
    if len(known) < len(members):
        return None

    def passes(value: Any) -> bool:
        if is_object(value):
            for name, check in known:
                if name in value and not check(value[name]):
                    return False
        return True

    return passes


def _others(given: object, schema: Mapping[str, Any]) -> _Passes | None:
    """Compile `additionalProperties`, which is about the members that `properties` in the same schema does not have."""
    if given is True or given == {}:
        return lambda value: True
    known = frozenset(object_of(schema.get("properties")))
    if given is False:
        return lambda value: not is_object(value) or known >= value.keys()
    check = _compiled(given)
    if check is None:
        return None
    return lambda value: not is_object(value) or all(check(each) for name, each in value.items() if name not in known)


def _required(given: object) -> _Passes | None:
    names = given if is_array(given) else [None]
    if not all(isinstance(name, str) for name in names):
        return None
    wanted = frozenset(names)
    return lambda value: not is_object(value) or wanted <= value.keys()


def _items(given: object) -> _Passes | None:
    check = _compiled(given)
    return None if check is None else lambda value: not is_array(value) or all(map(check, value))


def _enum(given: object) -> _Passes | None:
    if not is_array(given) or not all(isinstance(each, str) for each in given):
        return None
    return lambda value: value in given


def _any_of(given: object) -> _Passes | None:
    checks = [_compiled(each) for each in given] if is_array(given) else [None]
    known = [check for check in checks if check is not None]
    if len(known) < len(checks):
        return None
    return lambda value: any(check(value) for check in known)


def _limit(size: Callable[[Any], Any], types: tuple[type, ...], *, upper: bool) -> Callable[[object], _Passes | None]:
    """Return the maker for a keyword whose value is the smallest or the largest allowed size of values of `types`."""

    def make(given: object) -> _Passes | None:
        if type(given) is not int:
            return None
        if upper:
            return lambda value: type(value) not in types or size(value) <= given
        return lambda value: type(value) not in types or size(value) >= given

    return make


def _number(value: float) -> float:
    return value


_MAKERS: Final[Mapping[str, Callable[[object], _Passes | None]]] = {
    "type": _type,
    "properties": _properties,
    "required": _required,
    "items": _items,
    "enum": _enum,
    "anyOf": _any_of,
    "minimum": _limit(_number, (int, float), upper=False),
    "maximum": _limit(_number, (int, float), upper=True),
    "minLength": _limit(len, (str,), upper=False),
    "maxLength": _limit(len, (str,), upper=True),
    "minItems": _limit(len, (list,), upper=False),
    "maxItems": _limit(len, (list,), upper=True),
}
"""Maps keywords to functions that compile them. They return None for a value of the keyword that they do not know."""
