"""The guard: ways to Bedrock that no transport answers are closed, while a fake is open and, if asked, all session.

What the transports answer never comes here. Whatever else looks up, connects to or writes to a host of Bedrock is
stopped with a BlockedConnection, which says which transport to open; the fake remembers it, so that the test fails even
where the error is swallowed. Hosts are read where a connection begins, and once more where a request is written, for
its connection may have been open before: `patch_points` has the places, each with one of the readers below.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from inspect import currentframe, iscoroutinefunction, signature
from types import FrameType
from typing import Any, Final

from converse_harness.errors import BlockedConnection
from converse_harness.intercept import exchange, registry
from converse_harness.intercept.hosts import host_in, hosts_written, is_bedrock_host, is_own_machine, named

_SERVER: Final = (
    "the loopback server: use the fixture `converse_server` and give the client its `fake.environ` or `fake.url`"
)
_HTTPX: Final = "the httpx transport: use the fixture `converse_httpx`"
_LIBRARIES: Final = {
    "httpx": _HTTPX,
    "httpx2": _HTTPX,
    "aiohttp": _SERVER,
    "awscrt": _SERVER,
    "curl_cffi": _SERVER,
    "pycurl": _SERVER,
    "urllib3": _SERVER,
}
"""Which transport answers which library. The one nearest to the socket counts; "socket" stands for all others."""

_ANY_SOCKET: Final = "socket"

_EVENTS: Final = {"socket.getaddrinfo": 0, "socket.gethostbyname": 0, "socket.connect": 1, "socket.sendto": 1}
"""Audit events of the interpreter, with the position of the host, or of the address that begins with it."""

_BLOCKED: Final = (
    "{library} tried to reach {host} while a converse-harness fake is open. That way is not answered by the fake, and "
    "the network is closed to it. The fixture `converse` answers boto3, botocore and aiobotocore; for {library} open "
    "{transport}"
)

_on = False
_installed = False


def switch(on: bool) -> None:
    """Watch, or stop watching. An audit hook stays for the life of the process: it looks at one variable."""
    global _on, _installed
    if on and not _installed:
        _installed = True
        sys.addaudithook(_audit)
    _on = on


def check(host: object) -> None:
    """Raises BlockedConnection for a host of Bedrock where `registry.closing()` says that the way is closed."""
    if _on and is_bedrock_host(host):
        fake = registry.closing()
        if fake is not None:
            raise exchange.refuse(fake, _message(fake, host))


def _message(fake: exchange.BlockingFake, host: object) -> str:
    name = host.decode("utf-8", "replace") if isinstance(host, bytes | bytearray) else str(host)
    callers = [str(frame.f_globals.get("__name__")).partition(".")[0] for frame in _frames()]
    library = next((each for each in callers if each in _LIBRARIES), _ANY_SOCKET)
    if isinstance(fake, exchange.RefusingFake) and fake.behind is None:
        # What boto asks comes here only where no fake could answer it: below botocore is whatever it happens to use.
        return fake.message_for(next((each for each in callers if each in ("aiobotocore", "botocore")), library), name)
    if registry.current() is None and registry.CURRENT_CALL.get() is None:
        return exchange.OUTLIVED.format(name=threading.current_thread().name)
    return _BLOCKED.format(library=library, host=name, transport=_LIBRARIES.get(library, _SERVER))


def _frames() -> Iterator[FrameType]:
    frame = currentframe()
    while frame is not None:
        yield frame
        frame = frame.f_back


@contextmanager
def unwrapped() -> Generator[None, None, None]:
    """Raise the BlockedConnection that a client made an error of its own of, for what botocore would try again."""
    try:
        yield
    except Exception as error:
        seen: BaseException | None = error
        while seen is not None and not isinstance(seen, BlockedConnection):
            seen = seen.__cause__ or seen.__context__
        if seen is None:
            raise
        raise seen from None


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if _on and event in _EVENTS:
        check(_host_of(args[_EVENTS[event]]))


def _host_of(address: Any) -> object:
    return address[0] if isinstance(address, tuple) and address else address


# Readers: the hosts that the arguments of a function name

Read = Callable[..., Iterable[object]]
Replace = Callable[[Any], Any]


def _before(read: Read) -> Replace:
    """What makes a function of another library check the hosts that `read` finds in its arguments, before it runs."""

    def replace(original: Any) -> Any:
        def ask(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if _on:
                for host in read(*args, **kwargs):
                    check(host)

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
    """Other test tools (respx) look at the parameters of the function itself."""
    with suppress(ValueError, TypeError):  # of C
        made.__signature__ = signature(original)
    return made


def _argument(*names: str) -> Replace:
    """The same for arguments by their names, wherever the function of that library has them."""

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
def address(*args: Any) -> Iterator[object]:
    """A method of sockets whose last argument is an address: C looks a name up before the audit hook is told."""
    yield _host_of(args[-1])


@_before
def connection_of_loop(
    loop: object, protocol: object, host: object = None, port: object = None, **options: Any
) -> Iterator[object]:
    """`create_connection` of an event loop that is written in C."""
    yield host
    yield options.get("server_hostname")


@_before
def name_of_loop(loop: object, host: object, *args: Any, **options: Any) -> Iterator[object]:
    """`getaddrinfo` of such a loop."""
    yield host


@_before
def http_request(connection: Any, method: str, url: str, *args: Any, **kwargs: Any) -> Iterator[object]:
    """`HTTPConnection.putrequest` of http.client: to its host, through its tunnel, or for the URL that a proxy gets."""
    yield connection.host
    yield getattr(connection, "_tunnel_host", None)
    yield host_in(url)


@_before
def httpcore_request(pool: object, request: Any) -> Iterator[object]:
    """`handle_request` and `handle_async_request` of httpcore, with whatever version of HTTP."""
    yield request.url.host
    yield host_in(request.url.target.decode("utf-8", "replace"))
    if not is_own_machine(request.url.host):
        yield from (named(value) for name, value in request.headers if name.lower() == b"host")


@_before
def aiohttp_request(connector: object, request: Any, *args: Any, **kwargs: Any) -> Iterator[object]:
    """`BaseConnector.connect` of aiohttp, which gives each request its connection."""
    yield request.url.host
    if not is_own_machine(request.url.host):
        yield named(request.headers.get("Host", ""))


@_before
def awscrt_connection(bootstrap: object, host: object, *args: Any) -> Iterator[object]:
    """The function of awscrt's C library that connects."""
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
def curl_option(handle: object, option: Any, value: Any = None) -> Iterator[object]:
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
    """`Curl` of pycurl, whose methods are C's."""

    class Curl(original):  # type: ignore[misc]  # a class that pycurl has
        setopt = curl_option(original.setopt)

    Curl.__module__, Curl.__qualname__ = original.__module__, original.__qualname__
    return Curl


