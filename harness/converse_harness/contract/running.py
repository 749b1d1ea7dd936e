"""Runs an adapter to its end or to the time limit, in a thread of its own."""

from __future__ import annotations

import asyncio
import ctypes
import threading
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Final, cast

from converse_harness.contract.outcome import Outcome, Target

Adapter = Callable[[Target], Outcome | Awaitable[Outcome]]
"""Asks the target with the consumer and says what that made of it; a coroutine function is run to its end."""

GRACE: Final = 2.0
"""Seconds that a consumer has to end after its fake was closed."""


class SetUpFailed(Exception):
    """The adapter failed before the consumer asked anything: nothing is known of the consumer."""


class _Stopped(BaseException):
    """Raised in the thread of a consumer that goes on after the time limit."""


@dataclass(slots=True)
class _Run:
    """One run, and how it ended."""

    adapter: Adapter
    target: Target
    outcome: object = None
    error: BaseException | None = None
    thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        context = copy_context()
        self.thread = threading.Thread(target=lambda: context.run(self._go), name="converse-contract", daemon=True)

    def _go(self) -> None:
        try:
            made = self.adapter(self.target)
            self.outcome = asyncio.run(_awaited(made)) if isinstance(made, Awaitable) else made
        except BaseException as error:  # noqa: BLE001 - it is told to whoever waits for this thread
            self.error = error


async def _awaited(made: Awaitable[Outcome]) -> Outcome:
    return await made


def run(adapter: Adapter, target: Target, time_limit: float) -> Outcome | None:
    """What the adapter says; an Outcome with its error if it raised; None if it took longer than `time_limit` seconds.

    A consumer that hangs is freed by closing its fake, and stopped where it does not end then. Raises SetUpFailed for
    what goes wrong before the first request and for what is no Outcome, and what pytest's own `skip` and `fail` raise.
    """
    going = _Run(adapter, target)
    going.thread.start()
    going.thread.join(time_limit)
    if going.thread.is_alive():
        target.fake.close()
        _stop(going.thread)
        return None
    if going.error is not None:
        return _failed(going.error, target)
    if not isinstance(going.outcome, Outcome):
        raise SetUpFailed(
            f"The adapter returned {going.outcome!r}. Return an Outcome(text=..., tool_calls=..., stop_reason=..., "
            "error=...)."
        )
    if going.outcome.error is not None:
        _asked(going.outcome.error, target)
    return going.outcome


def _failed(error: BaseException, target: Target) -> Outcome:
    if not isinstance(error, Exception):
        raise error  # an interrupt, sys.exit, pytest.skip, pytest.fail
    _asked(error, target)
    return Outcome(error=error)


def _asked(error: BaseException | str, target: Target) -> None:
    """Raises SetUpFailed if there is an error although nothing was asked, be it raised or caught by the adapter."""
    if target.fake.calls:
        return
    what, cause = (error, None) if isinstance(error, str) else (f"{type(error).__name__}: {error}", error)
    raise SetUpFailed(
        f"The adapter failed before the consumer asked anything, with {what}. That is no verdict on the consumer; mend "
        "the adapter, or what it needs."
    ) from cause


def _stop(thread: threading.Thread) -> None:
    """Let the thread end: what it waits for has been closed; what it does in a loop is interrupted."""
    thread.join(GRACE)
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    while thread.is_alive():
        raise_in(ctypes.c_ulong(cast("int", thread.ident)), ctypes.py_object(_Stopped))
        thread.join(GRACE)
        if thread.is_alive():
            return  # it waits in C code, and is a daemon
