"""Convert JSON values to arguments of Python functions, by the types of the functions' parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import GenericAlias, NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, is_typeddict

from converse_harness import faults, literals
from converse_harness.bedrock.api.checks import is_array, is_object
from converse_harness.errors import ReplyError, json_text
from converse_harness.faults.model import Fault
from converse_harness.reply.body import shorten
from converse_harness.reply.reply import Reply
from converse_harness.server.control.patterns import TimedPattern, timed
from converse_harness.server.control.reading import BODY, ControlRefused, described, known, under
from converse_harness.settings import SETTINGS

_NAMES: Final = [value for value in vars(literals).values() if get_origin(value) in (Literal, Union, UnionType)]
"""The types in the module `literals`; each of them allows only certain strings."""

_HIDDEN: Final = frozenset(
    ("self", "predicate", "replies", *(name for name, setting in SETTINGS.items() if "http" not in setting.where))
)
"""Names of parameters of Python functions that the control API does not offer."""

FAULTS: Final[Mapping[str, Fault]] = {
    name: fault for name, fault in faults.FAULTS.items() if "server" in fault.transports
}
"""The faults that a server can produce, by name."""


@lru_cache(maxsize=64)
def parameters(function: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    """Return those parameters of `function` that a request may set; `**kwargs` are not among them.

    The type of a parameter `*items` is given as a sequence of the type of one item.
    """
    found: dict[str, inspect.Parameter] = {}
    for name, each in inspect.signature(function, eval_str=True).parameters.items():
        if each.kind is not each.VAR_KEYWORD and name not in _HIDDEN:
            many = each.kind is each.VAR_POSITIONAL
            found[name] = each.replace(annotation=GenericAlias(Sequence, each.annotation) if many else each.annotation)
    return found


@lru_cache(maxsize=64)
def is_open(function: Callable[..., object]) -> bool:
    """Return whether a function accepts any keyword arguments (`**kwargs`)."""
    return any(each.kind is each.VAR_KEYWORD for each in inspect.signature(function).parameters.values())


def first(function: Callable[..., object]) -> str:
    """Return the name of the first positional parameter; empty if there is none."""
    return next((name for name, each in parameters(function).items() if each.kind is not each.KEYWORD_ONLY), "")


def bind(function: Callable[..., object], given: dict[str, Any], path: str) -> dict[str, Any]:
    """Convert the JSON object `given` to keyword arguments of `function`; `path` is its place in the request body.

    Raises ControlRefused for a missing, unknown or wrong member.
    """
    named = parameters(function)
    known({name: value for name, value in given.items() if name in _HIDDEN or not is_open(function)}, [*named], path)
    for name, parameter in named.items():
        if parameter.default is parameter.empty and name not in given:
            raise ControlRefused(f"{path or BODY} lacks {name!r}; it takes {', '.join(named)}.")
    return {
        name: convert(value, named[name].annotation, under(path, name)) if name in named else value
        for name, value in given.items()
    }


def convert(value: Any, hint: Any, path: str) -> Any:
    """Convert a JSON value to the type `hint` of a parameter; `path` is the place of the value in the request body.

    Raises ControlRefused if the value does not fit the type.
    """
    options = _options(hint)
    for option in options:
        form = _form(option)
        if form.fits(value):
            return form.read(value, get_args(option), path) if form.read else value
    expected = " or ".join(filter(None, (_form(option).called for option in options)))
    raise ControlRefused(f"{path} is {described(value)}; it must be {expected}.")


def _options(hint: Any) -> list[Any]:
    """Return the types and values that a type hint allows: the members of a union, and the values of a Literal."""
    if hint in _NAMES:
        return [str]  # any string: for an unknown name, the error of the called function is clearer
    if is_typeddict(hint):
        return [Mapping[str, object]]
    if get_origin(hint) not in (Union, UnionType, Literal):
        return [hint]
    return [*dict.fromkeys(option for each in get_args(hint) for option in _options(each))]


@dataclass(frozen=True, slots=True)
class JsonForm:
    """The JSON form of a Python type.

    `called` is the name of the form in error messages; it is empty if messages omit the form. `fits` returns whether a
    JSON value has this form. `read`, if any, converts such a value; its parameters are the value, the arguments of a
    generic type, and the path of the value.
    """

    called: str
    fits: Callable[[object], bool]
    read: Callable[[Any, tuple[Any, ...], str], Any] | None = None


def _form(hint: Any) -> JsonForm:
    if isinstance(hint, str):  # a value of a Literal
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
    """Do nothing. The parameters of this function are the members of a JSON object that describes a fault."""


def _fault(value: Any, _: object, path: str) -> Fault:
    if isinstance(value, str):
        return FAULTS[value]
    given = bind(lasting, value, path)
    fault: Fault = convert(given["name"], Fault, under(path, "name"))
    try:
        return fault.lasting(given["lasting"])
    except ReplyError as error:
        raise ControlRefused(json_text(error, path, lambda _: under(path, "lasting"))) from error


def _pattern(value: Any, _: object, path: str) -> TimedPattern:
    path = under(path, "regex")
    return timed(convert(value["regex"], str, path), path)


_A_LIST: Final = JsonForm("a list", is_array, _list)

_FORMS: Final[Mapping[object, JsonForm]] = {
    object: JsonForm("", lambda value: True),
    NoneType: JsonForm("", lambda value: value is None),
    str: JsonForm("a string", lambda value: isinstance(value, str)),
    bool: JsonForm("true or false", lambda value: isinstance(value, bool)),
    bytes: JsonForm("", lambda value: False),
    int: JsonForm("a whole number", lambda value: type(value) is int),
    float: JsonForm("a number", lambda value: type(value) in (int, float)),
    Mapping: JsonForm("an object", is_object, _object),
    Reply: JsonForm("an object", is_object),
    Sequence: _A_LIST,
    Iterable: _A_LIST,
    tuple: JsonForm("a list", is_array),
    re.Pattern: JsonForm(
        'an object {"regex": "..."}', lambda value: is_object(value) and [*value] == ["regex"], _pattern
    ),
    Fault: JsonForm(
        f'the name of a fault ({", ".join(FAULTS)}), or an object {{"name": "stall", "lasting": 0.5}}',
        lambda value: value in FAULTS if isinstance(value, str) else is_object(value),
        _fault,
    ),
}
