"""Find the requested hosts in the arguments of other libraries' functions. `patch_points` lists these functions.

A reader is a function that returns the hosts in the arguments of one kind of call. The decorator `_before` turns a
reader into a decorator for the other library's function: the decorated function first checks these hosts.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from inspect import iscoroutinefunction, signature
from typing import Any, Final

from converse_harness.errors import BlockedConnection
from converse_harness.intercept.guard import connections, hosts
from converse_harness.intercept.patches import replacement


def _nothing(*args: Any, **more: Any) -> Iterable[object]:
    return ()


def _no_path(*args: Any, **more: Any) -> str:
    return ""


def _before(
    read: Callable[..., Iterable[object]],
    refused: Callable[..., object] = _nothing,
    path: Callable[..., str] = _no_path,
) -> Callable[[Any], Any]:
    """Return a decorator for functions of other libraries: before a call, the hosts in `read(arguments)` are checked.

    `read` must accept more arguments than it uses, because the function may have more in other releases of its library.
    If a call is refused, `refused` gets its arguments too: it puts right what the library did before the call. `path`
    returns the path of the request that is in the arguments.
    """

    def replace(original: Any) -> Any:
        def checked(*args: Any, **kwargs: Any) -> Any:
            try:
                connections.check(*read(*args, **kwargs), path=path(*args, **kwargs))
            except BlockedConnection:
                refused(*args, **kwargs)
                raise
            return original(*args, **kwargs)

        async def checked_async(*args: Any, **kwargs: Any) -> Any:
            return await checked(*args, **kwargs)

        # Other test tools (respx) inspect whether a function is a coroutine function, and its signature.
        made: Any = functools.wraps(original)(checked_async if iscoroutinefunction(original) else checked)
        with suppress(ValueError, TypeError):  # functions written in C may have no signature
            made.__signature__ = signature(original)
        return made

    return replace


def by_name(original: Any) -> Any:
    """Replace a function that has parameters for hosts: first check the hosts in these."""
    parameters = signature(original)

    def read(*args: Any, **kwargs: Any) -> Iterator[object]:
        given = parameters.bind(*args, **kwargs).arguments
        yield from map(given.get, ("host", "hostname", "server_hostname", "qname"))
        if "target" in given:  # of gRPC: "host:443" or "dns:///host:443"
            yield hosts.host_in(str(given["target"]).rpartition("/")[2])

    return _before(read)(original)


@_before
def address(*args: Any, **more: Any) -> Iterable[object]:
    """Read the host from the address, which is the last argument of a socket method.

    An audit hook would be too late: the C code has already looked up the host when the hook runs.
    """
    return (hosts.host_of(more.get("address", args[-1])),)


@_before
def connection_of_loop(loop: object, make: object, host: object = None, *args: Any, **options: Any) -> Iterable[object]:
    """Read the host and the server name from `create_connection` of an event loop written in C."""
    return host, options.get("server_hostname")


@_before
def second(first: object, host: object, *args: Any, **more: Any) -> Iterable[object]:
    """Read the host from the second argument of a C function: uvloop's `getaddrinfo`, or awscrt's connect."""
    return (host,)


@_before
def http_request(connection: Any, method: str, url: str, *args: Any, **kwargs: Any) -> Iterable[object]:
    """Read the hosts from http.client's `putrequest`: host of the connection, host of its tunnel, host in the URL."""
    return connection.host, getattr(connection, "_tunnel_host", None), hosts.host_in(url)


def _in_httpcore(holder: object, request: Any, *args: Any, **more: Any) -> Iterable[object]:
    """Read the hosts from httpcore's `handle_request` and `handle_async_request`, for every HTTP version."""
    headers = (value for name, value in request.headers if name.lower() == b"host")
    return _of_request(request.url.host, hosts.text(request.url.target), *headers)


def _path_in_httpcore(holder: object, request: Any, *args: Any, **more: Any) -> str:
    return hosts.text(request.url.target)


def httpcore_pool(original: Any) -> Any:
    """Replace the method of httpcore's pools that gets a request: refuse the request before it takes a connection.

    respx, and vcrpy before its release 9, replace this method by functions that answer without a connection. What such
    a function does not answer is refused by `httpcore_connection`.
    """
    own = is_of_httpcore(original)
    return (_before(_in_httpcore, path=_path_in_httpcore) if own else _before(_nothing))(original)


def is_of_httpcore(function: Any) -> str:
    """Return "httpcore" or "httpcore2" if a function is of this library, and "" if another tool has put it there."""
    # A wrapper may copy the name and module of what it wraps, but not the globals.
    library = str(getattr(function, "__globals__", {}).get("__name__")).partition(".")[0]
    return library if library in ("httpcore", "httpcore2") else ""


def httpcore_connection(original: Any) -> Any:
    """Replace the method of httpcore's connections that gets a request. The connection may not belong to a pool."""
    return _before(_in_httpcore, _mark_as_failed, _path_in_httpcore)(original)


def _mark_as_failed(connection: Any, *args: Any, **more: Any) -> None:
    """Make a pool of httpcore drop its new connection.

    A pool counts a connection before it connects. If that fails, `handle_request` marks the connection, so that the
    pool no longer counts it. A refusal in front of `handle_request` must set the same mark. A connection that is open
    needs no mark: it has not yet taken the request, so the pool will use it again.
    """
    if getattr(connection, "_connection", connection) is None:
        connection._connect_failed = True


