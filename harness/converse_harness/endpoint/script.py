"""The class Script contains the replies of a test, and chooses the reply for each call, in order or by conditions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol, cast, runtime_checkable

from converse_harness import bedrock, reply
from converse_harness.endpoint.call import SCRIPTED, Call
from converse_harness.endpoint.condition import Condition, blame, check_answer, is_async
from converse_harness.endpoint.operations import NamedOperation, is_failure
from converse_harness.endpoint.outputs import Handler, answer_of
from converse_harness.errors import Advice, DamagedData, ReplyError
from converse_harness.reply.operation_output import OperationOutput, output
from converse_harness.reply.reply import Reply
from converse_harness.reply.usable import Usable
from converse_harness.user_lines import UserLine, calling_line
from converse_harness.words import counted, plural, shown

Answering = Reply | Callable[[Call], Reply]
"""A Reply, or a function that computes a Reply from the call."""


class Situation(Protocol):
    """A value that has replies to consecutive calls, such as a Case of `cases`."""

    @property
    def replies(self) -> tuple[Reply, ...]:
        """The replies, in the order of the calls."""
        ...


Responder = Answering | Situation
"""A value that a script accepts: a Reply, a function that takes the call and returns a Reply, or a Case.

A Case contains several replies.
"""

_CASE_NAME: Final = re.compile(r"[a-z0-9]+(_[a-z0-9]+)+")
"""Matches a text that may be the name of a case.

The catalogue of cases cannot be asked: this module must not import it.
"""


def each_reply(responders: Iterable[object]) -> Iterator[object]:
    """Yield the replies of each Case, and all other values unchanged."""
    for responder in responders:
        several = None if callable(responder) or isinstance(responder, Reply) else getattr(responder, "replies", None)
        yield from cast("tuple[object, ...]", several) if isinstance(several, tuple) else (responder,)


def check_answers(operation: NamedOperation, answers: Iterable[object], before: str) -> list[object]:
    """Check answers to an operation other than Converse. Return them as a list of replies and functions.

    Mappings and outputs are converted to replies, a Case to its replies. For other kinds of values, and for an output
    or a reply that does not fit the operation, ReplyError is raised. Its text begins with `before`.
    """
    checked: list[object] = []
    for answer in each_reply(answers):
        given = output(cast("Mapping[str, object]", answer)) if isinstance(answer, Mapping) else answer
        try:
            if isinstance(given, OperationOutput | Reply):
                given = answer_of(operation, given)
                check_answer(operation.name, given)
        except ReplyError as error:
            raise ReplyError(*([before] if before else []), *error.parts) from None
        if callable(given) and not isinstance(given, Usable | type):
            check_responder(given, before)
        elif not isinstance(given, Reply):
            raise ReplyError(
                f"{before}{shown(given)} does not answer {operation.name}. Give the members of its output as a dict, a "
                "reply that is an error, or a plain function of the call that returns one of these: lambda call: {...}."
            )
        checked.append(given)
    return checked


def check_responder(responder: Any, before: str) -> None:
    """Raise ReplyError unless the value is a Reply or a function of a call. The error's text begins with `before`."""
    if is_async(responder):
        raise ReplyError(
            f"{before}{responder!r} is an async function, and a call is answered at once. Give a plain function of the "
            "call that returns a reply."
        )
    if isinstance(responder, type) or not (isinstance(responder, Reply) or callable(responder)):
        raise ReplyError(
            f"{before}{responder!r} is not a reply. Write one with reply.text(...) or its like, or give a "
            f"function of the call that returns one.{_instead(responder)}"
        )
    name = getattr(responder, "__name__", "")
    if inspect.isfunction(responder) and getattr(reply, name, None) is responder:
        raise ReplyError(f"{before}reply.{name} is a function that makes a reply. Call it: reply.{name}(...).")
    if inspect.ismethod(responder) and isinstance(responder.__self__, Reply):
        raise ReplyError(f"{before}{name} is a method of a reply. Call it: .{name}(...).")


