"""Fixtures for the suites of real clients: retry counts, and a check that nothing but loopback is reached."""

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


# An audit hook cannot be removed. Therefore the process has one hook, which reads a list.
sys.addaudithook(_watch)


@pytest.fixture(autouse=True)
def _no_network() -> Iterator[None]:
    """Fail a test whose client looks up a host name or connects to an address other than loopback."""
    seen: list[object] = []
    _watching.append(seen)
    yield
    _watching.remove(seen)
    assert seen == [], "nothing but loopback may be reached"


@pytest.fixture
def attempts() -> Callable[[Any], int]:
    """A function that returns how often a boto client, by its configuration, sends a request that always fails."""

    def count(client: Any) -> int:
        retries = client.meta.config.retries
        if "total_max_attempts" in retries:
            return int(retries["total_max_attempts"])
        if retries["mode"] != "legacy":
            return int(DEFAULT_MAX_ATTEMPTS)
        rules = botocore.session.get_session().get_component("data_loader").load_data("_retry")
        return int(rules["retry"]["__default__"]["max_attempts"])

    return count