def _in_aiohttp(connector: object, request: Any, *args: Any, **kwargs: Any) -> Iterable[object]:
    return _of_request(request.url.host, "/", request.headers.get("Host", ""))


def _path_in_aiohttp(connector: object, request: Any, *args: Any, **kwargs: Any) -> str:
    return str(request.url.raw_path)


def aiohttp_request(original: Any) -> Any:
    """Replace aiohttp's `BaseConnector.connect`, which provides the connection for each request."""
    return _before(_in_aiohttp, path=_path_in_aiohttp)(original)


@_before
def awscrt_request(stream: object, connection: Any, request: Any, *args: Any, **kwargs: Any) -> Iterable[object]:
    """Read the hosts from the C function that begins every request of awscrt, also those of `awscrt.aio`."""
    return _of_request(connection.host_name, request.path or "/", request.headers.get("host") or "")


def _of_request(host: Any, target: str, *headers: bytes | str) -> Iterable[object]:
    """Return the hosts of a request. The Host header is ignored if the connection goes to this machine."""
    return host, hosts.host_in(target), *(() if hosts.is_own_machine(host) else map(hosts.named, headers))


_URL: Final = 10002
_HEADERS: Final = 10023
_REACHED: Final = (10243, 10203)
"""The numbers of libcurl's options CONNECT_TO and RESOLVE, which connect to another host than that of the URL."""


@_before
def curl_option(handle: object, option: Any, value: Any = None, *args: Any, **more: Any) -> Iterator[object]:
    """Read the hosts from `Curl.setopt` of curl_cffi and pycurl."""
    if option == _URL:
        yield hosts.host_in(hosts.text(value).lstrip("/"))
    elif option == _HEADERS:
        yield from (hosts.named(line[5:]) for line in map(hosts.text, value or ()) if line[:5].lower() == "host:")
    elif option in _REACHED:
        yield from (part for entry in map(hosts.text, value or ()) for part in entry.split(":"))


@replacement
def curl_options(original: Any, curl: Any, *args: Any, **more: Any) -> Any:
    """Replace the function with which sessions of curl_cffi set all options of a request, one after the other.

    A blocking session has one handle, and resets it only after a request. If an option is refused, the options before
    it would be part of the next request, to any host: its method, its body and its headers.
    """
    try:
        return original(curl, *args, **more)
    except BlockedConnection:
        curl.clean_handles_and_buffers()
        curl.reset()
        raise


def curl_handle(original: Any) -> Any:
    """Replace pycurl's class `Curl`, whose methods cannot be replaced, by a subclass whose `setopt` checks hosts."""
    return type("Curl", (original,), {"setopt": curl_option(original.setopt), "__module__": original.__module__})


@_before
def write(connection: Any, data: Any = b"", *args: Any, **more: Any) -> Iterable[object]:
    """Read the hosts from a write to a socket, to a TLS object (SSLSocket, SSLObject), or to trio's SocketStream."""
    name = getattr(connection, "server_hostname", None)
    written = hosts.written_in(data)
    return (name,) if written is None else (name, *_of_head(*written, name or _peer(connection)))


@_before
def sent_file(connection: Any, file: Any, offset: int = 0, *args: Any, **more: Any) -> Iterable[object]:
    """Read the hosts from the start of a file that `socket.sendfile` sends.

    A file without a descriptor is sent with `socket.send`, where its start is read. On Windows, all files are.
    """
    if sys.platform != "win32":
        with suppress(AttributeError, OSError, ValueError):
            written = hosts.written_in(os.pread(file.fileno(), _READ, offset))
            return () if written is None else _of_head(*written, _peer(connection))
    return ()


_READ: Final = 16_384
"""The number of bytes of a file in which a head is searched."""


@_before
def openssl_write(connection: Any, buf: Any, *args: Any, **more: Any) -> Iterable[object]:
    """Read the hosts from a write to a Connection of pyOpenSSL."""
    name = connection.get_servername()
    written = hosts.written_in(buf)
    return (name,) if written is None else (name, *_of_head(*written, name or _peer(connection)))


@_before
def stream_write(stream: Any, data: Any, *args: Any, **more: Any) -> Iterable[object]:
    """Read the hosts from `write` and `writelines` of asyncio's StreamWriter, on any event loop."""
    name = getattr(stream.get_extra_info("ssl_object"), "server_hostname", None)
    written = hosts.written_in(data)
    peer = hosts.host_of(stream.get_extra_info("peername"))
    return (name,) if written is None else (name, *_of_head(*written, peer))


def _of_head(target: str | None, header: str | None, peer: object) -> Iterable[object]:
    """Return the hosts of a written request: `target` is the host in its target, `header` that in its Host header.

    The Host header is ignored if the target is only a path and the `peer` of the connection is this machine.
    """
    return (target,) if target is None and hosts.is_own_machine(peer) else (target, header)


def _peer(connection: Any) -> object:
    """Return the host to which a socket (or trio's stream over a socket) is connected; None if it is unknown."""
    try:
        peer: Any = getattr(connection, "socket", connection).getpeername()
    except (AttributeError, OSError):
        return None
    # The address of a Unix socket is a path.
    return "localhost" if isinstance(peer, str | bytes) else hosts.host_of(peer)