def _instead(given: object) -> str:
    if isinstance(given, str):
        case = f" For a case of the catalogue: cases.{given}." if _CASE_NAME.fullmatch(given) else ""
        return f" For the model's text: reply.text({shown(given)}).{case}"
    if isinstance(given, Mapping):
        members = cast("Mapping[object, object]", given)
        if "output" in members:
            return " For what boto3 returned, as it is: reply.response({...})."
        if "content" in members:
            return ' For a message, give its blocks: reply.message(*message["content"]).'
        if not {"body", "contentType"} & members.keys():
            return (
                " For a block of a message: reply.message({...}). For what boto3 returned: reply.response({...}). For "
                'the output of another operation: converse.on_operation("...", {...}).'
            )
    if isinstance(given, Mapping | OperationOutput):
        return (
            ' The members of an output answer another operation: converse.on_operation("InvokeModel", {...}), or '
            'converse.when(operation="InvokeModel").script({...}).'
        )
    if isinstance(given, list | tuple | Iterator):
        return " The replies are arguments of their own: write a star before the list, *replies."
    return ""


def check_some(responders: Sequence[object], by: str) -> None:
    """Raise ReplyError if there is no responder; `by` is the name of the function that was called without one."""
    if not responders:
        raise ReplyError(f'{by}: it needs a reply, as {by.removesuffix(")")}reply.text("...")).')


def check_endless(responders: Iterable[object], by: str) -> None:
    """Raise ReplyError unless there is exactly one responder that may answer any number of calls, as `always` requires.

    A reply must not have a number of uses, and must not be optional. `by` is the name of the called function, with
    which the error begins; it may be empty.
    """
    responders, start = [*responders], f"{by}: " if by else ""
    if len(responders) != 1:
        raise ReplyError(f"{start}these are {len(responders)} replies; any number of calls has one answer.")
    (responder,) = responders
    if isinstance(responder, Usable):
        if responder.uses > 1:
            raise ReplyError(
                f"{start}{responder.summary}: any number of calls gets this answer. ",
                Advice(f"Leave out .times({responder.uses}).", 'Leave out "times".'),
            )
        if responder.may_be_unused:
            raise ReplyError(
                f"{start}{responder.summary}: this answer may stay unused anyway. ",
                Advice("Leave out .optional().", 'Leave out "optional".'),
            )


@runtime_checkable
class Replies(Protocol):
    """A group of replies with its own rules for matching calls, such as a recording."""

    def queue(self, name: str) -> Queue:
        """Return a new queue with this name. It contains all replies of the group, and none of them is used yet."""
        ...


_SHOWN: Final = 20
"""For one reply, messages list the first calls that used it, at most this number, and the last one."""

NOT_USED: Final = "not used"

_FALLBACK: Final = "always"
"""The name of the queue that answers all calls that no other queue answers."""


class Deferred(NamedTuple):
    """A function `make` that builds a reply. It is called only when this reply is needed, to save time.

    A recording may contain thousands of replies.
    """

    make: Callable[[], Reply]


@dataclass(slots=True, eq=False)
class Slot:
    """One responder of a queue (a reply, an output or a function), and the numbers of the calls that used it.

    `place` is the name of the slot, for example "script.0". `uses` is the number of calls that may use the responder;
    None means no limit.
    """

    source: Answering | OperationOutput | Handler | Deferred
    place: str
    uses: int | None
    used_by: list[int] = field(default_factory=list[int])
    required: bool = True
    """Whether the test fails if this responder is not used."""
    by: str = ""
    """The method to which the user passed the responder, for example "always()"; may be empty."""
    line: UserLine | None = None
    """The line of the user's code that passed the responder to a method."""

    @property
    def responder(self) -> Answering | OperationOutput | Handler:
        """The responder itself: a reply, an output, or a function that computes one of these.

        Raises DamagedData if the reply is in a damaged recording.
        """
        if isinstance(self.source, Deferred):
            self.source = self.source.make()
        return self.source

    @property
    def is_function(self) -> bool:
        """Whether the responder is a function that computes a reply from the call."""
        return not isinstance(self.source, Reply | Deferred | OperationOutput)

    def blame(self, error: Exception, call: Call) -> None:
        """Add a note to an error raised while a call was answered, if the responder is a function of the user."""
        if self.is_function and not isinstance(self.source, Usable):
            given = f"given to {self.by}" if self.by else "given"
            name = getattr(self.source, "__name__", "")
            named = f"{name} " if name and name.isidentifier() else ""
            blame(error, f"the function {named}{given}", self.line, f"it answered call {call.number}")

    @property
    def is_answer(self) -> bool:
        """Whether the responder may answer with an output or a message: true unless it is a Reply that is an error."""
        return not (isinstance(self.source, Reply) and is_failure(self.source))

    @property
    def left(self) -> bool:
        """Whether the responder can be used once more."""
        return self.uses is None or len(self.used_by) < self.uses

    @property
    def unused(self) -> bool:
        """Whether the responder is required and was used less often than scripted."""
        return self.required and self.uses is not None and self.left

    @property
    def summary(self) -> str:
        """A short description of the reply or output, or the name of the scripted function.

        If a recorded reply cannot be built, the summary is the text of the error.
        """
        try:
            responder = self.responder
        except DamagedData as error:
            return str(error)
        if isinstance(responder, Usable):
            return responder.summary
        return f"{getattr(responder, '__name__', 'function')}(call)"


