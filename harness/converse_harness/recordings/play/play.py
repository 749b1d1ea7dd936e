"""Play a recording as a script: each recorded exchange answers a call that matches it."""

from __future__ import annotations

import inspect
import re
import warnings
from collections import deque
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from converse_harness.endpoint.call import Call
from converse_harness.endpoint.operations import NamedOperation
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


class Requests:
    """The requests of a recording's exchanges, and those of calls, in the form in which they are compared: as they are.

    Exchanges are named by their index in the recording. If an exchange of the recording has digests of files, the files
    in all requests are compared by their digests.
    """

    def __init__(self, session: RecordedSession, ignored: IgnoredParts) -> None:
        self._exchanges = session.exchanges
        self._ignored = ignored
        self._by_digest = session.has_digests
        self._keys: dict[tuple[Match, int], str] = {}

    def of(self, number: int) -> MatchKey:
        """Return the match key of an exchange."""
        return self._compared(asked_in(self._exchanges[number]))

    def of_call(self, call: Call) -> MatchKey:
        """Return the match key of a call."""
        return self._compared(asked_by(call))

    def _compared(self, asked: MatchKey) -> MatchKey:
        left = self._ignored.left_out_of(asked)
        return left.by_digest if self._by_digest else left

    def key(self, rule: Match, number: int) -> str:
        """Return the text that `rule` compares for an exchange. Each text is computed only once."""
        place = rule, number
        if place not in self._keys:
            self._keys[place] = key(rule, self.of(number))
        return self._keys[place]


class MaskedRequests(Requests):
    """Requests in the form in which they are recorded: secrets are masked, and account ids are numbered.

    In calls, the user's replacements in `redaction` are made too.
    """

    def __init__(self, session: RecordedSession, ignored: IgnoredParts, redaction: Redaction | None) -> None:
        super().__init__(session, ignored)
        self._redaction = redaction

    def of(self, number: int) -> MatchKey:
        """Return the match key of an exchange."""
        return as_recorded(super().of(number))

    def of_call(self, call: Call) -> MatchKey:
        """Return the match key of a call."""
        return as_recorded(super().of_call(call), self._redaction)


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
    plain: Requests = field(init=False, repr=False)
    """The requests as they are."""
    masked: Requests = field(init=False, repr=False)
    """The requests as they are recorded."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "plain", Requests(self.session, self.ignored))
        object.__setattr__(self, "masked", MaskedRequests(self.session, self.ignored, self.redaction))

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

    @property
    def replaces(self) -> bool:
        """Whether the redaction contains replacements, so that recorded texts may differ from the sent texts."""
        return self.redaction is not None and bool(self.redaction.replacements)


class MatchFailed(ReplyError):
    """Raised if the user's function `match` raised an error; the `__cause__` is that error."""


class Found(NamedTuple):
    """The exchange that answers a call, and whether its request is equal to that of the call."""

    slot: Slot
    is_equal: bool


class _Asked:
    """The request of a call in one form, and the recorded requests in the same form."""

    def __init__(self, requests: Requests, call: Call) -> None:
        self.requests = requests
        self.request = requests.of_call(call)

    @cached_property
    def exact(self) -> str:
        """The text that the rule "exact" compares."""
        return key("exact", self.request)

    def key(self, rule: Match) -> str:
        """Return the text that `rule` compares."""
        return self.exact if rule == "exact" else key(rule, self.request)


