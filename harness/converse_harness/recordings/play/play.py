"""Play a recording as a script: each recorded exchange answers a call that matches it."""

from __future__ import annotations

import inspect
import re
import warnings
from collections import deque
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any, Final

from converse_harness.endpoint.call import Call
from converse_harness.endpoint.script import Deferred, Missed, Queue, Slot
from converse_harness.errors import MaskedSecretWarning, ReplyError
from converse_harness.recordings.format.exchanges import RecordedExchange, RecordedSession, reply_of
from converse_harness.recordings.format.read import DamagedRecording, open_file
from converse_harness.recordings.names import OPENED, USED_FILES, identity
from converse_harness.recordings.play.ignored_parts import IgnoredParts
from converse_harness.recordings.play.matching import (
    MATCHES,
    Match,
    MatchFunction,
    MatchKey,
    as_recorded,
    asked_by,
    asked_in,
    key,
    masks,
)
from converse_harness.recordings.play.mismatch import State, missed
from converse_harness.recordings.play.stale import UnequalRequests, played
from converse_harness.secrets.process import own_secrets

if TYPE_CHECKING:
    from converse_harness.recordings.redaction import Redaction
    from converse_harness.reply.reply import Reply


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """A recorded session, made by `recording`. It can be scripted like replies, any number of times.

    `match`, `pace` and `redaction` are the arguments of `recording`; `ignored` are the parts in its argument `ignore`.
    If `required` is true, an exchange that is not played fails the test. `again` is the command that records the
    session again; error messages contain it.
    """

    path: Path
    session: RecordedSession = field(repr=False)
    match: Match | MatchFunction = "shape"
    pace: float = 0.0
    required: bool = True
    again: str = ""
    redaction: Redaction | None = None
    ignored: IgnoredParts = field(default_factory=IgnoredParts)
    _keys: dict[tuple[Match, bool, int], str] = field(
        default_factory=dict[tuple[Match, bool, int], str], init=False, repr=False
    )

    def queue(self, name: str) -> Queue:
        """Return a new queue with all exchanges of the recording, all of them unplayed."""
        return Playing(self, name)

    @property
    def exchanges(self) -> tuple[RecordedExchange, ...]:
        """The recorded exchanges in order. For an invalid exchange, reading its `call` or `answer` raises
        DamagedRecording.
        """
        return self.session.exchanges

    def check(self) -> Recording:
        """Read every exchange and return the recording. Raises DamagedRecording for an invalid exchange."""
        for exchange in self.exchanges:
            exchange.lines()
        return self

    def asked(self, number: int, *, numbered: bool) -> MatchKey:
        """Return the match key of an exchange; `number` is its index.

        If `numbered` is true, `as_recorded` then masks secrets and numbers account ids in the key.
        """
        asked = self.ignored.left_out_of(asked_in(self.exchanges[number]))
        return as_recorded(asked) if numbered else asked

    def key(self, rule: Match, number: int, *, numbered: bool) -> str:
        """Return the text that `rule` compares for the exchange with the index `number`.

        `numbered` has the same meaning as for `asked`. Each text is computed only once.
        """
        place = rule, numbered, number
        if place not in self._keys:
            self._keys[place] = key(rule, self.asked(number, numbered=numbered))
        return self._keys[place]

    def asked_by(self, call: Call, *, numbered: bool) -> MatchKey:
        """Return the match key of a call. `numbered` has the same meaning as for `asked`."""
        asked = self.ignored.left_out_of(asked_by(call))
        return as_recorded(asked, self.redaction) if numbered else asked

    @property
    def replaces(self) -> bool:
        """Whether the redaction contains replacements, so that recorded texts may differ from the sent texts."""
        return self.redaction is not None and bool(self.redaction.replacements)


class MatchFailed(ReplyError):
    """Raised if the user's function `match` raised an error; the `__cause__` is that error."""


