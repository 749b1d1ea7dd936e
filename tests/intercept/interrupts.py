"""An interrupt at any function: what the tests of opening and closing share.

The interpreter looks for signals where a function begins, and where a loop comes round.
"""

from __future__ import annotations

import gc
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import count
from types import FrameType
from typing import Any

import pytest

from converse_harness import Fake, fake_converse

HOUSE = ("converse_harness/intercept/", "converse_harness/server/")

each_step = pytest.mark.parametrize(
    "each_step", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["each function once", "each call"]
)
"""For the argument of that name."""


class Interrupter:
    """Raises KeyboardInterrupt at the nth function called in the transports; lists all of them, where `at` is 0."""

    def __init__(self, at: int) -> None:
        self.left = at
        self.seen: list[tuple[str, int]] = []
        self.where = ""

    def __call__(self, frame: FrameType, event: str, arg: object) -> Any:
        if not any(part in frame.f_code.co_filename for part in HOUSE):
            return None
        if event == "call" and frame.f_code.co_name != "<genexpr>":  # of one that is dropped nobody sees what it raises
            self.left -= 1
            if self.left < 0:
                self.seen.append((frame.f_code.co_filename, frame.f_lineno))
            elif self.left == 0:
                self.where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                sys.settrace(None)
                raise KeyboardInterrupt
        return None

    def watch(self, act: Callable[[Fake], None], fake: Fake) -> None:
        previous = sys.gettrace()
        gc.disable()  # it would run finalizers of something else, and they would be interrupted
        sys.settrace(self)
        try:
            with suppress(KeyboardInterrupt):  # the interrupt of this class
                act(fake)
        finally:
            sys.settrace(previous)
            gc.enable()


def interrupt_everywhere(
    act: Callable[[Fake], None],
    check: Callable[[str], None],
    make: Callable[[], Fake] = fake_converse,
    *,
    each_step: bool = True,
    besides: Callable[[Fake], None] = lambda fake: None,
) -> int:
    """Run `act` again and again, interrupted at a later step each time, until it runs through.

    Or only once at each function, in the middle of the times that it runs, if `besides` does not run it too. The number
    of interrupts: it differs between versions of Python, some of which call a comprehension and some do not.
    """
    interrupts = 0
    for at in count(1) if each_step else _once_at_each_function(act, besides, make):
        interrupter = Interrupter(at)
        interrupter.watch(act, make())
        check(f"interrupted at {interrupter.where}")
        if interrupter.where:
            interrupts += 1
        elif each_step:
            break
    return interrupts


def _once_at_each_function(
    act: Callable[[Fake], None], besides: Callable[[Fake], None], make: Callable[[], Fake]
) -> Iterable[int]:
    elsewhere = _steps(besides, make)
    return [steps[len(steps) // 2] for function, steps in _steps(act, make).items() if function not in elsewhere]


def _steps(act: Callable[[Fake], None], make: Callable[[], Fake]) -> dict[tuple[str, int], list[int]]:
    """At which steps each function is called."""
    steps: dict[tuple[str, int], list[int]] = defaultdict(list)
    Interrupter(0).watch(act, make())  # what is done only the first time is over then
    undisturbed = Interrupter(0)
    undisturbed.watch(act, make())
    for step, function in enumerate(undisturbed.seen, 1):
        steps[function].append(step)
    return steps
