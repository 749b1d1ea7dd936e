"""Convert events, bodies and frames to lines of a recording, and back.

A body is kept as JSON if its exact bytes can be made from this JSON again, otherwise as text or base64.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, Final, Literal, cast, get_args

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
    """The key and the value that store a body on a line, in the most readable form that gives the same bytes again.

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
        pass  # the body is not JSON
    return {f"{name}Text": text}


def request_members(data: bytes) -> dict[str, Any]:
    """Return the key and the value that store the body of a request.

    JSON is stored as JSON, because the exact bytes of a request do not matter.
    """
    try:
        parsed = json.loads(data)
        if not is_deeper(parsed, DEEPEST):
            json.dumps(parsed, allow_nan=False)  # raises ValueError for NaN and infinity
            return {"request": parsed}
    except (ValueError, RecursionError):
        pass  # the body is not JSON
    return body_members("request", data)


def body_bytes(name: str, line: Mapping[str, Any]) -> bytes | None:
    """Return the bytes of the body that a line contains under this name, in any of FORMS; None if there is no body."""
    if name in line:
        return compact(line[name])
    if f"{name}Text" in line:
        text: str = line[f"{name}Text"]
        return text.encode()
    if f"{name}Base64" in line:
        return base64.b64decode(line[f"{name}Base64"])
    return None


def compact(value: object) -> bytes:
    """Return the bytes of a JSON value as Bedrock sends it: without spaces, and with the keys in their given order."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


FORMAT: Final = "converse-recording"
VERSION: Final = 2

Line = dict[str, Any]

End = Literal["closed by client", Break]
"""The ways in which an incomplete answer can end."""

ENDS: Final = get_args(End)

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
"""Maps each of these keys to the kind of a line that has it. Below the header, every other line is one of an event."""


def dump(line: Mapping[str, Any]) -> str:
    """The JSON text of a line: with spaces, with keys in their given order, and in ASCII if UTF-8 cannot encode it."""
    text = json.dumps(line, ensure_ascii=False, allow_nan=False)
    return text if is_utf8(text) else json.dumps(line)


def event_of(line: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Return the type and the JSON members of the event on a line of a stream; None for a line without an event."""
    for key, value in line.items():
        if key not in EVENT_KEYS:
            return key, value
    return None


def event_as_sent(line: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the event on a line of a stream, with its blobs as bytes; None for a line without an event."""
    found = event_of(line)
    return None if found is None else {found[0]: from_wire(*found)}


def frame_line(frame: Frame, data: bytes, at: int, *, joined: bool) -> Line:
    """Return the line for one received frame; `data` are the frame's bytes, which can be made again from the line."""
    line: Line = {"t": at}
    try:
        name, members, padding = read_event(frame)
    except (DamagedData, RecursionError):
        name, members, padding = "", {}, None
    if name in ("", *EVENT_KEYS, *TOLD_BY) or is_deeper(members, DEEPEST):
        line["frame"] = base64.b64encode(data).decode()
    else:
        line[name] = members
        if padding is not None:
            line["p"] = padding
    if joined:
        line["joined"] = True
    if "frame" in line or _encoded(name, members, padding) == data:
        return line
    try:
        dump(members)
    except ValueError:  # NaN or infinity, which JSON does not allow
        return {"t": at, "frame": base64.b64encode(data).decode()}
    return line | _as_it_came(name, frame, data)


def bytes_line(data: bytes, at: int) -> Line:
    """Return the line for bytes that are not a whole frame."""
    return {"t": at, "bytes": base64.b64encode(data).decode()}


def _encoded(name: str, members: dict[str, Any], padding: int | None) -> bytes:
    """Return the bytes of the usual frame for an event, whose members are given as JSON."""
    return encode_event({name: from_wire(name, members)}, padding)


def frame_bytes_of(line: Mapping[str, Any], event: Mapping[str, Any] | None) -> bytes:
    """Return the bytes to send for a line of a stream.

    The exact bytes that a line may contain are ignored if somebody has edited the event on the line. `event` is this
    event, with its blobs as bytes.
    """
    if event is not None and "payload" not in line and "frame" not in line:
        return encode_event(event, line.get("p"))
    if "bytes" in line:
        return base64.b64decode(line["bytes"])
    found = event_of(line)
    if found is None:
        return base64.b64decode(line["frame"])
    name, members = found
    padding = line.get("p")
    came = _came(name, line)
    if came is not None and _reads_as(came, name, members, padding):
        return came
    return _encoded(name, members, padding)


def without_contradiction(line: Line) -> Line:
    """Return the line of an event. If the exact bytes on the line decode to another event, these bytes are removed."""
    found = event_of(line)
    came = None if found is None else _came(found[0], line)
    if found is None or came is None or _reads_as(came, *found, line.get("p")):
        return line
    return {key: value for key, value in line.items() if key not in ("payload", "frame")}


def _as_it_came(name: str, frame: Frame, data: bytes) -> Line:
    """The keys for an unusual frame: `payload` with the text if only the payload is unusual, otherwise `frame`."""
    if name != ERROR_FRAME and standard_frame(name, frame.payload) == data:
        try:
            return {"payload": frame.payload.decode()}
        except UnicodeDecodeError:
            pass  # the payload is not UTF-8
    return {"frame": base64.b64encode(data).decode()}


def _came(name: str, line: Mapping[str, Any]) -> bytes | None:
    if "payload" in line:
        return standard_frame(name, cast("str", line["payload"]).encode())
    return base64.b64decode(line["frame"]) if "frame" in line else None


def _reads_as(data: bytes, name: str, members: Mapping[str, Any], padding: int | None) -> bool:
    try:
        return read_event(decode(data)) == (name, members, padding)
    except (DamagedData, RecursionError):
        return False
