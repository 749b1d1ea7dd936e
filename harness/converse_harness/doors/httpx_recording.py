"""Which clients and requests of httpx are a fake's.

While a fake that records is open, whatever a client of this process asks a host of Bedrock is passed on and written
down; so is what it asks the address that the environment names as Bedrock's, or the test as `upstream`. Every other
host, and a transport that is not httpx's own, is heard through `httpx_transports` only.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from converse_harness.doors import contract, registry
from converse_harness.doors.environ import ENDPOINTS
from converse_harness.doors.fake import Fake
from converse_harness.doors.guard import is_bedrock_host
from converse_harness.doors.httpx_bodies import read
from converse_harness.doors.httpx_passing import PASSING
from converse_harness.errors import ReplyError
from converse_harness.recordings.tape import AnyExchange

NOT_OPEN: Final = (
    "a client asked Bedrock over the transport of a fake that is not open. Its test is over, or its `with` block "
    "has not begun: make the client anew for each fake, with the transport of that fake"
)

RESPX_SEES: Final = "httpx"
"""The library whose clients an HttpxFake answers through respx."""

PORTS: Final = {"http": 80, "https": 443}
"""Where a URL without a port leads."""


class Opened(NamedTuple):
    """A fake that hears what httpx asks, and its process.

    `upstream` is the address that is asked in place of Bedrock, if there is one. `respx`: it answers clients of httpx
    through that, and is asked at the transport only while it records.
    """

    fake: Fake
    upstream: str
    respx: bool
    process: int


_open: tuple[Opened, ...] = ()
"""Newest first; never changed but replaced, as other threads look at it meanwhile."""


@contextmanager
def listening(fake: Fake, upstream: str = "", *, respx: bool = False) -> Generator[None, None, None]:
    """For a `with` block the clients of httpx and httpx2 are this fake's, for what they ask Bedrock or `upstream`.

    Raises ReplyError for an `upstream` that is no URL.
    """
    if upstream:
        address_of(upstream)
    entry = Opened(fake, upstream, respx, os.getpid())
    try:
        try:
            registry.alone(lambda: _listen(entry))
            yield
        finally:
            registry.alone(lambda: _forget(entry))
    finally:
        # Again, for an interrupt at the door of the first one: forgetting twice does nothing.
        registry.alone(lambda: _forget(entry))


def _listen(entry: Opened) -> None:
    global _open
    _open = (entry, *_open)


def _forget(entry: Opened) -> None:
    global _open
    _open = tuple(opened for opened in _open if opened is not entry)


def recording_is_on() -> bool:
    """Whether the newest fake passes on: then no older one answers."""
    opened = next(iter(_open), None)
    return opened is not None and opened.fake.records


class Address(NamedTuple):
    """Where a URL leads, with the path below which everything is Bedrock."""

    scheme: str
    host: str
    port: int | None
    path: str


def address_of(url: str) -> Address:
    """The parts of a URL that stands for Bedrock. Raises ReplyError for what is none."""
    try:
        parts = urlsplit(url)
        found = Address(parts.scheme, parts.hostname or "", parts.port or PORTS.get(parts.scheme), parts.path)
    except ValueError:
        found = Address("", "", None, "")
    if not found.host or found.scheme not in PORTS:
        raise ReplyError(
            f"upstream={url!r}: the URL of what answers in place of Bedrock, http://127.0.0.1:8080 perhaps."
        )
    return found


def _is_for_bedrock(url: Any, opened: Opened) -> bool:
    """Whether a request to this URL belongs to the fake."""
    return is_bedrock_host(url.host) or any(_leads_to(url, address) for address in _upstreams(opened))


def _upstreams(opened: Opened) -> Iterator[Address]:
    if opened.upstream:
        yield address_of(opened.upstream)
    if opened.fake.records:
        for name in ENDPOINTS:
            with suppress(ReplyError):  # one that makes no sense is not for us to judge
                yield address_of(os.environ.get(name, ""))


def _leads_to(url: Any, address: Address) -> bool:
    place = (url.scheme, url.host, url.port or PORTS.get(url.scheme))
    path: str = url.raw_path.decode("ascii").partition("?")[0]
    return place == address[:3] and f"{path}/".startswith(f"{address.path.rstrip('/')}/")


def exchange_of(fake: Fake, request: Any) -> AnyExchange:
    """What a fake says to a request whose body is read. Raises BlockedConnection where the fake is not open."""
    opened = next((opened for opened in _open if opened.fake is fake), None)
    if opened is None:
        raise contract.refuse(fake, NOT_OPEN)
    if opened.process != os.getpid():
        raise contract.refuse(fake, contract.FORKED.format(child=os.getpid(), parent=opened.process))
    return fake.exchange(read(request))


def fake_for(request: Any, library: str) -> Fake | None:
    """The fake to which a request of a library belongs at its transport: the newest, if it is one of Bedrock's."""
    opened = next(iter(_open), None)
    if opened is None or not _is_for_bedrock(request.url, opened):
        return None
    if opened.fake.records:
        # What a transport passes on, or the boto door, is written down there.
        return None if PASSING.get() or registry.HELD.get() is not None else opened.fake
    return None if opened.respx and library == RESPX_SEES else opened.fake
