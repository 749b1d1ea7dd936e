"""Strict reading of control API bodies: conversion to arguments, and error messages."""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from types import GenericAlias, NoneType, UnionType
from typing import Any, Final, Literal, NamedTuple, Union, cast, get_args, get_origin

from converse_harness import faults
from converse_harness.bedrock.findings import is_array, is_object
from converse_harness.bedrock.service import nearest
from converse_harness.errors import ReplyError
from converse_harness.faults.model import Fault
from converse_harness.reply.body import shorten
from converse_harness.server.control.patterns import LONGEST, TimedPattern, timed


class ControlRefused(ReplyError):
    """The control API refuses a request, with this HTTP status and error name of AWS; nothing has changed."""

    def __init__(
        self,
        message: str,
        status: int = 400,
        error: str = "ValidationException",
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.error = error
        self.headers = headers


DEEPEST: Final = 100
"""How many levels of objects and lists a body may have; Python follows some hundreds."""

_BODY: Final = "the body"


def parse(body: bytes) -> dict[str, Any]:
    """The JSON object of a request body; an empty body is an empty object. Raises ControlRefused."""
    try:
        parsed: object = json.loads(body or b"{}", parse_constant=_finite, parse_float=_finite)
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


def too_deep(value: object, levels: int = DEEPEST) -> bool:
    """Whether a JSON value is nested deeper than this many levels."""
    inner = value.values() if is_object(value) else value if is_array(value) else None
    return inner is not None and (levels == 0 or any(too_deep(each, levels - 1) for each in inner))


def to_bytes(value: object) -> bytes:
    """Encode a value as JSON in UTF-8; NaN and infinity become null, lone surrogates are escaped."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        without_nan = json.loads(json.dumps(value), parse_constant=lambda _: None)
        text = json.dumps(without_nan, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        problem = "too large a number" if digits[-1].isdecimal() else "no JSON number"
        raise ValueError(f"{digits[:40]} is {problem}")
    return number


_HIDDEN: Final = frozenset({"self", "predicate", "replies", "sleeps", "models", "cache_minimum"})
"""Parameters that nothing in JSON stands for."""

FAULTS: Final[Mapping[str, Fault]] = {
    name: fault for name, fault in faults.FAULTS.items() if "server" in fault.transports
}
"""The faults that a server can express."""


@lru_cache(maxsize=64)
def parameters(function: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    """The named parameters of a function that JSON can express, with their types; `*items` are a list."""
    found: dict[str, inspect.Parameter] = {}
    for name, each in inspect.signature(function, eval_str=True).parameters.items():
        if each.kind is not each.VAR_KEYWORD and name not in _HIDDEN:
            many = each.kind is each.VAR_POSITIONAL
            found[name] = each.replace(annotation=GenericAlias(Sequence, each.annotation) if many else each.annotation)
    return found


@lru_cache(maxsize=64)
def is_open(function: Callable[..., object]) -> bool:
    """Whether a function accepts members besides its named parameters."""
    return any(each.kind is each.VAR_KEYWORD for each in inspect.signature(function).parameters.values())


def first(function: Callable[..., object]) -> str:
    """The parameter that may be given without its name; empty if there is none."""
    return next((name for name, each in parameters(function).items() if each.kind is not each.KEYWORD_ONLY), "")


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
    options = [*get_args(hint)] if get_origin(hint) in (Union, UnionType, Literal) else [hint]
    for option in options:
        form = _form(option)
        if form.fits(value):
            return form.read(value, get_args(option), path) if form.read else value
    expected = " or ".join(filter(None, (_form(option).called for option in options)))
    raise ControlRefused(f"{path} is {came(value)}; it must be {expected}.")


class JsonForm(NamedTuple):
    """How JSON stands for a type of Python: what people call it, which values do, and what they become.

    `read` takes the value, the type's arguments and the path.
    """

    called: str
    fits: Callable[[Any], bool]
    read: Callable[[Any, tuple[Any, ...], str], Any] | None = None


def _form(hint: Any) -> JsonForm:
    if isinstance(hint, str):  # of a Literal
        return JsonForm(f'"{hint}"', lambda value: value == hint)
    return _FORMS[get_origin(hint) or hint]


def _list(value: Sequence[Any], hints: tuple[Any, ...], path: str) -> list[Any]:
    return [convert(item, hints[0], f"{path}[{index}]") for index, item in enumerate(value)]


def _object(value: Mapping[str, Any], hints: tuple[Any, ...], path: str) -> dict[str | int, Any]:
    key, item_hint = hints
    for name in value if key is int else ():
        if not re.fullmatch("[0-9]{1,9}", name):
            raise ControlRefused(
                f"{path} has the member {shorten(name)}; its members are numbers of content blocks, from 0."
            )
    return {key(name): convert(item, item_hint, under(path, name)) for name, item in value.items()}


def lasting(name: str, lasting: float) -> None:
    """The members of a fault that is an object."""


def _fault(value: Any, _: object, path: str) -> Fault:
    if isinstance(value, str):
        return FAULTS[value]
    given = bind(lasting, value, path)
    fault: Fault = convert(given["name"], Fault, under(path, "name"))
    try:
        return fault.lasting(given["lasting"])
    except ReplyError as error:
        raise ControlRefused(f"{path}: {error}") from error


def _pattern(value: Any, _: object, path: str) -> TimedPattern:
    path = under(path, "regex")
    pattern: str = convert(value["regex"], str, path)
    check_length(pattern, path)
    try:
        return timed(pattern)
    except ValueError as error:
        raise ControlRefused(f"{path} is {came(pattern)}{error}") from None


def check_length(pattern: str, path: str) -> None:
    """Raise ControlRefused for a glob or regular expression that is too long."""
    if len(pattern) > LONGEST:
        raise ControlRefused(
            f"{path} has {len(pattern)} characters; a pattern may have {LONGEST}. Write a part of it between two *."
        )


_A_LIST: Final = JsonForm("a list", is_array, _list)

_FORMS: Final[Mapping[object, JsonForm]] = {
    object: JsonForm("", lambda value: True),
    NoneType: JsonForm("", lambda value: value is None),
    str: JsonForm("a string", lambda value: isinstance(value, str)),
    bool: JsonForm("true or false", lambda value: isinstance(value, bool)),
    int: JsonForm("a whole number", lambda value: type(value) is int),
    float: JsonForm("a number", lambda value: type(value) in (int, float)),
    Mapping: JsonForm("an object", is_object, _object),
    Sequence: _A_LIST,
    Iterable: _A_LIST,
    re.Pattern: JsonForm(
        'an object {"regex": "..."}', lambda value: is_object(value) and [*value] == ["regex"], _pattern
    ),
    Fault: JsonForm(
        f'the name of a fault ({", ".join(FAULTS)}), or an object {{"name": "stall", "lasting": 0.5}}',
        lambda value: value in FAULTS if isinstance(value, str) else is_object(value),
        _fault,
    ),
}
