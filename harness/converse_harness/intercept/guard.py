"""The guard: blocks all ways to Bedrock that no transport covers, while a fake is open or, by `session_guard`, for a
whole session.

Calls that a transport answers never get here. All other code that looks up, connects to or writes to a Bedrock host
gets a BlockedConnection, which names the transport to open; the fake remembers it, so that the test fails even if the
error is swallowed. Hosts are checked when a connection begins, and again when a request is written, because its
connection may be older than the fake. `patch_points` lists the places, `reads` gets the host from each.
"""

from __future__ import annotations

import sys
import threading
from inspect import currentframe
from traceback import walk_stack
from typing import Any, Final

from converse_harness.errors import BlockedConnection
from converse_harness.intercept import exchange, registry
from converse_harness.intercept.hosts import host_of, is_bedrock_host, text

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

_EVENTS: Final = {"socket.getaddrinfo": 0, "socket.gethostbyname": 0, "socket.connect": 1, "socket.sendto": 1}
"""Audit events of the interpreter, with the position of the host, or of the address that begins with it."""

_BLOCKED: Final = (
    "{library} tried to reach {host} while a converse-harness fake is open. That way is not answered by the fake, and "
    "the network is closed to it. The fixture `converse` answers boto3, botocore and aiobotocore; for {library} open "
    "{transport}"
)


def check(*hosts: object) -> None:
    """Raises BlockedConnection for a Bedrock host if `registry.closing()` returns a fake that blocks it."""
    for host in hosts:
        if host is not None and is_bedrock_host(host):
            fake = registry.closing()
            if fake is not None:
                raise exchange.refuse(fake, _message(fake, host))


def _message(fake: exchange.BlockingFake, host: object) -> str:
    name = text(host)
    callers = [str(frame.f_globals.get("__name__")).partition(".")[0] for frame, _ in walk_stack(currentframe())]
    library = next((each for each in callers if each in _LIBRARIES), "socket")
    if isinstance(fake, exchange.RefusingFake) and fake.behind is None:
        # boto gets here only when no fake could answer it; the library below botocore may be any.
        return fake.message_for(next((each for each in callers if each in ("aiobotocore", "botocore")), library), name)
    if registry.current() is None and registry.CURRENT_CALL.get() is None:
        return exchange.OUTLIVED.format(name=threading.current_thread().name)
    return _BLOCKED.format(library=library, host=name, transport=_LIBRARIES.get(library, _SERVER))


def raise_blocked(error: Exception) -> None:
    """Re-raise the BlockedConnection that a client wrapped in an error of its own, which botocore would retry."""
    seen: BaseException | None = error
    while seen is not None and not isinstance(seen, BlockedConnection):
        seen = seen.__cause__ or seen.__context__
    if seen is not None:
        raise seen from None


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if event in _EVENTS:
        check(host_of(args[_EVENTS[event]]))


sys.addaudithook(_audit)  # it cannot be removed; this module is loaded when something is first replaced
