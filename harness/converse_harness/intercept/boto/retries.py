"""Under a fake, skip waits before retries, do not use up retry quotas, and limit attempts to the fake's `attempts`.

The functions with a parameter `original` make the replacements that the table in `patch_points` lists.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from botocore.exceptions import CapacityNotAvailableError

from converse_harness.endpoint.call import Call
from converse_harness.intercept.exchange import OpenFake
from converse_harness.intercept.patches import replacement
from converse_harness.intercept.registry import CURRENT_CALL, OPEN_FAKES


def _skips(fake: OpenFake | None, seconds: float, call: Call | None = None) -> bool:
    """Return True if a wait before a retry is skipped under this fake, and report a skipped wait to the fake."""
    if fake is None or fake.sleeps:
        return False
    fake.waited(seconds, call)
    return True


def _skips_of_call(seconds: float) -> bool:
    held = CURRENT_CALL.get()
    return held is not None and _skips(held.entry.responder, seconds, held.call)


class _Module:
    """Replaces the module `real` inside one library. All attributes except `sleep` are those of `real`."""

    def __init__(self, real: Any, sleep: Callable[..., Any]) -> None:
        self._real = real
        self.sleep = sleep

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def _skips_of_test(seconds: float) -> bool:
    return _skips(OPEN_FAKES.newest(), seconds)


def _without_sleep(skips: Callable[[float], bool]) -> Callable[[Any], Any]:
    """Make a function that replaces the module `time` in a library.

    The replacement's `sleep(seconds)` does not wait if `skips(seconds)` returns True.
    """

    def replace(time: Any) -> Any:
        def sleep(seconds: float) -> None:
            if not skips(seconds):
                time.sleep(seconds)

        return _Module(time, sleep)

    return replace


without_call_sleep = _without_sleep(_skips_of_call)
without_test_sleep = _without_sleep(_skips_of_test)


def _without_async_sleep(skips: Callable[[float], bool]) -> Callable[[Any], Any]:
    """Make a function that replaces the module `asyncio` in a library.

    The replacement's `sleep(seconds)` does not wait if `skips(seconds)` returns True.
    """

    def replace(asyncio: Any) -> Any:
        async def sleep(seconds: float, *args: Any, **kwargs: Any) -> Any:
            # A skipped wait still yields control to the event loop, so that other tasks run as during a real wait.
            return await asyncio.sleep(0 if skips(seconds) else seconds, *args, **kwargs)

        return _Module(asyncio, sleep)

    return replace


without_call_waits = _without_async_sleep(_skips_of_call)
without_test_waits = _without_async_sleep(_skips_of_test)


@replacement
async def without_anyio_sleep(original: Any, self: Any, sleep_amount: float) -> None:
    """Replace aiobotocore's `AnyioEndpoint._sleep` (for asyncio and trio), so that retry waits are skipped."""
    await original(self, 0 if _skips_of_call(sleep_amount) else sleep_amount)


def _skips_filling(bucket: Any, amount: float) -> bool:
    """Return True if the wait until a token bucket contains `amount` tokens is skipped; report a skipped wait."""
    return _skips_of_call((amount - bucket.available_capacity) / bucket.max_rate)


@replacement
def acquire_at_once(original: Any, self: Any, amount: float = 1, block: bool = True) -> Any:
    """Replace botocore's `TokenBucket.acquire`, so that the retry mode "adaptive" does not wait in calls to a fake."""
    try:
        return original(self, amount, block and CURRENT_CALL.get() is None)
    except CapacityNotAvailableError:
        if not block:
            raise
        return _skips_filling(self, amount) or original(self, amount)


@replacement
async def acquire_at_once_async(original: Any, self: Any, amount: float = 1, block: bool = True) -> Any:
    """Replace aiobotocore's `AsyncTokenBucket.acquire`: the retry mode "adaptive" does not wait in calls to a fake."""
    try:
        return await original(self, amount, block and CURRENT_CALL.get() is None)
    except CapacityNotAvailableError:
        if not block:
            raise
        return _skips_filling(self, amount) or await original(self, amount)


@replacement
def without_drain(original: Any, self: Any, capacity_amount: int) -> Any:
    """Replace botocore's `RetryQuota.acquire`, so that calls to a fake do not use up the retry quota.

    Calls that a recording fake forwards still use the quota.
    """
    held = CURRENT_CALL.get()
    return original(self, capacity_amount) if held is None or held.entry.responder.records else True


_SPENT: Final = 1_000_000
"""A number of attempts at which every retry mode gives up."""


def _counted(attempts: int) -> int:
    """Return `attempts`, the attempts made so far, or _SPENT if they have reached the maximum that the fake allows.

    botocore's retry rules get the result instead of `attempts`. They give up if it is _SPENT.
    """
    held = CURRENT_CALL.get()
    most = None if held is None or held.entry.responder.records else held.entry.responder.attempts
    return attempts if most is None or attempts < most else _SPENT


def with_attempts(original: Any) -> Any:
    """Replace botocore's `Endpoint._needs_retry`: a client gives up after as many attempts as the fake allows.

    aiobotocore's method is a coroutine function; the replacement returns the coroutine.
    """

    @functools.wraps(original)
    def _needs_retry(self: Any, attempts: int, *args: Any, **kwargs: Any) -> Any:
        return original(self, _counted(attempts), *args, **kwargs)

    return _needs_retry
