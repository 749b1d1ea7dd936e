"""Check the arguments of strategies. A wrong argument raises InvalidArgument when the strategy is validated.

An argument of the same name has the same meaning in almost all functions, so the table `ALLOWED` has one entry per
name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, cast
from weakref import WeakSet

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness import bedrock
from converse_harness.faults.model import Fault
from converse_harness.json_values import object_of
from converse_harness.words import nearest
from converse_strategies.observing import AIMS


@dataclass(frozen=True, slots=True)
class ArgumentRule:
    """A rule for an argument: a description of the allowed values, and the function that checks a value."""

    words: str
    holds: Callable[[Any], bool]


def _is_strategy(value: Any) -> bool:
    return value is None or isinstance(value, st.SearchStrategy)


def _items_are(kind: type) -> Callable[[Any], bool]:
    """Return a function that checks whether a value is None, or a collection whose items are all of the type `kind`."""
    return lambda value: value is None or (isinstance(value, Collection) and all(_are(kind, value)))


def _are(kind: type, values: Any) -> Iterable[bool]:
    return (isinstance(each, kind) for each in values)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_positive(value: Any) -> bool:
    return _is_count(value) and value > 0


_TEXTS: Final = ArgumentRule("a strategy for strings, such as st.text() or faker_texts(), or None", _is_strategy)
_DICTS: Final = ArgumentRule("a strategy for dicts, or None", _is_strategy)
_NAMES: Final = ArgumentRule("a list of strings, or None for all", _items_are(str))


_COUNT: Final = ArgumentRule("a whole number of 0 or more", _is_count)
_FLAG: Final = ArgumentRule("True or False", lambda value: isinstance(value, bool))


def _is_request(value: object) -> bool:
    """Whether a value has at least a model id and messages with blocks."""
    request = object_of(value)
    messages = request.get("messages")
    return isinstance(request.get("modelId"), str) and messages is not None and _items_are(Mapping)(messages)


ALLOWED: Final[Mapping[str, ArgumentRule]] = {
    **dict.fromkeys(("texts", "messages", "answers", "model_ids"), _TEXTS),
    "stop_reasons": ArgumentRule("a strategy for stop reasons, such as st.just('end_turn'), or None", _is_strategy),
    "replies": ArgumentRule("a strategy for Replies, such as replies(), or None", _is_strategy),
    "seconds": ArgumentRule("a strategy for numbers of seconds, such as st.just(0.1), or None", _is_strategy),
    **dict.fromkeys(("traces", "schemas", "tool_configs", "guardrails"), _DICTS),
    **dict.fromkeys(("kinds", "formats", "sources", "names", "levels", "transports", "operations"), _NAMES),
    **dict.fromkeys(("policies", "actions", "faults", "rules"), _NAMES),
    **dict.fromkeys(("min_blocks", "min_turns", "max_turns", "max_citations", "max_tools", "max_properties"), _COUNT),
    **dict.fromkeys(("min_words", "max_words"), _COUNT),
    "max_blocks": ArgumentRule("a whole number of 0 or more, or None", lambda value: value is None or _is_count(value)),
    "index": ArgumentRule(
        "a whole number of 0 or more, since places are counted from 0, or None",
        lambda value: value is None or _is_count(value),
    ),
    **dict.fromkeys(("unfinished", "stream"), _FLAG),
    "target": ArgumentRule(
        f"one of {', '.join(map(repr, AIMS))}, or None", lambda value: value is None or value in [*AIMS]
    ),
    "tools": ArgumentRule("a list of Tools or ToolSpecifications, or None for any", _items_are(Mapping)),
    "for_request": ArgumentRule(
        "the keyword arguments of boto3's converse, such as call.params, or None",
        lambda value: value is None or _is_request(value),
    ),
    "cached": ArgumentRule("True, False or None", lambda value: value is None or isinstance(value, bool)),
    "locale": ArgumentRule("the name of a locale, such as en_US", lambda value: isinstance(value, str)),
    "family": ArgumentRule(
        "the name of a model family, or None", lambda value: value is None or isinstance(value, str)
    ),
}
"""Name of an argument -> the rule for its values."""

_OTHERWISE: Final[Mapping[tuple[str, str], ArgumentRule]] = {
    ("documents", "names"): _TEXTS,
    **dict.fromkeys(
        [(function, "max_blocks") for function in ("replies", "converse_responses", "messages", "user_messages")],
        ArgumentRule("a whole number of 1 or more, or None", lambda value: value is None or _is_positive(value)),
    ),
    ("tool_configs", "max_tools"): ArgumentRule("a whole number of 1 or more", _is_positive),
}
"""(function, argument) -> the rule for this argument, for functions in which it means something else than in `ALLOWED`.
"""

_DRAWN: Final[Mapping[ArgumentRule, type]] = {_TEXTS: str, _DICTS: dict}
"""Rules whose argument is a strategy -> the type of the values that this strategy must draw."""

_RANGES: Final = (("min_blocks", "max_blocks"), ("min_turns", "max_turns"), ("min_words", "max_words"))

KNOWN_TO_DRAW_TEXTS: Final[WeakSet[st.SearchStrategy[Any]]] = WeakSet()
"""Strategies whose values need no check: those of this package, and those that are already wrapped in a check."""


def checked(function: str, defaults: Mapping[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """Check the arguments of `function` and return them. `defaults` contains the default values, which need no check.

    In the result, a strategy that the user gave is wrapped: it checks each value that it draws. Raises InvalidArgument,
    whose message names the function and the argument.
    """
    found = arguments
    for name, value in arguments.items():
        allowed = _OTHERWISE.get((function, name)) or ALLOWED.get(name)
        if allowed is None or value is defaults.get(name, found):
            continue
        if allowed is _NAMES and (listed := _as_list(value)) is not None:
            raise InvalidArgument(f"{function}({name}={value!r}): {name} is a list of names. Write {name}={listed!r}.")
        if not allowed.holds(value):
            raise InvalidArgument(f"{function}({name}={value!r}): {name} is {allowed.words}.")
        if value is not None and allowed in _DRAWN and value not in KNOWN_TO_DRAW_TEXTS:
            found = {**found, name: _that_draws(value, function, name, _DRAWN[allowed])}
    for low, high in _RANGES:
        least, most = (arguments.get(name, defaults.get(name)) for name in (low, high))
        if least is not None and most is not None and least > most:
            raise InvalidArgument(
                f"{function}({low}={least!r}, {high}={most!r}): {low} is above {high}. Give a {high} that is not less."
            )
    return found


def _as_list(value: Any) -> list[str] | None:
    """Convert a string, a Fault or a list that contains Faults to the list of names that the user should have written.

    Return None for any other value.
    """
    if isinstance(value, str):
        return [value]
    if isinstance(value, Fault):
        return [value.name]
    if not isinstance(value, Collection) or not any(_are(Fault, value)):
        return None
    return [each.name if isinstance(each, Fault) else str(each) for each in cast("Collection[object]", value)]


def no_choice(function: str, argument: str, asked: object, known: Collection[str]) -> InvalidArgument:
    """Return the error for the names in `asked` that are not in `known`.

    The message suggests a similar known name. It lists all known names if there is no similar one, or if they are few.
    """
    unknown = [each for each in cast("Collection[Any]", asked) if each not in known]
    near = [nearest(each, known) for each in unknown]
    guess = f"; did you mean {', '.join(map(repr, near))}?" if near and all(near) else "."
    allowed = f" Give a list of some of: {', '.join(known)} (botocore {bedrock.botocore_version()})."
    return InvalidArgument(
        f"{function}({argument}={asked!r}): {', '.join(map(repr, unknown)) or repr(asked)} is no choice of {argument}"
        f"{guess}{'' if guess != '.' and len(known) > _FEW else allowed}"
    )


_FEW: Final = 10
"""If there are more known names than this, an error lists them only if none of them is similar to the unknown name."""


def bad_call(
    function: str, signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> TypeError | None:
    """Return a TypeError that explains why `function` cannot be called with these arguments; None if it can."""
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        names = [*signature.parameters]
        unknown = next((name for name in kwargs if name not in names), None)
        near = None if unknown is None else nearest(unknown, names)
        if near is not None:
            return TypeError(f"{function}() {error}; did you mean {near!r}?")
        by_place = [name for name, each in signature.parameters.items() if each.kind is not each.KEYWORD_ONLY]
        shown = ", ".join(name if name in by_place else f"{name}=..." for name in names)
        return TypeError(f"{function}() {error}. Its arguments: {shown}.")
    return None


def refusing(error: InvalidArgument) -> st.SearchStrategy[Any]:
    """Return a strategy that raises `error` as soon as hypothesis validates the strategy or draws from it."""

    def refuse() -> st.SearchStrategy[Any]:
        raise error

    return st.deferred(refuse)


@cache
def _that_draws(strategy: st.SearchStrategy[Any], function: str, argument: str, kind: type) -> st.SearchStrategy[Any]:
    """Return a strategy that draws from `strategy`, and raises InvalidArgument for a value that is not of the type
    `kind`.
    """

    @st.composite
    def values(draw: st.DrawFn) -> Any:
        value = draw(strategy)
        if not isinstance(value, kind):
            raise InvalidArgument(
                f"{function}({argument}={strategy!r}): it drew {value!r}; {argument} is a strategy for values of the "
                f"type {kind.__name__}."
            )
        return value

    found = values()
    KNOWN_TO_DRAW_TEXTS.add(found)
    return found
