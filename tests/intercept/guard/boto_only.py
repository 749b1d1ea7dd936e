"""A fake under which the guard refuses the clients of all HTTP libraries."""

from __future__ import annotations

from contextlib import AbstractContextManager

from converse_harness.intercept.in_process import InProcessFake
from converse_harness.intercept.registry import OPEN_FAKES


class BotoOnlyFake(InProcessFake):
    """Answers boto clients only, as a fake does whose requests take a way that it does not answer."""

    def _transport(self) -> AbstractContextManager[object]:
        return OPEN_FAKES.opened(self.core)
