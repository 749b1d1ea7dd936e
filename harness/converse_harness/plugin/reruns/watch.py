"""Observe the replies in one run of a test, and replace some of them."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

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

Repeat = Callable[[Call, int], bool]
"""Whether a call that repeats the request of the replaced reply gets the replacing reply too, and not the original one.

The number is how often the replacing reply was sent again so far.
"""


class Mending(NamedTuple):
    """How a Watch answers the calls after a replaced reply. `plain` are the calls of the run without a replaced reply.

    `repeat` decides which repetitions of the request fail once more. `models` is true if the replaced reply is a
    mistake of the model, which the model corrects once it is told. `otherwise` answers calls that the other run does
    not make, before the original reply is given: for example, code summarises a conversation that is too long.
    """

    plain: Sequence[Call]
    repeat: Repeat = lambda _, __: False
    models: bool = False
    otherwise: Reply | None = None


if TYPE_CHECKING:  # mypy does not see that pytest.fail.Exception is a class
    _Failed = BaseException
else:
    _Failed = pytest.fail.Exception


class AskedWithoutEnd(_Failed):
    """Raised in the code under test, which asks on for ever although the script does not answer."""


class Watch:
    """Sees every reply in one run of a test; the function `replace` returns the reply to send.

    With `mending`, a later call with the same content as the call whose reply was replaced gets the original reply. So
    does a call that asks the same with a shorter conversation or of another model, if `mending.plain` has no such call,
    and the first later call that the script does not answer. This ends once the client has read the original reply:
    from then on, the same content is another question. After `patience` calls in a row without a reply, the code under
    test gets AskedWithoutEnd. Any thread may call the methods.
    """

    def __init__(
        self, replace: Replace | None = None, mending: Mending | None = None, *, patience: int | None = None
    ) -> None:
        self.lenient = replace is not None
        self.replies: list[WatchedReply] = []
        self.first: WatchedReply | None = None
        """The first reply that was replaced."""
        self.given: list[Reply] = []
        """The replies that were sent, in the order of their calls."""
        self.later: list[Call] = []
        """The calls after the first replaced reply, in the order of their arrival."""
        self.asked_again = 0
        """The number of calls that got the original reply after a replaced reply."""
        self.failed_again = 0
        """The number of calls that got the replacing reply once more."""
        self.unanswered = 0
        """The number of calls that the script does not answer, or that Bedrock would refuse."""
        self.refused: list[Call] = []
        """The calls after the first replaced reply that Bedrock would refuse."""
        self.fakes = 0
        """The number of fakes that replied."""
        self.unused: list[Reply] = []
        """The required replies of the script that were not used, once for each call that may use them."""
        self.all_refused: list[Call] = []
        """All calls that Bedrock would refuse."""
        self.asked_without_end = False
        """Whether the test was ended since it asked on, although the script did not answer."""
        self._patience = patience
        self._in_vain = 0
        """The number of calls without a reply since the last reply."""
        self._replace = replace
        self._mending = mending
        self._plain = {asked_of(call) for call in mending.plain} if mending is not None else set[Asked]()
        self._beyond = mending is not None
        self._originals: list[Call] = []
        """The calls that got the original reply after a replaced reply."""
        self._counts: Counter[Asked] = Counter()
        self._lock = threading.RLock()
        self._paused = 0
        self.stages: tuple[MakeStage, ...] = partial(AnswerAgain, self), partial(AnswerBeyond, self)
        """What makes the stages by which fakes ask this Watch."""

    @property
    def is_paused(self) -> bool:
        """Whether replies are neither stored nor changed now."""
        return self._paused > 0

    def again(self, call: Call) -> Reply | None:
        """Return a reply if `call` repeats the request of the first replaced reply; otherwise None.

        It is the original reply, or the replacing one if `Mending.repeat` says so. Without a Mending it is always None.
        """
        with self._lock:
            first, mending = self.first, self._mending
            if first is None or self._paused:
                return None
            self.later.append(call)
            if mending is None or any(map(_was_read, self._originals)):
                return None
            if asked_of(call) == first.asked:
                sent = first.call.reply
                if sent is not None and mending.repeat(call, self.failed_again):
                    self.failed_again += 1
                    self.given.append(sent)
                    return sent
            elif not (self._asks_otherwise(call, first.call) or (mending.models and self._tells_the_model(call))):
                return self._aside(call)
            return self._original(call, first)

    def _aside(self, call: Call) -> Reply | None:
        mending = self._mending
        if mending is None or mending.otherwise is None or self._originals:
            return None
        if _last(call) in map(_last, mending.plain):
            return None
        self.given.append(mending.otherwise)
        return mending.otherwise

    def _original(self, call: Call, first: WatchedReply) -> Reply:
        self.asked_again += 1
        self._originals.append(call)
        self.given.append(first.reply)
        return first.reply

    def _asks_otherwise(self, call: Call, first: Call) -> bool:
        """Whether a call asks what `first` asked, but with a shorter conversation, or of another model.

        A call of the undamaged run is none: the test itself asks it.
        """
        is_shorter = 0 < len(_messages(call)) <= len(_messages(first))
        return is_shorter and _last(call) == _last(first) and asked_of(call) not in self._plain

    def _tells_the_model(self, call: Call) -> bool:
        """Whether a call sends a tool result that the undamaged run does not send; it is once the only such call."""
        plain = self._mending.plain if self._mending is not None else ()
        known = [without_id(result) for each in plain for result in each.tool_results]
        results = [without_id(result) for result in call.tool_results]
        return not self._originals and any(result not in known for result in results)

    def beyond(self, call: Call, *, refused: bool) -> Reply | None:
        """Return the original of the first replaced reply to a call that the script does not answer; otherwise None.

        This is done only once, only with a Mending, and not if Bedrock would refuse the call (`refused`).
        """
        with self._lock:
            if refused:
                self.all_refused.append(call)
            if refused and self.first is not None:
                self.refused.append(call)
            if self.first is not None and self._beyond and not refused:
                self._beyond = False
                return self._original(call, self.first)
            self.unanswered += 1
            self._in_vain += 1
            if self._patience is not None and self._in_vain > self._patience:
                self.asked_without_end = True
                raise AskedWithoutEnd(f"{self._in_vain} calls in a row got no reply, and the code asked on")
            return None

    def instead(self, call: Call, reply: Reply, transport: Transport | None) -> Reply:
        """Store the scripted `reply` in `replies`, and return the reply to send; while paused, only return `reply`."""
        with self._lock:
            if self._paused:
                return reply
            self._in_vain = 0
            asked = asked_of(call)
            self._counts[asked] += 1
            seen = WatchedReply(len(self.replies) + 1, asked, self._counts[asked], reply, transport, call)
            self.replies.append(seen)
            sent = reply if self._replace is None else self._replace(seen)
            if sent is not reply and self.first is None:
                self.first = seen
            self.given.append(sent)
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
        self._is_counted = False

    def source(self, call: Call) -> Slot | None:
        """Return the original reply if the call repeats the request whose reply was replaced."""
        reply = self._watch.again(call) if call.operation in SCRIPTED else None
        return None if reply is None else _original(call, reply)

    def instead(self, call: Call, reply: Reply) -> Reply:
        """Return the reply that the Watch sends in place of the script's."""
        if call.operation not in SCRIPTED or call.of(_Original) is not None:
            return reply
        if not self._is_counted and not self._watch.is_paused:
            self._is_counted = True
            self._watch.fakes += 1
        return self._watch.instead(call, reply, self.endpoint.transport)

    def leftovers(self) -> tuple[()]:
        """Note the replies that the test has not used."""
        for slot in self.endpoint.script.unused():
            if isinstance(slot.source, Reply):
                self._watch.unused += [slot.source] * ((slot.uses or 0) - len(slot.used_by))
        return ()


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
        reply = self._watch.beyond(call, refused=refused)
        return None if reply is None else _original(call, reply)


