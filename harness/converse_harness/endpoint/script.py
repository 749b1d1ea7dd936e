"""Script: chooses the reply for each call, in order or by conditions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import translate
from functools import partial
from operator import attrgetter
from typing import Final, NamedTuple, Protocol, cast, runtime_checkable

from converse_harness import bedrock
from converse_harness.endpoint import operations
from converse_harness.endpoint.call import Call
from converse_harness.errors import DamagedData, ReplyError
from converse_harness.reply.body import ErrorBody, shorten
from converse_harness.reply.reply import Reply

Responder = Reply | Callable[[Call], Reply]
"""A Reply, or a function that computes one from the call."""


@runtime_checkable
class Replies(Protocol):
    """A group of replies that matches calls by itself, such as a recording."""

    def queue(self, name: str) -> Queue:
        """Return a queue with all replies, unused."""
        ...


Pattern = str | re.Pattern[str]
"""A glob, which must match the whole text, case-sensitively; or a compiled pattern, which is searched."""


@runtime_checkable
class Searched(Protocol):
    """A compiled pattern of another engine than `re`, whose search may be slow; patterns of `re` qualify too."""

    def search(self, text: str, /) -> object:
        """Return a match or None. Raises CallError if the search gives up."""
        ...


_SUBJECTS: Final[dict[str, Callable[[Call], str | list[str]]]] = {
    "model": attrgetter("model_id"),
    "last_user_text": attrgetter("last_user_text"),
    "system": attrgetter("system_text"),
    "tool": attrgetter("tool_names"),
}
"""What a Pattern is held against; of a list any item may match."""


_SHOWN: Final = 20
"""The most calls that are listed of a reply, beside the last."""

NOT_USED: Final = "not used"

_FALLBACK: Final = "always"
"""The name of the queue that answers all other calls."""


SCRIPTED: Final = ("Converse", "ConverseStream")
"""The operations that every reply of a script may answer."""


@dataclass(frozen=True, slots=True)
class Named:
    """An operation with its own kind of answer: of the conditions, only a `when` that names the operation may answer
    it.

    `answers` accepts the possible replies; `otherwise` is the advice for all other replies.
    """

    answers: Callable[[Reply], bool]
    otherwise: str


NAMED: Final[Mapping[str, Named]] = {
    "CountTokens": Named(
        lambda reply: isinstance(reply.body, ErrorBody) or reply.no_answer,
        "only an error before the stream or a connection failure can, reply.throttled() for instance. For a number of "
        'your own use on_operation("CountTokens", lambda call: {"inputTokens": 42}).',
    ),
    operations.OPERATION: Named(
        operations.can_apply,
        "only what a guardrail does can, reply.guardrail_blocked() for instance, with its trace; or an error before "
        'the stream or a connection failure. For an answer of your own use on_operation("ApplyGuardrail", lambda call: '
        "{...the members of its output...}).",
    ),
}


def check_answer(operation: str | None, reply: Reply) -> None:
    """Raise ReplyError if the operation has its own kind of answer and the reply is not one."""
    named = NAMED.get(operation or "")
    recorded = reply.recorded is not None and reply.recorded.operation == operation
    if named is not None and not recorded and not named.answers(reply):
        raise ReplyError(f"{reply.summary} cannot answer {operation}: {named.otherwise}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A condition on a call; every given part must hold.

    `turn` counts the model's answers in the conversation from 1: a call whose messages contain no answer is turn 1.
    """

    predicate: Callable[[Call], object] | None = None
    model: Pattern | Searched | None = None
    operation: str | None = None
    last_user_text: Pattern | Searched | None = None
    system: Pattern | Searched | None = None
    tool: Pattern | Searched | None = None
    turn: int | None = None
    _tests: tuple[Callable[[Call], object], ...] = field(init=False, repr=False, compare=False)
    """Each part but the predicate, as a question to a call; every call asks all conditions before its own."""

    def __post_init__(self) -> None:
        given = {name: value for name in _PARTS if (value := getattr(self, name)) is not None}
        if not given:
            raise ReplyError("when() without a condition matches every call; use script() or always() for that.")
        for name, value in given.items():
            if name in _SUBJECTS and not isinstance(value, str | Searched):
                raise ReplyError(f"when({name}={value!r}): a glob such as '*haiku*', or a compiled re.Pattern.")
        if self.predicate is not None and not callable(self.predicate):
            raise ReplyError(f"when({self.predicate!r}): the predicate is a function of the call.")
        if self.operation is not None and self.operation not in (*SCRIPTED, *NAMED):
            raise ReplyError(
                f"when(operation={self.operation!r}): one of {', '.join((*SCRIPTED, *NAMED))}. For an operation that "
                "is not scripted use on_operation()."
            )
        if self.operation in NAMED:
            bedrock.operation(self.operation)  # the oldest models lack it, and say so here
        tests: list[Callable[[Call], object]] = [partial(_is, name, given[name]) for name in _EXACT if name in given]
        tests += [partial(_has_match, _SUBJECTS[name], _search(given[name])) for name in _SUBJECTS if name in given]
        object.__setattr__(self, "_tests", tuple(tests))

    def meets(self, call: Call) -> bool:
        """Whether every part holds; the predicate is called only if all other parts hold."""
        for test in self._tests:
            if not test(call):
                return False
        return self.predicate is None or bool(self.predicate(call))

    def misses(self, call: Call) -> list[str]:
        """The reasons why the call does not match, one phrase per failing part; empty if the call matches."""
        found: list[str] = []
        for name, subject in _SUBJECTS.items():
            pattern = getattr(self, name)
            if pattern is not None and not _has_match(subject, _search(pattern), call):
                value = subject(call)
                found.append(f"{name} is {shorten(value) if isinstance(value, str) else value}")
        if self.operation is not None and self.operation != call.operation:
            found.append(f"operation is {call.operation}")
        if self.turn is not None and self.turn != call.turn:
            found.append(f"turn is {call.turn}")
        if not found and self.predicate is not None and not self.predicate(call):
            found.append("the predicate says no")
        return found

    @property
    def takes_time(self) -> bool:
        """Whether the check may be slow, because it runs a user's function or pattern."""
        patterns = (getattr(self, name) for name in _SUBJECTS)
        return self.predicate is not None or any(
            not isinstance(each, str | re.Pattern) for each in patterns if each is not None
        )

    def __str__(self) -> str:
        parts: list[str] = []
        for name in _PARTS:
            value = getattr(self, name)
            if name == "predicate" and value is not None:
                parts.append(getattr(value, "__name__", "predicate"))
            elif value is not None:
                parts.append(f"{name}={value!r}")
        return f"when({', '.join(parts)})"


