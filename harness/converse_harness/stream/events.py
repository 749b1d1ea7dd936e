"""Encoding of one stream event as one frame, and decoding of a frame.

In recordings, the headers have the order `:event-type`, `:content-type`, `:message-type`; the JSON is compact with
sorted keys. Every event has a padding: the top-level member `p`, with the first 2 to 61 characters of PADDING.
Exception frames have no padding.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any, Final, cast

from converse_harness import bedrock
from converse_harness.errors import DamagedData
from converse_harness.stream.chunk import Deltas
from converse_harness.stream.frames import Frame, Header, HeaderType, encode_headers, frame_bytes, run_of_frames
from converse_harness.stream.grammar import CARRIED, ERROR_FRAME, is_exception, kind

PADDING: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
SHORTEST_PADDING: Final = 2
LONGEST_PADDING: Final = 61

_PADS: Final = tuple(PADDING[:length] for length in range(len(PADDING) + 1))
_quote: Final[Any] = encode_basestring
_ENDS: Final = {depth: tuple(f'{"}" * depth},"p":"{padding}"}}' for padding in _PADS) for depth in (1, 2)}
"""Maps the depth of the text in a delta (1 or 2) to all possible ends of a payload after this text. The index of an end
is the length of its padding."""


def encode_event(event: Mapping[str, Any], padding: int | None = None) -> bytes:
    """Encode an AWS event dict as a frame. `padding` is the length of the member `p`; exception frames have no `p`.

    Any event with one key is encoded, even if AWS's API model lacks the key. A key that ends in `Exception` becomes an
    exception frame, `:error` an unmodelled error frame, and every other key an event frame.

    >>> len(encode_event({"messageStart": {"role": "assistant"}}, padding=30))
    155
    """
    payload = None if padding is None else _delta_payload(event, padding)
    if payload is not None:
        return frame_bytes(_DELTA_HEADERS, payload)
    name = kind(event)
    body = event[name]
    if padding is not None and body.__class__ is dict and len(body) == 1 and not is_exception(name):
        ((member, value),) = body.items()
        if (type(value) is str and len(value) < _SHORT) or type(value) is int:
            return _short_frame(name, member, value, padding)
    if name == ERROR_FRAME:
        # The headers have the order of the event stream's specification. No recording of Bedrock contains such a frame.
        pairs = (":error-code", body["code"]), (":error-message", body["message"]), (":message-type", "error")
        return frame_bytes(_headers(*pairs), b"")
    if padding is not None and not is_exception(name):
        body = {**body, "p": _PADS[padding]}
    return frame_bytes(_header_block(name), _to_json(name, body).encode())


_SHORT: Final = 32
"""Frames whose only value has fewer characters are kept. Each stream has some of the same: its role, indexes of blocks,
a stop reason."""


@lru_cache(maxsize=1024)
def _short_frame(name: str, member: str, value: str | int, padding: int) -> bytes:
    return frame_bytes(_header_block(name), _to_json(name, {member: value, "p": _PADS[padding]}).encode())


def encode_deltas(run: Deltas, paddings: bytes) -> list[bytes]:
    """Encode a run of deltas as frames; each byte of `paddings` is the padding length of one frame.

    `encode_event` would return the same frames, one per delta. This function encodes nearly every event of every
    stream, so it uses templates in one loop for speed.
    """
    inner = CARRIED.get(run.member)
    opened, ends = ("", _ENDS[1]) if inner is None else (f'{{"{inner}":', _ENDS[2])
    start = f'{{"contentBlockIndex":{run.block},"delta":{{"{run.member}":{opened}'
    try:
        rests = [(_quote(piece) + ends[padding]).encode() for piece, padding in zip(run.pieces, paddings, strict=False)]
    except (TypeError, UnicodeEncodeError):  # a piece contains a lone surrogate or is not a string
        return [encode_event(event, padding) for event, padding in zip(run.events(), paddings, strict=False)]
    return run_of_frames(_DELTA_HEADERS, start.encode(), rests)


def encode_other_event(
    event: Mapping[str, Any], stream: bedrock.EventStream, service: str, padding: int | None = None
) -> bytes:
    """Encode an event of an operation other than ConverseStream as a frame.

    `stream` is the operation's event stream, `service` the service whose operation it is, `padding` the length of the
    member `p`. An exception frame has no `p`. A type that the stream lacks is encoded as by `encode_event`.

    >>> stream = bedrock.event_stream("InvokeModelWithResponseStream")
    >>> len(encode_other_event({"chunk": {"bytes": b"hi"}}, stream, "bedrock-runtime", padding=2))
    116
    """
    name = kind(event)
    shape = stream.union.members.get(name)
    if shape is None:
        return encode_event(event, padding)
    fails = name in stream.exceptions
    body = event[name] if padding is None or fails else {**event[name], "p": _PADS[padding]}
    return frame_bytes(_header_block(name, fails=fails), bedrock.to_json(shape.name, body, service).encode())


def standard_frame(name: str, payload: bytes) -> bytes:
    """Make a frame with the event or exception type `name`, the usual headers and this unchanged payload."""
    return frame_bytes(_header_block(name), payload)


def decode_event(frame: Frame) -> tuple[dict[str, Any], int | None]:
    """Decode a frame. Return the AWS event dict, and the length of the padding (None without padding).

    Blobs become bytes. Raises the errors of `read_event`.
    """
    name, members, padding = read_event(frame)
    return {name: from_wire(name, members)}, padding


def read_event(frame: Frame) -> tuple[str, dict[str, Any], int | None]:
    """Return the event or exception type of a frame, its members as parsed JSON, and the length of its padding.

    The length is None without padding. A `p` that is not a prefix of PADDING counts as a member. Raises DamagedData if
    the payload is not a JSON object, if the message type is unknown, or if the header with the event or exception type
    is missing. A newer version of the service may send such frames.
    """
    message_type = frame.get(":message-type")
    if message_type == "error":
        return ERROR_FRAME, {"code": frame.get(":error-code") or "", "message": frame.get(":error-message") or ""}, None
    if message_type is None:
        raise DamagedData(f"A frame without :message-type as a text: {frame.headers!r}.")
    if message_type not in ("event", "exception"):
        raise DamagedData(f"A frame of the message type {message_type!r}; it is event, exception or error.")
    name = frame.get(f":{message_type}-type")
    if not name:
        raise DamagedData(
            f"A frame of the message type {message_type} without :{message_type}-type as a text: {frame.headers!r}."
        )
    try:
        body: Any = json.loads(frame.payload)
    except ValueError as error:
        raise DamagedData(f"The payload of a {name} frame is not JSON ({error}): {frame.payload[:80]!r}.") from error
    if not isinstance(body, dict):
        raise DamagedData(f"The payload of a {name} frame is {body!r}; an event is a JSON object.")
    members = cast("dict[str, Any]", body)
    padding: object = members.get("p")
    if isinstance(padding, str) and PADDING.startswith(padding):
        del members["p"]
        return name, members, len(padding)
    return name, members, None


def from_wire(name: str, members: dict[str, Any]) -> Any:
    """Convert the JSON members of an event of the type `name`: base64 blobs become bytes."""
    if name == "contentBlockDelta" and _is_textual(members.get("delta")):
        return members  # fast path: nearly every event is such a delta, and these deltas have no blobs
    shape = _shape_of(name)
    return members if shape is None else bedrock.from_json(shape, members)


def _is_textual(delta: object) -> bool:
    return (
        isinstance(delta, dict) and len(cast("dict[str, Any]", delta)) == 1 and ("text" in delta or "toolUse" in delta)
    )


def _delta_payload(event: Mapping[str, Any], padding: int) -> bytes | None:
    """Return the payload of a usual delta (text, tool input or reasoning text); None for every other event.

    This template is eight times faster than `_to_json`, and catching exceptions is faster than checking first.
    """
    try:
        body = event["contentBlockDelta"]
        index, delta = body["contentBlockIndex"], body["delta"]
        if len(event) != 1 or len(body) != 2 or len(delta) != 1 or type(index) is not int:
            return None
        if "text" in delta and type(text := delta["text"]) is str:
            return f'{{"contentBlockIndex":{index},"delta":{{"text":{_quote(text)}{_ENDS[1][padding]}'.encode()
        for carrier, member in CARRIED.items():
            if carrier in delta and len(inner := delta[carrier]) == 1 and type(text := inner[member]) is str:
                value = f'"{carrier}":{{"{member}":{_quote(text)}'
                return f'{{"contentBlockIndex":{index},"delta":{{{value}{_ENDS[2][padding]}'.encode()
    except (LookupError, TypeError, UnicodeEncodeError):
        pass  # an unusual event, which the slower code in `encode_event` encodes or refuses
    return None


@lru_cache(maxsize=256)
def _header_block(name: str, *, fails: bool | None = None) -> bytes:
    kind = "exception" if (is_exception(name) if fails is None else fails) else "event"
    return _headers((f":{kind}-type", name), (":content-type", "application/json"), (":message-type", kind))


def _headers(*pairs: tuple[str, str]) -> bytes:
    return encode_headers([Header(name, HeaderType.STRING, value) for name, value in pairs])


_DELTA_HEADERS: Final = _header_block("contentBlockDelta")


@lru_cache(maxsize=256)
def _shape_of(name: str) -> str | None:
    known = name in bedrock.stream_events() or name in bedrock.stream_exceptions()
    return bedrock.stream_shape(name) if known else None


def _to_json(name: str, body: Mapping[str, Any]) -> str:
    shape = _shape_of(name)
    return (
        json.dumps(body, ensure_ascii=False, separators=(",", ":")) if shape is None else bedrock.to_json(shape, body)
    )