class Search:
    """The search for the exchange that answers one call.

    Requests are compared as they are. Only if that finds none, the rule "exact" also compares them as they are
    recorded: finding account ids and signatures in a request is the slowest step, and few requests contain any. If the
    user has replacements, requests are compared only as they are recorded.
    """

    def __init__(self, playing: Playing, call: Call) -> None:
        self._playing = playing
        self._recording = playing.recording
        self._rule: Match | MatchFunction = playing.recording.match
        self._call = call

    @cached_property
    def _plain(self) -> _Asked:
        return _Asked(self._recording.plain, self._call)

    @cached_property
    def _masked(self) -> _Asked:
        return _Asked(self._recording.masked, self._call)

    def find(self) -> Found | None:
        """Return the unplayed exchange that answers the call; None if there is none.

        With the rule "shape" or a function, an exchange with an equal request has priority. Raises MatchFailed if the
        user's function raises an error.
        """
        first = self._playing.first_left()
        if first is None:
            return None
        exact, replaces = self._rule == "exact", self._recording.replaces
        found = None if replaces else self._by_rule(first, self._plain)
        if found is None and (exact or replaces):
            found = self._by_rule(first, self._masked)
        if found is None and exact:
            found = self._beside_masks()
        return self._of_any_request(first) if found is None else found

    def _by_rule(self, first: Slot, asked: _Asked) -> Found | None:
        """Return the exchange that answers the call by the rule. `first` is the first unplayed exchange."""
        rule = self._rule
        if callable(rule):
            return self._accepted(rule, asked)
        is_equal = self._playing.key("exact", first, asked.requests) == asked.exact
        if rule == "order":
            is_next = self._playing.key(rule, first, asked.requests) == asked.key(rule)
            return Found(first, is_equal) if is_next else None
        if is_equal:
            return Found(first, is_equal=True)  # calls usually arrive in the recorded order: no other exchange is read
        slot = self._playing.first_with("exact", asked.exact, asked.requests)
        if slot is not None:
            return Found(slot, is_equal=True)
        slot = None if rule == "exact" else self._playing.first_with(rule, asked.key(rule), asked.requests)
        return None if slot is None else Found(slot, is_equal=False)

    def _accepted(self, rule: MatchFunction, asked: _Asked) -> Found | None:
        """Return the first unplayed exchange that the user's function accepts.

        An exchange with an equal request is tried first.
        """
        equal = self._playing.first_with("exact", asked.exact, asked.requests)
        for slot in self._playing.slots if equal is None else (equal, *self._playing.slots):
            number = self._playing.number_of(slot)
            if slot.left and not self._recording.exchanges[number].any_request:
                recorded = asked.requests.of(number)
                if accepts(rule, recorded, asked.request, self._call) and slot.left:  # the function may make a call
                    return Found(slot, slot is equal)
        return None

    def _of_any_request(self, first: Slot) -> Found | None:
        """Return the first unplayed exchange whose request is not known; with "order" it must be the next one.

        No request is compared, so nothing of it can have changed: the exchange counts as equal.
        """
        for slot in (first,) if self._rule == "order" else self._playing.slots:
            exchange = self._recording.exchanges[self._playing.number_of(slot)]
            if slot.left and _answers_any(exchange, self._plain.request):
                return Found(slot, is_equal=True)
        return None

    def _beside_masks(self) -> Found | None:
        """Return the first unplayed exchange that differs from the call only in masked texts.

        The exchange must also have the same key for the rule "shape".
        """
        playing, asked = self._playing, self._masked
        shape = asked.key("shape")
        for slot in playing.slots:
            if slot.left and playing.key("shape", slot, asked.requests) == shape:
                secrets = bool(self._recording.exchanges[playing.number_of(slot)].masked)
                if masks(playing.key("exact", slot, asked.requests), asked.exact, secrets=secrets):
                    return Found(slot, is_equal=False)
        return None