_EXACT: Final = ("operation", "turn")
"""The parts of a condition that are the same or not."""

_PARTS: Final = ("predicate", "model", "operation", "last_user_text", "system", "tool", "turn")


def _is(name: str, wanted: object, call: Call) -> bool:
    return bool(getattr(call, name) == wanted)


def _has_match(subject: Callable[[Call], str | list[str]], search: Callable[[str], object], call: Call) -> object:
    value = subject(call)
    return search(value) if isinstance(value, str) else any(map(search, value))


def _search(pattern: Pattern | Searched) -> Callable[[str], object]:
    """Compile a pattern to its match function. Done once per glob, because the cache of `fnmatch` is small."""
    return re.compile(translate(pattern)).match if isinstance(pattern, str) else pattern.search


class Deferred(NamedTuple):
    """A reply that is made when it is needed: that of a recording, which may hold thousands."""

    make: Callable[[], Reply]


@dataclass(slots=True, eq=False)
class Slot:
    """A responder at its place in the script, and the numbers of the calls that used it. `uses` None: unlimited."""

    source: Responder | Deferred
    place: str
    uses: int | None
    used_by: list[int] = field(default_factory=list[int])
    required: bool = True
    """Whether it fails the test if it is not used."""

    @property
    def responder(self) -> Responder:
        """The reply, or the function that computes one. Raises DamagedData for a reply that cannot be made."""
        if isinstance(self.source, Deferred):
            self.source = self.source.make()
        return self.source

    @property
    def is_function(self) -> bool:
        """Whether its reply is computed from the call."""
        return not isinstance(self.source, Reply | Deferred)

    @property
    def left(self) -> bool:
        """Whether the responder can be used once more."""
        return self.uses is None or len(self.used_by) < self.uses

    @property
    def unused(self) -> bool:
        """Whether the responder is required and was used less often than scripted."""
        return self.required and self.uses is not None and len(self.used_by) < self.uses

    @property
    def summary(self) -> str:
        """The reply in a few words, or the function's name."""
        try:
            responder = self.responder
        except DamagedData as error:
            return str(error)
        if isinstance(responder, Reply):
            return responder.summary
        return f"{getattr(responder, '__name__', 'function')}(call)"


