"""The class Conversation recognises the fake's own answers in a request's messages, and finds changes to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile, zip_longest
from typing import Any, Final, NamedTuple

from converse_harness.bedrock.request_items import RequestItems
from converse_harness.endpoint.call import SCRIPTED, Call, ForwardedAnswer, ParentOfCall
from converse_harness.endpoint.history.compare import (
    AssistantTurn,
    GivenAnswer,
    HistoryChange,
    SentHistory,
    TurnReader,
    given_answer,
    likeness,
    squeezed,
)

_WHOLE: Final = frozenset({"end_turn", "tool_use", "stop_sequence"})
"""The stop reasons of complete answers. A client has no reason to shorten or redact such an answer."""

_SURE: Final = 20
"""A tool use id is assumed to be generated from this number of characters on; ids that people write are shorter."""

_LONG_ENOUGH: Final = 16
_LIKE_ENOUGH: Final = 0.6
"""From these values on, a text is assumed to be a changed version of an answer that follows the same messages.

_LONG_ENOUGH is the length of each of the two texts in characters, _LIKE_ENOUGH is their similarity from 0 to 1.
"""

_READ: Final = 8
"""The number of requests whose turns are kept, so that a later request that repeats them need not read them again."""

_CHANGED: Final = 10_000
"""The number of keys of the indexes whose latest change is known. If there are more, all turns are read again."""

_SAME: Final = 64
"""The maximum number of answers with the same text, or after the same number of messages, that are examined.

