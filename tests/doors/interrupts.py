"""An interrupt at any line: what the tests of opening and closing share."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from converse_harness import Fake, fake_converse

HOUSE = "converse_harness/doors/"


class Interrupter:
    """Raises KeyboardInterrupt at the nth line that runs in the doors."""

    def __init__(self, at: int) -> None:
        self.left = at
        self.where = ""

    def __call__(self, frame: FrameType, event: str, arg: object) -> Any:
        if HOUSE not in frame.f_code.co_filename:
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                self.where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                sys.settrace(None)
                raise KeyboardInterrupt
        return self


def interrupt_everywhere(
    act: Callable[[Fake], None], check: Callable[[str], None], make: Callable[[], Fake] = fake_converse
) -> int:
    """Run `act` again and again, interrupted at a later line each time, until it runs through. The number of lines."""
    line = 0
    while True:
        line += 1
        fake = make()
        interrupter = Interrupter(line)
        previous = sys.gettrace()
        gc.disable()  # it would run finalizers of something else, and they would be interrupted
        sys.settrace(interrupter)
        try:
            act(fake)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(previous)
            gc.enable()
        check(f"interrupted at {interrupter.where}")
        if not interrupter.where:
            return line
