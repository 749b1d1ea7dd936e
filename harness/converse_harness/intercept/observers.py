"""Functions that a pytest run attaches to all fakes of this process: they watch each call, or replace replies.

`--converse-as` and `--converse-report` watch the calls. `--converse-chaos` and `--converse-as-answers` replace replies
in reruns of tests.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

from converse_harness.endpoint import Endpoint
from converse_harness.endpoint.call import Call
from converse_harness.endpoint.replacing import Replacing

Watcher = Callable[[Endpoint, Call], None]
"""A function that is called for each call to any fake before the call is answered. It runs in the client's thread."""

watchers: Final[list[Watcher]] = []
"""The functions that `watching` has added."""

replacements: Final[list[Replacing | None]] = [None]
"""The arguments of the `replacing` blocks that are entered now; only the last one is used."""


@contextmanager
def watching(watcher: Watcher) -> Generator[None]:
    """Context manager: in its block, `watcher` is called for each call to any fake. It must not raise."""
    watchers.append(watcher)
    try:
        yield
    finally:
        watchers.remove(watcher)


@contextmanager
def replacing(by: Replacing) -> Generator[None]:
    """Context manager: in its block, `by` sees the replies of all fakes and may replace them. Inner blocks win."""
    replacements.append(by)
    try:
        yield
    finally:
        replacements.remove(by)
