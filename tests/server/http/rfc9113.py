"""What a server must do about frames that a client may send wrongly, as a table: sections of RFC 9113 and RFC 7541.

Nothing here knows the library h2: frames are written byte by byte, so that what no library would send can be sent.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from hpack import Encoder

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM = ACK = 0x1
END_HEADERS, PADDED, WITH_PRIORITY = 0x4, 0x8, 0x20

CODES: Final = (
    "NO_ERROR",
    PROTOCOL := "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    FLOW_CONTROL := "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    STREAM_CLOSED := "STREAM_CLOSED",
    FRAME_SIZE := "FRAME_SIZE_ERROR",
    REFUSED := "REFUSED_STREAM",
    "CANCEL",
    COMPRESSION := "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
)
"""The error codes of RFC 9113 7, in the order of their numbers."""
CANCEL: Final = CODES.index("CANCEL")

HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, MAX_HEADERS = range(1, 7)

Field = tuple[str, str]

ASK: Final[tuple[Field, ...]] = (
    (":method", "POST"),
    (":scheme", "http"),
    (":authority", "localhost"),
    (":path", "/nobody/model/m/converse"),
)
"""The head of a request to no fake, which the server answers with an error of its own."""


def frame(kind: int, flags: int, stream: int, payload: bytes = b"", *, length: int | None = None) -> bytes:
    """A frame; `length` is what its head says, if not the truth."""
    size = len(payload) if length is None else length
    return struct.pack(">I", size)[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def block(*fields: Field) -> bytes:
    """Fields in HPACK. Each block has an encoder of its own, so none refers to another."""
    return Encoder().encode([*fields])


def head(stream: int, *more: Field, fields: tuple[Field, ...] = ASK, flags: int = END_STREAM | END_HEADERS) -> bytes:
    """A HEADERS frame with a request."""
    return frame(HEADERS, flags, stream, block(*fields, *more))


def raw_head(stream: int, payload: bytes, flags: int = END_STREAM | END_HEADERS) -> bytes:
    """A HEADERS frame with a sound request and these bytes of HPACK after it."""
    return frame(HEADERS, flags, stream, block(*ASK) + payload)


def setting(*pairs: tuple[int, int]) -> bytes:
    """A SETTINGS frame."""
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", *pair) for pair in pairs))


def number(value: int) -> bytes:
    """A number of 32 bits."""
    return struct.pack(">I", value)


def without(*names: str) -> tuple[Field, ...]:
    """The head of a request without some of its fields."""
    return tuple(field for field in ASK if field[0] not in names)


def instead(**values: str) -> tuple[Field, ...]:
    """The head of a request with other values of pseudo-header fields."""
    return tuple((name, values.get(name[1:], value)) for name, value in ASK)


@dataclass(frozen=True)
class Row:
    """What a client sends after its preface and SETTINGS, and what may follow, in words of `test_rfc9113.outcome`.

    `sent` has bytes, and numbers of streams: then the client first waits for the end of the answer on this stream.
    `bare`: the client sends `sent` alone. `answers`: the stream whose answer must come; `body`: how many bytes
    of its body must come, if not all. `says`: a frame that the server must send (type, flags, payload; None for any).
    """

    section: str
    name: str
    sent: tuple[bytes | int, ...]
    then: tuple[str, ...]
    answers: int = 0
    body: int | None = None
    says: tuple[int, int, bytes | None] | None = None
    bare: bool = False

    def __str__(self) -> str:
        return f"{self.section} {self.name}"


GOES_ON = ("goes on",)
CLOSES = ("closed", "GOAWAY PROTOCOL_ERROR")  # the second if the next request arrives in the same read
ANSWERED = ("answered",)


def ends(*codes: str) -> tuple[str, ...]:
    """A connection error: GOAWAY, then the end of the connection."""
    return tuple(f"GOAWAY {code}" for code in codes)


def resets(*codes: str) -> tuple[str, ...]:
    """A stream error. A server may make it an error of the connection (RFC 9113 5.4.2)."""
    return (*(f"RST_STREAM {code}" for code in codes), *ends(*codes))


OPEN = head(1, flags=END_HEADERS)
"""Opens stream 1; its body may follow."""
HELD = setting((INITIAL_WINDOW_SIZE, 0)) + head(1)
"""Asks on stream 1, and lets no body of the answer come: the stream stays half-closed."""
LIMIT = 2**31 - 1
ZERO_PING = bytes(8)

ROWS: Final = (
    # 3.4 The preface
    Row("3.4", "a wrong preface", (b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",), CLOSES, bare=True),
    Row("3.4", "frames before SETTINGS", (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + head(1),), ends(PROTOCOL), bare=True),
    Row(
        "3.4",
        "a preface and a request at once",
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + setting() + head(1),),
        ANSWERED,
        answers=1,
        bare=True,
    ),
    # 4.1 The form of a frame
    Row("4.1", "a frame of an unknown type", (frame(0x16, 0, 0, ZERO_PING),), GOES_ON),
    Row("4.1", "an unknown type on an idle stream", (frame(0x16, 0xFF, 9, ZERO_PING),), GOES_ON),
    Row("4.1", "unknown flags", (frame(PING, 0x16, 0, ZERO_PING),), GOES_ON, says=(PING, ACK, None)),
    Row(
        "4.1",
        "the reserved bit of a stream number",
        (frame(PING, 0, 1 << 31, ZERO_PING),),
        GOES_ON,
        says=(PING, ACK, None),
    ),
    # 4.2 The size of a frame
    Row("4.2", "DATA of 2^14 bytes", (OPEN, frame(DATA, END_STREAM, 1, bytes(2**14))), ANSWERED, answers=1),
    Row("4.2", "DATA of 2^14 + 1 bytes", (OPEN, frame(DATA, END_STREAM, 1, bytes(2**14 + 1))), resets(FRAME_SIZE)),
    Row("4.2", "HEADERS of 2^14 + 1 bytes", (frame(HEADERS, 0x5, 1, bytes(2**14 + 1)),), ends(FRAME_SIZE)),
    Row("4.2", "a length without its frame", (frame(SETTINGS, 0, 0, b"", length=2**24 - 1),), ends(FRAME_SIZE)),
    Row("4.2", "an unknown type of 2^14 + 1 bytes", (frame(0x16, 0, 0, bytes(2**14 + 1)),), ends(FRAME_SIZE)),
    # 4.3 Header blocks
    Row("4.3", "a block that cannot be decoded", (frame(HEADERS, 0x5, 1, b"\xff\xff\xff\xff\xff"),), ends(COMPRESSION)),
    Row(
        "4.3",
        "PRIORITY in a block",
        (head(1, flags=END_STREAM), frame(PRIORITY, 0, 1, number(0) + b"\x10")),
        ends(PROTOCOL),
    ),
    Row("4.3", "HEADERS of another stream in a block", (head(1, flags=END_STREAM), head(3)), ends(PROTOCOL)),
    # 5.1 States of a stream
    Row("5.1", "DATA on an idle stream", (frame(DATA, END_STREAM, 1, b"x"),), ends(PROTOCOL)),
    Row("5.1", "RST_STREAM on an idle stream", (frame(RST_STREAM, 0, 1, number(CANCEL)),), ends(PROTOCOL)),
    Row("5.1", "WINDOW_UPDATE on an idle stream", (frame(WINDOW_UPDATE, 0, 1, number(100)),), ends(PROTOCOL)),
    Row("5.1", "CONTINUATION on an idle stream", (frame(CONTINUATION, END_HEADERS, 1, block(*ASK)),), ends(PROTOCOL)),
    Row("5.1", "PRIORITY on an idle stream", (frame(PRIORITY, 0, 1, number(0) + b"\x10"),), GOES_ON),
    Row("5.1", "DATA, half-closed", (HELD, frame(DATA, END_STREAM, 1, b"x")), resets(STREAM_CLOSED)),
    Row("5.1", "HEADERS, half-closed", (HELD, head(1)), resets(STREAM_CLOSED)),
    Row("5.1", "CONTINUATION, half-closed", (HELD, frame(CONTINUATION, 4, 1, block(*ASK))), ends(PROTOCOL)),
    Row("5.1", "WINDOW_UPDATE, half-closed", (HELD, frame(WINDOW_UPDATE, 0, 1, number(9_999))), ANSWERED, answers=1),
    Row(
        "5.1",
        "DATA after the client's RST_STREAM",
        (OPEN, frame(RST_STREAM, 0, 1, number(CANCEL)), frame(DATA, END_STREAM, 1, b"x")),
        resets(STREAM_CLOSED),
    ),
    Row(
        "5.1",
        "HEADERS after the client's RST_STREAM",
        (OPEN, frame(RST_STREAM, 0, 1, number(CANCEL)), head(1)),
        resets(STREAM_CLOSED),
    ),
    Row(
        "5.1",
        "CONTINUATION after the client's RST_STREAM",
        (OPEN, frame(RST_STREAM, 0, 1, number(CANCEL)), frame(CONTINUATION, 4, 1, block(*ASK))),
        ends(PROTOCOL, STREAM_CLOSED),
    ),
    Row("5.1", "DATA on a closed stream", (head(1), 1, frame(DATA, END_STREAM, 1, b"x")), resets(STREAM_CLOSED)),
    Row("5.1", "HEADERS on a closed stream", (head(1), 1, head(1)), ends(STREAM_CLOSED)),
    Row(
        "5.1",
        "CONTINUATION on a closed stream",
        (head(1), 1, frame(CONTINUATION, 4, 1, block(*ASK))),
        ends(PROTOCOL, STREAM_CLOSED),
    ),
    Row("5.1", "WINDOW_UPDATE on a closed stream", (head(1), 1, frame(WINDOW_UPDATE, 0, 1, number(9))), GOES_ON),
    Row("5.1", "RST_STREAM on a closed stream", (head(1), 1, frame(RST_STREAM, 0, 1, number(CANCEL))), GOES_ON),
    Row("5.1", "PRIORITY on a closed stream", (head(1), 1, frame(PRIORITY, 0, 1, number(0) + b"\x10")), GOES_ON),
    Row("5.1", "PRIORITY, half-closed", (HELD, frame(PRIORITY, 0, 1, number(0) + b"\x10")), GOES_ON),
    Row("5.1.1", "an even number", (head(2),), ends(PROTOCOL)),
    Row("5.1.1", "a number below an earlier one", (head(5), 5, head(3)), ends(PROTOCOL, STREAM_CLOSED)),
    Row(
        "5.1.2",
        "more streams than allowed",
        (setting((INITIAL_WINDOW_SIZE, 0)), b"".join(head(n) for n in range(1, 45, 2))),
        resets(PROTOCOL, REFUSED),
    ),
    # 5.4 and 5.5 Errors, extensions
    Row("5.4.1", "after an error the connection ends", (frame(PING, 0, 0, b"1234"),), ends(FRAME_SIZE)),
    Row("5.5", "an extension in a block", (head(1, flags=END_STREAM), frame(0x16, 0, 0, ZERO_PING)), ends(PROTOCOL)),
    # 6.1 DATA
    Row("6.1", "DATA on stream 0", (frame(DATA, END_STREAM, 0, b"x"),), ends(PROTOCOL)),
    Row("6.1", "DATA with more padding than there is", (OPEN, frame(DATA, 0x9, 1, b"\x06test")), ends(PROTOCOL)),
    Row("6.1", "DATA with padding", (OPEN, frame(DATA, 0x9, 1, b"\x02{}\0\0")), ANSWERED, answers=1),
    Row("6.1", "DATA that is padded and empty", (OPEN, frame(DATA, 0x9, 1)), ends(PROTOCOL, FRAME_SIZE)),
    # 6.2 HEADERS
    Row("6.2", "HEADERS on stream 0", (head(0),), ends(PROTOCOL)),
    Row(
        "6.2",
        "HEADERS with more padding than there is",
        (frame(HEADERS, 0xD, 1, b"\xf0" + block(*ASK)),),
        ends(PROTOCOL),
    ),
    Row(
        "6.2", "HEADERS with padding", (frame(HEADERS, 0xD, 1, b"\x03" + block(*ASK) + bytes(3)),), ANSWERED, answers=1
    ),
    Row(
        "6.2",
        "HEADERS with a priority",
        (frame(HEADERS, 0x25, 1, number(0) + b"\x10" + block(*ASK)),),
        ANSWERED,
        answers=1,
    ),
    Row("6.2", "HEADERS too short for a priority", (frame(HEADERS, 0x25, 1, b"\0\0"),), ends(FRAME_SIZE, PROTOCOL)),
    Row("6.2", "DATA in a block", (head(1, flags=0), frame(DATA, END_STREAM, 1, b"x")), ends(PROTOCOL)),
    # 6.3 PRIORITY. (A stream that depends on itself was an error in RFC 7540 5.3.1; RFC 9113 does not speak of it.)
    Row("6.3", "PRIORITY on stream 0", (frame(PRIORITY, 0, 0, number(0) + b"\x10"),), ends(PROTOCOL)),
    Row("6.3", "PRIORITY of 4 bytes", (OPEN, frame(PRIORITY, 0, 1, number(0))), resets(FRAME_SIZE)),
    Row(
        "7540 5.3.1",
        "PRIORITY that depends on itself",
        (OPEN, frame(PRIORITY, 0, 1, number(1) + b"\x10")),
        resets(PROTOCOL),
    ),
    Row(
        "7540 5.3.1",
        "HEADERS that depend on themselves",
        (frame(HEADERS, 0x25, 1, number(1) + b"\x10" + block(*ASK)),),
        resets(PROTOCOL),
    ),
    # 6.4 RST_STREAM
    Row("6.4", "RST_STREAM on stream 0", (frame(RST_STREAM, 0, 0, number(CANCEL)),), ends(PROTOCOL)),
    Row("6.4", "RST_STREAM of 3 bytes", (OPEN, frame(RST_STREAM, 0, 1, b"\0\0\0")), ends(FRAME_SIZE)),
    # 6.5 SETTINGS
    Row("6.5", "SETTINGS are acknowledged", (setting(),), GOES_ON, says=(SETTINGS, ACK, None)),
    Row("6.5", "an acknowledgement with a payload", (frame(SETTINGS, ACK, 0, b"\0\0\0\0\0\0"),), ends(FRAME_SIZE)),
    Row("6.5", "SETTINGS on a stream", (frame(SETTINGS, 0, 1, struct.pack(">HI", 3, 1)),), ends(PROTOCOL)),
    Row("6.5", "SETTINGS of 3 bytes", (frame(SETTINGS, 0, 0, b"\0\x03\0"),), ends(FRAME_SIZE)),
    Row("6.5.2", "ENABLE_PUSH 2", (setting((ENABLE_PUSH, 2)),), ends(PROTOCOL)),
    Row("6.5.2", "INITIAL_WINDOW_SIZE 2^31", (setting((INITIAL_WINDOW_SIZE, 2**31)),), ends(FLOW_CONTROL)),
    Row("6.5.2", "MAX_FRAME_SIZE 2^14 - 1", (setting((MAX_FRAME_SIZE, 2**14 - 1)),), ends(PROTOCOL)),
    Row("6.5.2", "MAX_FRAME_SIZE 2^24", (setting((MAX_FRAME_SIZE, 2**24)),), ends(PROTOCOL)),
    Row("6.5.2", "an unknown setting", (setting((0xFF, 1)),), GOES_ON, says=(SETTINGS, ACK, None)),
    Row(
        "6.5.3",
        "of two values the last counts",
        (setting((INITIAL_WINDOW_SIZE, 100), (INITIAL_WINDOW_SIZE, 1)), head(1)),
        ANSWERED,
        answers=1,
        body=1,
    ),
    Row("6.5.1", "HEADER_TABLE_SIZE 0", (setting((HEADER_TABLE_SIZE, 0)), head(1), 1, head(3)), ANSWERED, answers=3),
    # 6.6 PUSH_PROMISE
    Row("8.4", "PUSH_PROMISE of a client", (frame(PUSH_PROMISE, 4, 1, number(2) + block(*ASK)),), ends(PROTOCOL)),
    Row(
        "8.4", "the same on an open stream", (OPEN, frame(PUSH_PROMISE, 4, 1, number(2) + block(*ASK))), ends(PROTOCOL)
    ),
    # 6.7 PING
    Row("6.7", "PING is answered", (frame(PING, 0, 0, b"marked!!"),), GOES_ON, says=(PING, ACK, b"marked!!")),
    Row("6.7", "PING on a stream", (frame(PING, 0, 1, ZERO_PING),), ends(PROTOCOL)),
    Row("6.7", "PING of 6 bytes", (frame(PING, 0, 0, bytes(6)),), ends(FRAME_SIZE)),
    # 6.8 GOAWAY
    Row("6.8", "GOAWAY on a stream", (frame(GOAWAY, 0, 1, number(0) + number(0)),), ends(PROTOCOL)),
    Row("6.8", "GOAWAY with an unknown code", (frame(GOAWAY, 0, 0, number(0) + number(0xFF)),), CLOSES),
    Row("7", "RST_STREAM with an unknown code", (OPEN, frame(RST_STREAM, 0, 1, number(0xFF))), GOES_ON),
    # 6.9 WINDOW_UPDATE
    Row("6.9", "an increment of 0", (frame(WINDOW_UPDATE, 0, 0, number(0)),), ends(PROTOCOL)),
    Row("6.9", "an increment of 0 on a stream", (HELD, frame(WINDOW_UPDATE, 0, 1, number(0))), resets(PROTOCOL)),
    Row("6.9", "WINDOW_UPDATE of 3 bytes", (frame(WINDOW_UPDATE, 0, 0, bytes(3)),), ends(FRAME_SIZE)),
    Row("6.9", "the reserved bit of an increment", (frame(WINDOW_UPDATE, 0, 0, number(1 << 31 | 1)),), GOES_ON),
    Row("6.9.1", "a window of 1 byte", (setting((INITIAL_WINDOW_SIZE, 1)), head(1)), ANSWERED, answers=1, body=1),
    Row("6.9.1", "a window above 2^31 - 1", (2 * frame(WINDOW_UPDATE, 0, 0, number(LIMIT)),), ends(FLOW_CONTROL)),
    Row(
        "6.9.1",
        "a window of a stream above 2^31 - 1",
        (HELD, 2 * frame(WINDOW_UPDATE, 0, 1, number(LIMIT))),
        resets(FLOW_CONTROL),
    ),
    Row("6.9.2", "a window that opens later", (HELD, setting((INITIAL_WINDOW_SIZE, 1))), ANSWERED, answers=1, body=1),
    Row(
        "6.9.2",
        "a window below 0",
        (
            setting((INITIAL_WINDOW_SIZE, 3)),
            head(1),
            setting((INITIAL_WINDOW_SIZE, 0)),
            3 * frame(WINDOW_UPDATE, 0, 1, number(2)),
        ),
        ANSWERED,
        answers=1,
        body=6,
    ),
    Row(
        "6.9.2",
        "settings that lift a window above 2^31 - 1",
        (HELD, frame(WINDOW_UPDATE, 0, 1, number(LIMIT - 1)) + setting((INITIAL_WINDOW_SIZE, LIMIT))),
        ends(FLOW_CONTROL),
    ),
    # 6.10 CONTINUATION
    Row(
        "6.10",
        "two CONTINUATION frames",
        (
            head(1, fields=ASK, flags=END_STREAM),
            frame(CONTINUATION, 0, 1, block(("a", "b"))),
            frame(CONTINUATION, END_HEADERS, 1, block(("c", "d"))),
        ),
        ANSWERED,
        answers=1,
    ),
    Row("6.10", "CONTINUATION on stream 0", (head(1, flags=1), frame(CONTINUATION, 4, 0, b"")), ends(PROTOCOL)),
    Row(
        "6.10", "CONTINUATION after a whole block", (OPEN, frame(CONTINUATION, 4, 1, block(("a", "b")))), ends(PROTOCOL)
    ),
    Row(
        "6.10",
        "CONTINUATION after the last one",
        (head(1, flags=0), 2 * frame(CONTINUATION, 4, 1, block(("a", "b")))),
        ends(PROTOCOL),
    ),
    Row("6.10", "CONTINUATION after DATA", (OPEN, frame(DATA, 0, 1, b"x"), frame(CONTINUATION, 4, 1)), ends(PROTOCOL)),
    Row(
        "6.10",
        "CONTINUATION of another stream",
        (head(1, flags=END_STREAM), frame(CONTINUATION, 4, 3, block(("a", "b")))),
        ends(PROTOCOL),
    ),
    # 8.1 Messages
    Row("8.1", "trailers that do not end the stream", (OPEN, head(1, fields=(("a", "b"),), flags=4)), resets(PROTOCOL)),
    Row(
        "8.1",
        "trailers",
        (OPEN, frame(DATA, 0, 1, b"{}"), head(1, fields=(("a", "b"),))),
        ANSWERED,
        answers=1,
    ),
    Row("8.1", "pseudo-header fields as trailers", (OPEN, head(1, fields=((":method", "GET"),))), resets(PROTOCOL)),
    Row(
        "8.1.1",
        "less DATA than content-length",
        (head(1, ("content-length", "3"), flags=4), frame(DATA, 1, 1, b"{}")),
        resets(PROTOCOL),
    ),
    Row(
        "8.1.1",
        "more DATA than content-length, in two frames",
        (head(1, ("content-length", "1"), flags=4), frame(DATA, 0, 1, b"{"), frame(DATA, 1, 1, b"}")),
        resets(PROTOCOL),
    ),
    Row("8.1.1", "content-length and no DATA", (head(1, ("content-length", "1")),), resets(PROTOCOL)),
    Row(
        "8.1.1",
        "content-length and only trailers",
        (head(1, ("content-length", "1"), flags=END_HEADERS), head(1, fields=(("a", "b"),))),
        resets(PROTOCOL),
    ),
    Row("8.1.1", "content-length 0 and no DATA", (head(1, ("content-length", "0")),), ANSWERED, answers=1),
    Row("8.1.1", "two content-lengths", (head(1, ("content-length", "0"), ("content-length", "1")),), resets(PROTOCOL)),
    Row("8.1.1", "a content-length that is no number", (head(1, ("content-length", "+0")),), resets(PROTOCOL)),
    # 8.2 Fields
    Row("8.2.1", "an upper-case name", (head(1, ("X-Test", "a")),), resets(PROTOCOL)),
    Row("8.2.1", "a name with a blank", (head(1, ("x test", "a")),), resets(PROTOCOL)),
    Row("8.2.1", "a name with a colon", (head(1, ("x:test", "a")),), resets(PROTOCOL)),
    Row("8.2.1", "a name with a control character", (head(1, ("x\x01", "a")),), resets(PROTOCOL)),
    Row("8.2.1", "a name with CR LF", (head(1, ("x\r\ny", "a")),), resets(PROTOCOL)),
    Row("8.2.1", "a name that is not ASCII", (raw_head(1, b"\x00\x02x\xff\x01a"),), resets(PROTOCOL)),
    Row("8.2.1", "an empty name", (raw_head(1, b"\x00\x00\x01a"),), resets(PROTOCOL)),
    Row("8.2.1", "a value with NUL", (head(1, ("x", "a\0b")),), resets(PROTOCOL)),
    Row("8.2.1", "a value with LF", (head(1, ("x", "a\nb")),), resets(PROTOCOL)),
    Row("8.2.1", "a value with CR", (head(1, ("x", "a\rb")),), resets(PROTOCOL)),
    Row("8.2.1", "a value that begins with a blank", (head(1, ("x", " a")),), resets(PROTOCOL)),
    Row("8.2.1", "a value that ends with a tab", (head(1, ("x", "a\t")),), resets(PROTOCOL)),
    *(
        Row("8.2.2", f"the header {name}", (head(1, (name, value)),), resets(PROTOCOL))
        for name, value in (
            ("connection", "keep-alive"),
            ("proxy-connection", "keep-alive"),
            ("keep-alive", "5"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
        )
    ),
    Row("8.2.2", "TE that is not trailers", (head(1, ("te", "trailers, deflate")),), resets(PROTOCOL)),
    Row("8.2.2", "TE: trailers", (head(1, ("te", "trailers")),), ANSWERED, answers=1),
    # 8.3 Pseudo-header fields
    Row("8.3", "an unknown pseudo-header field", (head(1, fields=(*ASK, (":test", "ok"))),), resets(PROTOCOL)),
    Row("8.3", "a pseudo-header field of answers", (head(1, fields=(*ASK, (":status", "200"))),), resets(PROTOCOL)),
    Row(
        "8.3",
        "a pseudo-header field after another field",
        (head(1, fields=(*without(":path"), ("a", "b"), (":path", "/"))),),
        resets(PROTOCOL),
    ),
    *(
        Row("8.3.1", f"no {name}", (head(1, fields=without(name)),), resets(PROTOCOL))
        for name in (":method", ":scheme", ":path")
    ),
    *(Row("8.3.1", f"two of {field[0]}", (head(1, fields=(field, *ASK)),), resets(PROTOCOL)) for field in ASK),
    Row("8.3.1", "an empty :path", (head(1, fields=instead(path="")),), resets(PROTOCOL)),
    Row("8.3.1", "a :path without its slash", (head(1, fields=instead(path="nobody")),), resets(PROTOCOL)),
    Row("8.3.1", "a :path with a blank", (head(1, fields=instead(path="/a b")),), resets(PROTOCOL)),
    Row("8.3.1", "a :path with a control character", (head(1, fields=instead(path="/a\x01")),), resets(PROTOCOL)),
    Row("8.3.1", "a :path that is a whole URL", (head(1, fields=instead(path="http://h/")),), resets(PROTOCOL)),
    Row("8.3.1", "the :path *", (head(1, fields=instead(method="OPTIONS", path="*")),), ANSWERED, answers=1),
    Row("8.3.1", "host and :authority that differ", (head(1, ("host", "other")),), resets(PROTOCOL)),
    Row(
        "8.3.1",
        "host and no :authority",
        (head(1, ("host", "localhost"), fields=without(":authority")),),
        ANSWERED,
        answers=1,
    ),
    Row("8.5", "CONNECT with :path", (head(1, fields=instead(method="CONNECT"), flags=4),), resets(PROTOCOL)),
    # RFC 7541, HPACK
    Row("7541 2.3.3", "an index above the table", (raw_head(1, b"\xc6"),), ends(COMPRESSION)),
    Row("7541 2.3.3", "the name of an index above the table", (raw_head(1, b"\x7f\x0a\x01a"),), ends(COMPRESSION)),
    Row("7541 4.2", "a new size at the end of a block", (raw_head(1, b"\x20"),), ends(COMPRESSION)),
    Row("7541 5.1", "a number that never ends", (raw_head(1, b"\xff" + 20 * b"\xff"),), ends(COMPRESSION)),
    Row("7541 5.2", "Huffman padding above 7 bits", (raw_head(1, b"\x00\x01x\x82\x1f\xff"),), ends(COMPRESSION)),
    Row("7541 5.2", "Huffman padding of zeros", (raw_head(1, b"\x00\x01x\x81\x18"),), ends(COMPRESSION)),
    Row(
        "7541 5.2",
        "Huffman with the end of the string",
        (raw_head(1, b"\x00\x01x\x84\xff\xff\xff\xfc"),),
        ends(COMPRESSION),
    ),
    Row("7541 5.2", "a text longer than its block", (raw_head(1, b"\x00\x01x\x7e1"),), ends(COMPRESSION)),
    Row("7541 6.1", "the index 0", (raw_head(1, b"\x80"),), ends(COMPRESSION)),
    Row(
        "7541 6.3",
        "a size above the setting",
        (frame(HEADERS, 0x5, 1, b"\x3f\xe1\xff\x03" + block(*ASK)),),
        ends(COMPRESSION),
    ),
)
