"""Messages of HTTP/1.1 in the proxy for children: what h11 has read of one side, as bytes for the other side."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable
from typing import Any, Final
from urllib.parse import SplitResult, unquote

import h11

_HOP_BY_HOP: Final = frozenset({b"connection", b"keep-alive", b"proxy-connection", b"te", b"upgrade"})
"""Headers of a single connection (RFC 9110, 7.6.1), besides those that the header Connection lists.

Transfer-Encoding and Trailer are kept, because chunks and trailers are passed on as such."""
FRAMING: Final = frozenset({b"content-length", b"transfer-encoding"})
_NEEDED: Final = frozenset({b"host", *FRAMING})
"""Headers that stay even if the header Connection lists them: without them the message would be another one."""
_INNER_HTTP: Final = (b"h2c", b"http", b"tls")
"""Protocols to which a connection is not upgraded, since they carry further requests, whose hosts nobody would see."""

Headers = Iterable[tuple[bytes, bytes]]


def next_event(connection: h11.Connection, read: Callable[[], bytes]) -> Any:
    """Return the next event of a connection."""
    while (event := connection.next_event()) is h11.NEED_DATA:
        connection.receive_data(read())
    return event


def pass_body(
    source: h11.Connection,
    read: Callable[[], bytes],
    write: Callable[[bytes], object],
    head: bytes = b"",
    *,
    chunked: bool,
) -> None:
    """Write `head` and then a body, as soon as its parts arrive: what has arrived together is written at once."""
    out = [head] if head else []
    while True:
        try:
            event = source.next_event()
        except h11.RemoteProtocolError:
            write(b"".join(out))
            raise
        if isinstance(event, h11.Data):
            out.append(b"%x\r\n%b\r\n" % (len(event.data), event.data) if chunked else bytes(event.data))
            continue
        if isinstance(event, h11.EndOfMessage) and chunked:
            out.append(b"0\r\n%b\r\n" % _lines(event.headers.raw_items()))
        if out:
            write(b"".join(out))
            out = []
        if event is not h11.NEED_DATA:
            return
        source.receive_data(read())


def _lines(headers: Headers) -> bytes:
    return b"".join([b"%b: %b\r\n" % header for header in headers])


def head_of(response: h11.Response | h11.InformationalResponse, headers: Headers) -> bytes:
    """Return the head of a response, with these headers."""
    return b"HTTP/1.1 %d %b\r\n%b\r\n" % (response.status_code, response.reason, _lines(headers))


def is_chunked(message: h11.Request | h11.Response) -> bool:
    """Whether the body of a message comes in chunks."""
    return any(name == b"transfer-encoding" for name, _ in message.headers)  # h11 accepts no coding but `chunked`


def end_to_end(message: h11.Request | h11.Response, without: Collection[bytes] = ()) -> list[tuple[bytes, bytes]]:
    """Return the headers of a message that are passed on, as they were written and in their order."""
    listed = {
        each.strip().lower() for name, value in message.headers if name == b"connection" for each in value.split(b",")
    }
    dropped = {*_HOP_BY_HOP, *(listed - _NEEDED), *without}
    if is_chunked(message):
        dropped.add(b"content-length")  # chunks decide, and the two together are how requests are smuggled
    return [(name, value) for name, value in message.headers.raw_items() if name.lower() not in dropped]


def upgrade(request: h11.Request) -> bytes:
    """Return the protocols to which the connection may be upgraded, or b""."""
    listed = b",".join([value for name, value in request.headers if name == b"connection"]).lower()
    protocols = b",".join([value for name, value in request.headers if name == b"upgrade"])
    carries_http = any(each.strip().lower().startswith(_INNER_HTTP) for each in protocols.split(b","))
    return b"" if carries_http or b"upgrade" not in [each.strip() for each in listed.split(b",")] else protocols


def to_host(request: h11.Request, url: SplitResult, proxy: SplitResult | None, *, has_token: bool) -> h11.Request:
    """Return the request as it goes to the host or, if `proxy` is not None, to the user's proxy.

    Unlike other proxies, this one adds no header Via and keeps the Host that the program chose, even if the target has
    another host: without a fake, no proxy would change the request.
    """
    has_login = proxy is not None and proxy.username is not None
    headers = end_to_end(request, {b"proxy-authorization"} if proxy is None or has_login or has_token else ())
    if all(name.lower() != b"host" for name, _ in headers):  # HTTP/1.0 may lack it
        headers.insert(0, (b"Host", url.netloc.rpartition("@")[2].encode()))
    if proxy is not None and proxy.username is not None:
        headers.append((b"Proxy-Authorization", basic(unquote(proxy.username), unquote(proxy.password or ""))))
    if protocols := upgrade(request):
        headers += [(b"Connection", b"Upgrade"), (b"Upgrade", protocols)]
    elif request.method != b"CONNECT":
        headers.append((b"Connection", b"close"))
    target = request.target if proxy is not None else _origin_form(request)
    return h11.Request(method=request.method, target=target, headers=headers)


def _origin_form(request: h11.Request) -> bytes:
    """Return the path and query of a target that is a URL, byte by byte as they were."""
    rest = request.target.partition(b"://")[2]
    start = re.search(rb"[/?]|$", rest)
    assert start is not None  # `$` matches everywhere
    path = rest[start.start() :]
    if not path and request.method == b"OPTIONS":
        return b"*"
    return path if path.startswith(b"/") else b"/" + path


def basic(user: str, password: str) -> bytes:
    """Return the value of a header with a name and a password."""
    return b"Basic " + b64encode(f"{user}:{password}".encode())
