"""One exchange of a program with a host, in the proxy for children: refused if it is for Bedrock, else passed on.

The proxy follows RFC 9112. A connection of a program has one exchange, and then it is closed, because a program may
send its next request on the connection to any other host, for example to Bedrock. h11 reads both sides, so it is known
where a request and a response end. A tunnel (CONNECT, or a response 101) is the exception: its bytes are copied.

Requests to the proxy's own URL are refused too: `children` sets the endpoint variables for Bedrock to this URL.
"""

from __future__ import annotations

import json
import os
import re
import socket
import struct
import threading
import time
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

import h11

from converse_harness import refusals
from converse_harness.intercept.clients import LOCAL
from converse_harness.intercept.guard.child_connections import PIECE, Peer, SharedTls, connected, join, user_proxy
from converse_harness.intercept.guard.child_messages import (
    FRAMING,
    basic,
    end_to_end,
    head_of,
    is_chunked,
    next_event,
    pass_body,
    to_host,
    upgrade,
)
from converse_harness.intercept.guard.hosts import is_bedrock_host, named

_HEAD: Final = 131_072
"""The maximum size, in bytes, of a head: twice what Python's own client takes for a single line."""
_LINGER: Final = 5.0
"""How many seconds a program has to close its connection after the answer: closing it first could destroy the answer,
if the program is still sending."""

_ASKED: Final = "{host} was asked by a process that was started while a converse-harness fake was open. {advice}"
_REFUSED: Final = "Refused by converse-harness, as this process was started while a fake was open"
_LOGIN: Final = "the proxy of converse-harness for child processes wants the name and password of its URL"
_USER: Final = "converse"
_CHECK: Final = b"CHECK"
"""The method with which the files of the folder `programs` ask whether a host is refused."""


class ProxySettings(NamedTuple):
    """The settings of one proxy process.

    `http`, `https` and `no` are the values of HTTP_PROXY, HTTPS_PROXY and NO_PROXY that the program would use without
    this proxy, or "". Refusals are appended to the file `reports`. Each message of a refusal ends with `advice`.
    If `token` is not "", requests need it as their password.
    """

    http: str
    https: str
    no: str
    reports: str
    advice: str
    token: str


def settings_from(line: bytes) -> ProxySettings:
    """Read the settings that `children` wrote: a JSON list on one line."""
    return ProxySettings(*json.loads(line))


def serve(listening: socket.socket, settings: ProxySettings) -> None:
    """Accept connections until `listening` is closed, and handle each in a thread of its own."""
    while listening.fileno() != -1:
        try:
            connection = listening.accept()[0]
            threading.Thread(target=_ChildExchange(connection, settings).run, daemon=True).start()
        except (OSError, RuntimeError):  # no descriptor or no thread is left; the next connection waits for one
            time.sleep(0.02)


class _UnreadableAnswer(Exception):
    """The answer of a host is not HTTP/1.1."""


