"""The guard blocks all connections to Bedrock that no transport intercepts.

It is active while a fake is open; with `converse_guard = session`, it is active during the whole session. Calls that a
transport answers do not reach this module. Code that looks up, connects to or writes to a Bedrock host in any other way
gets a BlockedConnection, which recommends a transport. The fake keeps this error, so that the test fails even if the
tested code catches the error. Hosts are checked when a connection begins, and again when a request is written, because
the connection may be older than the fake. The module `patch_points` lists the patched functions; the module
`host_readers` finds the host in their arguments.
"""

from __future__ import annotations

import sys
import threading
from inspect import currentframe
from traceback import walk_stack, walk_tb
from typing import Any, Final

from converse_harness.endpoint.own_answers.unknown_paths import OF_ITS_OWN, OTHER_API, other_api
from converse_harness.errors import BlockedConnection
from converse_harness.intercept import exchange
from converse_harness.intercept.guard.advice import LIBRARIES, advice_for
from converse_harness.intercept.guard.hosts import host_in, host_of, is_bedrock_host, text
from converse_harness.intercept.registry import CURRENT_CALL, OPEN_FAKES
from converse_harness.secrets.mask import mask

_EVENTS: Final = {"socket.getaddrinfo": 0, "socket.gethostbyname": 0, "socket.connect": 1, "socket.sendto": 1}
"""Maps Python's audit events to the index of the argument that contains the host or socket address."""

_BLOCKED: Final = (
    "{library} tried to reach {host} while a converse-harness fake is open. That way is not answered by the fake, and "
    "the network is closed to it. {advice}   More: converse-harness docs transports"
)

_OTHER_API: Final = "{library} asked {host} for {path}, {other} The network is closed to it. {advice}"


def check(*hosts: object, path: str = "") -> None:
    """Raise BlockedConnection if one of the hosts is a Bedrock host, unless connections to Bedrock are allowed now.

    `path` is the path of the request, if it is known. It only decides which advice the error gives.
    """
    for host in hosts:
        if host is not None and is_bedrock_host(host) and (fake := OPEN_FAKES.blocker()) is not None:
            raise exchange.refuse(fake, _message(fake, host, path))


def _message(fake: exchange.OpenFake, host: object, path: str) -> str:
    name = text(host)
    callers = [str(frame.f_globals.get("__name__")).partition(".")[0] for frame, _ in walk_stack(currentframe())]
    library = next((each for each in callers if each in LIBRARIES), "socket")
    if (api := other_api(path)) is not None:
        path, other = mask(path.partition("?")[0]), OTHER_API.format(api=api)
        return _OTHER_API.format(library=library, host=name, path=path, other=other, advice=OF_ITS_OWN.python)
    if isinstance(fake, exchange.RefusingFake) and fake.behind is None:
        # This process has no fake that could answer: `fake` only refuses calls. If botocore made the call, the error
        # message names botocore, not the HTTP library that botocore uses.
        return fake.message_for(next((each for each in callers if each in ("aiobotocore", "botocore")), library), name)
    if OPEN_FAKES.newest() is None and CURRENT_CALL.get() is None:
        return exchange.OUTLIVED.format(name=threading.current_thread().name)
    answered = OPEN_FAKES.http_answers(library) is not None
    return _BLOCKED.format(library=library, host=name, advice=advice_for(library, answered=answered))


def raise_blocked(error: Exception) -> None:
    """Raise the BlockedConnection that `error` wraps, if there is one.

    botocore would treat `error` itself as a connection failure and retry the request.
    """
    seen: BaseException | None = error
    while seen is not None and not isinstance(seen, BlockedConnection):
        seen = seen.__cause__ or seen.__context__
    if seen is not None:
        raise seen from None


def refuse_unsigned(error: Exception, endpoint: str) -> None:
    """Raise BlockedConnection if `check` refuses the endpoint's host and botocore failed to sign a request to it.

    `error` is botocore's exception: botocore found no keys or could not load them, so it wrote no request that `check`
    could refuse.
    """
    if _came_from_signer(error):
        try:
            check(host_in(endpoint))
        except BlockedConnection as blocked:
            raise blocked from None


def _came_from_signer(error: Exception) -> bool:
    """Whether botocore's signer raised the error. The signer also calls hooks of users, whose errors do not count."""
    modules = [str(frame.f_globals.get("__name__")) for frame, _ in walk_tb(error.__traceback__)]
    since = next((number for number, name in enumerate(modules) if name in _SIGNERS), len(modules))
    inside = [name for name in modules[since:] if name not in _SIGNERS]
    return since < len(modules) and inside[:1] not in _HOOKS


_SIGNERS: Final = ("botocore.signers", "aiobotocore.signers")
_HOOKS: Final = (["botocore.hooks"], ["aiobotocore.hooks"])


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if event in _EVENTS:
        check(host_of(args[_EVENTS[event]]))


sys.addaudithook(_audit)  # a hook cannot be removed; therefore this module is imported only with the first patch
