"""Functions that a pytest run attaches to all fakes of this process: they watch each call, or replace replies.

`--converse-as` and `--converse-report` watch the calls. `--converse-chaos` replaces replies in reruns of tests.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Final, TypeVar

from converse_harness.endpoint import Endpoint
from converse_harness.endpoint.call import Call
from converse_harness.endpoint.replacing import Replacing

_T = TypeVar("_T")
Watcher = Callable[[Endpoint, Call], None]
"""A function that is called for each call to any fake before the call is answered. It runs in the client's thread."""

watchers: Final[list[Watcher]] = []
"""The functions that `watching` has added."""

replacements: Final[list[Replacing | None]] = [None]
"""None and the arguments of the active `replacing` blocks. Only the last item counts; None replaces nothing."""


def watching(watcher: Watcher) -> AbstractContextManager[None]:
    """Call `watcher` for each call to any fake during a `with` block. The watcher must not raise an exception."""
    return _attached(watcher, watchers)


def replacing(by: Replacing) -> AbstractContextManager[None]:
    """Let `by` replace replies of all fakes during a `with` block. If blocks are nested, only the inner one counts."""
    return _attached(by, replacements)


@contextmanager
def _attached(each: _T, to: list[_T]) -> Generator[None]:
    to.append(each)
    try:
        yield
    finally:
        to.remove(each)
