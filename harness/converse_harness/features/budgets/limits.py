"""What a budget can limit, as one table, and the limits that a marker, an ini file or a test gives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, Final, NamedTuple, TypedDict, cast

from converse_harness.errors import Argument, ReplyError, quoted_whole
from converse_harness.json_values import is_number
from converse_harness.words import nearest


class BudgetLimits(TypedDict, total=False):
    """The limits of a budget by its keys. None lifts a limit that a wider scope has set; `KEYS` describes each key."""

    calls: int | None
    attempts: int | None
    tool_calls: int | None
    same_tool_again: int | None
    characters: int | None
    rewrites: int | None
    waited: float | None


class BudgetKey(NamedTuple):
    """One key of a budget: what it counts, and what it does not. `is_whole` is whether it counts whole numbers."""

    counts: str
    leaves_out: str
    is_whole: bool = True


KEYS: Final[Mapping[str, BudgetKey]] = {
    "calls": BudgetKey(
        "requests for an answer of a model: Converse and ConverseStream",
        "a retry: the client's next attempt, or the same request again after an answer that failed or broke off",
    ),
    "attempts": BudgetKey("the same requests, with every retry", "other operations, such as CountTokens"),
    "tool_calls": BudgetKey(
        "tools that the agent executed, as `calls.tools_used` lists them",
        "an error result for a tool that the request does not offer",
    ),
    "same_tool_again": BudgetKey(
        "executed tools whose name and input (as JSON, in any order of keys) the same conversation has executed before",
        "the first repeat after an execution that failed: it is a retry",
    ),
    "characters": BudgetKey(
        "characters of text in the requests: system prompt, tools as compact JSON, texts, inputs and results of tools; "
        "what is sent again counts again",
        "files (images, documents, ...), cachePoints, retries",
    ),
    "rewrites": BudgetKey(
        "requests that wrote a prefix to the prompt cache again, as `converse.cache.rewrites` lists them",
        "calls whose use of the cache is not certain",
    ),
    "waited": BudgetKey(
        "seconds of the pauses in the answers that the client received: those of `.paced(...)` and of recordings",
        "what a client waits between two attempts: most clients draw this time by chance",
        is_whole=False,
    ),
}
"""Maps each key of a budget to its description."""

_TOKENS: Final = re.compile(r"tokens?", re.IGNORECASE)


def check_limits(limits: object, argument: Argument) -> BudgetLimits:
    """Return the limits if they are valid. `argument` is the place where they were given.

    Raises ReplyError for limits that are no mapping, for an unknown key, and for a value that is no limit.
    """
    if not isinstance(limits, Mapping):
        keys = ", ".join(KEYS)
        raise ReplyError(
            argument._replace(value=quoted_whole(limits)), f': it maps keys to limits, as {{"calls": 4}}. Keys: {keys}.'
        )
    for key, value in cast("Mapping[object, object]", limits).items():
        problem = _unknown(key) if key not in KEYS else _wrong(str(key), value)
        if problem:
            named = (*argument.path, str(key)) if argument.name else ()
            at = argument._replace(name=argument.name or str(key), path=named, value=quoted_whole(value))
            raise ReplyError(at, f": {problem}")
    return cast("BudgetLimits", dict(cast("Mapping[str, Any]", limits)))


def limits_in(lines: Iterable[str]) -> BudgetLimits:
    """Return the limits in the lines `KEY = NUMBER` of an ini setting. Raises ReplyError for a wrong line."""
    found: dict[str, object] = {}
    for line in lines:
        key, equals, text = (part.strip() for part in line.partition("="))
        if not (key and equals and text):
            raise ReplyError(f"{line!r} is no line KEY = NUMBER, such as calls = 20.")
        number = int(text) if text.isdecimal() else float(text) if _NUMBER.fullmatch(text) else text
        found[key] = None if text == "None" else number
    return check_limits(found, Argument())


_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?")


def _unknown(key: object) -> str:
    if isinstance(key, str) and _TOKENS.search(key):
        return "an estimate of tokens never turns a test red. Limit what is exact: characters, calls, rewrites."
    close = nearest(key, KEYS)
    hint = f"Did you mean {close}? " if close else ""
    return f"a budget has no such key. {hint}Keys: {', '.join(KEYS)}."


def _wrong(key: str, value: object) -> str:
    if value is None or (is_number(value) and isfinite(value) and value >= 0 and _fits(key, value)):
        return ""
    what = "a whole number" if KEYS[key].is_whole else "a number of seconds"
    return f"it is {what} from 0, or None for no limit."


def _fits(key: str, value: object) -> bool:
    return isinstance(value, int) or not KEYS[key].is_whole