class Missed(NamedTuple):
    """The reason why a recording does not answer a call: `first` is the reason in one line, `told` are the details."""

    first: str
    told: str


@dataclass(slots=True, eq=False)
class Queue:
    """A queue of slots with replies, which answer calls in order.

    If there is a condition, they answer only the calls that meet the condition.
    """

    name: str
    condition: Condition | None = None
    slots: list[Slot] = field(default_factory=list[Slot])
    title: str = ""
    """The text that messages show before each reply of the queue. If the title is empty, they show the condition."""
    was_filled: bool = field(default=False, init=False)
    """Whether a responder was ever added. This remains true after responders are removed."""
    _functions: int = field(default=0, init=False, repr=False)
    _spent: int = field(default=0, init=False, repr=False)
    """The number of exhausted slots at the start of `slots`; `_functions` is the number of slots with a function.

    Both numbers are cached, because every call needs them.
    """

    def add(self, responders: Iterable[object], *, endless: bool = False, by: str = "") -> list[Slot]:
        """Check the responders, append them, and return their slots.

        If `endless` is true, any number of calls may use the only responder. `by` is the name of the function to which
        the user passed the responders. Raises ReplyError for a value that is neither a Reply nor a function, for a
        Reply that cannot answer the queue's calls, and for an endless Reply with a number of uses.
        """
        added: list[Slot] = []
        before = f"{by}: " if by else ""
        other = self.operation
        responders = [*each_reply(responders)] if other is None else check_answers(other, responders, before)
        if endless:
            check_endless(responders, by)
        line = calling_line()
        for number, responder in enumerate(responders, len(self.slots)):
            if other is None:
                check_responder(responder, before)
            counted = responder if isinstance(responder, Usable) else None
            uses = None if endless else 1 if counted is None else counted.uses
            required = counted is None or not counted.may_be_unused
            added.append(Slot(cast("Answering", responder), f"{self.name}.{number}", uses, [], required, by, line))
        self.slots += added
        self.was_filled = True
        self._functions += sum(slot.is_function for slot in added)
        return added

    @property
    def operation(self) -> NamedOperation | None:
        """The operation of the queue's calls; None if the calls are those of Converse and ConverseStream."""
        return None if self.condition is None else self.condition.named

    @property
    def asked_of_others(self) -> Collection[NamedOperation]:
        """The operations, other than Converse and ConverseStream, for which the queue was made.

        The queue of a recording overrides this property.
        """
        return () if self.operation is None else (self.operation,)

    def remove(self, slots: Iterable[Slot]) -> None:
        """Remove some of the queue's slots."""
        taken = {id(slot) for slot in slots}
        self.slots[:] = [slot for slot in self.slots if id(slot) not in taken]
        self._functions = sum(slot.is_function for slot in self.slots)
        self._spent = 0

    @property
    def runs_functions(self) -> bool:
        """Whether the queue may run a function of the user or a slow pattern."""
        return self._functions > 0 or (self.condition is not None and self.condition.takes_time)

    def next(self, call: Call) -> Slot | None:
        """Return the first slot that can still be used; None if the queue cannot answer this call or is exhausted."""
        other = self.operation
        if call.malformed is not None:
            return None
        if call.operation not in SCRIPTED if other is None else (call.service, call.operation) != other:
            return None
        if self.condition is not None and not self.condition.meets(call):
            return None
        return self.first_left()

    def first_left(self) -> Slot | None:
        """Return the first slot that can still be used; None if all slots are exhausted.

        The condition of the queue is not checked.
        """
        while self._spent < len(self.slots) and not self.slots[self._spent].left:
            self._spent += 1
        return self.slots[self._spent] if self._spent < len(self.slots) else None

    def where(self, slot: Slot, *, in_json: bool = False) -> str:
        """Return a prefix for a line of text about the slot: the title or the condition of the queue. It may be empty.

        If `in_json` is true, the text is for users of the control API. Here all slots have the same prefix. The queue
        of a recording overrides this method.
        """
        title = self.title
        if not title and self.condition is not None:
            title = self.condition.in_json if in_json else str(self.condition)
        return f"{title}: " if title else ""

    def explain(self, call: Call) -> Missed | None:
        """Return the reason why a recording does not answer a call; None for a queue that is not a recording.

        Failure messages list every slot of such a queue, with the reason. The queue of a recording overrides this
        method.
        """
        return None

    def answers(self, call: Call) -> bool:
        """Whether the queue may answer calls of the operation of this call.

        The queue of a recording overrides this method.
        """
        return call.operation in SCRIPTED


