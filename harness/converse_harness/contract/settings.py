"""The settings of a contract, with their meanings and allowed values."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, cast

from converse_harness import bedrock
from converse_harness.bedrock.api.checks import is_object
from converse_harness.cases import CASES, UnknownCase
from converse_harness.contract.expectations import OVERFLOW, STOP_ERRORS, STOP_REASONS
from converse_harness.contract.properties import PROPERTIES, block_kinds, names_of_draws
from converse_harness.errors import ReplyError
from converse_harness.faults.model import Transport
from converse_harness.words import nearest

OPERATIONS: Final = ("ConverseStream", "Converse")
_TRANSPORTS: Final[tuple[Transport, ...]] = ("boto", "httpx", "server")

SETTINGS: Final[Mapping[str, str]] = {
    "transport": 'how it reaches the fake: `"boto"` (any boto client of the process), `"httpx"` or `"server"` (by URL)',
    "operation": 'the operation that it calls: `"ConverseStream"` or `"Converse"`',
    "known": "the cases and properties that it is known not to handle, each with the reason",
    "time_limit": "the most seconds that it may take for one answer",
    "errors": "the meaning of its own errors, by class or name: names of AWS's errors, `"
    f"{OVERFLOW}` for a conversation that is too long, and the names in the table of stop reasons",
    "most_calls": "how many requests it may send for one answer",
    "kinds": "the blocks of drawn answers, None for all; an Outcome must have a place for each named kind. Without "
    "`toolUse`, the request offers no tool, and no case has a tool use",
    "stop_reasons": "the stop reasons of drawn whole answers, None for all",
    "without": "the names of errors, faults and stop reasons that drawn answers do not have",
    "examples": "how many answers are drawn for each property",
    "seed": "which answers are drawn: the same number draws the same; None draws others in each run, or those of "
    "`--hypothesis-seed`",
}
"""The settings of a contract and their meanings."""


def _is_count(value: Any) -> bool:
    return type(value) is int and value > 0


_ALLOWED: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "transport": (_TRANSPORTS.__contains__, f"one of {', '.join(map(repr, _TRANSPORTS))}"),
    "operation": (OPERATIONS.__contains__, f"one of {', '.join(map(repr, OPERATIONS))}"),
    "time_limit": (
        lambda value: type(value) in (int, float) and 0 < value < float("inf"),
        "a number of seconds, more than 0",
    ),
    "most_calls": (_is_count, "a whole number, 1 or more"),
    "examples": (_is_count, "a whole number, 1 or more"),
    "seed": (lambda value: value is None or (type(value) is int and value >= 0), "a whole number, 0 or more, or None"),
}
"""Maps the settings with one simple value to a function and a text.

