"""The class Conversation recognises the fake's own answers in a request's messages, and finds changes to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final, Literal, NamedTuple
from weakref import ref

from converse_harness.endpoint.call import SCRIPTED, Call
from converse_harness.endpoint.changes import HistoryChange
from converse_harness.endpoint.history import (
    AssistantTurn,
    Block,
    GivenAnswer,
    Message,
    SentHistory,
    TurnReader,
    content_of,
    given_answer,
    likeness,
    same_use,
    squeezed,
    texts_of,
    uses_of,
)

HistoryLevel = Literal["note", "fail", "off"]
"""The reaction of the fake to a request that changes an earlier answer."""

HISTORY_LEVELS: Final[Mapping[HistoryLevel, str]] = {
    "note": "answer as scripted, and make a note of the change",
    "fail": "answer as scripted, and fail the test",
    "off": "do not compare answers",
}

_WHOLE: Final = frozenset({"end_turn", "tool_use", "stop_sequence"})
"""The stop reasons of complete answers. A client has no reason to shorten or redact such an answer."""

_SURE: Final = 20
"""A tool use id with at least this number of characters is assumed to be generated; ids that people write are shorter.
"""

_LONG_ENOUGH: Final = 16
_LIKE_ENOUGH: Final = 0.6
"""The minimum length and similarity of a text and an answer that follow the same messages.

From these values on, the text is assumed to be a changed version of the answer.
"""

_SAME: Final = 64
"""If more answers than this have the same text or the same number of messages, only the latest ones are examined."""

_OK: Final = 200


class _Found(NamedTuple):
    """An answer found in a turn of a request. `sure` is false if the turn may contain another answer that is equal."""

    answer: GivenAnswer
    sure: bool


class Conversation:
    """Keeps the answers of one fake, and recognises them in the messages of later requests.

    `calls` is the growing list of the fake's calls. Each answer is read once: when it is complete and a later request
    has assistant messages. The class is not thread-safe.
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
        self._last: tuple[Call, SentHistory, list[tuple[AssistantTurn, list[_Found]]]] | None = None

    def parent(self, call: Call) -> Call | None:
        """Find the last of this fake's answers in a request's messages, and return its call; None if there is none.

        An answer is recognised by its tool use ids or its text. If its text was changed, it is recognised by the
        messages before it.
        """
        if call.answered.parent is None:
            self._read(call)
        return call.parent

    def changes(self, call: Call) -> list[HistoryChange]:
        """Return the changes that a request makes to answers of this fake.

        Changes that were reported for earlier requests are left out.
        """
        history, turns = self._read(call)
        new: list[HistoryChange] = []
        for turn, found in turns:
            for each in found:
                if not each.sure or each.answer.unchanged == turn.messages:
                    continue
                others = [other.answer for other in found if other is not each]
                reader = TurnReader(history, turn, each.answer, others, self._by_use.keys(), [*self._parts.values()])
                changes = {change.key: change for change in reader.changes() if change.key not in each.answer.said}
                each.answer.said.update(changes)
                new += changes.values()
                each.answer.unchanged = turn.messages
        return new

    def forget(self, call: Call) -> None:
        """Drop a call and its answer."""
        self._running.pop(call.number, None)
        self._last = None
        self._parts.pop(call.number, None)
        answer = self._answers.pop(call.number, None)
        if answer is None:
            return
        for index, keys in self._indexes(answer):
            for key in keys:
                index[key].remove(answer)
                if not index[key]:
                    del index[key]

    # Finding the answers in a request

    def _read(self, call: Call) -> tuple[SentHistory, list[tuple[AssistantTurn, list[_Found]]]]:
        if self._last is not None and self._last[0] is call:
            return self._last[1:]
        history = SentHistory(call)
        if call.turn == 1:
            return history, []
        self._catch_up(call)
        turns: list[tuple[AssistantTurn, list[_Found]]] = []
        before: Call | None = None
        for turn in history.turns:
            found = self._found(history, turn, before)
            turns.append((turn, found))
            before = found[-1].answer.call if found else before
        call.answered.parent = ref(before) if before is not None else _nobody
        self._last = call, history, turns
        return history, turns

    def _found(self, history: SentHistory, turn: AssistantTurn, before: Call | None) -> list[_Found]:
        """Return the fake's answers that a turn contains, in the order of their calls."""
        found: dict[int, _Found] = {}
        blocks = turn.blocks
        for use_id in uses_of(blocks):
            if given := self._by_use.get(use_id):
                sure = len(use_id) >= _SURE and len(given) == 1
                one = self._chosen(given, history, turn, before, sure=sure)
                if len(given) > 1 and not _has_uses(turn, one.answer):
                    one = one._replace(sure=False)  # an id that several answers share does not identify an answer
                if one.answer.whole:
                    found.setdefault(one.answer.call.number, one)
        known = {text for each in found.values() for text in each.answer.texts}
        texts = [text for text in texts_of(blocks) if text not in known]
        for text in (*texts, "".join(texts)):
            if same := self._by_text.get(text) or self._by_text.get(squeezed(text)):
                one = self._chosen(same[-_SAME:], history, turn, before, sure=False)
                if one.answer.whole:
                    found.setdefault(one.answer.call.number, one)
        if not found and (changed := self._in_the_same_place(history, turn)) is not None:
            found[changed.call.number] = _Found(changed, sure=True)
        return [found[number] for number in sorted(found)]

    def _chosen(
        self,
        candidates: Sequence[GivenAnswer],
        history: SentHistory,
        turn: AssistantTurn,
        before: Call | None,
        *,
        sure: bool,
    ) -> _Found:
        """Choose one of several answers with the same text or id, by the messages before the turn.

        An answer whose parent is the call `before` is preferred.
        """
        if sure:
            return _Found(candidates[0], sure=True)
        those = [each for each in candidates if _follows(each.call, history, turn.start)]
        if len(those) > 1:
            those = [each for each in those if each.call.parent is before] or those
        if len(those) > 1:
            those = [each for each in those if _begins(each.call, history, turn.start)] or those
        if not those:
            return _Found(candidates[-1], sure=False)
        return _Found(max(those, key=lambda each: (_has_uses(turn, each), each.call.number)), sure=True)

    def _in_the_same_place(self, history: SentHistory, turn: AssistantTurn) -> GivenAnswer | None:
        """Return the answer of which this turn is probably a changed copy; None if there is none.

        The request of this answer contains exactly the messages before the turn. The answer has the tool uses of the
        turn, or a similar text.
        """
        candidates = self._by_length.get(turn.start, [])[-_SAME:]
        sent = "\n".join(texts_of(turn.blocks))
        for each in reversed(candidates):
            if _begins(each.call, history, turn.start):
                if each.uses and _has_uses(turn, each):
                    return each
                written = "\n".join(each.texts)
                if min(len(sent), len(written)) >= _LONG_ENOUGH and likeness(sent, written) >= _LIKE_ENOUGH:
                    return each
        return None

    # Indexing the answers

    def _catch_up(self, call: Call) -> None:
        """Add the answers that were completed since the last request to the indexes."""
        new = [*takewhile(lambda each: each.number > self._seen, reversed(self._calls))]
        self._running |= {each.number: each for each in reversed(new) if each.operation in SCRIPTED}
        self._seen = new[0].number if new else self._seen
        for number, each in list(self._running.items()):
            if number < call.number and _has_ended(each):
                del self._running[number]
                self._keep(each)

    def _keep(self, call: Call) -> None:
        response = call.response if call.outcome != "cut" else None
        if response is None:
            answer = given_answer(call, _parts(call), whole=False)
        else:
            broken = call.reply is not None and bool(call.reply.placements)
            whole = call.status == _OK and response.stop_reason in _WHOLE and not broken
            answer = given_answer(call, response.message["content"], whole=whole)
        self._answers[call.number] = answer
        if answer.texts and not answer.whole:
            self._parts[call.number] = "".join(answer.texts)
        for index, keys in self._indexes(answer):
            for key in keys:
                index.setdefault(key, []).append(answer)

    def _indexes(self, answer: GivenAnswer) -> Iterator[tuple[dict[Any, list[GivenAnswer]], Iterable[Any]]]:
        """Yield each index together with the keys of the answer in this index.

        Incomplete answers are indexed too, so that a copy of one is not confused with another answer.
        """
        yield self._by_use, answer.uses
        texts = {key for text in answer.texts for key in (text, squeezed(text))}
        yield self._by_text, texts | ({answer.written} - {""})
        if answer.whole:
            yield self._by_length, (len(answer.call.body.get("messages", ())),)


