"""JSON values as the arguments of a Python function: its signature says which there are and what they may be."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, Union, cast, get_args, get_origin

from converse_harness import faults
from converse_harness.damage import Door, Fault
from converse_harness.doors.control.bodies import BODY, came, known, under
from converse_harness.doors.control.refusals import Refused
from converse_harness.errors import ReplyError
from converse_harness.summaries import shorten

HIDDEN: Final = ("self", "predicate", "sleeps")
"""Parameters that nothing in JSON stands for."""

SCALARS: Final[Mapping[object, tuple[str, tuple[type, ...]]]] = {
    str: ("a string", (str,)),
    bool: ("true or false", (bool,)),
    int: ("a whole number", (int,)),
    float: ("a number", (int, float)),
}
"""How a type is called in messages, and which types of parsed JSON are one."""

FAULTS: Final[Mapping[str, Fault]] = {
    name: fault for name, fault in faults.FAULTS.items() if Door.SERVER in fault.doors
}
"""The faults that a server can express."""

FAULT: Final = ("name", "lasting")
"""The members of a fault that is an object."""


@lru_cache(maxsize=64)
def parameters(function: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    """The named parameters of a function that JSON can give, with the types of their values."""
    signature = inspect.signature(function, eval_str=True)
    variadic = inspect.Parameter.VAR_KEYWORD
    return {
        name: each for name, each in signature.parameters.items() if each.kind is not variadic and name not in HIDDEN
    }


@lru_cache(maxsize=64)
def is_open(function: Callable[..., object]) -> bool:
    """Whether a function takes members beyond its named parameters."""
    return any(each.kind is each.VAR_KEYWORD for each in inspect.signature(function).parameters.values())


def first(function: Callable[..., object]) -> str:
    """The parameter that may be given without its name; empty if there is none."""
    positional = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return next((name for name, each in parameters(function).items() if each.kind in positional), "")


def bind(function: Callable[..., object], given: dict[str, Any], path: str) -> dict[str, Any]:
    """The keyword arguments that an object stands for. Raises Refused for a member that does not fit."""
    named = parameters(function)
    known({name: value for name, value in given.items() if name in HIDDEN or not is_open(function)}, [*named], path)
    for name, parameter in named.items():
        if parameter.default is parameter.empty and name not in given:
            raise Refused(f"{path or BODY} lacks {name!r}; it takes {', '.join(named)}.")
    return {
        name: convert(value, named[name].annotation, under(path, name)) if name in named else value
        for name, value in given.items()
    }


def convert(value: Any, hint: Any, path: str) -> Any:
    """A JSON value as a parameter's type asks for it. Raises Refused where it does not fit."""
    if hint is object or (value is None and type(None) in get_args(hint)):
        return value
    for option in _options(hint):
        if _fits(value, option):
            return _converted(value, option, path)
    raise Refused(f"{path} is {came(value)}; it must be {expected(hint)}.")


def expected(hint: Any) -> str:
    """What a value of this type is in JSON, for messages."""
    return " or ".join(_expected(option) for option in _options(hint))


def _options(hint: Any) -> list[Any]:
    if get_origin(hint) in (Union, types.UnionType):
        return [option for option in get_args(hint) if option is not type(None)]
    return [hint]


def _expected(hint: Any) -> str:
    origin = get_origin(hint) or hint
    if origin in SCALARS:
        return SCALARS[origin][0]
    if origin is Literal:
        return " or ".join(f'"{value}"' for value in get_args(hint))
    if origin is Fault:
        return f'the name of a fault ({", ".join(FAULTS)}), or an object {{"name": "stall", "lasting": 0.5}}'
    if origin is re.Pattern:
        return 'an object {"regex": "..."}'
    return "an object" if origin is Mapping else "a list"


def _fits(value: object, hint: Any) -> bool:
    origin = get_origin(hint) or hint
    if origin in SCALARS:
        return isinstance(value, SCALARS[origin][1]) and isinstance(value, bool) is (origin is bool)
    if origin is Literal:
        return isinstance(value, str) and value in get_args(hint)
    if origin is Fault:
        return value in FAULTS if isinstance(value, str) else isinstance(value, dict)
    if origin is re.Pattern:
        return isinstance(value, dict) and [*cast("dict[str, object]", value)] == ["regex"]
    return isinstance(value, dict if origin is Mapping else list)


def _converted(value: Any, hint: Any, path: str) -> Any:
    origin = get_origin(hint) or hint
    if origin is Fault:
        return FAULTS[value] if isinstance(value, str) else _lasting(value, path)
    if origin is re.Pattern:
        return _pattern(value["regex"], f"{path}.regex")
    if origin in (Sequence, Iterable):
        return [convert(item, get_args(hint)[0], f"{path}[{index}]") for index, item in enumerate(value)]
    if origin is Mapping:
        key, item_hint = get_args(hint)
        return {_key(name, key, path): convert(item, item_hint, under(path, name)) for name, item in value.items()}
    return value


def _lasting(given: dict[str, Any], path: str) -> Fault:
    known(given, FAULT, path)
    for name in FAULT:
        if name not in given:
            raise Refused(f"{path} lacks {name!r}; it takes {', '.join(FAULT)}.")
    name = convert(given["name"], str, under(path, "name"))
    try:
        return cast("Fault", convert(name, Fault, under(path, "name"))).lasting(
            convert(given["lasting"], float, under(path, "lasting"))
        )
    except ReplyError as error:
        raise Refused(f"{path}: {error}") from error


def _pattern(regex: object, path: str) -> re.Pattern[str]:
    try:
        return re.compile(convert(regex, str, path))
    except (re.error, OverflowError, RecursionError) as error:
        raise Refused(f"{path} is {came(regex)}, which is no regular expression of Python's: {error}.") from None


def _key(name: str, hint: Any, path: str) -> str | int:
    if hint is not int:
        return name
    if not re.fullmatch("[0-9]{1,9}", name):
        raise Refused(f"{path} has the member {shorten(name)}; its members are numbers of content blocks, from 0.")
    return int(name)
