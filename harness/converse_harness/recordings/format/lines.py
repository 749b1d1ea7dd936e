"""Convert bodies, events and frames to lines of a recording, and lines to bodies, events and frames.

The body of an answer is stored as JSON if its exact bytes can be made from this JSON again, otherwise as text or
base64. Of an event, the JSON counts: exact bytes stand beside it only if the usual encoding gives other bytes, and they
are used only while they encode the same event. So a person can edit a file without knowledge of frames. A request is
not kept byte for byte, because nothing depends on the spacing of its JSON.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final, Literal, NamedTuple, get_args

from converse_harness.bedrock.api.checks import is_utf8
from converse_harness.errors import DamagedData
from converse_harness.json_values import is_array, is_deeper, is_object
from converse_harness.recordings.format.readable import as_sent, compact, is_other, readable
from converse_harness.stream.events import PADDING, encode_event, from_wire, read_event, standard_frame
from converse_harness.stream.frames import Frame, decode
from converse_harness.stream.grammar import CARRIED, ERROR_FRAME, TEXTS
from converse_harness.stream.http import ERROR_NAME, Break, ConnectionFailure
from converse_harness.words import cut, nearest

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
    text = _encoded(line)
    return text if is_utf8(text) else json.dumps(line)


_encoded: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def event_of(line: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Return the type of the event on a stream's line, and its members as JSON; None for a line without an event."""
    return next((member for member in line.items() if member[0] not in EVENT_KEYS), None)


