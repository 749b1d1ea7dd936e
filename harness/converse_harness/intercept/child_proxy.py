"""A proxy on the loopback for the programs that are started under a fake: it refuses Bedrock and passes on the rest.

What a program asks at the URL of the proxy itself came over an endpoint variable, and is refused as well; the fake that
is open hears of it. All else goes where it went before: directly, or through the proxy that the user has.
"""

from __future__ import annotations

import os
import socket
import ssl
import threading
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any, ClassVar, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from converse_harness.intercept import exchange, registry
from converse_harness.intercept.hosts import DOMAINS, is_bedrock_host, named

_LOCAL: Final = ("127.0.0.1", "localhost", "::1")
_LIMIT: Final = 65_536
"""Bytes of a head, and of one piece that is passed on."""
_PATIENCE: Final = 60.0
"""Seconds that another host may take to be connected."""

_SAID: Final = "Refused by converse-harness, as this process was started while a fake was open"
_ASKED: Final = (
    f"{{host}} was asked by a process that was started while a converse-harness fake was open. {exchange.GIVE_ENVIRON}"
)


class _UserProxies(NamedTuple):
    """The proxies of a program's own environment; "" for none."""

    http: str
    https: str
    no: str


_running: dict[_UserProxies, _ChildProxy] = {}
_starting = threading.Lock()


def url_for(env: Mapping[str, str]) -> str | None:
    """The URL of the proxy for programs with this environment, started now if it must be; None if none can listen."""
    users = _UserProxies(_of(env, "http"), _of(env, "https"), env.get("no_proxy") or env.get("NO_PROXY") or "")
    if any(each.url in (users.http, users.https) for each in _running.values()):
        return users.https or users.http
    if any(urlsplit(each).scheme not in ("", "http", "https") for each in (users.http, users.https)):
        return None  # SOCKS, which is not passed on
    with _starting:
        if users not in _running:
            with suppress(OSError, RuntimeError):  # pytest-socket raises a RuntimeError
                _running[users] = _ChildProxy(users)
    found = _running.get(users)
    return None if found is None else found.url


def _of(env: Mapping[str, str], scheme: str) -> str:
    names = (f"{scheme}_proxy", f"{scheme.upper()}_PROXY", "all_proxy", "ALL_PROXY")
    found = next((env[name] for name in names if env.get(name)), "")
    return found if "://" in found or not found else f"http://{found}"


def is_here() -> bool:
    """Whether a proxy listens in this very process, and not in the one that it was forked from."""
    return any(each.process == os.getpid() for each in _running.values())


def variables(url: str, env: Mapping[str, str]) -> dict[str, str]:
    """The variables that lead a program's requests to the proxy, but not those to the loopback."""
    names = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"]
    names += [name for name in ("all_proxy", "ALL_PROXY") if env.get(name)]
    past = (env.get("no_proxy") or env.get("NO_PROXY") or "").split(",")
    kept = [entry.strip() for entry in past if entry.strip() and not _passes_bedrock(entry.strip())]
    without = ",".join(dict.fromkeys([*kept, *_LOCAL]))
    return {**dict.fromkeys(names, url), "no_proxy": without, "NO_PROXY": without}


def _passes_bedrock(entry: str) -> bool:
    """Whether an entry of NO_PROXY leads past the proxy to a host of Bedrock."""
    name = entry.lstrip("*").lstrip(".").lower().partition(":")[0]
    below = (name, f"bedrock-runtime.{name}", f"bedrock-runtime.us-east-1.{name}")
    return entry == "*" or any(map(is_bedrock_host, below)) or _is_above(name)


def _is_above(name: str) -> bool:
    return any(f".{domain}".endswith(f".{name}") for domain in DOMAINS)


class _ChildProxy(ThreadingTCPServer):
    """It listens until the process ends: a program may outlive the fake that it was started under."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, users: _UserProxies) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.users = users
        self.process = os.getpid()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        thread = threading.Thread(target=self.serve_forever, name="converse-harness proxy for children", daemon=True)
        registry.exempt(thread)
        thread.start()

    def process_request(self, request: Any, client_address: Any) -> None:
        """In a thread that is none of the test's."""
        thread = threading.Thread(target=self.process_request_thread, args=(request, client_address), daemon=True)
        registry.exempt(thread)
        thread.start()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that ends early is the affair of the two that it joins."""

    def user_proxy(self, scheme: str, host: str) -> str:
        """The proxy of the user's that the program would have asked, or ""."""
        from urllib import request  # which loads an HTTP client

        bypasses: Any = vars(request)["proxy_bypass_environment"]  # typeshed does not know it
        proxy = self.users.http if scheme == "http" else self.users.https
        return "" if not proxy or bypasses(host, {"no": self.users.no}) else proxy


