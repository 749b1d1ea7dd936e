"""What the suites of real clients share: questions, retry counts, and no way to AWS but the fake."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import botocore.session
import pytest
from botocore.retries.standard import DEFAULT_MAX_ATTEMPTS

_watching: list[list[object]] = []


def _watch(event: str, args: tuple[Any, ...]) -> None:
    if not _watching or event not in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        return
    host = args[0]
    if event != "socket.getaddrinfo":
        address = args[1]
        host = address[0] if isinstance(address, tuple) else None  # None: a Unix socket
    if host not in (None, "127.0.0.1", "::1", "localhost"):
        _watching[-1].append((event, host))


# An audit hook cannot be taken away again: there is one for the process, and it looks at a list.
sys.addaudithook(_watch)


@pytest.fixture(autouse=True)
def _no_network() -> Iterator[None]:
    """Fail the test of a client that looked up or connected to anything but loopback."""
    seen: list[object] = []
    _watching.append(seen)
    yield
    _watching.remove(seen)
    assert seen == [], "nothing but loopback may be reached"


@pytest.fixture
def attempts() -> Callable[[Any], int]:
    """How often a boto client sends a request that keeps failing, by its own configuration."""

    def count(client: Any) -> int:
        retries = client.meta.config.retries
        if "total_max_attempts" in retries:
            return int(retries["total_max_attempts"])
        if retries["mode"] != "legacy":
            return int(DEFAULT_MAX_ATTEMPTS)
        rules = botocore.session.get_session().get_component("data_loader").load_data("_retry")
        return int(rules["retry"]["__default__"]["max_attempts"])

    return count
