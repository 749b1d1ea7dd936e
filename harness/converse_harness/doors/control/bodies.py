"""JSON as it comes in a request: what is refused about its form, and how values are called in messages."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, Final, cast

from converse_harness.doors.control.refusals import Refused
from converse_harness.model.service import nearest
from converse_harness.model.values import is_array, is_object
from converse_harness.summaries import shorten

DEEPEST: Final = 100
"""How many levels of objects and lists a body may have; Python follows some hundreds."""

BODY: Final = "the body"


def parse(body: bytes) -> dict[str, Any]:
    """The JSON object of a request body; an empty body is an empty object. Raises Refused."""
    try:
        parsed: object = json.loads(body or b"{}", parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise Refused(f"{BODY} is not JSON: {reason}. Send a JSON object, for instance {EXAMPLE}.") from None
    if too_deep(parsed):
        raise Refused(f"{BODY} is nested more than {DEEPEST} levels deep. Send a flatter one.")
    return an_object(parsed, "", like=EXAMPLE)


EXAMPLE: Final = '{"script": [{"text": "hi"}]}'


def an_object(value: object, path: str, *, like: str) -> dict[str, Any]:
    """The value, which must be an object; `like` is an example of one. Raises Refused."""
    if not isinstance(value, dict):
        raise Refused(f"{path or BODY} is {came(value)}; it must be an object, for instance {like}.")
    return cast("dict[str, Any]", value)


def a_list(value: object, path: str, *, like: str) -> Sequence[Any]:
    """The value, which must be a list; `like` is an example of one. Raises Refused."""
    if not is_array(value):
        raise Refused(f"{path} is {came(value)}; it must be a list, for instance {like}.")
    return value


def known(given: dict[str, Any], allowed: Sequence[str], path: str) -> None:
    """Raise Refused for a member that is none of the allowed ones."""
    for name in given:
        if name not in allowed:
            close = nearest(name, allowed)
            hint = f"did you mean {close!r}? It takes" if close else "it takes"
            takes = ", ".join(allowed) or "no members"
            raise Refused(f"{path or BODY} has the unknown member {shorten(name)}; {hint} {takes}.")


def under(path: str, name: str) -> str:
    """The path of a member."""
    return f"{path}.{name}" if path else name


def came(value: object) -> str:
    """A JSON value in a message, in a few words."""
    if isinstance(value, str):
        return shorten(value)
    if isinstance(value, dict | list):
        items = cast("dict[str, object] | list[object]", value)
        kind = "an object" if isinstance(items, dict) else "a list"
        return kind if items else f"{kind} without {'members' if isinstance(items, dict) else 'items'}"
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def too_deep(value: object) -> bool:
    """Whether a JSON value has more than DEEPEST levels."""
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
    """A value as the JSON of an answer: UTF-8, a number that JSON does not have as null, half a character escaped."""
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