def _nobody() -> None:
    """Return None. If a call has no parent, this function is used in place of a weak reference to the parent."""


def _has_ended(call: Call) -> bool:
    """Whether the answer has ended. It may have ended although the transport has not reported its outcome yet."""
    if call.outcome != "still running":
        return True
    taken = call.answered.taken
    if not taken or call.answered.passed_on is not None:
        return False
    return call.operation == "Converse" or taken.ends_with_metadata


def _parts(call: Call) -> Iterator[dict[str, Any]]:
    """Yield the text and the tool uses of an incomplete answer, as far as the fake has sent them."""
    deltas = (event.get("contentBlockDelta", {}).get("delta", {}) for event, _ in call.events)
    yield {"text": "".join(delta.get("text", "") for delta in deltas)}
    for event, _ in call.events:
        start = event.get("contentBlockStart", {}).get("start", {})
        if "toolUse" in start:
            yield start


def _has_uses(turn: AssistantTurn, answer: GivenAnswer) -> bool:
    """Whether a turn contains all tool uses of an answer; their ids may differ."""
    sent = [*uses_of(turn.blocks).values()]
    return all(any(same_use(use, each) for each in sent) for use in answer.uses.values())


def _begins(call: Call, history: SentHistory, start: int) -> bool:
    """Whether the history's messages before index `start` are exactly the messages of an earlier call."""
    asked = call.body.get("messages", ())
    return len(asked) == start and all(map(_same, asked, history.messages))


def _follows(call: Call, history: SentHistory, start: int) -> bool:
    """Whether the history's message before index `start` equals the last user message of an earlier call."""
    latest_first = reversed(call.body.get("messages", ()))
    asked = next((message for message in latest_first if message.get("role") != "assistant"), None)
    return asked is not None and start > 0 and _same(asked, history.messages[start - 1])


def _same(one: Message, other: Message) -> bool:
    """Whether two messages are equal without their cachePoints, because clients move cachePoints between requests."""
    return one == other or (one.get("role") == other.get("role") and _without_points(one) == _without_points(other))


def _without_points(message: Message) -> list[Block]:
    return [block for block in content_of(message) if "cachePoint" not in block]
