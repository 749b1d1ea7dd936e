"""Read the requested host from calls of other libraries: one reader per kind of function.

`patch_points` lists the functions. A reader is a generator of hosts from the arguments; a decorator turns it into a
replacement, which checks these hosts while the guard is on and then calls the original.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from inspect import iscoroutinefunction, signature
from typing import Any, Final

from converse_harness.intercept import guard
from converse_harness.intercept.hosts import (
    host_in,
    host_of,
    hosts_written,
    is_bedrock_host,
    is_own_machine,
    named,
    names_bedrock,
)

Read = Callable[..., Iterable[object]]
Replace = Callable[[Any], Any]


def _before(read: Read) -> Replace:
    """Turn the reader `read` into a replacement that checks the hosts of a call before the original function runs.

    `read` must accept any further arguments, because the function may have others in other versions.
    """

    def replace(original: Any) -> Any:
        def ask(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if guard.is_on():
                for host in read(*args, **kwargs):
                    guard.check(host)

        if iscoroutinefunction(original):

            @functools.wraps(original)
            async def checked_async(*args: Any, **kwargs: Any) -> Any:
                ask(args, kwargs)
                return await original(*args, **kwargs)

            return _with_parameters(checked_async, original)

        @functools.wraps(original)
        def checked(*args: Any, **kwargs: Any) -> Any:
            ask(args, kwargs)
            return original(*args, **kwargs)

        return _with_parameters(checked, original)

    return replace


def _with_parameters(made: Any, original: Any) -> Any:
    """Give the wrapper the original's signature, because other test tools (respx) inspect it."""
    with suppress(ValueError, TypeError):  # of C
        made.__signature__ = signature(original)
    return made


def _argument(*names: str) -> Replace:
    """As `_before`, but the reader gets arguments by name, wherever the function has them."""

    def replace(original: Any) -> Any:
        parameters = signature(original)

        def read(*args: Any, **kwargs: Any) -> Iterator[object]:
            given = parameters.bind(*args, **kwargs).arguments
            return map(given.get, names)

        return _before(read)(original)

    return replace


host = _argument("host")
hostname = _argument("hostname")
server_hostname = _argument("server_hostname")


@_before
def address(*args: Any, **more: Any) -> Iterator[object]:
    """A socket method whose last argument is an address: C code resolves its name before the audit hook runs."""
    yield host_of(more.get("address", args[-1]))


@_before
def connection_of_loop(
    loop: object, protocol: object, host: object = None, port: object = None, *args: Any, **options: Any
) -> Iterator[object]:
    """`create_connection` of an event loop written in C."""
    yield host
    yield options.get("server_hostname")


@_before
def name_of_loop(loop: object, host: object, *args: Any, **options: Any) -> Iterator[object]:
    """`getaddrinfo` of an event loop written in C."""
    yield host


@_before
def http_request(connection: Any, method: str, url: str, *args: Any, **kwargs: Any) -> Iterator[object]:
    """`HTTPConnection.putrequest` of http.client: the host is its own, the tunnel's, or the one in a proxy request's
    URL.
    """
    yield connection.host
    yield getattr(connection, "_tunnel_host", None)
    yield host_in(url)


@_before
def httpcore_request(pool: object, request: Any, *args: Any, **more: Any) -> Iterator[object]:
    """`handle_request` and `handle_async_request` of httpcore, for every HTTP version."""
    yield request.url.host
    yield host_in(request.url.target.decode("utf-8", "replace"))
    if not is_own_machine(request.url.host):
        yield from (named(value) for name, value in request.headers if name.lower() == b"host")


@_before
def aiohttp_request(connector: object, request: Any, *args: Any, **kwargs: Any) -> Iterator[object]:
    """`BaseConnector.connect` of aiohttp, which provides the connection for each request."""
    yield request.url.host
    if not is_own_machine(request.url.host):
        yield named(request.headers.get("Host", ""))


@_before
def awscrt_connection(bootstrap: object, host: object, *args: Any, **more: Any) -> Iterator[object]:
    """The connecting function of awscrt's C library."""
    yield host


@_before
def awscrt_request(connection: Any, request: Any, *args: Any, **kwargs: Any) -> Iterator[object]:
    """`request` of awscrt's connections."""
    yield connection.host_name
    yield host_in(request.path or "/")
    if not is_own_machine(connection.host_name):
        yield named(request.headers.get("host") or "")


_URL: Final = 10002
_HEADERS: Final = 10023
_REACHED: Final = (10243, 10203)
"""Options of libcurl: the URL, headers, and hosts that others stand for (CONNECT_TO, RESOLVE)."""


@_before
def curl_option(handle: object, option: Any, value: Any = None, *args: Any, **more: Any) -> Iterator[object]:
    """`Curl.setopt` of curl_cffi and pycurl."""
    if option == _URL:
        yield host_in(_text(value).lstrip("/"))
    elif option == _HEADERS:
        yield from (named(line[5:]) for line in map(_text, value or ()) if line[:5].lower() == "host:")
    elif option in _REACHED:
        yield from (part for entry in map(_text, value or ()) for part in entry.split(":"))


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def curl_handle(original: Any) -> Any:
    """`Curl` of pycurl, whose methods are written in C."""
    return type("Curl", (original,), {"setopt": curl_option(original.setopt), "__module__": original.__module__})


@_before
def tls_write(connection: Any, data: Any = b"", *args: Any, **more: Any) -> Iterable[object]:
    """A method that writes to TLS, over a socket or in memory."""
    name = getattr(connection, "server_hostname", None)
    return (name, *_written(data, lambda: name or _peer(connection)))


@_before
def socket_write(connection: Any, data: Any = b"", *args: Any, **more: Any) -> Iterable[object]:
    """`send` and `sendall` of sockets."""
    return _written(data, lambda: _peer(connection))


@_before
def socket_write_all(connection: Any, buffers: Any = (), *args: Any, **more: Any) -> Iterable[object]:
    """`sendmsg` of sockets; a request begins in the first buffer."""
    return _written(_first(buffers), lambda: _peer(connection))


@_before
def trio_write(stream: Any, data: Any, *args: Any, **more: Any) -> Iterable[object]:
    """`send_all` of trio's SocketStream."""
    return _written(data, lambda: _peer(stream.socket))


@_before
def stream_write(stream: Any, data: Any, *args: Any, **more: Any) -> Iterable[object]:
    """`write` and `writelines` of asyncio's StreamWriter, on whatever event loop."""
    tls = stream.get_extra_info("ssl_object")
    peer = _written(_first(data), lambda: host_of(stream.get_extra_info("peername")))
    return (getattr(tls, "server_hostname", None), *peer)


def _written(data: Any, peer: Callable[[], object]) -> Iterable[object]:
    """The hosts that a request names; the Host header counts only if the connection leaves this machine."""
    return _named_in(data, peer) if names_bedrock(data) else ()


def _named_in(data: Any, peer: Callable[[], object]) -> Iterator[object]:
    for target, header in hosts_written(data):
        yield target
        if is_bedrock_host(header) and not (target is None and is_own_machine(peer())):
            yield header


def _first(data: Any) -> Any:
    """The first of several buffers, in which a request begins."""
    return data[0] if type(data) in (list, tuple) and data else data


def _peer(connection: Any) -> object:
    """The address to which a socket is connected; None if unknown."""
    try:
        peer: Any = connection.getpeername()
    except (AttributeError, OSError):
        return None
    return "localhost" if isinstance(peer, str | bytes) else host_of(peer)  # the first is a socket in the file system
