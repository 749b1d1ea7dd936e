"""Clients that can misbehave: HTTP/1.1 and HTTP/2 over a socket, byte by byte. Nothing here waits for ever."""

from __future__ import annotations

import json
import socket
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlsplit

import h11
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, DataReceived, ResponseReceived, StreamEnded, StreamReset
from h2.settings import SettingCodes, Settings

PATIENCE = 5.0
"""Seconds that anything may take that should happen at once."""

BODY = b'{"messages": [{"role": "user", "content": [{"text": "hello"}]}]}'
MODEL = "amazon.nova-lite-v1%3A0"


def eventually(condition: Callable[[], object]) -> None:
    """Wait until something holds that another thread brings about."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.001)


def question(
    url: str, operation: str = "converse-stream", body: bytes = BODY, headers: str = "", method: str = "POST"
) -> bytes:
    """A call of HTTP/1.1."""
    prefix = urlsplit(url).path
    return (
        f"{method} {prefix}/model/{MODEL}/{operation} HTTP/1.1\r\nHost: localhost\r\n{headers}"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body


@dataclass
class Answer:
    """An answer of HTTP/1.1; `chunks` are the chunks of its body, one if it is not chunked."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict[str, str])
    chunks: list[bytes] = field(default_factory=list[bytes])

    @property
    def body(self) -> bytes:
        """All of the body."""
        return b"".join(self.chunks)

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def error(self) -> tuple[int, str, str]:
        """An error in the shape of AWS: status, name, message."""
        return self.status, self.headers["x-amzn-errortype"].partition(":")[0], self.json["message"]


def connect(url: str, *, buffer: int | None = None) -> socket.socket:
    """A socket to a server, with a receive buffer of that size."""
    parts = urlsplit(url)
    family = socket.AF_INET6 if ":" in (parts.hostname or "") else socket.AF_INET
    connected = socket.socket(family, socket.SOCK_STREAM)
    connected.settimeout(PATIENCE)
    if buffer is not None:
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    try:
        connected.connect((parts.hostname, parts.port))
    except BaseException:
        connected.close()
        raise
    return connected


class Raw:
    """A connection on which anything can be sent; reads answers of HTTP/1.1."""

    def __init__(self, url: str, *, buffer: int | None = None) -> None:
        self.socket = connect(url, buffer=buffer)
        self.held = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, *data: bytes) -> Self:
        """Send bytes."""
        for each in data:
            self.socket.sendall(each)
        return self

    def pour(self, part: bytes) -> None:
        """Send something again and again, until the server has enough of it."""
        end = time.monotonic() + PATIENCE
        with suppress(BrokenPipeError, ConnectionResetError):  # the server has enough of it
            while time.monotonic() < end:
                self.socket.sendall(part)
            raise AssertionError("the server takes it for ever")

    def until(self, part: bytes) -> bytes:
        """Read until that was there; what came up to its end."""
        while part not in self.held:
            data = self.socket.recv(65_536)
            assert data, f"closed after {self.held!r}"
            self.held += data
        before, found, self.held = self.held.partition(part)
        return before + found

    def rest(self) -> bytes:
        """Everything until the server closes. Raises ConnectionResetError where it resets."""
        parts = [self.held]
        while data := self.socket.recv(65_536):
            parts.append(data)
        return b"".join(parts)

    def answer(self, method: str = "POST") -> Answer:
        """The next answer, as h11 reads it; raises RemoteProtocolError if it ends too early."""
        client = h11.Connection(h11.CLIENT)
        client.send(h11.Request(method=method, target="/x", headers=[("Host", "h"), ("Content-Length", "0")]))
        client.send(h11.EndOfMessage())
        if self.held:
            client.receive_data(self.held)
        found = Answer()
        fresh = True
        while True:
            event = client.next_event()
            match event:
                case h11.Response():
                    found.status = event.status_code
                    found.headers = {name.decode(): value.decode() for name, value in event.headers}
                case h11.Data():
                    if event.chunk_start or fresh:
                        found.chunks.append(b"")
                    found.chunks[-1] += bytes(event.data)
                    fresh = event.chunk_end
                case h11.EndOfMessage():
                    self.held = client.trailing_data[0]
                    return found
                case h11.NEED_DATA:
                    client.receive_data(self.socket.recv(65_536))
                case _:
                    assert isinstance(event, h11.InformationalResponse), event

    def ask(self, url: str, operation: str = "converse") -> Answer:
        """Make a call."""
        return self.send(question(url, operation)).answer()

    def is_closed(self) -> bool:
        """Whether the server closes or resets, and says nothing more."""
        try:
            return self.rest() == b""
        except ConnectionResetError:
            return True


