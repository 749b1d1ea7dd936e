"""The guard of a whole pytest session. It refuses calls to Bedrock while no fake and no recording is open."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from converse_harness.errors import BlockedConnection
from converse_harness.intercept.exchange import RefusingFake
from converse_harness.intercept.guard import children
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
        """Store the error of a blocked connection for `check`."""
        self.problems.append(error)

    def open(self) -> None:
        """Activate this guard. If this pytest session runs inside another one, it replaces that session's guard."""
        self._before = OPEN_FAKES.set_fallback(self)

    def close(self) -> None:
        """Deactivate this guard, and restore the guard that `open` replaced, if there was one."""
        OPEN_FAKES.set_fallback(self._before)

    @contextmanager
    def during(self, test: str, *, off: bool) -> Generator[None, None, None]:
        """Set the running test for a `with` block; `test` is its node id. If `off`, the test may call Bedrock."""
        before = self._test, self._off
        self._test, self._off = test, off
        if off:
            OPEN_FAKES.forget_threads()  # the test may use a pool of threads that was used under another test's fake
        OPEN_FAKES.signal_workers()
        try:
            yield
        finally:
            self._test, self._off = before
            OPEN_FAKES.signal_workers()

    def check(self, error: BaseException | None = None) -> None:
        """Raise the first error that was stored after the last check.

        `error` is the exception that the test itself raised, if any. If it is one of the stored errors, raise nothing.
        """
        __tracebackhide__ = True
        self.problems += map(BlockedConnection, children.refused())
        new, self.problems = self.problems, []
        if new and error not in new:
            raise new[0].with_traceback(None) from error
