"""Retries cost no time and never run dry while a fake is open; how many there are is left to the client.

botocore waits between attempts in `Endpoint._needs_retry` (legacy and standard mode) and in `TokenBucket` (adaptive
mode), aiobotocore and strands-agents in asyncio. Each wait that is skipped is reported to the fake; `sleeps=True` on
the fake makes them real. The retry quota of a client (standard mode) would be used up after some dozens of failures,
and the number of attempts would fall from then on: calls that belong to a fake use up nothing. While a fake records,
waits and quotas are the client's own.

The global `time.sleep` and `asyncio.sleep` stay what they are: what is replaced is the reference to the module in the
library that waits.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from converse_harness.intercept import registry
from converse_harness.intercept.exchange import OpenFake
from converse_harness.intercept.registry import HELD


def skips_call_waits() -> OpenFake | None:
    """The fake that skips the waits of the call that runs here; None where they are slept."""
    held = HELD.get()
    return None if held is None else held.skips_waits


def skips_any_waits() -> OpenFake | None:
    """The fake that skips waits between calls; None where they are slept."""
    fake = registry.current()
    return None if fake is None or fake.sleeps else fake


class _Module:
    """Stands for a module in one library; everything but `sleep` is the real one's."""

    def __init__(self, real: Any, sleep: Callable[[float], Any]) -> None:
        self._real = real
        self.sleep = sleep

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def without_sleep(time: Any) -> Any:
    """The reference to `time` in `botocore.endpoint`."""

    def sleep(seconds: float) -> None:
        fake = skips_call_waits()
        if fake is None:
            time.sleep(seconds)
        else:
            fake.waited(seconds)

    return _Module(time, sleep)


def without_async_sleep(skips: Callable[[], OpenFake | None]) -> Callable[[Any], Any]:
    """The reference to `asyncio` in a library that waits while `skips` names a fake."""

    def replace(asyncio: Any) -> Any:
        async def sleep(seconds: float, *args: Any, **kwargs: Any) -> Any:
            fake = skips()
            if fake is not None:
                fake.waited(seconds)
                seconds = 0
            # Even a skipped wait yields: other tasks run in it as they do in a real one.
            return await asyncio.sleep(seconds, *args, **kwargs)

        return _Module(asyncio, sleep)

    return replace


def without_anyio_sleep(original: Any) -> Any:
    """`AnyioEndpoint._sleep`, which also runs under trio."""

    @functools.wraps(original)
    async def _sleep(self: Any, sleep_amount: float) -> None:
        fake = skips_call_waits()
        if fake is not None:
            fake.waited(sleep_amount)
            sleep_amount = 0
        await original(self, sleep_amount)

    return _sleep


def missing_time(bucket: Any, amount: float) -> float:
    """How long a token bucket would wait for `amount`, in seconds."""
    return float((amount - bucket.available_capacity) / bucket.max_rate)


def acquire_at_once(original: Any) -> Any:
    """`TokenBucket.acquire`: adaptive mode goes on where it would wait for capacity."""
    from botocore.exceptions import CapacityNotAvailableError

    @functools.wraps(original)
    def acquire(self: Any, amount: float = 1, block: bool = True) -> Any:
        fake = skips_call_waits()
        if fake is None or not block:
            return original(self, amount, block)
        try:
            return original(self, amount, False)
        except CapacityNotAvailableError:
            fake.waited(missing_time(self, amount))
            return True

    return acquire


def acquire_at_once_async(original: Any) -> Any:
    """`AsyncTokenBucket.acquire`, the same for aiobotocore."""
    from botocore.exceptions import CapacityNotAvailableError

    @functools.wraps(original)
    async def acquire(self: Any, amount: float = 1, block: bool = True) -> Any:
        fake = skips_call_waits()
        if fake is None or not block:
            return await original(self, amount, block)
        try:
            return await original(self, amount, False)
        except CapacityNotAvailableError:
            fake.waited(missing_time(self, amount))
            return True

    return acquire


def without_drain(original: Any) -> Any:
    """`RetryQuota.acquire`: the thousandth call is retried as often as the first."""

    @functools.wraps(original)
    def acquire(self: Any, capacity_amount: int) -> Any:
        held = HELD.get()
        return original(self, capacity_amount) if held is None or held.records else True

    return acquire
