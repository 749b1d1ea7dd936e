"""What a value is that was parsed from JSON: the guards of everything that reads requests, answers and schemas.

Values that people write in Python are held to the guards of `bedrock.findings`: there any mapping is an object.
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
    """Whether a JSON value is a number, which true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def object_of(value: object) -> Mapping[str, Any]:
    """The value where it is an object, else an empty one: a client may send anything, and a file may be edited."""
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def objects_of(value: object) -> Sequence[Mapping[str, Any]]:
    """The items of an array as objects, an empty one in place of any other value; none of what is no array."""
    return [object_of(each) for each in value] if is_array(value) else []


def member_of(value: object, *path: str) -> Any:
    """What is at a path of members, None where any of them is missing.

    >>> member_of({"toolUse": {"name": "get_weather"}}, "toolUse", "name")
    'get_weather'
    """
    for step in path:
        value = value.get(step) if is_object(value) else None
    return value


def mapped(value: Any, change: Callable[[str, Any], Any]) -> Any:
    """An object or array with what `change` makes of each member, from its name ("" in an array); others as they are.

    >>> mapped({"a": 1, "b": 2}, lambda name, each: 10 * each)
    {'a': 10, 'b': 20}
    """
    if is_object(value):
        return {name: change(name, each) for name, each in value.items()}
    return [change("", each) for each in value] if is_array(value) else value