class Script:
    """All replies of a test, in queues. A call is answered by the first queue that has a reply for it.

    The order of the queues is: queues with conditions, queues of other operations, recordings, replies in order,
    fallback.
    """

    def __init__(self) -> None:
        self.whens: list[Queue] = []
        self.recordings: list[Queue] = []
        self.ordered = Queue("script")
        self.fallback = Queue(_FALLBACK, title=_FALLBACK)
        self.ended = 0
        """The number of replies that answer no calls any more, because the `with` block that added them has ended."""
        self.operations: dict[NamedOperation, tuple[Queue, Queue]] = {}
        """The two queues of `on_operation` for each operation: answers in order, and the function for all other calls.
        """

    def take(self, queues: Iterable[Queue], call: Call) -> Slot | None:
        """Return the slot that answers the call, from the first of these queues that has one, and mark it as used."""
        for queue in queues:
            slot = queue.next(call) if queue.slots else None
            if slot is not None:
                slot.used_by.append(call.number)
                return slot
        return None

    def add(self, responders: Iterable[object], *, by: str = "") -> list[tuple[Queue, Slot]]:
        """Append replies in order, and recordings as queues; return the new slots with their queues.

        Raises ReplyError as `Queue.add` does, before anything is added.
        """
        responders = [*each_reply(responders)]
        for responder in responders:
            if not isinstance(responder, Replies):
                check_responder(responder, f"{by}: " if by else "")
        added: list[tuple[Queue, Slot]] = []
        for responder in responders:
            if isinstance(responder, Replies):
                queue = responder.queue(f"recording{len(self.recordings) + 1}")
                self.recordings.append(queue)
                added += [(queue, slot) for slot in queue.slots]
            else:
                added += [(self.ordered, slot) for slot in self.ordered.add([responder], by=by)]
        return added

    def when(self, condition: Condition) -> Queue:
        """Add a queue for the calls that meet the condition."""
        queue = Queue(f"when{len(self.whens) + 1}", condition)
        self.whens.append(queue)
        return queue

    def on_operation(
        self, named: NamedOperation, answers: Sequence[object], *, by: str = ""
    ) -> list[tuple[Queue, Slot]]:
        """Add answers to an operation other than Converse, in order. Raises ReplyError as `Queue.add` does.

        If the only answer is a function, it answers every call for which no other answer is left. It replaces an
        earlier such function.
        """
        name, condition = named.name, Condition(operation=named.name, service=named.service)
        title = f"on_operation({named.in_code})"
        place = name if named.service == bedrock.SERVICE else f"{named.service}.{name}"
        new = Queue(place, condition, title=title), Queue(f"{place}.{_FALLBACK}", condition, title=title)
        ordered, rest = self.operations.get(named, new)
        endless = len(answers) == 1 and not isinstance(answers[0], Reply) and callable(answers[0])
        queue = rest if endless else ordered
        before = tuple(rest.slots) if endless else ()
        added = queue.add(answers, endless=endless, by=by)
        rest.remove(before)
        self.operations[named] = ordered, rest
        return [(queue, slot) for slot in added]

    @property
    def named(self) -> list[NamedOperation]:
        """The operations, other than Converse and ConverseStream, that queues are for.

        They have the order of the script; those that have an answer left come first.
        """
        left: dict[NamedOperation, bool] = {}
        for queue in (*self.conditions, *self.recordings):
            for named in queue.asked_of_others:
                left[named] = left.get(named, False) or queue in self.recordings or any(s.left for s in queue.slots)
        return sorted(left, key=lambda named: left[named], reverse=True)

    def for_operation(self, call: Call) -> list[Queue]:
        """Return the queues that have replies and may answer calls of the operation of this call."""
        return [queue for queue in self._queues if queue.slots and queue.operation in _named(call)]

    def ran_out(self, call: Call) -> bool:
        """Whether the script has an answer to calls such as this one, but all slots of its queue are exhausted.

        Scripted errors do not count. After such errors, the fake may answer the operation itself, for example
        CountTokens.
        """
        return any(
            any(slot.is_answer for slot in queue.slots) and (queue.condition is None or queue.condition.meets(call))
            for queue in self.for_operation(call)
            if queue.first_left() is None
        )

    def slots(self) -> Iterator[tuple[Queue, Slot]]:
        """Return an iterator over every slot with its queue, in order of precedence."""
        return ((queue, slot) for queue in self._queues for slot in queue.slots)

    def unused(self) -> list[Slot]:
        """Return the required slots that were used less often than scripted."""
        return [slot for _, slot in self.slots() if slot.unused]

    @property
    def runs_functions(self) -> bool:
        """Whether the script may run a function of the user or a slow pattern."""
        return any(queue.runs_functions for queue in self._queues)

    @property
    def conditions(self) -> Sequence[Queue]:
        """The queues with a condition, and those of other operations."""
        return [*self.whens, *(queue for both in self.operations.values() for queue in both)]

    @property
    def _queues(self) -> list[Queue]:
        return [*self.conditions, *self.recordings, self.ordered, self.fallback]


