"""Checks for every test of the server: it leaves no thread or socket behind, and the server logged no error."""

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
from converse_harness.intercept.registry import OPEN_FAKES
from tests.server.peers import eventually

DESCRIPTORS = Path("/proc/self/fd")


def sockets() -> set[str]:
    """Return the open sockets and pipes of this process; an empty set if the system does not list them."""
    found: set[str] = set()
    for each in DESCRIPTORS.iterdir() if DESCRIPTORS.exists() else ():
        with suppress(OSError):  # the descriptor of the listing itself is closed already
            found.add(os.readlink(each))
    return {name for name in found if name.startswith(("socket:", "pipe:", "anon_inode:"))}


@pytest.fixture(scope="module", autouse=True)
def little_to_collect() -> None:
    """Exclude the objects of earlier tests from the garbage collection after every test."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def nothing_is_left(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail if a test leaves a thread, a socket or a task behind, or if an error was logged, for example by asyncio."""
    threads, open_before = {*threading.enumerate()}, sockets()
    yield
    gc.collect()  # a forgotten task logs an error when it is collected, a socket warns
    eventually(lambda: not [each for each in threading.enumerate() if each not in threads])
    OPEN_FAKES.unpatch_if_idle()  # once these threads have ended, nothing needs the patches
    assert sockets() <= open_before
    complaints = [record for when in ("setup", "call", "teardown") for record in caplog.get_records(when)]
    assert [str(record.exc_info or record.message) for record in complaints if record.levelno >= logging.ERROR] == []


@pytest.fixture
def server() -> Iterator[ConverseServer]:
    """A server of the test's own."""
    with ConverseServer() as running:
        yield running
