"""The objects that `Fake.script` and `Fake.when` return: `Scripted` for a group of replies, `When` for a condition."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Generic, Self, TypeVar

from converse_harness.endpoint import Endpoint
from converse_harness.endpoint.calls import Calls
from converse_harness.endpoint.failure_texts import unused_replies
from converse_harness.endpoint.responders import check_some
from converse_harness.endpoint.script import Queue, Slot
from converse_harness.secrets import mask

Lock = AbstractContextManager[object]
"""Type of the lock that protects a script while it changes."""


class Scripted:
    """The replies that one call of `script` added. In a `with` statement, they answer calls only in the block.

    At the end of the block, the replies are removed. If a reply is unused, UnusedReplies is raised, unless the block
    itself raised an exception.
    """

    def __init__(self, endpoint: Endpoint, lock: Lock, added: Sequence[tuple[Queue, Slot]]) -> None:
        self._endpoint = endpoint
        self._lock = lock
        self._queues = {id(queue): queue for queue, _ in added}.values()
        self._slots = [slot for _, slot in added]

    @property
    def calls(self) -> Calls:
        """The calls that these replies answered, whatever the operation of a call is."""
        numbers = {number for slot in self._slots for number in slot.used_by}
        return Calls([call for call in list(self._endpoint.calls) if call.number in numbers], only=None)

    @property
    def unused(self) -> int:
        """The number of further calls that these replies must answer, so that none of them remains unused."""
        return sum((slot.uses or 0) - len(slot.used_by) for slot in self._slots if slot.unused)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with self._lock:
            left = [slot for slot in self._slots if slot.unused]
            unused = unused_replies(self._endpoint.script, self._endpoint.calls, left) if left else None
            for queue in self._queues:
                queue.remove(self._slots)
            self._endpoint.script.ended += len(self._slots)
        if unused is not None and error is None:
            raise unused

    def __repr__(self) -> str:
        total = sum(slot.uses or 1 for slot in self._slots)
        what = ", ".join(slot.summary for slot in self._slots[:3]) + ", ..." * (len(self._slots) > 3)
        return mask(f"<{total} scripted repl{'y' if total == 1 else 'ies'}, {self.unused} must still be used: {what}>")

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_")]


_Given = TypeVar("_Given", contravariant=True)
"""The type of values that the methods of a When take: replies, or answers of the operation in its condition."""


class When(Generic[_Given]):
    """A condition for calls. The methods add replies for the calls that meet the condition."""

    def __init__(self, endpoint: Endpoint, lock: Lock, queue: Queue) -> None:
        self._endpoint = endpoint
        self._lock = lock
        self._queue = queue

    def script(self, *replies: _Given) -> Scripted:
        """Answer the calls that meet the condition with these replies, in order.

        When all of them are used, a call is answered by the next When whose condition it meets, or else by the script.
        """
        self._queue.was_filled = True  # set this even if a reply is wrong: the wrong reply causes its own error
        check_some(replies, "when().script()")
        self._endpoint.check(*replies)
        with self._lock:
            added = [(self._queue, slot) for slot in self._queue.add(replies, by="when().script()")]
            return Scripted(self._endpoint, self._lock, added)

    def always(self, reply: _Given) -> None:
        """Answer all calls that meet the condition with the same reply."""
        self._queue.was_filled = True
        self._endpoint.check(reply)
        with self._lock:
            self._queue.add([reply], endless=True, by="when().always()")

    def __repr__(self) -> str:
        count = len(self._queue.slots)
        return f"<{self._queue.condition}: {count or 'no'} repl{'y' if count == 1 else 'ies'}>"

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_")]