def _named(call: Call) -> Sequence[NamedOperation | None]:
    """Return the values of `Queue.operation` for the queues that may answer calls of the operation of this call."""
    if call.operation is None:
        return ()
    return (None,) if call.operation in SCRIPTED else (NamedOperation(call.service, call.operation),)


def describe(
    script: Script, call: Call | None = None, *, recordings: bool = True, in_json: bool = False
) -> list[tuple[str, str]]:
    """Return two texts for each slot: a summary of its reply, and its state.

    If `call` does not meet the condition of the slot, the state lists the parts of the condition that fail. Otherwise
    the state lists the calls that used the slot. Slots with the fewest failing parts come first. Slots for another
    operation than that of `call` are left out. `recordings=False` leaves out the slots of recordings. With
    `in_json=True`, conditions are written as users of the control API write them.
    """
    rows: list[tuple[int, str, str]] = []
    for queue, slot in script.slots():
        recorded = queue in script.recordings
        if recorded and not recordings:
            continue
        if call is not None and not recorded and queue.operation not in _named(call):
            continue
        misses = queue.condition.misses(call) if call is not None and queue.condition is not None else []
        state = f"no match: {', '.join(misses)}" if misses else _used(slot)
        rows.append((len(misses), queue.where(slot, in_json=in_json) + slot.summary, state))
    rows.sort(key=lambda row: row[0])
    return [(what, state) for _, what, state in rows]


def scripted_in_short(script: Script) -> list[str]:
    """Return texts that summarise a script: the numbers of its replies, its fallback, its answers to other operations.

    The list is empty for an empty script.
    """
    slots = [slot for queue in (*script.whens, *script.recordings, script.ordered) for slot in queue.slots]
    parts = [_counted(slots, "scripted reply", "scripted replies")] if slots else []
    parts += [f"always {slot.summary}" for slot in script.fallback.slots]
    answers = {each.name: ordered.slots for each, (ordered, _) in script.operations.items()}
    return parts + sorted(
        f"{name} ({_counted(slots, 'answer', 'answers')})" if slots else name for name, slots in answers.items()
    )


def _counted(slots: Sequence[Slot], one: str, several: str) -> str:
    uses = sum(slot.uses or 1 for slot in slots)
    left = sum(max(0, (slot.uses or 1) - len(slot.used_by)) for slot in slots)
    return f"{counted(uses, one, several)}, {left} left"


def _used(slot: Slot) -> str:
    if not slot.used_by:
        return NOT_USED
    numbers = [str(each) for each in slot.used_by]
    calls = ", ".join([*numbers[:_SHOWN], f"... {numbers[-1]}"] if len(numbers) > _SHOWN + 1 else numbers)
    used = f"used by {plural(len(slot.used_by), 'call')} {calls}"
    if not slot.unused or slot.uses is None:
        return used
    more = slot.uses - len(slot.used_by)
    return f"{used}, {counted(more, 'more call')} expected"
