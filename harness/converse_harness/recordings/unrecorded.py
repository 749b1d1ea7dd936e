"""What stands in the place of a recording that is not there: it refuses each call, and says why."""

from __future__ import annotations

from converse_harness.calls import Call
from converse_harness.script import Missed, Queue


class Unrecorded(Queue):
    """A queue that answers no call. A test that makes none needs no recording."""

    def __init__(self, name: str, why: tuple[str, str]) -> None:
        super().__init__(name)
        self._why = why

    def next(self, call: Call) -> None:
        """Nothing."""

    def explain(self, call: Call) -> Missed:
        """What is missing, and what makes it."""
        first, told = self._why
        return Missed(f"call {call.number} {first}", told)

    def answers(self, call: Call) -> bool:
        """All of them, if it were there."""
        del call
        return True
