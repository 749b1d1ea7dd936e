"""What every test of the server holds: nothing is left behind, and the server made no mistake that it only logged."""

from __future__ import annotations

import gc
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from converse_harness import ConverseServer
from converse_harness.intercept import registry
from tests.server.peers import eventually

DESCRIPTORS = Path("/proc/self/fd")


def sockets() -> set[str]:
    """The sockets and pipes that this process has open, where the system tells."""
    found: set[str] = set()
    for each in DESCRIPTORS.iterdir() if DESCRIPTORS.exists() else ():
        with suppress(OSError):  # the one of the listing itself
            found.add(os.readlink(each))
    return {name for name in found if name.startswith(("socket:", "pipe:", "anon_inode:"))}


@pytest.fixture(scope="module", autouse=True)
def little_to_collect() -> None:
    """What earlier tests loaded is not looked through after every test."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def nothing_is_left(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No thread, socket or task is there after a test that was not before, and asyncio has nothing to complain of."""
    threads, open_before = {*threading.enumerate()}, sockets()
    yield
    gc.collect()  # a task that was forgotten complains when it is collected, a socket is a ResourceWarning
    eventually(lambda: not [each for each in threading.enumerate() if each not in threads])
    registry.unpatch_if_idle()  # once these threads have ended, nothing needs the patches
    assert sockets() <= open_before
    complaints = [record for when in ("setup", "call", "teardown") for record in caplog.get_records(when)]
    assert [str(record.exc_info or record.message) for record in complaints if record.levelno >= logging.ERROR] == []


@pytest.fixture
def server() -> Iterator[ConverseServer]:
    """A server of the test's own."""
    with ConverseServer() as running:
        yield running