class Missed(NamedTuple):
    """Why a queue of recordings does not answer a call: one line, and the details to print below it."""

    first: str
    told: str


@dataclass(slots=True, eq=False)
class Queue:
    """Slots in order, for the calls that meet the condition; without a condition, for all calls."""

    name: str
    condition: Condition | None = None
    slots: list[Slot] = field(default_factory=list[Slot])
    _functions: int = field(default=0, init=False, repr=False)
    _spent: int = field(default=0, init=False, repr=False)
    """How many of the slots are computed; how many from the first on can be used no more. Every call asks for both."""

    def add(self, responders: Iterable[object], *, endless: bool = False) -> list[Slot]:
        """Append checked responders and return their slots.

        Raises ReplyError for a value that is neither Reply nor function, and for a Reply that cannot answer the queue's
        calls.
        """
        added: list[Slot] = []
        for responder in responders:
            if not isinstance(responder, Reply) and not callable(responder):
                raise ReplyError(
                    f"{responder!r} is not a reply. Write one with reply.text(...) or its like, or give a function of "
                    "the call that returns one."
                )
            if self.condition is not None and isinstance(responder, Reply):
                check_answer(self.condition.operation, responder)
            uses = None if endless else responder.uses if isinstance(responder, Reply) else 1
            place = f"{self.name}.{len(self.slots) + len(added)}"
            added.append(Slot(cast("Responder", responder), place, uses))
        self.slots += added
        self._functions += sum(slot.is_function for slot in added)
        return added

    def remove(self, slots: Iterable[Slot]) -> None:
        """Remove some of the queue's slots."""
        taken = {id(slot) for slot in slots}
        self.slots[:] = [slot for slot in self.slots if id(slot) not in taken]
        self._functions = sum(slot.is_function for slot in self.slots)
        self._spent = 0

    @property
    def runs_functions(self) -> bool:
        """Whether the queue has a predicate, a computed reply or a pattern that may be slow."""
        return self._functions > 0 or (self.condition is not None and self.condition.takes_time)

    def next(self, call: Call) -> Slot | None:
        """The first slot that can still be used, if the queue answers this call."""
        named = call.operation in NAMED and self.condition is not None and self.condition.operation == call.operation
        if call.malformed is not None or not (named or call.operation in SCRIPTED):
            return None
        if self.condition is not None and not self.condition.meets(call):
            return None
        return self.first_left()

    def first_left(self) -> Slot | None:
        """The first slot that can still be used, for any call."""
        while self._spent < len(self.slots) and not self.slots[self._spent].left:
            self._spent += 1
        return self.slots[self._spent] if self._spent < len(self.slots) else None

    def where(self, slot: Slot) -> str:
        """The words before a slot's reply that identify its place."""
        del slot  # all of a queue have that in common
        if self.condition is not None:
            return f"{self.condition}: "
        return f"{self.name}: " if self.name == _FALLBACK else ""

    def explain(self, call: Call) -> Missed | None:
        """Why the queue does not answer a call; None if its slots already show this."""
        del call  # of what is scripted by hand each slot is shown
        return None

    def answers(self, call: Call) -> bool:
        """Whether the queue can answer this operation at all."""
        return call.operation in SCRIPTED


