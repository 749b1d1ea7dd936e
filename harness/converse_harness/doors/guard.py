"""The guard: while a fake is open, no other way leads to Bedrock.

What the doors answer never comes here. Anything else that looks up or connects to a host of Bedrock is stopped with a
BlockedConnection, which says which door to open; the fake remembers it, so that the test fails even where the error is
swallowed. Names are watched at three places: the interpreter's own look-ups and connections (an audit hook, and the
methods of sockets), the server name of a TLS handshake (which also sees proxies and resolvers that are not Python's),
and the look-ups of asyncio and aiohttp (where it can still be seen who asked).
"""

from __future__ import annotations

import functools
import re
import sys
import threading
from inspect import currentframe, signature
from typing import Any

from converse_harness.doors import contract, registry

DOMAINS = (
    "amazonaws.com",
    "api.aws",
    "amazonaws.com.cn",
    "api.amazonwebservices.com.cn",
    "amazonaws.eu",
    "api.amazonwebservices.eu",
    "c2s.ic.gov",
    "api.aws.ic.gov",
    "sc2s.sgov.gov",
    "api.aws.scloud",
    "cloud.adc-e.uk",
    "api.cloud-aws.adc-e.uk",
    "csp.hci.ic.gov",
    "api.aws.hci.ic.gov",
)
"""Where AWS is: a plain and a dual-stack domain for each partition of botocore's `partitions.json`."""

HOSTS = re.compile(
    r"(?:^|\.)bedrock(?:-[a-z0-9-]+)?"  # bedrock, bedrock-runtime, bedrock-runtime-fips; below it, what a service adds
    r"\.[a-z0-9-]+"  # the region
    rf"(?:\.vpce)?\.(?:{'|'.join(map(re.escape, DOMAINS))})\.?$",
    re.IGNORECASE,
)
"""A host of any Bedrock service: `bedrock-runtime-fips.us-east-1.amazonaws.com`, `vpce-1.bedrock.eu-west-1.vpce...`."""

SERVER = "the loopback server: use the fixture `converse_server` and give the client its `fake.environ` or `fake.url`"
HTTPX = "the httpx door: use the fixture `converse_httpx`"
LIBRARIES = {
    "httpx": HTTPX,
    "httpx2": HTTPX,
    "aiohttp": SERVER,
    "urllib3": SERVER,
}
"""Which door answers which library. The one nearest to the socket counts; OTHERS stands for all that are not here."""

OTHERS = "socket"

EVENTS = {"socket.getaddrinfo": 0, "socket.gethostbyname": 0, "socket.connect": 1, "socket.sendto": 1}
"""Audit events of the interpreter, with the position of the host, or of the address that begins with it."""

BLOCKED = (
    "{library} tried to reach {host} while a converse-harness fake is open. That way is not answered by the fake, and "
    "the network is closed to it. The fixture `converse` answers boto3, botocore and aiobotocore; for {library} open "
    "{door}"
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


def is_bedrock_host(host: object) -> bool:
    """Whether a host name, str or bytes, belongs to Bedrock."""
    if isinstance(host, bytes | bytearray):
        host = host.decode("ascii", "replace")
    return isinstance(host, str) and HOSTS.search(host) is not None


def check(host: object) -> None:
    """Raises BlockedConnection for a host of Bedrock while a fake is open, or in a thread that outlived one."""
    if _on and is_bedrock_host(host):
        fake = registry.guarding()
        if fake is not None:
            raise contract.refuse(fake, _message(fake, host))


def _message(fake: contract.OpenFake, host: object) -> str:
    if isinstance(fake, contract.RefusingFake) and fake.behind is None:
        return fake.message  # in a child process no door helps
    if registry.current() is None and registry.HELD.get() is None:
        return contract.OUTLIVED.format(name=threading.current_thread().name)
    name = host.decode("ascii") if isinstance(host, bytes | bytearray) else str(host)
    library = _library()
    return BLOCKED.format(library=library, host=name, door=LIBRARIES.get(library, SERVER))


def _library() -> str:
    frame = currentframe()
    while frame is not None:
        library = str(frame.f_globals.get("__name__")).partition(".")[0]
        if library in LIBRARIES:
            return library
        frame = frame.f_back
    return OTHERS


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if not _on or event not in EVENTS:
        return
    check(_host(args, EVENTS[event]))


def _host(args: tuple[Any, ...], at: int) -> object:
    return args[at][0] if isinstance(args[at], tuple) and args[at] else args[at]


def checked_address(original: Any) -> Any:
    """A method of sockets whose last argument is an address: C looks a name up before the audit hook is told."""

    @functools.wraps(original)
    def watched(*args: Any) -> Any:
        if _on:
            check(_host(args, len(args) - 1))
        return original(*args)

    return watched


def checked(name: str) -> Any:
    """A replacement that checks its argument `name`, a host, before the original runs."""

    def replace(original: Any) -> Any:
        parameters = signature(original)

        @functools.wraps(original)
        def watched(*args: Any, **kwargs: Any) -> Any:
            if _on:
                check(parameters.bind(*args, **kwargs).arguments.get(name))
            return original(*args, **kwargs)

        return watched

    return replace
