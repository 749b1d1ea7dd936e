"""A proxy on localhost for programs that are started under a fake: it refuses requests to Bedrock, forwards all others.

`children` starts the proxy as a separate process, since a thread in the test process would make forks unsafe. The proxy
ends when its standard input is closed. It also refuses requests to its own URL: `children` sets the endpoint variables
for Bedrock to this URL, so such a request is for Bedrock. All other requests are forwarded directly or through the
user's proxy.
"""

from __future__ import annotations

import json
import os
import socket
import ssl
import sys
import threading
from base64 import b64encode
from contextlib import suppress
from itertools import islice
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any, Final, NamedTuple, cast
from urllib.parse import unquote, urlsplit

from converse_harness.intercept.clients import LOCAL
from converse_harness.intercept.hosts import is_bedrock_host, named

_LIMIT: Final = 65_536
"""The maximum size, in bytes, of one line of a request head, and of one forwarded piece of data."""
_LINES: Final = 200
_PATIENCE: Final = 60.0
"""The timeout in seconds for connecting to the requested host or to the user's proxy."""

_HEADERS: Final = (
    "Content-Type: application/json\r\n"
    "Content-Length: {length}\r\n"
    "x-amzn-ErrorType: AccessDeniedException\r\n"
    "Connection: close\r\n"
)

_REFUSED: Final = "Refused by converse-harness, as this process was started while a fake was open"


class ProxySettings(NamedTuple):
    """The settings of one proxy process.

    `http`, `https` and `no` are the values of HTTP_PROXY, HTTPS_PROXY and NO_PROXY that the program would use without
    this proxy, or "". Refused hosts are appended to the file `reports`. Each message of a refusal ends with `advice`.
    """

    http: str
    https: str
    no: str
    reports: str
    advice: str


