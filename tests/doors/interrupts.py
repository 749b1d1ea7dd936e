"""An interrupt at any line: what the tests of opening and closing share."""

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

HOUSE = "converse_harness/doors/"

each_step = pytest.mark.parametrize(
    "each_step", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["each line once", "each step"]
)
"""For the argument of that name."""


class Interrupter:
    """Raises KeyboardInterrupt at the nth line that runs in the doors; never, where `at` is 0."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.seen: list[str] = []
        self.where = ""

    def __call__(self, frame: FrameType, event: str, arg: object) -> Any:
        if HOUSE not in frame.f_code.co_filename:
            return None
        if event == "line":
            self.seen.append(f"{frame.f_code.co_filename}:{frame.f_lineno}")
            if len(self.seen) == self.at:
                self.where = self.seen[-1]
                sys.settrace(None)
                raise KeyboardInterrupt
        return self

    def watch(self, act: Callable[[Fake], None], fake: Fake) -> None:
        previous = sys.gettrace()
        gc.disable()  # it would run finalizers of something else, and they would be interrupted
        sys.settrace(self)
        try:
            with suppress(KeyboardInterrupt):
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
) -> int:
    """Run `act` again and again, interrupted at a later step each time, until it runs through. The number of runs.

    Or only once at each line of the code, in the middle of the times that it runs.
    """
    runs = 0
    for at in count(1) if each_step else _once_at_each_line(act, make):
        runs += 1
        interrupter = Interrupter(at)
        interrupter.watch(act, make())
        check(f"interrupted at {interrupter.where}")
        if each_step and not interrupter.where:
            break
    return runs


def _once_at_each_line(act: Callable[[Fake], None], make: Callable[[], Fake]) -> Iterable[int]:
    steps: dict[str, list[int]] = defaultdict(list)
    for _ in range(2):  # what is done only the first time is over then
        steps.clear()
        undisturbed = Interrupter(0)
        undisturbed.watch(act, make())
        for step, where in enumerate(undisturbed.seen, 1):
            steps[where].append(step)
    return [each[len(each) // 2] for each in steps.values()]