class _Original:
    """Marks a call that a Watch has answered with an original reply."""


def _original(call: Call, reply: Reply) -> Slot:
    call.keep(_Original, _Original())
    return Slot(reply, "again", None)


def asked_of(call: Call) -> Asked:
    """Return the content of a call, in a form that can be compared between two runs of a test."""
    return call.operation or "", call.model_id, hashlib.sha256(_text(members_of(call)).encode()).hexdigest()


def members_of(call: Call) -> dict[str, Any]:
    """Return the members of a request that are compared, as JSON."""
    return {name: call.body[name] for name in _MEMBERS if call.body.get(name) is not None}


def _text(members: object) -> str:
    return json.dumps(members, sort_keys=True, default=str)


def _messages(call: Call) -> Sequence[Any]:
    messages: Sequence[Any] = call.body.get("messages") or ()
    return messages


def _last(call: Call) -> object:
    """Return what identifies the last message of a call: the ids of its tool results, or its content.

    Code that shortens a conversation may also shorten the tool results.
    """
    messages = _messages(call)
    content = messages[-1].get("content", ()) if messages else ()
    ids = [block["toolResult"].get("toolUseId") for block in content if "toolResult" in block]
    return ids or [*content]


def without_id(result: dict[str, Any]) -> dict[str, Any]:
    """Return a tool result without the id of its tool use, which differs between two answers."""
    return {name: value for name, value in result.items() if name != "toolUseId"}


def _was_read(call: Call) -> bool:
    """Whether the client read an answer to its end. A client may stop at messageStop, before the metadata."""
    return call.outcome == "complete" or any("messageStop" in each.event for each in call.events)
