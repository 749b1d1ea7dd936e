"""HTTP/1.1 without I/O: h11 parses requests; answers are written here.

Writing answers through h11 would be too slow (each part of a body passes h11's state machine) and would reorder
headers. So h11 does not see the answers: each request has a new h11 reader, which begins with the bytes that the
previous reader did not use.
"""

from __future__ import annotations

import re
from http import HTTPStatus

import h11

from converse_harness.stream.delivery import Frames, in_chunks
from converse_harness.stream.http import HttpResponse, Request
from converse_harness.stream.http_protocol import LIMITS, SMALL, Arrived, Event, HttpRefused, Limits, refusal

_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in HTTPStatus}

_TINY = f"its body comes in more than {{}} chunks of less than {SMALL} bytes; send larger ones, or a Content-Length"

_WITHOUT_LIMIT = 1 << 30

_TWO_LENGTHS = (
    "it has both Content-Length and Transfer-Encoding, so its end is not certain (RFC 9112 6.1); send one of the two"
)
_LONE_LF = "a line of its head ends with LF alone; end each line with CR LF (RFC 9112 2.2)"
_FOLDED = "a header goes on in a second line (RFC 9112 5.2); send each header in one line"


class Http1:
    """One HTTP/1.1 connection with one request at a time; further requests wait in h11's buffer."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self.done = False
        self.unread = False
        self._limits = limits
        self._h11 = self._reader()
        self._out: list[bytes] = []
        self._stream = 0
        self._answering = False
        self._head: h11.Request | None = None
        self._raw = bytearray()
        """The bytes from the start of the request on, until its head is complete. h11 does not show them."""
        self._body = bytearray()
        self._chunks = 0
        """The number of chunks of the current request body that have arrived."""
        self._chunked = False
        self._silent = False
        """Whether the body of the answer is omitted, because the method is HEAD."""
        self._last = False
        """Whether the connection closes after the current answer."""

    def _reader(self) -> h11.Connection:
        return h11.Connection(h11.SERVER, max_incomplete_event_size=self._limits.head)

    @property
    def mid_request(self) -> bool:
        """Whether a request has arrived only in part, and no answer is in progress."""
        return not self._answering and (self._head is not None or bool(self._h11.trailing_data[0]))

    @property
    def backlog(self) -> int:
        """The number of bytes of further requests, which wait until the current answer is complete."""
        return len(self._h11.trailing_data[0]) if self._answering else 0

    def receive(self, data: bytes) -> list[Event]:
        """Process bytes from the client, and return the events that they complete.

        The value b"" means that the client has closed its side of the connection.
        """
        if self.done:
            return []
        try:
            self._feed(data)
        except RuntimeError:  # bytes came after the client closed its side; asyncio never delivers such bytes
            self.done = True
            return []
        return self._read()

    def _feed(self, data: bytes) -> None:
        if self._head is None and not self._answering:
            self._raw += data
        self._h11.receive_data(data)

    def _read(self) -> list[Event]:
        while not self._answering and not self.done:
            try:
                event = self._h11.next_event()
            except h11.RemoteProtocolError as error:
                return self._refuse(error.error_status_hint, str(error))
            match event:
                case h11.Request():
                    status = self._too_long(event)
                    doubt = _doubt(self._raw, event)
                    if status or doubt:
                        return self._refuse(status or 400, doubt)
                    self._head, self._raw = event, bytearray()
                    self._last = event.http_version != b"1.1" or event.method == b"CONNECT"  # no HTTP follows CONNECT
                    if self._h11.they_are_waiting_for_100_continue:
                        self._out.append(b"HTTP/1.1 100 Continue\r\n\r\n")
                        self._h11.send(h11.InformationalResponse(status_code=100, headers=[]))
                case h11.Data():
                    self._body += event.data
                    self._chunks += event.chunk_start
                    if len(self._body) > self._limits.body:
                        return self._refuse(413, "")
                    if self._chunks - len(self._body) // SMALL > self._limits.empty:
                        return self._refuse(400, _TINY.format(self._limits.empty))
                case h11.EndOfMessage():
                    return [self._arrived()]
                case h11.NEED_DATA:
                    break
                case _:  # the client closed its side, or switches to another protocol
                    self.done = True
        return []

    def _arrived(self) -> Arrived:
        assert self._head is not None  # h11 returns the Request before EndOfMessage
        head, self._head = self._head, None
        body, self._body, self._chunks = bytes(self._body), bytearray(), 0
        headers = tuple([(name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers.raw_items()])
        if any("close" in value.lower() for name, value in headers if name.lower() == "connection"):
            self._last = True
        self._answering = True
        self._stream += 1
        self._silent = head.method == b"HEAD"
        authority, target = _origin_form(head.target.decode("ascii"))
        if authority:  # RFC 9112 3.2.2: the target decides, not the header
            headers = (("Host", authority), *[header for header in headers if header[0].lower() != "host"])
        request = Request(head.method.decode("ascii"), target, headers, body)
        return Arrived(self._stream, request)

    def _too_long(self, head: h11.Request) -> int:
        """Return 431 if the head is too long, 413 if the body is too long, otherwise 0.

        h11 itself refuses a head that is too long only while the head is incomplete.
        """
        items = head.headers.raw_items()
        if sum([len(name) + len(value) for name, value in items]) + len(head.target) > self._limits.head:
            return 431
        promised = next((int(value) for name, value in items if name.lower() == b"content-length"), 0)
        return 413 if promised > self._limits.body else 0

    def _refuse(self, status: int, problem: str) -> list[Event]:
        self._head, self._body, self._raw = None, bytearray(), bytearray()
        self._last = self._answering = True
        self._silent = False
        self.unread = status != 408
        self._stream += 1
        return [HttpRefused(self._stream, refusal(status, problem, self._limits))]

    def head(self, stream: int, response: HttpResponse, date: str) -> None:
        """Write the head of an answer: status line, `Date`, then the headers in the order of `response.headers`."""
        self._chunked = not self._last and any(name == "Transfer-Encoding" for name, _ in response.headers)
        status = _STATUS_LINES.get(response.status, f"HTTP/1.1 {response.status} \r\n")
        lines = [status, f"Date: {date}\r\n"]
        for name, value in response.headers:
            if name == "Transfer-Encoding" and not self._chunked:
                continue
            lines.append(f"{name}: {'close' if name == 'Connection' and self._last else value}\r\n")
        lines.append("\r\n")
        self._out.append("".join(lines).encode("latin-1"))

    def room(self, stream: int) -> int:
        """Return how many bytes may be written; -1 if the stream has ended.

        There is no real limit, because the flow control of TCP limits the connection.
        """
        return _WITHOUT_LIMIT if stream == self._stream and not self.done else -1

    def body(self, stream: int, data: bytes) -> None:
        """Write a part of a body, as one chunk if the answer is chunked."""
        if self._silent or not data:
            return
        self._out.append(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)

    def frames(self, frames: list[bytes]) -> int:
        """Write frames of a stream at once, each as one chunk if the answer is chunked. Return the number of bytes."""
        if self._silent:
            return 0
        if not self._chunked:
            data = b"".join(frames)
        else:
            data = frames.chunked if isinstance(frames, Frames) else in_chunks(frames)
        self._out.append(data)
        return len(data)

    def end(self, stream: int) -> list[Event]:
        """End an answer. If the next request has arrived already, return its event, otherwise an empty list."""
        if self._chunked and not self._silent:
            self._out.append(b"0\r\n\r\n")
        self._answering = False
        if self._last:
            self.done = True
            return []
        ahead, closed = self._h11.trailing_data
        self._h11 = self._reader()
        if ahead:
            self._feed(ahead)
        if closed:
            self._h11.receive_data(b"")
        return self._read() if ahead or closed else []

    def reset(self, stream: int) -> bool:
        """Mark the connection as done and return False, because HTTP/1.1 can reset only the whole connection."""
        self.done = True
        return False

    def time_out(self) -> list[Event]:
        """Refuse the incomplete request with the error 408, because the client was silent for too long."""
        return self._refuse(408, "")

    def take(self) -> bytes:
        """Return the bytes to send, and remove them."""
        out, self._out = b"".join(self._out), []
        return out


def _doubt(raw: bytearray, head: h11.Request) -> str:
    """Return why it is not certain where a request ends, or that another reader sees the same headers; "" if it is.

    Such a request may hide another one (request smuggling), so it is refused, and its connection closes. h11 refuses
    most of them. The faults here are those that it accepts. `raw` begins with the bytes of the head.
    """
    end = raw.find(b"\r\n\r\n")
    lines = raw[: end + 2]
    if end < 0 or lines.count(b"\n") != lines.count(b"\r\n"):
        return _LONE_LF
    if b"\n " in lines or b"\n\t" in lines:
        return _FOLDED
    names = {name for name, _ in head.headers}
    return _TWO_LENGTHS if b"content-length" in names and b"transfer-encoding" in names else ""


_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)(.*)", re.DOTALL)


def _origin_form(target: str) -> tuple[str, str]:
    """Return the authority of a request target ("" if it has none), and its path and query.

    A client that uses this server as a proxy sends a whole URL.
    """
    absolute = None if target.startswith("/") else _ABSOLUTE.fullmatch(target)
    if absolute is None:
        return "", target
    authority, rest = absolute.groups()
    return authority, rest if rest.startswith("/") else f"/{rest}"
