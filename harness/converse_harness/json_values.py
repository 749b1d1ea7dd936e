"""Type guards and accessors for values parsed from JSON: requests, answers and schemas.

For values that a test creates in Python, the module `bedrock.findings` has type guards that accept any mapping as an
object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard, cast


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Whether a JSON value is an array."""
    return isinstance(value, list)


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a JSON value is a number; true and false are not numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def object_of(value: object) -> Mapping[str, Any]:
    """Return the value if it is a JSON object, otherwise an empty object.

    It is used for requests and edited files, which may contain a value of another type.
    """
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def objects_of(value: object) -> Sequence[Mapping[str, Any]]:
    """Return `object_of` of each item of an array; an empty list if the value is not an array."""
    return [object_of(each) for each in value] if is_array(value) else []


def member_of(value: object, *path: str) -> Any:
    """Return the value at a path of nested members; None if a member of the path is missing.

    >>> member_of({"toolUse": {"name": "get_weather"}}, "toolUse", "name")
    'get_weather'
    """
    for step in path:
        value = value.get(step) if is_object(value) else None
    return value


def mapped(value: Any, change: Callable[[str, Any], Any]) -> Any:
    """Apply `change(name, member)` to each member of an object, and `change("", item)` to each item of an array.

    Any other value is returned unchanged.

    >>> mapped({"a": 1, "b": 2}, lambda name, each: 10 * each)
    {'a': 10, 'b': 20}
    """
    if is_object(value):
        return {name: change(name, each) for name, each in value.items()}
    return [change("", each) for each in value] if is_array(value) else value