The function returns whether a value is allowed; the text describes the allowed values.
"""


def check(contract: type[Any], where: str) -> None:
    """Check the settings of a contract. Raises ReplyError for an invalid setting; `where` names the contract in the
    message.
    """
    for name, (is_allowed, expected) in _ALLOWED.items():
        if not is_allowed(value := getattr(contract, name)):
            raise ReplyError(f"{where}.{name} = {value!r}; {expected}.")
    _check_names(contract, where)
    _check_kinds(contract.kinds, where)
    _check_draws(contract, where)
    _check_errors(contract.errors, where)
    _check_known(contract, where)


def takes_arguments(function: Callable[..., Any], count: int) -> bool:
    """Whether a function can be called with `count` positional arguments; True if its signature is unknown."""
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # the signature of a builtin is unknown
        return True
    return True


_ALIKE: Final = 0.75
"""An attribute counts as a misspelt setting if the similarity of the two names is at least this number; 1 means equal.
"""


def _check_names(contract: type[Any], where: str) -> None:
    """Raise ReplyError for an attribute that looks like a misspelt setting, or a `consume` that accepts no target."""
    for name, value in vars(contract).items():
        if name in SETTINGS or name.startswith("_") or callable(value) or hasattr(value, "__get__"):
            continue
        if near := get_close_matches(name.lower(), SETTINGS, n=1, cutoff=_ALIKE):
            raise ReplyError(
                f"{where}.{name} is no setting; did you mean {near[0]!r}? Give an attribute of your own another name."
            )
    consume = vars(contract).get("consume")
    if inspect.isfunction(consume) and not takes_arguments(consume, 2):
        raise ReplyError(f"{where}.consume: the method takes a target. Write consume(self, target).")


def _check_kinds(kinds: Any, where: str) -> None:
    if kinds is None:
        return
    if not isinstance(kinds, list | tuple) or not kinds or not {*cast("Sequence[object]", kinds)} <= {*block_kinds()}:
        allowed = ", ".join(map(repr, block_kinds()))
        raise ReplyError(f"{where}.kinds = {kinds!r}; a list of some of {allowed}, or None for all.")


def _check_draws(contract: type[Any], where: str) -> None:
    """Raise ReplyError for unknown names in `stop_reasons` and `without`, and if they leave no stop reason."""
    stop_reasons: Any = contract.stop_reasons
    for name, value, allowed in (
        ("stop_reasons", () if stop_reasons is None else stop_reasons, (*STOP_REASONS,)),
        ("without", contract.without, names_of_draws()),
    ):
        if not isinstance(value, list | tuple):
            raise ReplyError(f"{where}.{name} = {value!r}; a list of names.")
        for each in cast("Sequence[object]", value):
            if each not in allowed:
                near = nearest(each, allowed)
                hint = f"did you mean {near!r}? " if near else ""
                listed = f"One of: {', '.join(allowed)}." if name == "stop_reasons" else _WITHOUT
                raise ReplyError(f"{where}.{name}: {each!r} is not known; {hint}{listed}")
    wanted = {*(STOP_REASONS if stop_reasons is None else stop_reasons)} - {*contract.without}
    if not wanted:
        raise ReplyError(f"{where}: `stop_reasons` and `without` leave no stop reason, so that nothing can be drawn.")


_WITHOUT: Final = "A stop reason, an error of AWS, an exception of streams, or a fault of `converse-harness cases`."


def _check_errors(errors: Any, where: str) -> None:
    if not is_object(errors):
        raise ReplyError(f"{where}.errors = {errors!r}; a dict from your own errors to lists of names of AWS errors.")
    allowed = {*bedrock.all_errors(), *STOP_ERRORS, OVERFLOW}
    for key, names in errors.items():
        if not isinstance(key, str) and not (isinstance(key, type) and issubclass(key, BaseException)):
            raise ReplyError(f"{where}.errors: {key!r} is no error; the class of one, or in another language its name.")
        shown = key if isinstance(key, str) else key.__name__
        given = {names} if isinstance(names, str) else {*names}
        if unknown := sorted(given - allowed):
            raise ReplyError(
                f"{where}.errors[{shown}]: {unknown[0]!r} is neither an error of AWS nor one for a stop reason. "
                f"One of: {', '.join(sorted(allowed))}."
            )


def _check_known(contract: type[Any], where: str) -> None:
    known: Any = contract.known
    if not is_object(known):
        raise ReplyError(
            f'{where}.known = {known!r}; a dict from cases and properties to reasons, such as {{"cut_off": "why"}}.'
        )
    names = {*contract.cases(), *PROPERTIES}
    for name, reason in known.items():
        if name not in names:
            try:
                case = CASES[name]
            except UnknownCase as error:
                raise UnknownCase(f"{where}.known: {error} Properties: {', '.join(PROPERTIES)}.") from None
            if case.stream_only and contract.operation == "Converse":
                why = "only a stream can be so, and the operation is Converse"
            else:
                why = f'the transport "{contract.transport}" cannot express it'
            raise ReplyError(f"{where}.known: {name!r} is no test of this contract: {why}. Leave it out.")
        if type(reason) is not str or not reason.strip():
            raise ReplyError(f"{where}.known[{name!r}] = {reason!r}; say why, in a text.")
