"""While a fake is open: skip waits before retries, spare the retry quotas, and limit attempts to the fake's setting."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from converse_harness.intercept import registry
from converse_harness.intercept.registry import CURRENT_CALL


def _skips_of_call(seconds: float) -> bool:
    """Decide whether a wait before a retry in a call is skipped. If so, report the wait to the fake of the call."""
    held = CURRENT_CALL.get()
    if held is None or held.entry.responder.sleeps:
        return False
    held.entry.responder.waited(seconds, held.call)
    return True


def _skips_of_test(seconds: float) -> bool:
    """Decide whether a wait before a retry, outside of calls, is skipped. If so, report the wait to the newest fake."""
    fake = registry.current()
    if fake is None or fake.sleeps:
        return False
    fake.waited(seconds)
    return True


class _Module:
    """Replaces a module inside one library: `sleep` is ours, all other attributes are those of the real module."""

    def __init__(self, real: Any, sleep: Callable[..., Any]) -> None:
        self._real = real
        self.sleep = sleep

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def without_sleep(time: Any) -> Any:
    """Replace the module `time` in `botocore.endpoint`, so that retry waits are skipped."""

    def sleep(seconds: float) -> None:
        if not _skips_of_call(seconds):
            time.sleep(seconds)

    return _Module(time, sleep)


def _without_async_sleep(skips: Callable[[float], bool]) -> Callable[[Any], Any]:
    """Make a function that replaces the module `asyncio` in a library. Its `sleep` skips a wait if `skips(seconds)`."""

    def replace(asyncio: Any) -> Any:
        async def sleep(seconds: float, *args: Any, **kwargs: Any) -> Any:
            # A skipped wait still yields control to the event loop, so that other tasks run as during a real wait.
            return await asyncio.sleep(0 if skips(seconds) else seconds, *args, **kwargs)

        return _Module(asyncio, sleep)

    return replace


without_call_waits = _without_async_sleep(_skips_of_call)
without_test_waits = _without_async_sleep(_skips_of_test)


def without_anyio_sleep(original: Any) -> Any:
    """Replace aiobotocore's `AnyioEndpoint._sleep` (for asyncio and trio), so that retry waits are skipped."""

    @functools.wraps(original)
    async def _sleep(self: Any, sleep_amount: float) -> None:
        await original(self, 0 if _skips_of_call(sleep_amount) else sleep_amount)

    return _sleep


def _skips_filling(bucket: Any, amount: float) -> bool:
    """Decide whether to skip the wait until a token bucket contains `amount` tokens. If so, report the wait."""
    return _skips_of_call((amount - bucket.available_capacity) / bucket.max_rate)


def acquire_at_once(original: Any) -> Any:
    """Replace botocore's `TokenBucket.acquire`, so that the retry mode "adaptive" does not wait in calls to a fake."""
    from botocore.exceptions import CapacityNotAvailableError

    @functools.wraps(original)
    def acquire(self: Any, amount: float = 1, block: bool = True) -> Any:
        try:
            return original(self, amount, block and CURRENT_CALL.get() is None)
        except CapacityNotAvailableError:
            if not block:
                raise
            return _skips_filling(self, amount) or original(self, amount)

    return acquire


def acquire_at_once_async(original: Any) -> Any:
    """Replace aiobotocore's `AsyncTokenBucket.acquire` in the same way as `acquire_at_once` replaces botocore's."""
    from botocore.exceptions import CapacityNotAvailableError

    @functools.wraps(original)
    async def acquire(self: Any, amount: float = 1, block: bool = True) -> Any:
        try:
            return await original(self, amount, block and CURRENT_CALL.get() is None)
        except CapacityNotAvailableError:
            if not block:
                raise
            return _skips_filling(self, amount) or await original(self, amount)

    return acquire


def without_drain(original: Any) -> Any:
    """Replace botocore's `RetryQuota.acquire`, so that calls to a fake do not use up the retry quota.

    Calls that a recording fake forwards still use the quota.
    """

    @functools.wraps(original)
    def acquire(self: Any, capacity_amount: int) -> Any:
        held = CURRENT_CALL.get()
        return original(self, capacity_amount) if held is None or held.records else True

    return acquire


_SPENT: Final = 1_000_000
"""A number of attempts at which every retry mode gives up."""


def _counted(attempts: int) -> int:
    """Return the number of attempts that the retry rules get: the real number, or _SPENT at the fake's limit."""
    held = CURRENT_CALL.get()
    most = None if held is None or held.records else held.entry.responder.attempts
    return attempts if most is None or attempts < most else _SPENT


def with_attempts(original: Any) -> Any:
    """Replace botocore's `Endpoint._needs_retry`: a client gives up after as many attempts as the fake's setting."""

    @functools.wraps(original)
    def _needs_retry(self: Any, attempts: int, *args: Any, **kwargs: Any) -> Any:
        return original(self, _counted(attempts), *args, **kwargs)

    return _needs_retry


def with_attempts_async(original: Any) -> Any:
    """Replace aiobotocore's `AioEndpoint._needs_retry` in the same way as `with_attempts` replaces botocore's."""

    @functools.wraps(original)
    async def _needs_retry(self: Any, attempts: int, *args: Any, **kwargs: Any) -> Any:
        return await original(self, _counted(attempts), *args, **kwargs)

    return _needs_retry