class Playing(Queue):
    """A queue that plays the exchanges of one recording in one script."""

    def __init__(self, recording: Recording, name: str) -> None:
        super().__init__(name)
        self.recording = recording
        self.slots += (
            Slot(Deferred(partial(reply_of, each, recording.pace)), f"{name}.{number}", 1, required=recording.required)
            for number, each in enumerate(recording.exchanges)
        )
        self._all = tuple(self.slots)
        self._numbers = {id(slot): number for number, slot in enumerate(self._all)}
        self._indexes: dict[tuple[Match, bool], dict[str, deque[Slot]]] = {}
        self._is_equal = False
        """Whether the exchange that the last search found has a request equal to that of the call."""

    def next(self, call: Call) -> Slot | None:
        """Return the slot of the exchange that answers a call; None if no exchange answers the call.

        With the rule "shape" or a function, an unplayed exchange with an equal request has priority.
        """
        try:
            found = self._found(call) if self.slots else None
        except MatchFailed as error:
            return Slot(partial(_raise, error), self.name, 1)  # the error is raised when this slot answers the call
        if found is not None:
            unequal = None if self._is_equal else partial(self._requests, self._numbers[id(found)], call)
            played(self.recording.path, self.recording.again, unequal)
            if unequal is not None:
                call.answered.differs = lambda: unequal().places()
        return found

    def _requests(self, number: int, call: Call) -> UnequalRequests:
        numbered = self.recording.replaces
        old, new = self.recording.asked(number, numbered=numbered), self.recording.asked_by(call, numbered=numbered)
        return UnequalRequests(call.number, old, new, own_secrets(), is_masked=numbered)

    @property
    def runs_functions(self) -> bool:
        """Whether the user's function `match` decides which exchange answers a call."""
        return callable(self.recording.match)

    def _found(self, call: Call) -> Slot | None:
        exact = self.recording.match == "exact"
        # Finding account ids and signatures in a request is the slowest step, and few requests contain any. So the
        # first search leaves this step out.
        found = None if self.recording.replaces else self._next(call, numbered=False)
        if found is None and (exact or self.recording.replaces):
            found = self._next(call, numbered=True)
        return self._masked(call) if found is None and exact else found

    def _next(self, call: Call, *, numbered: bool) -> Slot | None:
        rule = self.recording.match
        asked = self.recording.asked_by(call, numbered=numbered)
        first = self.first_left()
        if first is None:
            return None
        exact = key("exact", asked)
        self._is_equal = self._key("exact", first, numbered=numbered) == exact
        if callable(rule):
            return self._accepted(rule, asked, exact, numbered=numbered)
        if rule == "order":
            return first if self._key(rule, first, numbered=numbered) == key(rule, asked) else None
        if self._is_equal:
            return first  # calls usually arrive in the recorded order, so no other exchange needs to be read
        found = self._first("exact", exact, numbered=numbered)
        self._is_equal = found is not None
        return found if rule == "exact" or found else self._first(rule, key(rule, asked), numbered=numbered)

    def _accepted(self, rule: MatchFunction, asked: MatchKey, exact: str, *, numbered: bool) -> Slot | None:
        """Return the slot of the first unplayed exchange that the user's function `rule` accepts; None if there is
        none.

        An exchange with an equal request is tried first; `exact` is the call's key for the rule "exact".
        """
        equal = self._first("exact", exact, numbered=numbered)
        for slot in self.slots if equal is None else (equal, *self.slots):
            recorded = self.recording.asked(self._numbers[id(slot)], numbered=numbered)
            if slot.left and accepts(rule, recorded, asked):
                self._is_equal = slot is equal
                return slot
        return None

    def _first(self, rule: Match, wanted: str, *, numbered: bool) -> Slot | None:
        """Return the first unplayed slot, in the order of the recording, whose key for `rule` is `wanted`.

        Return None if there is none. The search uses an index, because a client may make thousands of calls.
        """
        index = self._indexes.get((rule, numbered))
        if index is None:
            index = self._indexes[rule, numbered] = {}
            for slot in self.slots:
                index.setdefault(self._key(rule, slot, numbered=numbered), deque()).append(slot)
        slots = index.get(wanted, deque())
        while slots and not slots[0].left:
            slots.popleft()  # a played slot never becomes free again
        return slots[0] if slots else None

    def _masked(self, call: Call) -> Slot | None:
        """Return the slot of the first unplayed exchange that differs from the call only in masked texts.

        The exchange must also have the same key for the rule "shape". Return None if there is no such exchange.
        """
        asked = self.recording.asked_by(call, numbered=True)
        shape, exact = key("shape", asked), key("exact", asked)
        for slot in self.slots:
            if slot.left and self._key("shape", slot, numbered=True) == shape:
                secrets = bool(self.recording.exchanges[self._numbers[id(slot)]].masked)
                if masks(self._key("exact", slot, numbered=True), exact, secrets=secrets):
                    return slot
        return None

    def _key(self, rule: Match, slot: Slot, *, numbered: bool) -> str:
        return self.recording.key(rule, self._numbers[id(slot)], numbered=numbered)

    def remove(self, slots: Iterable[Slot]) -> None:
        """Remove slots from the queue, so that they answer no more calls."""
        super().remove(slots)
        self._indexes = {}

    def where(self, slot: Slot, *, in_json: bool = False) -> str:
        """Return the file and line of a slot's exchange."""
        return f"{self.recording.path}:{self.recording.exchanges[self._numbers[id(slot)]].at}: "

    def explain(self, call: Call) -> Missed | None:
        """Return the error about a call that no exchange answers; it names the nearest exchange and the differences.

        Return None if all slots were removed from the queue.
        """
        if self._all and not self.slots:
            return None  # the slots are removed when a temporary script ends
        recording, rule = self.recording, self.recording.match
        numbered = recording.replaces or rule == "exact"
        asked = recording.asked_by(call, numbered=numbered)
        asked_in_file = partial(recording.asked, numbered=numbered)
        key_in_file = partial(recording.key, numbered=numbered)
        numbers = range(len(recording.exchanges))
        if callable(rule):
            fits = [number for number in numbers if accepts(rule, asked_in_file(number), asked)]
        else:
            wanted = key(rule, asked)
            fits = [number for number in numbers if key_in_file(rule, number) == wanted]
        used = [slot.used_by for slot in self._all]
        state = State(recording.path, rule, recording.exchanges, used, asked_in_file, key_in_file, recording.again)
        return missed(state, call, asked, fits)

    def answers(self, call: Call) -> bool:
        """Whether the recording contains an exchange with the operation of this call."""
        operation = asked_by(call).operation
        return any(exchange.operation == operation for exchange in self.recording.exchanges)


