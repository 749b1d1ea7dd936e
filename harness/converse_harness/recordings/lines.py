"""Convert events, bodies and frames to lines of a recording, and back.

A body is kept as JSON if its exact bytes can be made from this JSON again, otherwise as text or base64.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, Literal, get_args

from converse_harness.bedrock.findings import is_utf8
from converse_harness.errors import DamagedData
from converse_harness.json_values import is_deeper
from converse_harness.stream.events import encode_event, from_wire, read_event, standard_frame
from converse_harness.stream.frames import Frame, decode
from converse_harness.stream.grammar import ERROR_FRAME
from converse_harness.stream.http import Break

DEEPEST: Final = 200
"""The deepest nesting of JSON that is kept as JSON, not as text or base64. Python's limit is about 1,000 levels."""

FORMS: Final = ("", "Text", "Base64")
"""Suffixes of a body's key, one per form. For example, the keys of `body` are `body`, `bodyText` and `bodyBase64`."""


def body_members(name: str, data: bytes) -> dict[str, Any]:
    """Return the key and the value that store a body on a line, in the most readable form that gives the same bytes.

    >>> body_members("body", b'{"message":"no"}'), body_members("body", b'{"message": "no"}')
    ({'body': {'message': 'no'}}, {'bodyText': '{"message": "no"}'})
    """
    with suppress(ValueError, RecursionError):  # the body is not JSON
        parsed = json.loads(data)
        if not is_deeper(parsed, DEEPEST) and compact(parsed) == data:
            return {name: parsed}
    try:
        return {f"{name}Text": data.decode()}
    except UnicodeDecodeError:
        return {f"{name}Base64": base64.b64encode(data).decode()}


def request_members(data: bytes) -> dict[str, Any]:
    """Return the key and the value that store the body of a request.

    JSON is stored as JSON, because the exact bytes of a request do not matter.
    """
    with suppress(ValueError, RecursionError):  # the body is not JSON
        parsed = json.loads(data)
        if not is_deeper(parsed, DEEPEST):
            json.dumps(parsed, allow_nan=False)  # raises ValueError for NaN and infinity
            return {"request": parsed}
    return body_members("request", data)


def body_bytes(name: str, line: Mapping[str, Any]) -> bytes | None:
    """Return the bytes of the body that a line contains under this name, in any of FORMS; None if there is no body."""
    if name in line:
        return compact(line[name])
    if f"{name}Text" in line:
        return str(line[f"{name}Text"]).encode()
    return base64.b64decode(line[f"{name}Base64"]) if f"{name}Base64" in line else None


def compact(value: object) -> bytes:
    """Return a JSON value in the form in which Bedrock sends JSON: without spaces, the keys in their given order."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


FORMAT: Final = "converse-recording"
VERSION: Final = 2

Line = dict[str, Any]

End = Literal["closed by client", Break]
"""The ways in which an incomplete answer can end."""

ENDS: Final = get_args(End)
"""The values of End."""

EVENT_KEYS: Final[Mapping[str, str]] = {
    "t": "milliseconds from the request to the last byte of the line's data",
    "p": "the length of its padding; absent if it has none",
    "joined": "true if it came in the same HTTP chunk as the event before it",
    "payload": "the JSON that was sent, if it is not the usual form of the event on this line",
    "frame": "the frame in base64, if its headers differ from the usual ones or it cannot be read",
    "bytes": "bytes in base64 that are not a whole frame",
}
"""Maps each key of a stream's line to its meaning. The line of an event has one more key, which is the event type."""

TOLD_BY: Final[Mapping[str, str]] = {
    "call": "call",
    "part": "part",
    "status": "head",
    "failed": "failed",
    "end": "end",
    "bytes": "bytes",
}
"""Maps a key to the kind of the lines that have this key. Every other line below the header is the line of an event."""


def dump(line: Mapping[str, Any]) -> str:
    """Return the JSON text of a line, with spaces and with the keys in their given order.

    The text is ASCII if UTF-8 cannot encode the line, which then contains half of a surrogate pair.
    """
    text = json.dumps(line, ensure_ascii=False, allow_nan=False)
    return text if is_utf8(text) else json.dumps(line)


def event_of(line: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Return the type of the event on a line of a stream, and its members as JSON; None for a line without an event."""
    return next((member for member in line.items() if member[0] not in EVENT_KEYS), None)


def event_as_sent(line: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the event on a line of a stream, with its blobs as bytes; None for a line without an event."""
    found = event_of(line)
    return None if found is None else {found[0]: from_wire(*found)}


def frame_line(frame: Frame, data: bytes, at: int, *, joined: bool) -> Line:
    """Return the line for a received frame. `data` are the bytes of this frame; `frame_bytes_of` makes them again.

    `at` is the time in milliseconds. If `joined` is true, the frame came in the same HTTP chunk as the frame before it.
    """
    try:
        name, members, padding = read_event(frame)
    except (DamagedData, RecursionError):
        name, members, padding = "", {}, None
    exact = {"frame": base64.b64encode(data).decode()}
    more = {"joined": True} if joined else {}
    if name in ("", *EVENT_KEYS, *TOLD_BY) or is_deeper(members, DEEPEST):
        return {"t": at, **exact, **more}
    line = {"t": at, name: members, **({} if padding is None else {"p": padding}), **more}
    if encode_event({name: from_wire(name, members)}, padding) == data:
        return line
    try:
        dump(members)
    except ValueError:  # NaN or infinity, which JSON does not allow
        return {"t": at, **exact, **more}
    if name != ERROR_FRAME and standard_frame(name, frame.payload) == data:  # only the payload is unusual
        with suppress(UnicodeDecodeError):  # the payload is not UTF-8
            exact = {"payload": frame.payload.decode()}
    return line | exact


def bytes_line(data: bytes, at: int) -> Line:
    """Return the line for bytes that are not a whole frame; `at` is their time in milliseconds."""
    return {"t": at, "bytes": base64.b64encode(data).decode()}


def frame_bytes_of(line: Mapping[str, Any], event: Mapping[str, Any] | None) -> bytes:
    """Return the bytes to send for a line of a stream. `event` is the result of `event_as_sent` for this line.

    The exact bytes that a line may contain are ignored if somebody has edited the event on the line.
    """
    if event is None:
        return base64.b64decode(line["bytes" if "bytes" in line else "frame"])
    exact = _exact_bytes(line)
    return encode_event(event, line.get("p")) if exact is None else exact


def without_contradiction(line: Line) -> Line:
    """Return a line without its exact bytes if these bytes decode to another event than the event on the line."""
    if event_of(line) is None or _exact_bytes(line) is not None:
        return line
    return {key: value for key, value in line.items() if key not in ("payload", "frame")}


def _exact_bytes(line: Mapping[str, Any]) -> bytes | None:
    """Return the exact bytes kept beside an event; None if there are none, or if they decode to another event."""
    found = event_of(line) if "payload" in line or "frame" in line else None
    if found is None:
        return None
    payload: str | None = line.get("payload")
    data = base64.b64decode(line["frame"]) if payload is None else standard_frame(found[0], payload.encode())
    try:
        return data if read_event(decode(data)) == (*found, line.get("p")) else None
    except (DamagedData, RecursionError):
        return None