class Raw2:
    """A connection of HTTP/2, with prior knowledge, on which frames can be sent as well."""

    def __init__(self, url: str, *, buffer: int | None = None, generous: bool = True, **settings: int) -> None:
        self.url = url
        self.socket = connect(url, buffer=buffer)
        self.h2 = H2Connection(H2Configuration())
        self.h2.local_settings = Settings(
            client=True, initial_values={SettingCodes[name]: value for name, value in settings.items()}
        )
        self.generous = generous
        self.status: dict[int, int] = {}
        self.frames: dict[int, list[bytes]] = defaultdict(list)
        self.ended: set[int] = set()
        self.resets: dict[int, int] = {}
        self.goaway: int | None = None
        self.closed = self.was_reset = False
        self.h2.initiate_connection()
        self.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def flush(self) -> None:
        """Send what the protocol has to say."""
        self.socket.sendall(self.h2.data_to_send() or b"")

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.socket.sendall(data)

    def ask(
        self,
        stream: int,
        operation: str = "converse-stream",
        body: bytes = BODY,
        *,
        url: str = "",
        end: bool = True,
        flush: bool = True,
    ) -> None:
        """Send a call."""
        path = f"{urlsplit(url or self.url).path}/model/{MODEL}/{operation}"
        pseudo = [(":method", "POST"), (":scheme", "http"), (":authority", "h"), (":path", path)]
        self.h2.send_headers(stream, pseudo)
        if body or end:
            self.h2.send_data(stream, body, end_stream=end)
        if flush:
            self.flush()

    def read(self) -> None:
        """Take note of what the server sends next; raises TimeoutError."""
        try:
            data = self.socket.recv(65_536)
        except ConnectionResetError:
            data, self.was_reset = b"", True
        self.closed = not data
        for event in self.h2.receive_data(data):
            match event:
                case ResponseReceived():
                    self.status[event.stream_id] = int(dict(event.headers)[b":status"])
                case DataReceived():
                    self.frames[event.stream_id] += [event.data] if event.data else []
                    if self.generous and event.flow_controlled_length:
                        self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                case StreamEnded():
                    self.ended.add(event.stream_id)
                case StreamReset():
                    self.resets[event.stream_id] = event.error_code
                case ConnectionTerminated():
                    self.goaway = event.error_code
                case _:
                    pass
        try:
            self.flush()
        except ConnectionResetError:
            self.was_reset = True  # said once: to whoever writes or reads first
        except BrokenPipeError:
            pass  # it has closed, after what is still to be read

    def until(self, condition: Callable[[], object]) -> Self:
        """Read until something holds, or the server closes."""
        while not self.closed and not condition():
            self.read()
        assert condition(), f"the server closed: {self.resets}, GOAWAY {self.goaway}"
        return self

    def answer(self, stream: int) -> bytes:
        """The body of an answer, once it has come in full."""
        self.until(lambda: stream in self.ended)
        return b"".join(self.frames[stream])

    def is_closed(self) -> bool:
        """Whether the server closes or resets, whatever it says before."""
        return self.until(lambda: self.closed).closed
