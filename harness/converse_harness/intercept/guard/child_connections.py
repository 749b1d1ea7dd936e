"""Connections of the proxy for children: to a host or to the user's own proxy, and both ends of a tunnel."""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Protocol
from urllib.parse import SplitResult

PIECE: Final = 65_536
"""The maximum size, in bytes, of a piece of data that is read at once."""
_PATIENCE: Final = 60.0
"""The timeout in seconds for connecting to the requested host or to the user's proxy."""


def user_proxy(proxy: str, no: str, host: str) -> str:
    """Return the URL of the user's own proxy, or "" if NO_PROXY, whose value is `no`, has an entry for `host`."""
    if not proxy:
        return ""
    from urllib import request  # imported late, because it loads an HTTP client

    bypasses: Any = vars(request)["proxy_bypass_environment"]  # typeshed lacks this function
    return "" if bypasses(host, {"no": no}) else proxy


def connected(host: str, port: int, proxy: SplitResult | None) -> socket.socket:
    """Connect to a host or, if there is a proxy of the user's, to this proxy."""
    if proxy is not None:
        host, port = proxy.hostname or "", proxy.port or (443 if proxy.scheme == "https" else 80)
    plain = socket.create_connection((host, port), _PATIENCE)
    if proxy is None or proxy.scheme != "https":
        return plain
    import ssl

    return ssl.create_default_context().wrap_socket(plain, server_hostname=host)


class Peer(Protocol):
    """What is needed of a connection to a host."""

    def recv(self, size: int, /) -> bytes:
        """Read some bytes; b"" at the end."""
        ...

    def sendall(self, data: bytes, /) -> object:
        """Write all bytes."""
        ...

    def shutdown(self, how: int, /) -> object:
        """Close one side, or both."""
        ...


class SharedTls:
    """A TLS connection that one thread reads while another writes. OpenSSL allows neither at the same time."""

    def __init__(self, tls: Any) -> None:
        self._tls = tls
        self._lock = threading.Lock()
        tls.setblocking(False)

    def _when_ready(self, method: Callable[..., Any], *args: Any) -> Any:
        from ssl import SSLWantReadError, SSLWantWriteError  # imported late, as few proxies speak TLS

        while True:
            try:
                with self._lock:
                    return method(*args)
            except SSLWantReadError:
                wanted = selectors.EVENT_READ
            except SSLWantWriteError:
                wanted = selectors.EVENT_WRITE
            with selectors.DefaultSelector() as selector:
                selector.register(self._tls, wanted)
                selector.select()

    def recv(self, size: int, /) -> bytes:
        """Read some bytes; b"" at the end."""
        data: bytes = self._when_ready(self._tls.recv, size)
        return data

    def sendall(self, data: bytes, /) -> None:
        """Write all bytes."""
        left = memoryview(data)
        while left:
            left = left[self._when_ready(self._tls.send, left) :]

    def shutdown(self, how: int, /) -> None:
        """Close both sides, since TLS cannot close one."""
        socket.socket.shutdown(self._tls, socket.SHUT_RDWR)


def join(child: socket.socket, to_peer: bytes, peer: Peer, to_child: bytes) -> None:
    """Copy bytes between the program and the host, in both directions, until both have closed their connection.

    `to_peer` and `to_child` are bytes of the tunnel that were read together with a head.
    """
    upward = threading.Thread(target=_copy, args=(child, to_peer, peer, socket.SHUT_WR), daemon=True)
    upward.start()
    _copy(peer, to_child, child, socket.SHUT_RDWR)
    upward.join()


def _copy(source: Peer, first: bytes, sink: Peer, ends: int) -> None:
    try:
        if first:
            sink.sendall(first)
        while piece := source.recv(PIECE):
            sink.sendall(piece)
    except OSError:  # one of the two is gone
        ends = socket.SHUT_RDWR
        with suppress(OSError):
            source.shutdown(ends)
    with suppress(OSError):
        sink.shutdown(ends)