@_before
def tls_write(connection: Any, data: Any = b"", *args: Any) -> Iterator[object]:
    """A method that writes to TLS, of a socket or in memory."""
    name = getattr(connection, "server_hostname", None)
    yield name
    yield from _written(data, lambda: name or _peer(connection))


@_before
def socket_write(connection: Any, data: Any = b"", *args: Any) -> Iterator[object]:
    """`send` and `sendall` of sockets."""
    return _written(data, lambda: _peer(connection))


@_before
def socket_write_all(connection: Any, buffers: Any = (), *args: Any) -> Iterator[object]:
    """`sendmsg` of sockets; of buffers the first begins a request."""
    first = buffers[0] if isinstance(buffers, list | tuple) and buffers else b""
    return _written(first, lambda: _peer(connection))


@_before
def stream_write(stream: Any, data: Any) -> Iterator[object]:
    """`write` and `writelines` of asyncio's StreamWriter, on whatever event loop."""
    tls = stream.get_extra_info("ssl_object")
    yield getattr(tls, "server_hostname", None)
    first = data[0] if isinstance(data, list | tuple) and data else data
    yield from _written(first, lambda: _host_of(stream.get_extra_info("peername")))


def _written(data: Any, peer: Callable[[], object]) -> Iterator[object]:
    """The hosts that a request names; in a Host header they count where the way leads off this machine."""
    for target, header in hosts_written(data):
        yield target
        if is_bedrock_host(header) and not (target is None and is_own_machine(peer())):
            yield header


def _peer(connection: Any) -> object:
    """Where a socket leads; None where that is not known."""
    try:
        peer = connection.getpeername()
    except (AttributeError, OSError):
        return None
    return peer[0] if isinstance(peer, tuple) else "localhost"  # a socket in the file system