If there are more, the latest are examined.
"""


class _Found(NamedTuple):
    """An answer found in a turn of a request.

    `sure` is false if the turn may contain another, similar answer instead.
    """

    answer: GivenAnswer
    sure: bool


@dataclass(slots=True, eq=False)
class _ReadTurn:
    """A turn of a request with the answers found in it, for later requests that begin with the same messages.

    `before` is the number of the call behind the last answer of the turns before; None if there is none. `keys` are the
    keys of the indexes on which the result depends, `at` is the number of changes of the indexes before.
    """

    turn: AssistantTurn
    found: list[_Found]
    before: int | None
    keys: Sequence[Any]
    at: int


class Conversation:
    """Keeps the answers of one fake, and recognises them in the messages of later requests.

    `calls` is the list to which the fake appends its calls. Each answer is read once: after it has ended, when a
    request with assistant messages arrives. The methods are called under the fake's lock.
    """

    def __init__(self, calls: Sequence[Call]) -> None:
        self._calls = calls
        self._seen = 0
        self._running: dict[int, Call] = {}
        self._answers: dict[int, GivenAnswer] = {}
        self._parts: dict[int, str] = {}
        self._by_use: dict[str, list[GivenAnswer]] = {}
        self._by_text: dict[str, list[GivenAnswer]] = {}
        self._by_length: dict[int, list[GivenAnswer]] = {}
        self._last: tuple[Call, SentHistory, list[_ReadTurn]] | None = None
        self._read: dict[RequestItems, list[_ReadTurn]] = {}
        """The turns of the latest requests."""
        self._changed: dict[Any, int] = {}
        """Maps each key of an index to the number of the latest change of its answers."""
        self._changes = 0

    def changes(self, call: Call) -> list[HistoryChange]:
        """Return the changes that a request makes to answers of this fake.

        Changes that were reported for earlier requests are left out.
        """
        history, turns = self.read(call)
        new: list[HistoryChange] = []
        for read in turns:
            turn = read.turn
            for each in read.found:
                if not each.sure or each.answer.unchanged == turn.messages:
                    continue
                others = [other.answer for other in read.found if other is not each]
                reader = TurnReader(history, turn, each.answer, others, self._by_use.keys(), [*self._parts.values()])
                changes = {change.key: change for change in reader.changes() if change.key not in each.answer.reported}
                each.answer.reported.update(changes)
                new += changes.values()
                each.answer.unchanged = turn.messages
        return new

    def forget(self, call: Call) -> None:
        """Remove a call and its answer from the indexes."""
        self._running.pop(call.number, None)
        self._last = None
        self._read.pop(call.items, None)
        self._parts.pop(call.number, None)
        answer = self._answers.pop(call.number, None)
        if answer is None:
            return
        for read in chain.from_iterable(self._read.values()):
            if any(each.answer is answer for each in read.found):
                read.found, read.at = [], -1
        for index, keys in self._indexes(answer):
            for key in keys:
                index[key].remove(answer)
                self._has_changed(key)
                if not index[key]:
                    del index[key]

    # The following methods find the fake's answers in a request.

    def read(self, call: Call) -> tuple[SentHistory, list[_ReadTurn]]:
        """Find the fake's answers in the turns of a request, and store its parent: the call behind the last of them.

        An answer is recognised by its tool use ids or its text. If its text was changed, it is recognised by the
        messages before it.
        """
        if self._last is not None and self._last[0] is call:
            return self._last[1:]
        if call.turn == 1:
            return SentHistory(call), []
        self._catch_up(call)
        known = self._known(call)
        history = SentHistory(call, [read.turn for read in known])
        turns: list[_ReadTurn] = []
        before: Call | None = None
        for turn, read in zip_longest(history.turns, known):
            holding = read if read is not None and self._still_holds(read, before) else None
            turns.append(holding or self._found(history, turn, before))
            found = turns[-1].found
            before = found[-1].answer.call if found else before
        call.keep(ParentOfCall, ParentOfCall(before))
        self._last = call, history, turns
        self._read[call.items] = turns
        if len(self._read) > _READ:
            del self._read[next(iter(self._read))]
        return history, turns

    def _known(self, call: Call) -> list[_ReadTurn]:
        """Return the turns at the beginning of a request that an earlier request contains as well."""
        items = call.items
        turns = self._read.get(items.before, ()) if items.before is not None else ()
        # A turn that ends with the equal messages may be longer in this request.
        return [read for read in turns if read.turn.end < items.repeated]

    def _still_holds(self, read: _ReadTurn, before: Call | None) -> bool:
        """Whether the indexes still contain the answers that they contained when a turn was read."""
        number = None if before is None else before.number
        return read.before == number and all(self._changed.get(key, 0) <= read.at for key in read.keys)

    def _has_changed(self, key: Any) -> None:
        if len(self._changed) == _CHANGED:
            self._changed.clear()
            self._read.clear()
        self._changes += 1
        self._changed[key] = self._changes

    def _found(self, history: SentHistory, turn: AssistantTurn, before: Call | None) -> _ReadTurn:
        """Return the fake's answers that a turn contains, in the order of their calls."""
        found: dict[int, _Found] = {}
        keys: list[Any] = [*turn.uses]
        for use_id in turn.uses:
            if given := self._by_use.get(use_id):
                sure = len(use_id) >= _SURE and len(given) == 1
                one = _Found(given[0], sure=True) if sure else _chosen(given, history, turn, before)
                if len(given) > 1 and not turn.has_uses_of(one.answer):
                    one = one._replace(sure=False)  # an id that several answers share does not identify an answer
                if one.answer.whole:
                    found.setdefault(one.answer.call.number, one)
        known = {text for each in found.values() for text in each.answer.texts}
        texts = [text for text in turn.texts if text not in known]
        for text in (*texts, "".join(texts)):
            keys += [text, squeezed(text)]
            if same := self._by_text.get(text) or self._by_text.get(squeezed(text)):
                one = _chosen(same[-_SAME:], history, turn, before)
                if one.answer.whole:
                    found.setdefault(one.answer.call.number, one)
        if not found:
            keys.append(turn.start)
            if (changed := self._in_the_same_place(history, turn)) is not None:
                found[changed.call.number] = _Found(changed, sure=True)
        number = None if before is None else before.number
        return _ReadTurn(turn, [found[number] for number in sorted(found)], number, keys, self._changes)

    def _in_the_same_place(self, history: SentHistory, turn: AssistantTurn) -> GivenAnswer | None:
        """Return the answer of which this turn is probably a changed copy; None if there is none.

        The request of this answer contains exactly the messages before the turn. The answer has the tool uses of the
        turn, or a similar text.
        """
        candidates = self._by_length.get(turn.start, [])[-_SAME:]
        sent = "\n".join(turn.texts)
        for each in reversed(candidates):
            if history.begins_with(each.call, turn.start):
                if each.uses and turn.has_uses_of(each):
                    return each
                written = "\n".join(each.texts)
                if min(len(sent), len(written)) >= _LONG_ENOUGH and likeness(sent, written) >= _LIKE_ENOUGH:
                    return each
        return None

    # The following methods add answers to the indexes.

    def _catch_up(self, call: Call) -> None:
        """Index the answers that have ended since the last request."""
        new = [*takewhile(lambda each: each.number > self._seen, reversed(self._calls))]
        self._running |= {each.number: each for each in reversed(new) if each.operation in SCRIPTED}
        self._seen = new[0].number if new else self._seen
        for number, each in list(self._running.items()):
            if number < call.number and _has_ended(each):
                del self._running[number]
                self._keep(each)

    def _keep(self, call: Call) -> None:
        response = call.response if call.outcome != "cut" else None
        broken = call.reply is not None and bool(call.reply.plan.placements)
        whole = response is not None and response.stop_reason in _WHOLE and call.status == 200 and not broken
        answer = given_answer(call, _parts(call) if response is None else response.message["content"], whole=whole)
        self._answers[call.number] = answer
        if answer.texts and not answer.whole:
            self._parts[call.number] = "".join(answer.texts)
        for index, keys in self._indexes(answer):
            for key in keys:
                index.setdefault(key, []).append(answer)
                self._has_changed(key)

    def _indexes(self, answer: GivenAnswer) -> Iterator[tuple[dict[Any, list[GivenAnswer]], Iterable[Any]]]:
        """Yield each index that must contain the answer, together with the answer's keys in this index.

        The indexes of tool use ids and of texts contain incomplete answers too. Otherwise a copy of an incomplete
        answer could be confused with another answer.
        """
        yield self._by_use, answer.uses
        texts = {key for text in answer.texts for key in (text, squeezed(text))}
        yield self._by_text, texts | ({answer.written} - {""})
        if answer.whole:
            yield self._by_length, (len(answer.call.items.messages),)


