"""What the tests of pools share: the law, and a local server that stands for Bedrock and for a proxy too."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import pytest

from converse_harness import BlockedConnection
from tests.intercept.guard.boto_only import BotoOnlyFake

HOST: Final = "bedrock-runtime.us-east-1.amazonaws.com"
AT: Final = "192.0.2.1"
PATH: Final = "/model/m/converse"
BODY: Final = b'{"messages": []}'
SOON: Final = 1.0
"""Seconds after which a call ends that waits for a connection: a pool that lost one never gives it back."""

Ask = Callable[[str, str, dict[str, str]], str]
"""Sends one request, with BODY if it is a POST: `ask(method, url, headers)` returns the text of the response."""
Make = Callable[[int, str | None, ExitStack], Ask]
"""Makes a client with a pool of `size` connections, perhaps through a proxy: `make(size, proxy, stack)`."""

WAYS: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "https": (f"https://{HOST}{PATH}", {}),
    "http": (f"http://{HOST}{PATH}", {}),
    "address": (f"http://{AT}:PORT{PATH}", {"Host": HOST}),
    "kept alive": (f"http://{HOST}:PORT{PATH}", {}),
    "proxy": (f"http://{HOST}{PATH}", {}),
    "tunnel": (f"https://{HOST}{PATH}", {}),
}
"""How a request to Bedrock is made: its URL and its headers."""


class Handler(BaseHTTPRequestHandler):
    """Answers with the method and the body of the request."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        said = f"{self.command} {body.decode()}".strip().encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None: ...


class Server(ThreadingHTTPServer):
    """A server that ends its connections with itself: some clients close theirs when they are collected.

    The thread of such a connection began under a fake, so the fake's patches would stay as long as the thread.
    """

    daemon_threads = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self._open: list[socket.socket] = []

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.append(request)
        super().process_request(request, client_address)

    def server_close(self) -> None:
        for connection in self._open:
            with suppress(OSError):  # it is closed already
                connection.shutdown(socket.SHUT_RDWR)
        super().server_close()  # which waits for the threads


@contextmanager
def serving() -> Iterator[int]:
    """Serve in a thread; gives the port."""
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


def as_bedrock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The local server is found at HOST and AT, as if it were on another machine."""
    look_up = socket.getaddrinfo

    def on_loopback(host: Any, *args: Any, **kwargs: Any) -> Any:
        return look_up("127.0.0.1" if host in (HOST, HOST.encode(), AT) else host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", on_loopback)
    monkeypatch.setattr("converse_harness.intercept.guard.hosts.is_own_machine", lambda host: False)


@contextmanager
def refusing() -> Iterator[None]:
    """A fake is open, which has refused something when it closes.

    The `with` block of a fake would raise this refusal in place of another exception of the block.
    """
    fake = BotoOnlyFake()
    fake.open()
    try:
        yield
        with pytest.raises(BlockedConnection, match=f"tried to reach {HOST}"):
            fake.check()
    finally:
        fake.close()


def check_the_law(make: Make, way: str, size: int, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through a pool of N connections, N + 1 calls are refused, and then a call to a local server is answered."""
    url, headers = WAYS[way]
    if "PORT" in url:
        as_bedrock(monkeypatch)
    url = url.replace("PORT", str(port))
    proxy = f"http://127.0.0.1:{port}" if way in ("proxy", "tunnel") else None
    with ExitStack() as stack:
        ask = make(size, proxy, stack)
        if way == "kept alive":
            assert ask("POST", url, headers) == f"POST {BODY.decode()}"
        with refusing():
            for _ in range(size + 1):
                with pytest.raises(BlockedConnection, match=f"tried to reach {HOST}"):
                    ask("POST", url, headers)
            assert ask("GET", f"http://127.0.0.1:{port}/", {}) == "GET"
        if way == "kept alive":
            assert ask("POST", url, headers) == f"POST {BODY.decode()}"
