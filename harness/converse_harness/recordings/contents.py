"""A whole body on a line of a recording: JSON where that gives the same bytes again, else text, else base64."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from converse_harness.model.values import is_array, is_object

DEEPEST: Final = 200
"""How deep JSON may be nested that is kept as JSON; what is deeper is kept as text. Python gives up at some 1,000."""

FORMS: Final = ("", "Text", "Base64")
"""What is appended to the name of a body for each form: `body`, `bodyText`, `bodyBase64`."""


def body_members(name: str, data: bytes) -> dict[str, Any]:
    """A body under a name, in the form that a person reads best and that gives the same bytes again.

    >>> body_members("body", b'{"message":"no"}'), body_members("body", b'{"message": "no"}')
    ({'body': {'message': 'no'}}, {'bodyText': '{"message": "no"}'})
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return {f"{name}Base64": base64.b64encode(data).decode()}
    try:
        parsed = json.loads(text)
        if not is_deeper(parsed, DEEPEST) and compact(parsed) == data:
            return {name: parsed}
    except (ValueError, RecursionError):
        pass
    return {f"{name}Text": text}


def request_members(data: bytes) -> dict[str, Any]:
    """The body of a request: JSON of whatever spacing is JSON, as nothing depends on the bytes of a request."""
    try:
        parsed = json.loads(data)
        if not is_deeper(parsed, DEEPEST):
            json.dumps(parsed, allow_nan=False)  # a number that JSON cannot carry
            return {"request": parsed}
    except (ValueError, RecursionError):
        pass
    return body_members("request", data)


def body_bytes(name: str, line: Mapping[str, Any]) -> bytes | None:
    """The bytes of the body that a line has under a name; None where it has none."""
    if name in line:
        return compact(line[name])
    if f"{name}Text" in line:
        text: str = line[f"{name}Text"]
        return text.encode()
    if f"{name}Base64" in line:
        return base64.b64decode(line[f"{name}Base64"])
    return None


def is_deeper(value: Any, deepest: int) -> bool:
    """Whether JSON is nested more than so many levels deep.

    >>> is_deeper([{"a": []}], 2), is_deeper([{"a": []}], 3)
    (True, False)
    """
    level: list[Any] = [value]
    for _ in range(deepest):
        level = [inner for outer in level for inner in _inside(outer)]
    return any(is_object(each) or is_array(each) for each in level)


def _inside(value: Any) -> Iterable[Any]:
    return value.values() if is_object(value) else value if is_array(value) else ()


def compact(value: object) -> bytes:
    """JSON as Bedrock sends it, the keys in their order."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