class _Request(StreamRequestHandler):
    """One connection of a program, for one request or one tunnel."""

    timeout: ClassVar[float | None] = None
    server: _ChildProxy

    def handle(self) -> None:
        """Refuse it, or join the two ends until both are done."""
        first, headers = self._head()
        method, _, rest = first.partition(" ")
        target = rest.partition(" ")[0]
        url = urlsplit(f"//{target}" if method == "CONNECT" else target)
        try:
            host, port = url.hostname, url.port or (443 if method == "CONNECT" else 80)
        except ValueError:
            host, port = None, 0
        asked = [host, *(named(value) for name, value in headers if name.lower() == "host" and host is not None)]
        is_endpoint = host is None or (host in _LOCAL and port == self.server.server_address[1])
        if host is None or is_endpoint or any(map(is_bedrock_host, asked)):
            self._refuse(next((each for each in asked if is_bedrock_host(each)), None), is_tunnel=method == "CONNECT")
            return
        proxy = self.server.user_proxy("https" if method == "CONNECT" else "http", host)
        try:
            remote = _connected(urlsplit(proxy)) if proxy else socket.create_connection((host, port), _PATIENCE)
        except OSError as error:
            self._answer(502, f"converse-harness cannot reach {proxy or host}: {error}")
            return
        remote.settimeout(None)
        with remote:
            if method == "CONNECT" and not proxy:
                self._answer(200, "Connection established", closes=False)
            else:
                path = target if proxy else url._replace(scheme="", netloc="").geturl() or "/"
                remote.sendall(_rewritten(method, path, headers, urlsplit(proxy)))
            _join(self.connection, self.rfile, remote)

    def _head(self) -> tuple[str, list[tuple[str, str]]]:
        lines: list[str] = []
        while len(lines) < 200:
            line = self.rfile.readline(_LIMIT).decode("latin-1").rstrip("\r\n")
            if not line:
                break
            lines.append(line)
        first, *rest = lines or [""]
        pairs = (line.partition(":") for line in rest)
        return first, [(name, value.strip()) for name, _, value in pairs]

    def _refuse(self, host: str | None, *, is_tunnel: bool) -> None:
        fake = registry.closing()
        if fake is not None:
            exchange.refuse(fake, _ASKED.format(host=host or "an endpoint of Bedrock"))
        self._answer(403, _SAID if is_tunnel else "Forbidden")
        with suppress(OSError):  # what it still writes is read, or it would see a reset in place of the answer
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(1)
            while self.rfile.read1(_LIMIT):
                pass

    def _answer(self, status: int, reason: str, *, closes: bool = True) -> None:
        body = f'{{"message": "{_SAID}. {exchange.GIVE_ENVIRON}."}}'.encode() if closes else b""
        more = [
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            "x-amzn-ErrorType: AccessDeniedException",
            "Connection: close",
        ]
        head = "\r\n".join([f"HTTP/1.1 {status} {reason}", *(more if closes else ()), "", ""])
        self.wfile.write(head.encode("latin-1", "replace") + body)


def _connected(proxy: Any) -> socket.socket:
    port = proxy.port or (443 if proxy.scheme == "https" else 80)
    plain = socket.create_connection((proxy.hostname, port), _PATIENCE)
    if proxy.scheme != "https":
        return plain
    return ssl.create_default_context().wrap_socket(plain, server_hostname=proxy.hostname)


def _rewritten(method: str, target: str, headers: list[tuple[str, str]], proxy: Any) -> bytes:
    """The head for the host itself or for the user's proxy: one request, after which the connection ends."""
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
    """Pass on what each says until both have ended; what was read with the head comes first."""

    def upward() -> None:
        with suppress(OSError):
            while piece := buffered.read1(_LIMIT):
                remote.sendall(piece)
            remote.shutdown(socket.SHUT_WR)

    thread = threading.Thread(target=upward, daemon=True)
    registry.exempt(thread)
    thread.start()
    with suppress(OSError):
        while piece := remote.recv(_LIMIT):
            client.sendall(piece)
        client.shutdown(socket.SHUT_RDWR)
    thread.join()
