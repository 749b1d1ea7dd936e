"""Check the arguments of strategies. A wrong argument raises InvalidArgument when the strategy is validated.

Arguments with the same name have the same meaning in all functions, so one table contains the allowed values.
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
from converse_harness.bedrock.service import nearest
from converse_harness.faults.model import Fault


@dataclass(frozen=True, slots=True)
class ArgumentRule:
    """The rule for an argument: a description of the allowed values, and the function that checks a value."""

    words: str
    holds: Callable[[Any], bool]


def _is_strategy(value: Any) -> bool:
    return value is None or isinstance(value, st.SearchStrategy)


def _items_are(kind: type) -> Callable[[Any], bool]:
    """Make a check whether a value is None, or a collection whose items have this type."""
    return lambda value: value is None or (isinstance(value, Collection) and all(_are(kind, value)))


def _are(kind: type, values: Any) -> Iterable[bool]:
    return (isinstance(each, kind) for each in values)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


_TEXTS: Final = ArgumentRule("a strategy for strings, such as st.text() or faker_texts(), or None", _is_strategy)
_DICTS: Final = ArgumentRule("a strategy for dicts, or None", _is_strategy)
_NAMES: Final = ArgumentRule("a list of strings, or None for all", _items_are(str))


_COUNT: Final = ArgumentRule("a whole number of 0 or more", _is_count)
_FLAG: Final = ArgumentRule("True or False", lambda value: isinstance(value, bool))

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
    "tools": ArgumentRule("a list of Tools or ToolSpecifications, or None for any", _items_are(Mapping)),
    "cached": ArgumentRule("True, False or None", lambda value: value is None or isinstance(value, bool)),
    "locale": ArgumentRule("the name of a locale, such as en_US", lambda value: isinstance(value, str)),
    "family": ArgumentRule(
        "the name of a model family, or None", lambda value: value is None or isinstance(value, str)
    ),
}
"""Name of an argument -> the rule for its values."""

_OTHERWISE: Final[Mapping[tuple[str, str], ArgumentRule]] = {("documents", "names"): _TEXTS}
"""(function, argument) -> the rule for the argument in this function, where its meaning differs from other functions.
"""

_DRAWN: Final[Mapping[ArgumentRule, type]] = {_TEXTS: str, _DICTS: dict}
"""The rules that allow a strategy -> the type of the values that the strategy must draw."""

_RANGES: Final = (("min_blocks", "max_blocks"), ("min_turns", "max_turns"), ("min_words", "max_words"))

KNOWN_TO_DRAW_TEXTS: Final[WeakSet[st.SearchStrategy[Any]]] = WeakSet()
"""Strategies whose values need no check: our own strategies, and strategies that are already wrapped in a check."""


def checked(function: str, defaults: Mapping[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """Check the arguments of a function, and return them; strategies among them then check the values that they draw.

    Raises InvalidArgument, which names the function and the argument.
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
    """Return the list of names that the user should write instead of a string, a Fault or a list of Faults.

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
    """Make the error for unknown names. It contains the most similar known name, or all names if they are few."""
    unknown = [each for each in cast("Collection[Any]", asked) if each not in known]
    near = [nearest(each, known) for each in unknown]
    guess = f"; did you mean {', '.join(map(repr, near))}?" if near and all(near) else "."
    allowed = f" Give a list of some of: {', '.join(known)} (botocore {bedrock.botocore_version()})."
    return InvalidArgument(
        f"{function}({argument}={asked!r}): {', '.join(map(repr, unknown)) or repr(asked)} is no choice of {argument}"
        f"{guess}{'' if guess != '.' and len(known) > _FEW else allowed}"
    )


_FEW: Final = 10
"""If there are more known names than this number, an error lists them only if none is similar to the given name."""


def bad_call(
    function: str, signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> TypeError | None:
    """Make the error for arguments that a function does not have; None if the function has all of them."""
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
    """Return a strategy that raises the error as soon as it is validated or drawn from."""

    def refuse() -> st.SearchStrategy[Any]:
        raise error

    return st.deferred(refuse)


@cache
def _that_draws(strategy: st.SearchStrategy[Any], function: str, argument: str, kind: type) -> st.SearchStrategy[Any]:
    """Return a strategy for the same values that raises InvalidArgument if it draws a value of another type."""

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