class OtherRequest:
    """The request of a call that got a recorded answer, and that differs from the recorded request."""

    __slots__ = ("_unequal",)

    def __init__(self, unequal: Callable[[], UnequalRequests]) -> None:
        self._unequal = unequal

    def places(self) -> str:
        """Return the paths of the differences, except ids."""
        return self._unequal().places()


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
        self._indexes: dict[tuple[Match, Requests], dict[str, deque[Slot]]] = {}

    def next(self, call: Call) -> Slot | None:
        """Return the slot of the exchange that answers a call; None if no exchange answers the call.

        Raises MatchFailed if the user's function `match` raises an error.
        """
        found = Search(self, call).find()
        if found is None:
            return None
        unequal = None if found.is_equal else partial(self._unequal, found.slot, call)
        played(self.recording.path, self.recording.again, unequal)
        if unequal is not None:
            call.keep(OtherRequest, OtherRequest(unequal))
        return found.slot

    def _unequal(self, slot: Slot, call: Call) -> UnequalRequests:
        is_masked = self.recording.replaces
        requests = self.recording.masked if is_masked else self.recording.plain
        old, new = requests.of(self.number_of(slot)), requests.of_call(call)
        return UnequalRequests(call.number, old, new, own_secrets(), is_masked=is_masked)

    @property
    def runs_functions(self) -> bool:
        """Whether the user's function `match` decides which exchange answers a call."""
        return callable(self.recording.match)

    @property
    def asked_of_others(self) -> Collection[NamedOperation]:
        """The recorded operations of services that the lines of their calls name."""
        return self._asked_of_others

    @cached_property
    def _asked_of_others(self) -> frozenset[NamedOperation]:
        return frozenset(
            NamedOperation(service, each.operation)
            for each in self.recording.exchanges
            if (service := each.labels.get("service")) is not None
        )

    def number_of(self, slot: Slot) -> int:
        """Return the index of a slot's exchange in the recording."""
        return self._numbers[id(slot)]

    def key(self, rule: Match, slot: Slot, requests: Requests) -> str:
        """Return the text that `rule` compares for the exchange of a slot."""
        return requests.key(rule, self.number_of(slot))

    def first_with(self, rule: Match, wanted: str, requests: Requests) -> Slot | None:
        """Return the first unplayed slot, in the order of the recording, whose key for `rule` is `wanted`.

        Return None if there is none. The search uses an index, because a client may make thousands of calls.
        """
        index = self._indexes.get((rule, requests))
        if index is None:
            index = self._indexes[rule, requests] = {}
            for slot in self.slots:
                index.setdefault(self.key(rule, slot, requests), deque()).append(slot)
        slots = index.get(wanted, deque())
        while slots and not slots[0].left:
            slots.popleft()  # a played slot never becomes free again
        return slots[0] if slots else None

    def remove(self, slots: Iterable[Slot]) -> None:
        """Remove slots from the queue, so that they answer no more calls."""
        super().remove(slots)
        self._indexes = {}

    def where(self, slot: Slot, *, in_json: bool = False) -> str:
        """Return the file and line of a slot's exchange."""
        return f"{self.recording.path}:{self.recording.exchanges[self.number_of(slot)].at}: "

    def explain(self, call: Call) -> Missed | None:
        """Return the error about a call that no exchange answers; it names the nearest exchange and the differences.

        Return None if all slots were removed from the queue.
        """
        if self._all and not self.slots:
            return None  # the slots are removed when a temporary script ends
        recording, rule = self.recording, self.recording.match
        requests = recording.masked if recording.replaces or rule == "exact" else recording.plain
        asked, numbers = requests.of_call(call), range(len(recording.exchanges))
        if callable(rule):
            known = (number for number in numbers if not recording.exchanges[number].any_request)
            fits = [number for number in known if accepts(rule, requests.of(number), asked, call)]
        else:
            wanted = key(rule, asked)
            fits = [number for number in numbers if requests.key(rule, number) == wanted]
        fits += [number for number in numbers if _answers_any(recording.exchanges[number], asked)]
        used = [slot.used_by for slot in self._all]
        state = State(recording.path, rule, recording.exchanges, used, requests.of, requests.key, recording.again)
        return missed(state, call, asked, fits)

    def answers(self, call: Call) -> bool:
        """Whether the recording contains an exchange with the operation of this call."""
        operation = asked_by(call).operation
        return any(exchange.operation == operation for exchange in self.recording.exchanges)


def _answers_any(exchange: RecordedExchange, asked: MatchKey) -> bool:
    """Whether an exchange answers any request, among them `asked`: of its operation, and of its model if it has one."""
    is_asked = exchange.any_request and exchange.operation == asked.operation
    return is_asked and exchange.model_id in ("", asked.labels.get("modelId"))


def accepts(rule: MatchFunction, recorded: MatchKey, asked: MatchKey, call: Call) -> bool:
    """Whether the user's function `rule` lets a recorded request answer a call, whose request is `asked`.

    False if their operations differ. Raises MatchFailed if the function raises an error.
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
            f"match function {name}{at} raised {type(error).__name__}: {error}, while it looked at call {call.number}. "
            "It gets the recorded request and the one that came: dicts with operation, modelId and the members of the "
            "request."
        ) from error


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
