"""Convert bodies, events and frames to lines of a recording, and lines to bodies, events and frames.

The body of an answer is stored as JSON if its exact bytes can be made from this JSON again, otherwise as text or
base64.
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
"""JSON with more levels than this is stored as text or base64, because Python's limit for nested JSON is about 1,000
levels.
"""

FORMS: Final = ("", "Text", "Base64")
"""The suffixes of a body's key, one for each form of storage: JSON, text, base64. For example, `body` is stored as
`body`, `bodyText` or `bodyBase64`.
"""


def body_members(name: str, data: bytes) -> dict[str, Any]:
    """Return the key and the value that store `data`, a body, on a line.

    The most readable form that gives the same bytes is chosen.

    >>> body_members("body", b'{"message":"no"}'), body_members("body", b'{"message": "no"}')
    ({'body': {'message': 'no'}}, {'bodyText': '{"message": "no"}'})
    """
    with suppress(ValueError, RecursionError):  # raised if the body is not JSON
        parsed = json.loads(data)
        if not is_deeper(parsed, DEEPEST) and compact(parsed) == data:
            return {name: parsed}
    try:
        return {f"{name}Text": data.decode()}
    except UnicodeDecodeError:
        return {f"{name}Base64": base64.b64encode(data).decode()}


def request_members(data: bytes) -> dict[str, Any]:
    """Return the key and the value that store `data`, the body of a request, on a line.

    JSON is always stored as JSON, even if it gives other bytes, because the exact bytes of a request do not matter.
    """
    with suppress(ValueError, RecursionError):  # raised if the body is not JSON
        parsed = json.loads(data)
        if not is_deeper(parsed, DEEPEST):
            json.dumps(parsed, allow_nan=False)  # raises ValueError for NaN and infinity
            return {"request": parsed}
    return body_members("request", data)


def body_bytes(name: str, line: Mapping[str, Any]) -> bytes | None:
    """Return the bytes of the body on a line, whose key is `name` with a suffix of FORMS; None without such a key."""
    if name in line:
        return compact(line[name])
    if f"{name}Text" in line:
        return str(line[f"{name}Text"]).encode()
    return base64.b64decode(line[f"{name}Base64"]) if f"{name}Base64" in line else None


def compact(value: object) -> bytes:
    """Return the bytes of a JSON value as Bedrock sends it: without spaces, and with the keys in their given order."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


FORMAT: Final = "converse-recording"
VERSION: Final = 2

Line = dict[str, Any]

End = Literal["closed by client", Break]
"""The ways in which the recording of an incomplete answer can end."""

ENDS: Final = get_args(End)
"""All values of End, as a tuple."""

EVENT_KEYS: Final[Mapping[str, str]] = {
    "t": "milliseconds from the request to the last byte of the line's data",
    "p": "the length of its padding; absent if it has none",
    "joined": "true if it came in the same HTTP chunk as the event before it",
    "payload": "the JSON that was sent, if it is not the usual form of the event on this line",
    "frame": "the frame in base64, if its headers differ from the usual ones or it cannot be read",
    "bytes": "bytes in base64 that are not a whole frame",
}
"""Maps each key on the line of an event, or on a line of bytes, to its meaning. The line of an event has one more key:
the type of the event.
"""

TOLD_BY: Final[Mapping[str, str]] = {
    "call": "call",
    "part": "part",
    "status": "head",
    "failed": "failed",
    "end": "end",
    "bytes": "bytes",
}
"""Maps a key to the kind of the lines that contain it. A line that contains none of these keys is the header, which
comes first, or an event.
"""


def dump(line: Mapping[str, Any]) -> str:
    """Return the JSON text of a line, with spaces and with the keys in their given order.

    If the line contains half of a surrogate pair, which UTF-8 cannot encode, the text has only ASCII, with escapes.
    """
    text = json.dumps(line, ensure_ascii=False, allow_nan=False)
    return text if is_utf8(text) else json.dumps(line)


def event_of(line: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Return the type of the event on a stream's line, and its members as JSON; None for a line without an event."""
    return next((member for member in line.items() if member[0] not in EVENT_KEYS), None)


def event_as_sent(line: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the event on a stream's line, with blobs as bytes, not base64; None for a line without an event."""
    found = event_of(line)
    return None if found is None else {found[0]: from_wire(*found)}


def frame_line(frame: Frame, data: bytes, at: int, *, joined: bool) -> Line:
    """Return the line that records a received frame.

    `data` are the frame's bytes; `frame_bytes_of` makes the same bytes from the line. `at` is the time in milliseconds
    since the request. If `joined` is true, the frame came in the same HTTP chunk as the frame before it.
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
    except ValueError:  # the members contain NaN or infinity, which JSON does not allow
        return {"t": at, **exact, **more}
    # Only the payload is unusual, so the headers are not kept.
    if name != ERROR_FRAME and standard_frame(name, frame.payload) == data:
        with suppress(UnicodeDecodeError):  # raised if the payload is not UTF-8
            exact = {"payload": frame.payload.decode()}
    return line | exact


def bytes_line(data: bytes, at: int) -> Line:
    """Return the line that records bytes which are not a whole frame.

    `at` is their time in milliseconds since the request.
    """
    return {"t": at, "bytes": base64.b64encode(data).decode()}


def frame_bytes_of(line: Mapping[str, Any], event: Mapping[str, Any] | None) -> bytes:
    """Return the bytes to send for a line of a stream. `event` is the result of `event_as_sent` for this line.

    Exact bytes on the line (`payload`, `frame`) are ignored if they contradict the event, because then somebody has
    edited the event.
    """
    if event is None:
        return base64.b64decode(line["bytes" if "bytes" in line else "frame"])
    exact = _exact_bytes(line)
    return encode_event(event, line.get("p")) if exact is None else exact


def without_contradiction(line: Line) -> Line:
    """Return `line`, but without its exact bytes (`payload`, `frame`) if these contradict the event on the line."""
    if event_of(line) is None or _exact_bytes(line) is not None:
        return line
    return {key: value for key, value in line.items() if key not in ("payload", "frame")}


def _exact_bytes(line: Mapping[str, Any]) -> bytes | None:
    """Return the exact bytes beside the event on a line; None if there are none, or if they decode to another event."""
    found = event_of(line) if "payload" in line or "frame" in line else None
    if found is None:
        return None
    payload: str | None = line.get("payload")
    data = base64.b64decode(line["frame"]) if payload is None else standard_frame(found[0], payload.encode())
    try:
        return data if read_event(decode(data)) == (*found, line.get("p")) else None
    except (DamagedData, RecursionError):
        return None
