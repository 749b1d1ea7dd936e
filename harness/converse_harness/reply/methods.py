"""Checks of the arguments that users pass to the methods of a Reply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from converse_harness.errors import ReplyError
from converse_harness.faults import FAULTS
from converse_harness.stream.arguments import did_you_mean
from converse_harness.stream.grammar import is_exception
from converse_harness.stream.http import ERROR_NAME


def no_fault(given: object) -> str:
    """Return the second part of the error message about an argument that should be a fault: what to pass instead."""
    if isinstance(given, str) and given in FAULTS:
        return f"this is the name of a fault. Write it without quotes: broken(faults.{given})."
    near = did_you_mean(given, FAULTS) if isinstance(given, str) else "."
    return f"it must be a fault, for instance faults.reset{near}"


def check_count(call: str, after: object) -> None:
    """Raise ReplyError, whose message begins with `call`, if `after` is not a whole number."""
    if type(after) is not int:
        raise ReplyError(
            f"{call}: a position in a stream is a whole number of events; this is of the type {type(after).__name__}."
        )


def fails(events: Iterable[Mapping[str, Any]]) -> bool:
    """Whether one of these events is an exception, which makes the stream fail."""
    return any(is_exception(next(iter(each), "")) for each in events)


def check_name(call: str, name: str) -> None:
    """Raise ReplyError, whose message begins with `call`, if an HTTP header cannot contain the error name `name`."""
    if type(name) is not str or not ERROR_NAME.fullmatch(name):
        raise ReplyError(
            f"{call}: its name must be of ASCII letters, digits, '.', '_' and '-'; on plain Converse it travels in the "
            "header x-amzn-ErrorType."
        )
