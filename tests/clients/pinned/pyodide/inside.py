"""What Pyodide runs of this session: pytest, with an event loop that needs no socket."""

import asyncio
import time
import traceback
from collections.abc import Sequence
from typing import Any

import pytest


class Loop(asyncio.BaseEventLoop):
    """asyncio's own loop without a selector: nothing comes from outside, so between two steps it only sleeps.

    Pyodide's loop waits for JavaScript instead, which Node.js 20 cannot do in the middle of a call into WebAssembly.
    """

    def __init__(self) -> None:
        super().__init__()
        self._selector = self

    def select(self, timeout: float | None) -> list[Any]:
        """Wait for the next timer. Where there is none, no task could ever go on."""
        if timeout is None:
            raise RuntimeError("Every task waits, and nothing is left that could wake one.")
        time.sleep(timeout)
        return []

    def _process_events(self, event_list: list[Any]) -> None:
        assert not event_list

    def _write_to_self(self) -> None:
        """There is no other thread that the loop would have to be woken from."""


class Policy(asyncio.events._BaseDefaultEventLoopPolicy):  # type: ignore[name-defined,misc]
    """Makes such loops, for asyncio.run and for pytest's plugins."""

    _loop_factory = Loop


def status(arguments: Sequence[str]) -> int:
    """Run pytest, and return its exit status."""
    asyncio._set_running_loop(None)  # Pyodide's loop counts as running from the start
    asyncio.events._event_loop_policy = Policy()  # type: ignore[attr-defined]
    try:
        return int(pytest.main([*arguments]))
    except BaseException:  # noqa: BLE001 - JavaScript would print all of WebAssembly around it
        traceback.print_exc()
        return 70