class _ChildProxy(ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, settings: ProxySettings) -> None:
        super().__init__(("127.0.0.1", 0), _ProxyRequest)
        self.settings = settings
        self.port: int = self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore an exception of `handle`, because the started program and the host notice the broken connection."""

    def user_proxy(self, scheme: str, host: str) -> str:
        """Return the URL of the user's own proxy for `host`; "" if the user's settings have no proxy for this host."""
        from urllib import request  # imported late, because it loads an HTTP client

        bypasses: Any = vars(request)["proxy_bypass_environment"]  # typeshed lacks this function
        proxy = self.settings.http if scheme == "http" else self.settings.https
        return "" if not proxy or bypasses(host, {"no": self.settings.no}) else proxy


class _ProxyRequest(StreamRequestHandler):
    """Handles one connection from a started program: one request, or one CONNECT tunnel."""

    @property
    def _proxy(self) -> _ChildProxy:
        return cast("_ChildProxy", self.server)

    def handle(self) -> None:
        """Refuse a request to a Bedrock host or to this proxy's own URL. Forward any other request to its host.

        Then pass on data between the started program and the host until both have closed the connection.
        """
        first, headers = self._head()
        method, _, rest = first.partition(" ")
        target = rest.partition(" ")[0]
        is_tunnel = method == "CONNECT"
        try:
            url = urlsplit(f"//{target}" if is_tunnel else target)
            host, port = url.hostname, url.port or (443 if is_tunnel else 80)
        except ValueError:
            self._answer(400, "Bad Request")
            return
        asked = [host, *(named(value) for name, value in headers if name.lower() == "host" and host is not None)]
        is_endpoint = host is None or (host in LOCAL and port == self._proxy.port)
        if host is None or is_endpoint or any(map(is_bedrock_host, asked)):
            self._refuse(next((each for each in asked if is_bedrock_host(each)), None), is_tunnel=is_tunnel)
            return
        proxy = self._proxy.user_proxy("https" if is_tunnel else "http", host)
        try:
            remote = _connected(urlsplit(proxy)) if proxy else socket.create_connection((host, port), _PATIENCE)
        except OSError as error:
            self._answer(502, f"converse-harness cannot reach {proxy.rpartition('@')[2] or host}: {error}")
            return
        remote.settimeout(None)
        with remote:
            if is_tunnel and not proxy:
                self._answer(200, "Connection established", closes=False)
            else:
                path = target if proxy else url._replace(scheme="", netloc="").geturl() or "/"
                remote.sendall(_rewritten(method, path, headers, urlsplit(proxy)))
            _join(self.connection, self.rfile, remote)

    def _head(self) -> tuple[str, list[tuple[str, str]]]:
        read = iter(lambda: self.rfile.readline(_LIMIT).decode("latin-1").rstrip("\r\n"), "")
        first, *rest = [*islice(read, _LINES)] or [""]
        pairs = (line.partition(":") for line in rest)
        return first, [(name, value.strip()) for name, _, value in pairs]

    def _refuse(self, host: str | None, *, is_tunnel: bool) -> None:
        # Write the report before the answer: then it is in the file when the program continues. Write the line in one
        # piece, because other threads and proxies append to the same file. A failed write does not stop the refusal.
        with suppress(OSError):
            file = os.open(self._proxy.settings.reports, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.write(file, f"{host or 'an endpoint of Bedrock'}\n".encode())
            os.close(file)
        self._answer(403, _REFUSED if is_tunnel else "Forbidden")
        with suppress(OSError):  # read the rest of the request; otherwise a TCP reset may destroy the answer
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(1)
            while self.rfile.read1(_LIMIT):
                pass

    def _answer(self, status: int, reason: str, *, closes: bool = True) -> None:
        body = json.dumps({"message": f"{_REFUSED}. {self._proxy.settings.advice}."}).encode() if closes else b""
        headers = _HEADERS.format(length=len(body)) if closes else ""
        self.wfile.write(f"HTTP/1.1 {status} {reason}\r\n{headers}\r\n".encode("latin-1", "replace") + body)


def _connected(proxy: Any) -> socket.socket:
    port = proxy.port or (443 if proxy.scheme == "https" else 80)
    plain = socket.create_connection((proxy.hostname, port), _PATIENCE)
    if proxy.scheme != "https":
        return plain
    return ssl.create_default_context().wrap_socket(plain, server_hostname=proxy.hostname)


def _rewritten(method: str, target: str, headers: list[tuple[str, str]], proxy: Any) -> bytes:
    """Return the head of a request to the host or, if `proxy` is not an empty URL, to the user's proxy.

    Every head except that of a CONNECT request contains `Connection: close`.
    """
    kept = [(name, value) for name, value in headers if name.lower() not in ("connection", "proxy-connection")]
    if not proxy.netloc:
        kept = [(name, value) for name, value in kept if name.lower() != "proxy-authorization"]
    elif proxy.username is not None:
        user = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        kept.append(("Proxy-Authorization", f"Basic {b64encode(user.encode()).decode()}"))
    if method != "CONNECT":
        kept.append(("Connection", "close"))
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in kept), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def _join(client: socket.socket, buffered: Any, remote: socket.socket) -> None:
    """Copy bytes between the program and the host, in both directions, until both have closed their connection.

    `buffered` reads from the program; it begins with the bytes that were read together with the head of the request.
    """

    def upward() -> None:
        with suppress(OSError):  # an OSError means that one end has closed the connection
            while piece := buffered.read1(_LIMIT):
                remote.sendall(piece)
            remote.shutdown(socket.SHUT_WR)

    thread = threading.Thread(target=upward, daemon=True)
    thread.start()
    with suppress(OSError):  # an OSError means that one end has closed the connection
        while piece := remote.recv(_LIMIT):
            client.sendall(piece)
        client.shutdown(socket.SHUT_RDWR)
    thread.join()


def main(given: str) -> None:
    """Run the proxy and print its port; `given` is a ProxySettings as a JSON list.

    The proxy detaches from its parent process, because the parent may wait until all its children end.
    """
    proxy = _ChildProxy(ProxySettings(*json.loads(given)))
    if hasattr(os, "fork") and os.fork() != 0:
        os._exit(0)
    if hasattr(os, "setsid"):
        os.setsid()  # so that Ctrl-C does not reach the proxy, which ends when its standard input is closed
    os.write(1, f"{proxy.port}\n".encode())
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    sys.stdin.buffer.read()
    os._exit(0)
