"""Skip the waits before retries, and keep the quotas of retries full, while a fake is open."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from converse_harness.intercept import registry
from converse_harness.intercept.registry import CURRENT_CALL


def _skips_of_call(seconds: float) -> bool:
    """Whether a retry wait of the running call is skipped; a skipped wait is reported to the call's fake."""
    held = CURRENT_CALL.get()
    if held is None or held.entry.responder.sleeps:
        return False
    held.entry.responder.waited(seconds, held.call)
    return True


def _skips_of_test(seconds: float) -> bool:
    """Whether a retry wait outside a call is skipped; a skipped wait is reported to the newest fake."""
    fake = registry.current()
    if fake is None or fake.sleeps:
        return False
    fake.waited(seconds)
    return True


class _Module:
    """A stand-in for a module inside one library: `sleep` is ours, and all other attributes are the real module's."""

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
    """Make a replacement of the module `asyncio` in a library: its `sleep` skips waits for which `skips` is true."""

    def replace(asyncio: Any) -> Any:
        async def sleep(seconds: float, *args: Any, **kwargs: Any) -> Any:
            # Even a skipped wait yields control, so that other tasks run, as during a real wait.
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
    """Whether the wait for a token bucket to fill up to `amount` is skipped."""
    return _skips_of_call((amount - bucket.available_capacity) / bucket.max_rate)


def acquire_at_once(original: Any) -> Any:
    """Replace botocore's `TokenBucket.acquire`: under a fake, the retry mode "adaptive" skips waits for capacity."""
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
    """Replace botocore's `RetryQuota.acquire`, so that the retry quota never runs out under a fake.

    Calls under a recording fake still use the quota.
    """

    @functools.wraps(original)
    def acquire(self: Any, capacity_amount: int) -> Any:
        held = CURRENT_CALL.get()
        return original(self, capacity_amount) if held is None or held.records else True

    return acquire
