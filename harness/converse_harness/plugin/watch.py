"""Watch every reply in one run of a test, and replace some replies."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from converse_harness.endpoint.call import Call
    from converse_harness.faults.model import Transport
    from converse_harness.reply.reply import Reply

Asked = tuple[str, str, str]
"""The content of a call: its operation, its model id, and a digest of the members in `_MEMBERS`."""

_MEMBERS: Final = ("messages", "system", "toolConfig", "outputConfig")
"""Two requests count as equal if these members are equal; a client may change the other members when it asks again."""


@dataclass(slots=True, eq=False)
class WatchedReply:
    """One reply of a test, and the call that it answered. `number` counts the test's replies from 1.

    `occurrence` counts the replies to calls with equal content, from 1. `replaced`: another reply was sent instead.
    """

    number: int
    asked: Asked
    occurrence: int
    reply: Reply
    transport: Transport | None
    call: Call
    replaced: bool = False

    @property
    def operation(self) -> str:
        """Converse or ConverseStream."""
        return self.asked[0]


Replace = Callable[[WatchedReply], "Reply"]
"""A function that returns the reply to send. To change nothing, it returns the watched reply's own `reply`."""


class Watch:
    """Sees every reply in one run of a test; `replace` returns the reply to send. Any thread may call the methods.

    With `mends`, a call with the same content as a call whose reply was replaced gets the original reply. The first
    later call that the script does not answer also gets it, because it may repeat the request in other words or to
    another model.
    """

    def __init__(self, replace: Replace | None = None, *, mends: bool = False) -> None:
        self.lenient = replace is not None
        self.replies: list[WatchedReply] = []
        self.first: WatchedReply | None = None
        """The first reply that was replaced."""
        self.later: list[Call] = []
        """The calls since the first replaced reply, in the order of their arrival."""
        self.asked_again = 0
        """The number of calls that got the original reply in place of a replaced one."""
        self.unanswered = 0
        """The number of calls that the script does not answer, or that Bedrock would refuse."""
        self._replace = replace
        self._mends = mends
        self._beyond = mends
        self._counts: Counter[Asked] = Counter()
        self._lock = threading.RLock()
        self._paused = 0

    def again(self, call: Call) -> Reply | None:
        """Return the original reply for a call that repeats a call with a replaced reply; otherwise None."""
        with self._lock:
            first = self.first
            if first is None or self._paused:
                return None
            self.later.append(call)
            if not self._mends or asked_of(call) != first.asked:
                return None
            self.asked_again += 1
            return first.reply

    def beyond(self, call: Call, *, refused: bool) -> Reply | None:
        """Return the original reply, once, to a call after a replaced reply if the script does not answer this call."""
        del call
        with self._lock:
            if self.first is not None and self._beyond and not refused:
                self._beyond = False
                self.asked_again += 1
                return self.first.reply
            self.unanswered += 1
            return None

    def instead(self, call: Call, reply: Reply, transport: Transport | None) -> Reply:
        """Keep the reply in `replies`, and return the reply to send."""
        with self._lock:
            if self._paused:
                return reply
            asked = asked_of(call)
            self._counts[asked] += 1
            seen = WatchedReply(len(self.replies) + 1, asked, self._counts[asked], reply, transport, call)
            self.replies.append(seen)
            made = reply if self._replace is None else self._replace(seen)
            seen.replaced = made is not reply
            if seen.replaced and self.first is None:
                self.first = seen
            return made

    def answers_as(self, call: Call) -> str:
        """Return the id of the model in whose manner a call is answered. Here, it is the call's own model."""
        return call.stands_for

    @contextmanager
    def paused(self) -> Generator[None, None, None]:
        """Context manager: replies in its block belong to a fixture of a wider scope, so they are not changed."""
        self._paused += 1
        try:
            yield
        finally:
            self._paused -= 1


def asked_of(call: Call) -> Asked:
    """Return the content of a call, in a form that is comparable between two runs of a test."""
    said = json.dumps([call.body.get(name) for name in _MEMBERS], sort_keys=True, default=str)
    return call.operation or "", call.model_id, hashlib.sha256(said.encode()).hexdigest()
