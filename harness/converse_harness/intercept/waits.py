"""Retries while a fake is open: the waits before them are skipped, and their quotas never run out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from converse_harness.intercept import registry
from converse_harness.intercept.registry import CURRENT_CALL


def _skips_of_call(seconds: float) -> bool:
    """Whether a retry wait of the running call is skipped; its fake takes note of it then."""
    held = CURRENT_CALL.get()
    if held is None or held.entry.responder.sleeps:
        return False
    held.entry.responder.waited(seconds, held.call)
    return True


def _skips_of_test(seconds: float) -> bool:
    """The same outside a call, for the newest fake."""
    fake = registry.current()
    if fake is None or fake.sleeps:
        return False
    fake.waited(seconds)
    return True


class _Module:
    """Replaces a module inside one library; all attributes but `sleep` are the real module's."""

    def __init__(self, real: Any, sleep: Callable[..., Any]) -> None:
        self._real = real
        self.sleep = sleep

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def without_sleep(time: Any) -> Any:
    """The name `time` in `botocore.endpoint`, replaced so that retry waits are skipped."""

    def sleep(seconds: float) -> None:
        if not _skips_of_call(seconds):
            time.sleep(seconds)

    return _Module(time, sleep)


def _without_async_sleep(skips: Callable[[float], bool]) -> Callable[[Any], Any]:
    """The name `asyncio` in a library, replaced so that waits that `skips` takes note of are skipped."""

    def replace(asyncio: Any) -> Any:
        async def sleep(seconds: float, *args: Any, **kwargs: Any) -> Any:
            # Even a skipped wait yields control, so that other tasks run, as during a real wait.
            return await asyncio.sleep(0 if skips(seconds) else seconds, *args, **kwargs)

        return _Module(asyncio, sleep)

    return replace


without_call_waits = _without_async_sleep(_skips_of_call)
without_test_waits = _without_async_sleep(_skips_of_test)


def without_anyio_sleep(original: Any) -> Any:
    """`AnyioEndpoint._sleep`, which also runs under trio."""

    @functools.wraps(original)
    async def _sleep(self: Any, sleep_amount: float) -> None:
        await original(self, 0 if _skips_of_call(sleep_amount) else sleep_amount)

    return _sleep


def _skips_filling(bucket: Any, amount: float) -> bool:
    """Whether the wait is skipped until a token bucket has filled up to `amount`."""
    return _skips_of_call((amount - bucket.available_capacity) / bucket.max_rate)


def acquire_at_once(original: Any) -> Any:
    """`TokenBucket.acquire`: adaptive mode continues instead of waiting for capacity."""
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
    """`AsyncTokenBucket.acquire`, the same for aiobotocore."""
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
    """`RetryQuota.acquire`: the quota never runs out, so the thousandth call is retried as often as the first."""

    @functools.wraps(original)
    def acquire(self: Any, capacity_amount: int) -> Any:
        held = CURRENT_CALL.get()
        return original(self, capacity_amount) if held is None or held.records else True

    return acquire