class Script:
    """The queues in order of precedence: those with conditions, recordings, replies in order, and the fallback."""

    def __init__(self) -> None:
        self.whens: list[Queue] = []
        self.recordings: list[Queue] = []
        self.ordered = Queue("script")
        self.fallback = Queue(_FALLBACK)

    def choose(self, call: Call, *, refused: bool = False) -> Slot | None:
        """Take the reply for this call; None if there is none.

        A `refused` call is answered only by a recording, which contains Bedrock's real answer.
        """
        for queue in self.recordings if refused else self._queues():
            slot = queue.next(call)
            if slot is not None:
                slot.used_by.append(call.number)
                return slot
        return None

    def add(self, responders: Iterable[object]) -> list[tuple[Queue, Slot]]:
        """Append replies in order, and recordings as queues; return the new slots with their queues.

        Raises ReplyError as `Queue.add` does.
        """
        added: list[tuple[Queue, Slot]] = []
        for responder in responders:
            if isinstance(responder, Replies):
                queue = responder.queue(f"recording{len(self.recordings) + 1}")
                self.recordings.append(queue)
                added += [(queue, slot) for slot in queue.slots]
            else:
                added += [(self.ordered, slot) for slot in self.ordered.add([responder])]
        return added

    def when(self, condition: Condition) -> Queue:
        """Add a queue for the calls that meet the condition."""
        queue = Queue(f"when{len(self.whens) + 1}", condition)
        self.whens.append(queue)
        return queue

    def slots(self) -> Iterator[tuple[Queue, Slot]]:
        """Every slot with its queue, in order of precedence."""
        for queue in self._queues():
            for slot in queue.slots:
                yield queue, slot

    def unused(self) -> list[Slot]:
        """The required slots that were used less often than scripted."""
        return [slot for _, slot in self.slots() if slot.unused]

    @property
    def runs_functions(self) -> bool:
        """Whether the script has a predicate or a computed reply."""
        return any(queue.runs_functions for queue in self._queues())

    def _queues(self) -> Iterator[Queue]:
        yield from self.whens
        yield from self.recordings
        yield self.ordered
        yield self.fallback


def describe(script: Script, call: Call | None = None, *, recordings: bool = True) -> list[tuple[str, str]]:
    """The script, one line per slot with its use; for a call, also why conditions did not match, the nearest first.

    `recordings=False` leaves recordings out.
    """
    rows: list[tuple[int, str, str]] = []
    for queue, slot in script.slots():
        if not recordings and queue in script.recordings:
            continue
        misses = queue.condition.misses(call) if call is not None and queue.condition is not None else []
        used = _used(slot)
        state = f"no match: {', '.join(misses)}" if misses else used
        rows.append((len(misses), queue.where(slot) + slot.summary, state))
    rows.sort(key=lambda row: row[0])
    return [(what, state) for _, what, state in rows]


def _used(slot: Slot) -> str:
    if not slot.used_by:
        return NOT_USED
    numbers = [str(each) for each in slot.used_by]
    calls = ", ".join([*numbers[:_SHOWN], f"... {numbers[-1]}"] if len(numbers) > _SHOWN + 1 else numbers)
    used = f"used by call{'s' * (len(slot.used_by) > 1)} {calls}"
    return f"{used}, {slot.uses - len(slot.used_by)} left" if slot.unused and slot.uses is not None else used
