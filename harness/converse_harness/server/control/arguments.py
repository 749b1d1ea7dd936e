"""Strict reading of control API bodies: conversion to arguments, and error messages."""

from __future__ import annotations

import inspect
import json
import math
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, Final, Literal, Union, cast, get_args, get_origin

from converse_harness import faults
from converse_harness.bedrock.findings import is_array, is_object
from converse_harness.bedrock.service import nearest
from converse_harness.errors import ReplyError
from converse_harness.faults.model import Fault
from converse_harness.reply.body import shorten
from converse_harness.server.control.patterns import LONGEST, PatternTooLarge, RegexMissing, TimedPattern, timed


class ControlRefusal(Enum):
    """The reasons to refuse a request, each with its HTTP status and AWS error name."""

    WRONG = (400, "ValidationException")
    NOT_ALLOWED = (403, "AccessDeniedException")
    NO_FAKE = (404, "ResourceNotFoundException")
    NO_PATH = (404, "UnknownOperationException")
    NO_METHOD = (405, "UnknownOperationException")
    NO_JSON = (415, "UnsupportedMediaTypeException")

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.value[0]

    @property
    def error(self) -> str:
        """The name in x-amzn-ErrorType."""
        return self.value[1]


class ControlRefused(ReplyError):
    """The control API refuses a request; nothing has changed."""

    def __init__(
        self, message: str, refusal: ControlRefusal = ControlRefusal.WRONG, headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        super().__init__(message)
        self.refusal = refusal
        self.headers = headers


DEEPEST: Final = 100
"""How many levels of objects and lists a body may have; Python follows some hundreds."""

_BODY: Final = "the body"


def parse(body: bytes) -> dict[str, Any]:
    """The JSON object of a request body; an empty body is an empty object. Raises ControlRefused."""
    try:
        parsed: object = json.loads(body or b"{}", parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ControlRefused(f"{_BODY} is not JSON: {reason}. Send a JSON object, for instance {_EXAMPLE}.") from None
    if too_deep(parsed):
        raise ControlRefused(f"{_BODY} is nested more than {DEEPEST} levels deep. Send a flatter one.")
    return an_object(parsed, "", like=_EXAMPLE)


_EXAMPLE: Final = '{"script": [{"text": "hi"}]}'


def an_object(value: object, path: str, *, like: str) -> dict[str, Any]:
    """Check that a value is an object, and return it; `like` is an example for the message. Raises ControlRefused."""
    if not isinstance(value, dict):
        raise ControlRefused(f"{path or _BODY} is {came(value)}; it must be an object, for instance {like}.")
    return cast("dict[str, Any]", value)


def a_list(value: object, path: str, *, like: str) -> Sequence[Any]:
    """Check that a value is a list, and return it; `like` is an example for the message. Raises ControlRefused."""
    if not is_array(value):
        raise ControlRefused(f"{path} is {came(value)}; it must be a list, for instance {like}.")
    return value


def known(given: dict[str, Any], allowed: Sequence[str], path: str) -> None:
    """Raise ControlRefused for a member that is not allowed."""
    for name in given:
        if name not in allowed:
            close = nearest(name, allowed)
            hint = f"did you mean {close!r}? It takes" if close else "it takes"
            takes = ", ".join(allowed) or "no members"
            raise ControlRefused(f"{path or _BODY} has the unknown member {shorten(name)}; {hint} {takes}.")


def under(path: str, name: str) -> str:
    """The path of a member."""
    return f"{path}.{name}" if path else name


def came(value: object) -> str:
    """A JSON value in a few words, for messages."""
    if isinstance(value, str):
        return shorten(value)
    if isinstance(value, dict | list):
        items = cast("dict[str, object] | list[object]", value)
        kind = "an object" if isinstance(items, dict) else "a list"
        return kind if items else f"{kind} without {'members' if isinstance(items, dict) else 'items'}"
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def too_deep(value: object) -> bool:
    """Whether a JSON value is nested deeper than DEEPEST."""
    level = [value]
    for _ in range(DEEPEST):
        inner: list[object] = []
        for each in level:
            if isinstance(each, dict):
                inner += cast("dict[str, object]", each).values()
            elif isinstance(each, list):
                inner += cast("list[object]", each)
        if not inner:
            return False
        level = inner
    return any(isinstance(each, dict | list) for each in level)


def to_bytes(value: object) -> bytes:
    """Encode a value as JSON in UTF-8; NaN and infinity become null, lone surrogates are escaped."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        text = json.dumps(_without_nan(value), ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace")


def _without_nan(value: object) -> object:
    if is_object(value):
        return {key: _without_nan(item) for key, item in value.items()}
    if is_array(value):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _no_number(name: str) -> object:
    raise ValueError(f"{name} is no JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:40]} is too large a number")
    return number


EXTRA: Final = "converse-harness[server]"
"""What brings the package for regular expressions."""

_HIDDEN: Final = ("self", "predicate", "sleeps")
"""Parameters that nothing in JSON stands for."""

_SCALARS: Final[Mapping[object, tuple[str, tuple[type, ...]]]] = {
    str: ("a string", (str,)),
    bool: ("true or false", (bool,)),
    int: ("a whole number", (int,)),
    float: ("a number", (int, float)),
}
"""How a type is called in messages, and which types of parsed JSON are one."""

FAULTS: Final[Mapping[str, Fault]] = {
    name: fault for name, fault in faults.FAULTS.items() if "server" in fault.transports
}
"""The faults that a server can express."""

FAULT: Final = ("name", "lasting")
"""The members of a fault that is an object."""


@lru_cache(maxsize=64)
def parameters(function: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    """The named parameters of a function that JSON can express, with their types."""
    signature = inspect.signature(function, eval_str=True)
    variadic = inspect.Parameter.VAR_KEYWORD
    return {
        name: each for name, each in signature.parameters.items() if each.kind is not variadic and name not in _HIDDEN
    }


@lru_cache(maxsize=64)
def is_open(function: Callable[..., object]) -> bool:
    """Whether a function accepts members besides its named parameters."""
    return any(each.kind is each.VAR_KEYWORD for each in inspect.signature(function).parameters.values())


def first(function: Callable[..., object]) -> str:
    """The parameter that may be given without its name; empty if there is none."""
    positional = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return next((name for name, each in parameters(function).items() if each.kind in positional), "")


def bind(function: Callable[..., object], given: dict[str, Any], path: str) -> dict[str, Any]:
    """Convert an object to keyword arguments. Raises ControlRefused for a member that does not fit."""
    named = parameters(function)
    known({name: value for name, value in given.items() if name in _HIDDEN or not is_open(function)}, [*named], path)
    for name, parameter in named.items():
        if parameter.default is parameter.empty and name not in given:
            raise ControlRefused(f"{path or _BODY} lacks {name!r}; it takes {', '.join(named)}.")
    return {
        name: convert(value, named[name].annotation, under(path, name)) if name in named else value
        for name, value in given.items()
    }


def convert(value: Any, hint: Any, path: str) -> Any:
    """Convert a JSON value to a parameter's type. Raises ControlRefused if it does not fit."""
    if hint is object or (value is None and type(None) in get_args(hint)):
        return value
    for option in _options(hint):
        if _fits(value, option):
            return _converted(value, option, path)
    raise ControlRefused(f"{path} is {came(value)}; it must be {expected(hint)}.")


def expected(hint: Any) -> str:
    """The JSON form of a type, for messages."""
    return " or ".join(_expected(option) for option in _options(hint))


def _options(hint: Any) -> list[Any]:
    if get_origin(hint) in (Union, types.UnionType):
        return [option for option in get_args(hint) if option is not type(None)]
    return [hint]


def _expected(hint: Any) -> str:
    origin = get_origin(hint) or hint
    if origin in _SCALARS:
        return _SCALARS[origin][0]
    if origin is Literal:
        return " or ".join(f'"{value}"' for value in get_args(hint))
    if origin is Fault:
        return f'the name of a fault ({", ".join(FAULTS)}), or an object {{"name": "stall", "lasting": 0.5}}'
    if origin is re.Pattern:
        return 'an object {"regex": "..."}'
    return "an object" if origin is Mapping else "a list"


def _fits(value: object, hint: Any) -> bool:
    origin = get_origin(hint) or hint
    if origin in _SCALARS:
        return isinstance(value, _SCALARS[origin][1]) and isinstance(value, bool) is (origin is bool)
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
            raise ControlRefused(f"{path} lacks {name!r}; it takes {', '.join(FAULT)}.")
    name = convert(given["name"], str, under(path, "name"))
    try:
        return cast("Fault", convert(name, Fault, under(path, "name"))).lasting(
            convert(given["lasting"], float, under(path, "lasting"))
        )
    except ReplyError as error:
        raise ControlRefused(f"{path}: {error}") from error


def _pattern(regex: object, path: str) -> TimedPattern:
    pattern: str = convert(regex, str, path)
    check_length(pattern, path)
    try:
        return timed(pattern)
    except RegexMissing:
        raise ControlRefused(
            f"{path} is {came(regex)}: a regular expression that comes over HTTP runs in the package regex, which can "
            "stop in time and is not installed beside this server. Write a glob in its place, for instance "
            f'"*weather*", or install the package: pip install "{EXTRA}".'
        ) from None
    except PatternTooLarge as error:
        raise ControlRefused(f"{path} is {came(regex)}, and {error}. Write a plainer one, or a glob.") from None
    except (re.error, OverflowError, RecursionError) as error:
        raise ControlRefused(f"{path} is {came(regex)}, which is no regular expression of Python's: {error}.") from None


def check_length(pattern: str, path: str) -> None:
    """Raise ControlRefused for a glob or regular expression that is too long."""
    if len(pattern) > LONGEST:
        raise ControlRefused(
            f"{path} has {len(pattern)} characters; a pattern may have {LONGEST}. Write a part of it between two *."
        )


def _key(name: str, hint: Any, path: str) -> str | int:
    if hint is not int:
        return name
    if not re.fullmatch("[0-9]{1,9}", name):
        raise ControlRefused(
            f"{path} has the member {shorten(name)}; its members are numbers of content blocks, from 0."
        )
    return int(name)