def accepts(rule: MatchFunction, recorded: MatchKey, asked: MatchKey) -> bool:
    """Whether the user's function `rule` lets a recorded request answer a call's request; false if their operations
    differ.

    Raises MatchFailed if the function raises an error.
    """
    if recorded.operation != asked.operation:
        return False
    try:
        return bool(rule(recorded.members, asked.members))
    except Exception as error:
        own = extract_tb(error.__traceback__)[1:]  # the first frame is `accepts` itself
        at = f" ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else ""
        name = getattr(rule, "__name__", rule)
        raise MatchFailed(
            f"match function {name}{at} raised {type(error).__name__}: {error}. It gets the recorded "
            "request and the one that came: dicts with operation, modelId and the members of the request."
        ) from error


def _raise(error: MatchFailed, call: Call) -> Reply:
    del call
    raise error


def recording(
    path: str | Path,
    *,
    match: Match | MatchFunction = "shape",
    pace: float | str = 0.0,
    ignore: Collection[str] = (),
    redaction: Redaction | None = None,
) -> Recording:
    """Return a recorded session. It can be scripted like replies: `fake.script(recording("recordings/weather.jsonl"))`.

    `match` is the rule by which an exchange answers a call: "order", "exact", "shape", or a function of the recorded
    request and the call's request. Both requests are dicts with `operation`, `modelId` and the members of the body. The
    first unplayed exchange of the same operation for which the function returns true answers the call. `ignore` lists
    paths in Converse's request that do not count, such as "system" or "toolConfig.tools[*].description". `pace` is
    "recorded" or the factor for the recorded pauses; 0 is no pause. `redaction` contains the replacements made during
    recording; they are also made in each call before the call is compared. Raises DamagedRecording for a file that is
    not a recording, ReplyError for a missing file. Warns with MaskedSecretWarning if a secret was masked in a signature
    of reasoning, or in bytes that are replayed unchanged. The example of `record`
    plays a recording.
    """
    factor, ignored = check_how(match, pace), IgnoredParts.of(ignore)
    where = Path(path)
    USED_FILES.add(identity(where))
    OPENED[identity(where)] += 1
    try:
        session = open_file(where)
    except OSError as error:
        raise ReplyError(f"recording({str(path)!r}): {error.strerror or error}.{_elsewhere(where)}") from error
    for exchange in session.exchanges if session.has_masks else ():
        with suppress(DamagedRecording):  # an invalid exchange raises later, when it is used
            for place in filter(_IS_EXACT.search, exchange.masked):
                warnings.warn(
                    f"{where}:{exchange.at}: {place}: masked when it was recorded, so it is not what Bedrock sent.",
                    MaskedSecretWarning,
                    stacklevel=2,
                )
    return Recording(where, session, match, factor, redaction=redaction, ignored=ignored)


def _elsewhere(path: Path) -> str:
    """Return advice about a missing file with a relative path; "" for any other file.

    The advice names the working directory and, if the file is in the folder `recordings` there, the right path.
    """
    if path.is_absolute() or path.exists():
        return ""
    below = Path("recordings", path)
    there = f" There is {below.as_posix()}: give that." if below.is_file() else ""
    return f" A path is relative to the working directory, {Path.cwd()}.{there}"


_IS_EXACT: Final = re.compile(r"^(?:body(?:Text|Base64)|payload|frame|bytes)\b|\b(?:signature|redactedContent)\b")
"""Matches the path of a text that is useless once a part of it is masked: a signature, or encoded bytes."""


def check_how(match: object, pace: Any) -> float:
    """Check the arguments `match` and `pace` of `recording`, and return the factor for the recorded pauses.

    Raises ReplyError for an invalid argument.
    """
    if callable(match):
        try:
            with suppress(ValueError):  # a function written in C may have no signature
                inspect.signature(match).bind({}, {})
        except TypeError as error:
            name = getattr(match, "__qualname__", match)
            raise ReplyError(f"recording(match={name}): {error}. It is a function {_FUNCTION}.") from error
    elif match not in MATCHES:
        raise ReplyError(
            f"recording(match={match!r}): one of {', '.join(map(repr, MATCHES))}, or a function {_FUNCTION}."
        )
    if pace == "recorded":
        return 1.0
    if type(pace) not in (int, float) or not 0 <= pace < float("inf"):
        raise ReplyError(f'recording(pace={pace!r}): "recorded", or a number that the pauses are multiplied by.')
    return float(pace)


_FUNCTION: Final = "(recorded, asked) that returns whether the recorded request answers the one that was asked"
