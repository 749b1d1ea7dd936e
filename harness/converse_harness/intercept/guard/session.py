"""The guard of a whole pytest session. It refuses calls to Bedrock while no fake and no recording is open."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Container, Generator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, Final
from weakref import WeakSet

from converse_harness import refusals
from converse_harness.errors import BlockedConnection
from converse_harness.intercept.exchange import RefusingFake
from converse_harness.intercept.registry import OPEN_FAKES

_CLOSED: Final = (
    "{library} tried to reach {host} {where}, where no fake and no recording is open: the guard of this session is on "
    "(converse_guard = session). Take the fixture `converse` (boto3, botocore, aiobotocore, httpx, httpx2, aiohttp) or "
    "`converse_server` (any other client), or let this test reach the service with "
    '@pytest.mark.converse(guard="off").   More: converse-harness docs guard the-whole-session'
)


class SessionGuard(RefusingFake):
    """Refuses calls while no fake is open. A test fails because of a refused call even if other code catches the error.

    For this purpose, the guard stores the errors until `check` raises the first one.
    """

    def __init__(self) -> None:
        super().__init__("")
        self.problems: list[BlockedConnection] = []
        self._test = ""
        self._off = False
        self._process = os.getpid()
        self._threads: Container[threading.Thread] = ()
        self._is_over = False
        self._before: RefusingFake | None = None

    @property
    def records(self) -> bool:
        """Whether calls to Bedrock are allowed, because the marker of the running test turns the guard off."""
        return self._off

    def message_for(self, library: str, host: str) -> str:
        """Return the error message. It names the library, the host, the running test, and the fixtures to use."""
        where = f"in {self._test}" if self._test else "outside of a test"
        return _CLOSED.format(library=library, host=host, where=where)

    def block(self, error: BlockedConnection) -> None:
        """Store the error of a blocked connection for `check`. A forked child reports it to its parent process."""
        if os.getpid() != self._process:
            refusals.report(str(error))
        elif self._is_over:
            refusals.is_late(str(error), "")
        else:
            self.problems.append(error)

    def open(self) -> None:
        """Activate this guard. If this pytest session runs inside another one, it replaces that session's guard."""
        self._threads = WeakSet(threading.enumerate())
        self._before = OPEN_FAKES.set_fallback(self)

    def close(self) -> None:
        """Restore the guard that `open` replaced. Without one, refuse only calls of threads that the session started.

        A program that runs pytest is free again. What comes when the interpreter ends belongs to the session: the
        threads that it waits for, and the functions of `atexit`. Therefore the guard is active again then.
        """
        self._test, self._off, self._is_over = "", False, True
        if self._before is None:
            OPEN_FAKES.outlive(self, self._threads)
            _at_exit(self)
        OPEN_FAKES.set_fallback(self._before)

    @contextmanager
    def during(self, test: str, *, off: bool) -> Generator[None, None, None]:
        """Set the running test for a `with` block; `test` is its node id. If `off`, the test may call Bedrock."""
        before = self._test, self._off
        self._test, self._off = test, off
        OPEN_FAKES.signal_workers()
        try:
            # The test may use a pool of threads that was used under another test's fake.
            with OPEN_FAKES.without_threads() if off else nullcontext():
                yield
        finally:
            self._test, self._off = before
            OPEN_FAKES.signal_workers()

    def check(self, error: BaseException | None = None) -> None:
        """Raise the first error that was stored after the last check.

        `error` is the exception that the test itself raised, if any. If it is one of the stored errors, raise nothing.
        """
        __tracebackhide__ = True
        self.problems += map(BlockedConnection, refusals.of_others())
        new, self.problems = self.problems, []
        if new and error not in new:
            raise new[0].with_traceback(None) from error


_last: list[SessionGuard] = []
"""The guard that becomes active again when the interpreter ends."""


def _at_exit(guard: SessionGuard) -> None:
    if not _last:
        # `threading` calls this function before it waits for threads; the functions of `atexit` run after that.
        register: Any = getattr(threading, "_register_atexit", atexit.register)
        with suppress(RuntimeError):  # the interpreter is ending
            register(_open_again)
    _last[:] = [guard]


def _open_again() -> None:
    OPEN_FAKES.set_fallback(_last[0])