class _ChildExchange:
    """Handles one connection from a started program: one request, or one tunnel."""

    def __init__(self, child: socket.socket, settings: ProxySettings) -> None:
        self._child = child
        self._settings = settings
        self._port: int = child.getsockname()[1]
        self._h11 = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD)
        self._in_first_line = True
        self._is_old = False
        """Whether the program speaks HTTP/1.0, which has neither chunks nor interim responses."""

    def run(self) -> None:
        """Refuse a request to a Bedrock host or to this proxy's own URL. Pass any other request on to its host."""
        with self._child, suppress(OSError):  # an OSError means that the program has closed its connection
            self._child.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                request = next_event(self._h11, self._read)
            except h11.RemoteProtocolError as error:
                self._answer(error.error_status_hint, f"Bad Request: {error}")
                return
            if isinstance(request, h11.Request):  # otherwise the program has closed the connection without a request
                self._is_old = request.http_version < b"1.1"
                self._handle(request)

    def _read(self) -> bytes:
        piece = self._child.recv(PIECE)
        if self._in_first_line:  # curl sends the bytes of `/ä` as they are typed; h11 takes ASCII only
            line, end, rest = piece.partition(b"\n")
            piece = re.sub(rb"[\x80-\xff]", lambda found: b"%%%02X" % found[0][0], line) + end + rest
            self._in_first_line = not end
        return piece

    def _handle(self, request: h11.Request) -> None:
        target = request.target.decode("ascii")
        is_tunnel = request.method == b"CONNECT"
        try:
            url = urlsplit(f"//{target}" if is_tunnel else target if not target.startswith("/") else "")
            host, port = url.hostname, url.port or (443 if is_tunnel else 80)
        except ValueError:
            self._answer(400, "Bad Request")
            return
        # The target decides where a request goes (RFC 9112, 3.2.2). Its header Host is kept and counts here too: behind
        # an address, or in the user's proxy, that may be what is asked for.
        hosts = [named(value) or "" for name, value in request.headers if name == b"host"]
        asked = [unquote(host or "").strip(), *hosts]
        if request.method == _CHECK and not any(map(is_bedrock_host, asked)):
            self._answer(204, "No Content")
        elif host is None or (host in LOCAL and port == self._port) or any(map(is_bedrock_host, asked)):
            self._refuse(next(filter(is_bedrock_host, asked), None), is_tunnel=is_tunnel)
        elif self._settings.token and not self._is_authorized(request):
            self._answer(407, _LOGIN, 'Proxy-Authenticate: Basic realm="converse-harness"\r\n')
        else:
            self._forward(request, url, host, port)

    def _is_authorized(self, request: h11.Request) -> bool:
        from hmac import compare_digest

        expected = basic(_USER, self._settings.token)
        given = [value for name, value in request.headers if name == b"proxy-authorization"]
        return any(compare_digest(b"Basic " + value.partition(b" ")[2].strip(), expected) for value in given)

    def _forward(self, request: h11.Request, url: SplitResult, host: str, port: int) -> None:
        is_tunnel = request.method == b"CONNECT"
        users = self._settings.https if is_tunnel else self._settings.http
        users = user_proxy(users, self._settings.no, host)
        if not (users or is_tunnel or url.scheme == "http"):
            self._answer(501, f"converse-harness passes on URLs of http, not of {url.scheme}")
            return
        try:
            proxy = urlsplit(users) if users else None
            remote = connected(host, port, proxy)
        except (OSError, ValueError) as error:
            self._answer(502, f"converse-harness cannot reach {users.rpartition('@')[2] or host}: {error}")
            return
        with remote:
            remote.settimeout(None)
            remote.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            peer: Peer = SharedTls(remote) if proxy is not None and proxy.scheme == "https" else remote
            if is_tunnel and proxy is None:
                self._child.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                join(self._child, self._h11.trailing_data[0], peer, b"")
                return
            origin = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD)
            try:
                has_token = bool(self._settings.token)
                head = origin.send(to_host(request, url, proxy, has_token=has_token))
            except h11.LocalProtocolError as error:
                self._answer(400, f"Bad Request: {error}")
                return
            peer.sendall(head or b"")
            self._exchange(request, origin, peer, host)

    def _exchange(self, request: h11.Request, origin: h11.Connection, peer: Peer, host: str) -> None:
        """Pass on the body of the request and the response, each as it comes. Then end, or become a tunnel."""
        may_switch = request.method == b"CONNECT" or bool(upgrade(request))
        sending = None if may_switch else threading.Thread(target=self._pass_request, args=(request, peer), daemon=True)
        is_reset = False
        try:
            if sending is None:  # such a request has hardly a body, and what comes after it may be of another protocol
                pass_body(self._h11, self._read, peer.sendall, chunked=is_chunked(request))
            else:
                sending.start()
            if self._pass_response(request, origin, peer):
                join(self._child, self._h11.trailing_data[0], peer, origin.trailing_data[0])
                return
        except _UnreadableAnswer as error:
            self._write_answer(502, f"converse-harness cannot read the answer of {host}: {error}")
        except h11.RemoteProtocolError:
            pass  # the host has cut off its response, and the program finds it cut off too
        except OSError:
            is_reset = True  # only a reset tells that a body without a length, which ends by the close, is cut off
        with suppress(OSError):
            if is_reset:
                linger = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
                self._child.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            else:  # a host may answer before it has read the whole request: it goes on to get the rest
                self._child.shutdown(socket.SHUT_WR)
                self._wait(sending)
        for wakes_sending in (partial(peer.shutdown, socket.SHUT_RDWR), partial(self._child.shutdown, socket.SHUT_RD)):
            with suppress(OSError):
                wakes_sending()
        if sending is not None:
            sending.join()

    def _pass_request(self, request: h11.Request, peer: Peer) -> None:
        """Pass on exactly the body of the request, and later that the program has closed its side.

        What comes after the body is dropped: the answer says that the connection ends, so the program sends it again.
        """
        try:
            with suppress(OSError, h11.RemoteProtocolError):  # the host does not read on, or the body is cut off
                pass_body(self._h11, self._read, peer.sendall, chunked=is_chunked(request))
            while self._read():
                pass
        except OSError:
            pass  # the program is gone
        finally:
            with suppress(OSError):
                peer.shutdown(socket.SHUT_WR)

    def _pass_response(self, request: h11.Request, origin: h11.Connection, peer: Peer) -> bool:
        """Pass on the response, and return whether the connection belongs to another protocol from now on.

        h11 does not write it, because it would send a body without a length in chunks, and reorder headers.
        """
        read = partial(peer.recv, PIECE)
        try:
            response = next_event(origin, read)
            while isinstance(response, h11.InformationalResponse) and response.status_code != 101:
                if not self._is_old:
                    self._child.sendall(head_of(response, response.headers.raw_items()))
                response = next_event(origin, read)
        except h11.RemoteProtocolError as error:
            if origin.trailing_data == (b"", True):
                raise  # the host has closed the connection without an answer, and so does this proxy
            raise _UnreadableAnswer(error) from None
        if isinstance(response, h11.InformationalResponse):
            self._child.sendall(head_of(response, response.headers.raw_items()))
            return True
        assert isinstance(response, h11.Response)  # h11 returns no other event after the informational ones
        if origin.their_state is h11.SWITCHED_PROTOCOL:
            self._child.sendall(head_of(response, end_to_end(response, FRAMING)))
            return True
        has_body = request.method != b"HEAD" and response.status_code not in (204, 304)
        headers = end_to_end(response, {b"transfer-encoding"} if self._is_old else ())
        head = head_of(response, [*headers, (b"Connection", b"close")])
        chunked = has_body and not self._is_old and is_chunked(response)
        pass_body(origin, read, self._child.sendall, head, chunked=chunked)
        return False

    def _refuse(self, host: str | None, *, is_tunnel: bool) -> None:
        # Write the report before the answer: then it is in the file when the program continues.
        asked = _ASKED.format(host=host or "an endpoint of Bedrock", advice=self._settings.advice)
        refusals.report(asked, self._settings.reports)
        kind = "x-amzn-ErrorType: AccessDeniedException\r\n"
        self._answer(403, _REFUSED if is_tunnel else "Forbidden", kind, f"{_REFUSED}. {self._settings.advice}.")

    def _answer(self, status: int, reason: str, headers: str = "", message: str = "") -> None:
        """Answer without asking a host. `message` is the text of the body, if this is not the reason."""
        self._write_answer(status, reason, headers, message)
        self._child.shutdown(socket.SHUT_WR)
        self._wait(None)

    def _write_answer(self, status: int, reason: str, headers: str = "", message: str = "") -> None:
        body = json.dumps({"message": message or reason}).encode()
        head = (
            f"HTTP/1.1 {status} {re.sub('[^ -~]', '?', reason)}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n{headers}Connection: close\r\n\r\n"
        )
        self._child.sendall(head.encode() + body)

    def _wait(self, sending: threading.Thread | None) -> None:
        """Wait until the program has closed the connection, and drop what it sends until then.

        Without this, a reset could destroy the answer while the program still sends. `sending` reads already.
        """
        if sending is not None:
            sending.join(_LINGER)
            return
        until = time.monotonic() + _LINGER
        while (left := until - time.monotonic()) > 0:
            self._child.settimeout(left)
            if not self._child.recv(PIECE):
                break
