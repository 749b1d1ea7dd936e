"""Answer a test from other replies than those of its script, as if the test had scripted them in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from converse_harness.endpoint import Endpoint
from converse_harness.endpoint.call import SCRIPTED, Call
from converse_harness.endpoint.condition import Condition
from converse_harness.endpoint.script import Queue, Script, Slot
from converse_harness.endpoint.stage import Stage
from converse_harness.reply.reply import Reply


class OtherScript:
    """Replies that take the place of all that a test scripts for Converse and ConverseStream.

    Answers to other operations stay. They take the place with the first call of a fake, and `restore` puts back what a
    fake of a wider scope had. `is_paused` returns whether the call is not the test's own.
    """

    def __init__(self, replies: Sequence[Reply]) -> None:
        self.replies = replies
        self.is_paused: Callable[[], bool] = lambda: False
        self._before: list[tuple[Endpoint, Script, list[Slot]]] = []

    def stage(self, endpoint: Endpoint) -> Stage:
        """Make the stage of a fake that puts the replies into it."""
        return _InPlace(self, endpoint)

    def put_into(self, endpoint: Endpoint) -> None:
        """Let a fake answer from the replies. The caller holds the lock of the fake."""
        before = endpoint.script
        # what the test has scripted counts as used, so that the end of a `with` block of `script` raises nothing
        required = [slot for queue, slot in before.slots() if slot.required and queue.operation is None]
        for slot in required:
            slot.required = False
        self._before.append((endpoint, before, required))
        endpoint.script = _OnlyThese(self.replies, before)

    def restore(self) -> None:
        """Let the fakes answer from their own scripts again."""
        for endpoint, script, required in self._before:
            try:
                endpoint.script = script
            except ReferenceError:  # the fake is gone, as most are that a test has opened
                continue
            for slot in required:
                slot.required = True
        self._before.clear()


class _InPlace(Stage):
    def __init__(self, other: OtherScript, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._other = other
        self._is_there = False

    def received(self, call: Call) -> None:
        """Put the replies into the fake with the first call that they may answer."""
        if not self._is_there and call.operation in SCRIPTED and not self._other.is_paused():
            self._is_there = True
            self._other.put_into(self.endpoint)


class _OnlyThese(Script):
    """A script of these replies. What the test adds to it for the same operations answers no call."""

    def __init__(self, replies: Sequence[Reply], before: Script) -> None:
        super().__init__()
        self.operations = before.operations
        self.whens = [queue for queue in before.whens if queue.operation is not None]
        self.ordered.add(replies)

    def add(self, responders: Iterable[object], *, by: str = "") -> list[tuple[Queue, Slot]]:
        """Return slots that answer no call."""
        added = Script().add(responders, by=by)
        for _, slot in added:
            slot.required = False
        return added

    def when(self, condition: Condition) -> Queue:
        """Return a queue that answers no call, unless its calls are those of another operation."""
        return Queue("when0", condition) if condition.named is None else super().when(condition)