def _has_ended(call: Call) -> bool:
    """Whether the answer has ended, even if the transport has not reported the outcome yet."""
    taken = call.answered.taken
    if call.outcome == "still running" and taken and call.of(ForwardedAnswer) is None:
        return call.operation == "Converse" or taken.ends_with_metadata
    return call.outcome != "still running"


def _parts(call: Call) -> Iterator[dict[str, Any]]:
    """Yield the text and the tool uses of an incomplete answer, as far as the fake has sent them."""
    deltas = (event.get("contentBlockDelta", {}).get("delta", {}) for event, _ in call.events)
    yield {"text": "".join(delta.get("text", "") for delta in deltas)}
    for event, _ in call.events:
        start = event.get("contentBlockStart", {}).get("start", {})
        if "toolUse" in start:
            yield start


def _chosen(
    candidates: Sequence[GivenAnswer], history: SentHistory, turn: AssistantTurn, before: Call | None
) -> _Found:
    """Choose the answer that a turn most likely contains, from `candidates` with the same text or the same tool use id.

    The messages before the turn determine the choice. An answer to a call whose parent is `before` is preferred.
    """
    fitting = [each for each in candidates if history.follows(each.call, turn.start)]
    if len(fitting) > 1:
        fitting = [each for each in fitting if each.call.parent is before] or fitting
    if len(fitting) > 1:
        fitting = [each for each in fitting if history.begins_with(each.call, turn.start)] or fitting
    if not fitting:
        return _Found(candidates[-1], sure=False)
    return _Found(max(fitting, key=lambda each: (turn.has_uses_of(each), each.call.number)), sure=True)