def wire_event_of(line: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Return the type and the members of the event on a stream's line as the JSON that is sent, with bytes in base64.

    Return None for a line without an event.
    """
    found = event_of(line)
    return (found[0], as_sent(found[1])) if found is not None and is_other(found[0]) else found


def event_as_sent(line: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the event on a stream's line as `encode_event` takes it; None for a line without an event.

    The blobs of events of ConverseStream are bytes, those of other events are base64.
    """
    found = wire_event_of(line)
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
    more = {"joined": True} if joined else {}
    is_usual = name not in _NO_EVENT and (len(data) <= 2 * DEEPEST or not is_deeper(members, DEEPEST))
    shown = readable(members) if is_usual and is_other(name) else members
    # An application may send an object that looks like the readable form of bytes.
    is_usual = is_usual and (shown is members or as_sent(shown) == members)
    line = {"t": at, name: shown, **({} if padding is None else {"p": padding}), **more}
    if is_usual and encode_event({name: from_wire(name, members)}, padding) == data:
        return line
    exact = {"frame": base64.b64encode(data).decode()}
    if not is_usual:
        return {"t": at, **exact, **more}
    try:
        dump(shown)
    except ValueError:  # the members contain NaN or infinity, which JSON does not allow
        return {"t": at, **exact, **more}
    # Only the payload is unusual, so the headers are not kept.
    if name != ERROR_FRAME and standard_frame(name, frame.payload) == data:
        with suppress(UnicodeDecodeError):  # raised if the payload is not UTF-8
            exact = {"payload": frame.payload.decode()}
    return line | exact


_NO_EVENT: Final = frozenset(["", *EVENT_KEYS, *TOLD_BY])
"""Names that an event on a line must not have, because they are other keys of lines."""


USUAL: Final = frozenset({"t", "contentBlockDelta", "p"})
"""The keys of nearly all lines of a stream."""


def usual_delta(line: Line) -> tuple[int, str, str] | None:
    """Return the block's index, the delta's member and the text, if a line has only a delta of text, `t` and `p`.

    Return None for other lines. Nearly all lines are such lines, so other code has a faster way for them.
    """
    try:
        at, padding, members = line["t"], line["p"], line["contentBlockDelta"]
        index, delta = members["contentBlockIndex"], members["delta"]
        ((member, text),) = delta.items()
        inner = _MEMBERS[member]
        if inner is not None:
            ((name, text),) = text.items()
            if name != inner:
                return None
    except (LookupError, TypeError, ValueError, AttributeError):  # an unusual line
        return None
    are_numbers = type(at) is type(padding) is type(index) is int and at <= _LARGEST and index <= _LARGEST
    if not are_numbers or type(text) is not str or not 0 <= padding <= len(PADDING):
        return None
    return (index, member, text) if len(line) == 3 and len(members) == 2 else None


_MEMBERS: Final = {member: CARRIED.get(member) for member in TEXTS.values()}
"""Maps each member of a delta that contains text to the inner member with the text; None if it is the text itself."""


_LARGEST: Final = 10**9
"""A search for secrets reads larger numbers as texts."""


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
    found = wire_event_of(line) if "payload" in line or "frame" in line else None
    if found is None:
        return None
    payload: str | None = line.get("payload")
    data = base64.b64decode(line["frame"]) if payload is None else standard_frame(found[0], payload.encode())
    try:
        return data if read_event(decode(data)) == (*found, line.get("p")) else None
    except (DamagedData, RecursionError):
        return None


LONGEST: Final = 10_000_000_000
"""The largest valid number on a line, such as a time or the number of a call. As milliseconds it is 115 days; a larger
number must be a mistake.
"""

_SAID: Final = 60
"""`said` cuts the text of a value to this number of characters."""

_FAILURES: Final = get_args(ConnectionFailure)

_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


PART_MEMBERS: Final = ("system", "toolConfig", "tools")
"""The members of a request that are each written on a line of their own, as parts. Each message is also written on its
own line.
"""

MESSAGE: Final = "message"

ANSWER: Final = "answer"
"""The line of a call names its messages: `message 1` is the message on the line of that name, and `answer 1` is the
message in the answer to call 1.
"""

_PART: Final = re.compile(rf"(?:{'|'.join((MESSAGE, *PART_MEMBERS))}) [1-9][0-9]{{0,9}}")

_PART_OR_ANSWER: Final = re.compile(rf"{_PART.pattern}|{ANSWER} [1-9][0-9]{{0,9}}")


class Problem(NamedTuple):
    """An error in a line: the line number from 1, a description, and advice. Empty `advice` means: mend the line."""

    line: int
    text: str
    advice: str = ""


class Type(NamedTuple):
    """The type of a key's value. `words` describe it in error messages, and `test` returns whether a value is valid."""

    words: str
    test: Callable[[Any], bool]


class Key(NamedTuple):
    """A key of a line: the type of its value (a name in TYPES), its meaning, and whether it is required."""

    type: str
    meaning: str
    required: bool = False


def _whole(low: int, high: int) -> Callable[[object], bool]:
    return lambda value: type(value) is int and low <= value <= high


def _like(pattern: re.Pattern[str]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_a(kind: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, kind)


def _list_of(test: Callable[[object], bool], least: int = 0) -> Callable[[object], bool]:
    return lambda value: is_array(value) and len(value) >= least and all(map(test, value))


def is_text(value: object) -> bool:
    """Whether a value is a text that can be encoded in UTF-8."""
    return type(value) is str and is_utf8(value)


def is_header(value: object) -> bool:
    """Whether a value can be the value of an HTTP header."""
    return isinstance(value, str) and _HEADER_VALUE.fullmatch(value) is not None and value == value.strip()


def _are_headers(value: object, *, absent: bool) -> bool:
    return is_object(value) and all(
        _HEADER_NAME.fullmatch(name) and (is_header(each) or (absent and each is None)) for name, each in value.items()
    )


def _is_name(value: object) -> bool:
    return is_text(value) and value != ""


def _is_true(value: object) -> bool:
    return value is True


def _is_base64(value: Any) -> bool:
    try:
        base64.b64decode(value, validate=True)
    except (ValueError, TypeError):
        return False
    return True


def _is_json(value: object) -> bool:
    try:
        return is_text(json.dumps(value, ensure_ascii=False, allow_nan=False))
    except (ValueError, RecursionError):
        return False


TYPES: Final[Mapping[str, Type]] = {
    "format": Type(f'"{FORMAT}"', FORMAT.__eq__),
    "number": Type("a whole number from 1", _whole(1, LONGEST)),
    "milliseconds": Type(f"whole milliseconds, from 0 to {LONGEST}", _whole(0, LONGEST)),
    "status": Type("an HTTP status from 200 to 599", _whole(200, 599)),
    "padding": Type(f"a length from 0 to {len(PADDING)}", _whole(0, len(PADDING))),
    "bool": Type("true or false", _is_a(bool)),
    "true": Type("true", _is_true),
    "text": Type("a text", is_text),
    "name": Type("a text that is not empty", _is_name),
    "texts": Type("a list of texts, none of them empty", _list_of(_is_name)),
    "part": Type(f'a name such as "{MESSAGE} 1", for {", ".join((MESSAGE, *PART_MEMBERS))}', _like(_PART)),
    "parts": Type(
        f'a list of the names of parts, or of answers, such as "{MESSAGE} 1" and "{ANSWER} 1"',
        _list_of(_like(_PART_OR_ANSWER), least=1),
    ),
    "base64": Type("a text in base64", _is_base64),
    "object": Type("an object", _is_a(dict)),
    "JSON": Type("any JSON", _is_a(object)),
    "body": Type("JSON without half of a surrogate pair", _is_json),
    "header": Type("the value of an HTTP header", is_header),
    "sent": Type("an object with the values of HTTP headers", partial(_are_headers, absent=False)),
    "headers": Type(
        "an object with the values of HTTP headers; null for a header that was not sent",
        partial(_are_headers, absent=True),
    ),
    "error": Type("the name of an error", _like(ERROR_NAME)),
    "failure": Type(f"one of {', '.join(map(repr, _FAILURES))}", _FAILURES.__contains__),
    "end": Type(f"one of {', '.join(map(repr, ENDS))}", ENDS.__contains__),
}
"""Maps the names of types, as used in `Key.type`, to the types."""


class LineKind(NamedTuple):
    """A kind of line. `called` describes it in error messages, and `keys` maps the names of its keys to Keys."""

    called: str
    keys: Mapping[str, Key]


_T: Final = Key("milliseconds", "milliseconds from the request to the data of this line", required=True)

KINDS: Final[Mapping[str, LineKind]] = {
    "header": LineKind(
        "the header of a file",
        {
            "format": Key("format", "marks the file as a recording", required=True),
            "version": Key("number", "the version of the format", required=True),
            "recorded": Key("text", "when it was recorded, in UTC; of an import the date of its first answer"),
            "imported": Key("text", "when it was imported, in UTC; absent if it was recorded"),
            "by": Key("text", "the program that wrote it"),
            "botocore": Key("text", "the version of botocore whose model its answers were checked against"),
        },
    ),
    "part": LineKind(
        "a part of requests",
        {
            "part": Key("part", "the name that calls use for the part: its kind and a number", required=True),
            "is": Key("JSON", "the part itself", required=True),
        },
    ),
    "call": LineKind(
        "a call",
        {
            "call": Key("number", "the number of the call, from 1", required=True),
            "operation": Key("name", "the operation of AWS; the labels of its path are further keys, such as modelId"),
            "service": Key(
                "name", "the service of the operation, if it is neither Bedrock Runtime nor the control plane"
            ),
            "method": Key("name", "the HTTP method, if the operation is not known"),
            "path": Key("name", "the path as it was sent, if the operation is not known"),
            "query": Key("text", "the query as it was sent"),
            "headers": Key("sent", "the request headers with members, x-amzn-bedrock-*; no others are kept"),
            "faults": Key("texts", "what is illegal in the answer on purpose; otherwise an illegal answer is refused"),
            # Here and not in the header, so that the list goes with the exchange if it is moved or kept.
            "masked": Key("texts", "where an unexpected secret was replaced by ***, and its kind"),
            "anyRequest": Key("true", "true if the request is not known: any call of the operation gets the answer"),
            "parts": Key("parts", "the parts of the request that are on other lines, messages in their order"),
            "request": Key("JSON", "the body of the request, without its parts, if it is JSON"),
            "requestText": Key("text", "the body of the request, if it is another text"),
            "requestBase64": Key("base64", "the body of the request, if it is not text"),
        },
    ),
    "head": LineKind(
        "the head of an answer",
        {
            "t": _T,
            "status": Key("status", "the HTTP status", required=True),
            "type": Key("error", "the name of the error, if x-amzn-ErrorType has it in the usual form"),
            "requestId": Key("header", "x-amzn-RequestId; absent if it was not sent"),
            "headers": Key("headers", "the unusual headers; null for a usual header that was not sent"),
            "body": Key("body", "the body, if it is JSON as AWS writes it; if there is no body, a stream follows"),
            "bodyText": Key("text", "the body, if it is another text"),
            "bodyBase64": Key("base64", "the body, if it is not text"),
        },
    ),
    "failed": LineKind(
        "a failure instead of an answer",
        {
            "t": _T,
            "failed": Key("failure", "what happened instead of an answer", required=True),
        },
    ),
    "event": LineKind(
        "an event",
        {
            "t": _T,
            "p": Key("padding", EVENT_KEYS["p"]),
            "joined": Key("bool", EVENT_KEYS["joined"]),
            "payload": Key("text", EVENT_KEYS["payload"]),
            "frame": Key("base64", EVENT_KEYS["frame"]),
        },
    ),
    "bytes": LineKind(
        "bytes of a stream",
        {
            "t": _T,
            "joined": Key("bool", EVENT_KEYS["joined"]),
            "bytes": Key("base64", EVENT_KEYS["bytes"], required=True),
        },
    ),
    "end": LineKind(
        "a bad end",
        {
            "t": _T,
            "end": Key("end", "how the answer ended, if it did not end well", required=True),
        },
    ),
}
"""Maps the name of each kind of line to its LineKind. An event's line has one more key: the type of the event, with the
event's members as its value.
"""

ONE_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "call": ("anyRequest", "request", "requestText", "requestBase64"),
    "head": ("body", "bodyText", "bodyBase64"),
    "event": ("payload", "frame"),
}
"""Maps some kinds of lines to a group of keys each. A line of the kind has at most one key of the group."""

WHOLE: Final = "whole"
"""In FOLLOWS, this name stands for the head of an answer with a body, after which no stream follows."""

FOLLOWS: Final[Mapping[str, tuple[str, ...]]] = {
    "header": ("call", "part"),
    "part": ("call", "part"),
    "call": ("head", "failed"),
    "head": ("event", "bytes", "end", "call", "part"),
    WHOLE: ("end", "call", "part"),
    "failed": ("call", "part"),
    "event": ("event", "bytes", "end", "call", "part"),
    "bytes": ("event", "bytes", "end", "call", "part"),
    "end": ("call", "part"),
}
"""Maps each kind of line to the kinds that may follow it. A file may end after every kind except a call and a part."""


def said(value: object) -> str:
    """Return the JSON text of a value for use in an error message. A text longer than _SAID is cut."""
    text = json.dumps(value, ensure_ascii=False)
    text = text if is_text(text) else json.dumps(value)
    return cut(text, _SAID)


def hint(name: object, known: Collection[str], more: str = "") -> str:
    """Return a hint for an unknown name: the most similar known name.

    If none is similar, list all known names, then `more`.
    """
    close = nearest(name, known)
    return f"did you mean {said(close)}?" if close else f"it has {', '.join(known)}{more}."


def kind_of(line: Line) -> str:
    """Return the kind of any line below the first line, which is the header."""
    return next((kind for key, kind in TOLD_BY.items() if key in line), "event")
