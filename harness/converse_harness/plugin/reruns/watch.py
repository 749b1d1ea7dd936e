"""Observe the replies in one run of a test, and replace some of them."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Final, NamedTuple

from converse_harness.endpoint import Endpoint, MakeStage
from converse_harness.endpoint.call import SCRIPTED, Call
from converse_harness.endpoint.script import Slot
from converse_harness.endpoint.stage import Stage
from converse_harness.faults.model import Transport
from converse_harness.reply.reply import Reply

Asked = tuple[str, str, str]
"""The content by which calls are compared: the operation, the model id, and a digest of the members in `_MEMBERS`."""

_MEMBERS: Final = ("messages", "system", "toolConfig", "outputConfig")
"""The members of a request that are compared; a client may change the other members when it sends a request again."""


class WatchedReply(NamedTuple):
    """One reply of a test's script, and the call that it answers. `number` counts the test's replies from 1.

    `asked` is the content of the call; `occurrence` counts the replies to calls with equal content, from 1.
    """

    number: int
    asked: Asked
    occurrence: int
    reply: Reply
    transport: Transport | None
    call: Call


Replace = Callable[[WatchedReply], Reply]
"""A function that returns the reply to send. To change nothing, it returns the watched reply's own `reply`."""


class Watch:
    """Sees every reply in one run of a test; the function `replace` returns the reply to send.

    If `mends` is true, a later call with the same content as the call whose reply was replaced gets the original reply.
    The first later call that the script does not answer also gets the original reply, because the call may repeat the
    request in other words or to another model. Any thread may call the methods.
    """

    def __init__(self, replace: Replace | None = None, *, mends: bool = False) -> None:
        self.lenient = replace is not None
        self.replies: list[WatchedReply] = []
        self.first: WatchedReply | None = None
        """The first reply that was replaced."""
        self.later: list[Call] = []
        """The calls after the first replaced reply, in the order of their arrival."""
        self.asked_again = 0
        """The number of calls that got the original reply after a replaced reply."""
        self.unanswered = 0
        """The number of calls that the script does not answer, or that Bedrock would refuse."""
        self._replace = replace
        self._mends = mends
        self._beyond = mends
        self._counts: Counter[Asked] = Counter()
        self._lock = threading.RLock()
        self._paused = 0
        self.stages: tuple[MakeStage, ...] = partial(AnswerAgain, self), partial(AnswerBeyond, self)
        """What makes the stages by which fakes ask this Watch."""

    def again(self, call: Call) -> Reply | None:
        """Return the original of the first replaced reply if `call` repeats that reply's request; otherwise None.

        This is only done if `mends` is true.
        """
        with self._lock:
            first = self.first
            if first is None or self._paused:
                return None
            self.later.append(call)
            if not self._mends or asked_of(call) != first.asked:
                return None
            self.asked_again += 1
            return first.reply

    def beyond(self, *, refused: bool) -> Reply | None:
        """Return the original of the first replaced reply to a call that the script does not answer; otherwise None.

        This is done only once, only if `mends` is true, and not if Bedrock would refuse the call (`refused`).
        """
        with self._lock:
            if self.first is not None and self._beyond and not refused:
                self._beyond = False
                self.asked_again += 1
                return self.first.reply
            self.unanswered += 1
            return None

    def instead(self, call: Call, reply: Reply, transport: Transport | None) -> Reply:
        """Store the scripted `reply` in `replies`, and return the reply to send; while paused, only return `reply`."""
        with self._lock:
            if self._paused:
                return reply
            asked = asked_of(call)
            self._counts[asked] += 1
            seen = WatchedReply(len(self.replies) + 1, asked, self._counts[asked], reply, transport, call)
            self.replies.append(seen)
            sent = reply if self._replace is None else self._replace(seen)
            if sent is not reply and self.first is None:
                self.first = seen
            return sent

    @contextmanager
    def paused(self) -> Generator[None, None, None]:
        """Context manager: replies in its block are neither stored nor changed.

        It is for the setup of fixtures whose scope is wider than one test.
        """
        self._paused += 1
        try:
            yield
        finally:
            self._paused -= 1


class AnswerAgain(Stage):
    """Gives the original reply to a call that is repeated, and lets a Watch replace the replies of the script."""

    def __init__(self, watch: Watch, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self.lenient = watch.lenient
        self._watch = watch

    def source(self, call: Call) -> Slot | None:
        """Return the original reply if the call repeats the request whose reply was replaced."""
        reply = self._watch.again(call) if call.operation in SCRIPTED else None
        return None if reply is None else _original(call, reply)

    def instead(self, call: Call, reply: Reply) -> Reply:
        """Return the reply that the Watch sends in place of the script's."""
        if call.operation not in SCRIPTED or call.of(_Original) is not None:
            return reply
        return self._watch.instead(call, reply, self.endpoint.transport)


class AnswerBeyond(Stage):
    """Gives the original reply to the first call that the script does not answer, and counts the other such calls."""

    position = "after the script"
    answers_refused = True

    def __init__(self, watch: Watch, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._watch = watch

    def source(self, call: Call) -> Slot | None:
        """Return the original reply, once."""
        if call.operation not in SCRIPTED:
            return None
        refused = call.refusal is not None and self.endpoint.level_of(call.refusal.rule.name) != "warn"
        reply = self._watch.beyond(refused=refused)
        return None if reply is None else _original(call, reply)


class _Original:
    """Marks a call that a Watch has answered with an original reply."""


def _original(call: Call, reply: Reply) -> Slot:
    call.keep(_Original, _Original())
    return Slot(reply, "again", None)


def asked_of(call: Call) -> Asked:
    """Return the content of a call, in a form that can be compared between two runs of a test."""
    text = json.dumps([call.body.get(name) for name in _MEMBERS], sort_keys=True, default=str)
    return call.operation or "", call.model_id, hashlib.sha256(text.encode()).hexdigest()
