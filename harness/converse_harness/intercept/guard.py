"""The guard: while a fake is open, ways to Bedrock that no transport answers are closed.

What the transports answer never comes here. Whatever else looks up, connects to or writes to a host of Bedrock is
stopped with a BlockedConnection, which says which transport to open; the fake remembers it, so that the test fails even
where the error is swallowed. Names are watched where a connection begins: at the interpreter's own look-ups and
connections (an audit hook, and the methods of sockets), at the server name of a TLS handshake (which also sees proxies
and resolvers that are not Python's), and at the look-ups of asyncio and aiohttp (where it can still be seen who asked).
They are watched again where a request is written, for its connection may have been open before the fake: by http.client
(under urllib3 and requests), by httpcore (under httpx), and by whatever writes to Python's TLS.
"""

from __future__ import annotations

import functools
import os
import re
import sys
import threading
from collections.abc import Mapping
from inspect import currentframe, signature
from typing import Any
from urllib.parse import urlsplit

from converse_harness.intercept import exchange, registry
from converse_harness.intercept.clients import ENDPOINTS, is_loopback
from converse_harness.intercept.exchange import RefusingFake

_DOMAINS = (
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

_HOSTS = re.compile(
    r"(?:^|\.)bedrock(?:-[a-z0-9-]+)?"  # bedrock, bedrock-runtime, bedrock-runtime-fips; below it, what a service adds
    r"\.[a-z0-9-]+"  # the region
    rf"(?:\.vpce)?\.(?:{'|'.join(map(re.escape, _DOMAINS))})\.?$",
    re.IGNORECASE,
)
"""A host of any Bedrock service: `bedrock-runtime-fips.us-east-1.amazonaws.com`, `vpce-1.bedrock.eu-west-1.vpce...`."""

_SERVER = "the loopback server: use the fixture `converse_server` and give the client its `fake.environ` or `fake.url`"
_HTTPX = "the httpx transport: use the fixture `converse_httpx`"
_LIBRARIES = {
    "httpx": _HTTPX,
    "httpx2": _HTTPX,
    "aiohttp": _SERVER,
    "urllib3": _SERVER,
}
"""Which transport answers which library. The one nearest to the socket counts; OTHERS stands for all that are not here.
"""

_ANY_SOCKET = "socket"

_EVENTS = {"socket.getaddrinfo": 0, "socket.gethostbyname": 0, "socket.connect": 1, "socket.sendto": 1}
"""Audit events of the interpreter, with the position of the host, or of the address that begins with it."""

_BLOCKED = (
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


def is_bedrock_host(host: object) -> bool:
    """Whether a host name, str or bytes, belongs to Bedrock."""
    if isinstance(host, bytes | bytearray):
        host = host.decode("ascii", "replace")
    return isinstance(host, str) and _HOSTS.search(host) is not None


def check(host: object) -> None:
    """Raises BlockedConnection for a host of Bedrock while a fake is open, or in a thread that outlived one."""
    if _on and is_bedrock_host(host):
        fake = registry.blocking_fake()
        if fake is not None:
            raise exchange.refuse(fake, _message(fake, host))


def _message(fake: exchange.OpenFake, host: object) -> str:
    if isinstance(fake, exchange.RefusingFake) and fake.behind is None:
        return fake.message  # in a child process no transport helps
    if registry.current() is None and registry.CURRENT_CALL.get() is None:
        return exchange.OUTLIVED.format(name=threading.current_thread().name)
    name = host.decode("ascii") if isinstance(host, bytes | bytearray) else str(host)
    library = _library()
    return _BLOCKED.format(library=library, host=name, transport=_LIBRARIES.get(library, _SERVER))


def _library() -> str:
    frame = currentframe()
    while frame is not None:
        library = str(frame.f_globals.get("__name__")).partition(".")[0]
        if library in _LIBRARIES:
            return library
        frame = frame.f_back
    return _ANY_SOCKET


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if not _on or event not in _EVENTS:
        return
    check(_host(args, _EVENTS[event]))


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


def _checked(name: str) -> Any:
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


checked_host = _checked("host")
checked_server_name = _checked("server_hostname")


def checked_http_request(original: Any) -> Any:
    """`HTTPConnection.putrequest` of http.client: to its host, through its tunnel, or for the URL that a proxy gets."""

    @functools.wraps(original)
    def putrequest(self: Any, method: str, url: str, *args: Any, **kwargs: Any) -> Any:
        if _on:
            for host in (self.host, getattr(self, "_tunnel_host", None), _host_in(url)):
                check(host)
        return original(self, method, url, *args, **kwargs)

    return putrequest


def checked_httpcore_request(original: Any) -> Any:
    """`HTTPConnection.handle_request` of httpcore."""

    @functools.wraps(original)
    def handle_request(self: Any, request: Any) -> Any:
        if _on:
            _check_httpcore(request)
        return original(self, request)

    return handle_request


def checked_httpcore_request_async(original: Any) -> Any:
    """`AsyncHTTPConnection.handle_async_request` of httpcore."""

    @functools.wraps(original)
    async def handle_async_request(self: Any, request: Any) -> Any:
        if _on:
            _check_httpcore(request)
        return await original(self, request)

    return handle_async_request


def _check_httpcore(request: Any) -> None:
    check(request.url.host)
    check(_host_in(request.url.target.decode("ascii", "replace")))


def checked_write(original: Any) -> Any:
    """A method that writes to TLS, of a socket or in memory."""

    @functools.wraps(original)
    def write(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _on:
            check(getattr(self, "server_hostname", None))
        return original(self, *args, **kwargs)

    return write


def _host_in(target: str) -> str | None:
    """The host in the target of a request to a proxy, `http://host/path` or `host:443`; None in one that is a path."""
    if target.startswith("/"):
        return None
    try:
        return urlsplit(target if "://" in target else f"//{target}").hostname
    except ValueError:
        return None


CLOSED_PORT_URL = (
    "http://127.0.0.1:1/this-process-was-started-inside-a-converse-harness-fake--give-it-converse_server.environ"
)
_SPAWNED = (
    "a call to Bedrock from process {child}, which process {parent} started while a converse-harness fake was open "
    "there. A fake answers in its own process only. Give the child the loopback server: use the fixture "
    "`converse_server` and put `fake.environ` into the child's environment"
)


def start_thread(original: Any) -> Any:
    """`Thread.start`: a thread that outlived its fake hands that on to the threads it starts."""

    @functools.wraps(original)
    def start(self: Any) -> Any:
        registry.inherit(self)
        return original(self)

    return start


def start_process(original: Any) -> Any:
    """`BaseProcess.start` of multiprocessing: the child refuses as soon as the process is unpickled there."""

    @functools.wraps(original)
    def start(self: Any) -> Any:
        if registry.blocking_fake() is None:
            return original(self)
        self._converse_harness = _RefuseInChild()
        try:
            return original(self)
        finally:
            del self._converse_harness

    return start


class _RefuseInChild:
    """Travels with a process object; to unpickle it is to refuse."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _refuse_in_child, (os.getpid(),)


def _refuse_in_child(parent: int) -> None:
    """From now on every call to Bedrock from this process is refused, unless it opens a fake of its own."""
    if os.getpid() != parent:
        registry.open_fake(RefusingFake(_SPAWNED.format(child=os.getpid(), parent=parent)), boto=False)


def start_program(original: Any) -> Any:
    """`Popen.__init__`: the environment of the child, and only that, leads away from Bedrock."""
    parameters = signature(original)

    @functools.wraps(original)
    def start_elsewhere(*args: Any, **kwargs: Any) -> Any:
        if registry.blocking_fake() is None:
            return original(*args, **kwargs)
        bound = parameters.bind(*args, **kwargs)
        bound.arguments["env"] = away_from_bedrock(bound.arguments.get("env"))
        return original(*bound.args, **bound.kwargs)

    return start_elsewhere


def away_from_bedrock(env: Mapping[Any, Any] | None) -> dict[str, str]:
    """A copy of `env` (None: of this process's environment) in which no endpoint of Bedrock leads off the loopback."""
    child = {os.fsdecode(name): os.fsdecode(value) for name, value in (os.environ if env is None else env).items()}
    everywhere = is_loopback(child.get("AWS_ENDPOINT_URL", ""))
    for name in ENDPOINTS:
        covered = everywhere and name.startswith("AWS_ENDPOINT_URL_") and name not in child
        if not covered and not is_loopback(child.get(name, "")):
            child[name] = CLOSED_PORT_URL
    # A real key; and boto refuses any over plain HTTP, which is what the loopback speaks.
    child.pop("AWS_BEARER_TOKEN_BEDROCK", None)
    child["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "false"
    # Without keys an SDK would ask the metadata service of a machine that has none.
    child.setdefault("AWS_EC2_METADATA_DISABLED", "true")
    return child
