"""Compare an earlier answer with its copy in a later request, and describe the differences."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property, partial
from itertools import groupby
from typing import Any, Final, Literal, NamedTuple, cast

from converse_harness.bedrock.models import standing
from converse_harness.bedrock.rules.rule import Claude
from converse_harness.endpoint.call import Call
from converse_harness.errors import Advice
from converse_harness.json_values import equal, is_object, member_of
from converse_harness.secrets.mask import common_length, mask
from converse_harness.stream.same import is_blank_block

HistoryChangeKind = Literal[
    "history_leaves_out_tool_use",
    "history_adds_tool_use",
    "history_adds_tool_result",
    "history_changes_tool_name",
    "history_changes_tool_input",
    "history_changes_text",
    "history_changes_reasoning",
    "history_changes_signature",
    "history_leaves_out_reasoning",
]


class HistoryChangeWords(NamedTuple):
    """The texts for one kind of change: its meaning, and the rest of a sentence that begins with the call's number."""

    means: str
    words: str


HISTORY_CHANGES: Final[Mapping[HistoryChangeKind, HistoryChangeWords]] = {
    "history_leaves_out_tool_use": HistoryChangeWords(
        "a tool use is missing, and other blocks of the same answer are there",
        "leaves out toolUse {name} of the answer to call {number}",
    ),
    "history_adds_tool_use": HistoryChangeWords(
        "a message of the model has a tool use that no answer gave",
        "adds toolUse {name} to the answer to call {number}",
    ),
    "history_adds_tool_result": HistoryChangeWords(
        "after an answer comes a tool result for an id that no answer gave and no tool use has",
        "adds a toolResult for {name}, which the answer to call {number} did not ask for",
    ),
    "history_changes_tool_name": HistoryChangeWords(
        "a tool use has another name",
        "changes the name of toolUse {name} in the answer to call {number}",
    ),
    "history_changes_tool_input": HistoryChangeWords(
        "a tool use has another input, as a JSON value",
        "changes the input of toolUse {name} in the answer to call {number}",
    ),
    "history_changes_text": HistoryChangeWords(
        "a text of 16 characters or more was changed but is still similar, was cut, or continues in the same line",
        "changes text in the answer to call {number}",
    ),
    "history_changes_reasoning": HistoryChangeWords(
        "the text or the redacted bytes of reasoning are different",
        "changes reasoning in the answer to call {number}",
    ),
    "history_changes_signature": HistoryChangeWords(
        "reasoning has another signature, or, for Claude, no signature",
        "changes the signature of reasoning in the answer to call {number}",
    ),
    "history_leaves_out_reasoning": HistoryChangeWords(
        "reasoning is missing before the tool results, for Claude with thinking `enabled`",
        "leaves out reasoning of the answer to call {number}",
    ),
}
"""Every kind of change that is reported, by its name."""


class HistoryChange(NamedTuple):
    """A change to the answer of the call with this `number`: the old text (`was`) and the new text (`now`).

    `name` is the name of the tool or the id of the tool result; it is empty for texts and reasoning. `message` is the
    index of a message in the request: the first message of the turn that contains the answer.
    """

    kind: HistoryChangeKind
    number: int
    name: str
    was: str
    now: str
    message: int

    @property
    def key(self) -> tuple[str, str, str]:
        """A key that identifies the change. A later request that repeats the change gives an equal key."""
        return self.kind, self.name, self.was


NOTHING: Final = "nothing"
"""The text shown in place of a missing block."""

_SHOWN: Final = 80

_BEFORE: Final = 20

_NEAR: Final = 4000
"""The maximum number of characters before and after a difference that are searched for secrets.

Longer secrets are unlikely.
"""


def changed_answer(call: Call, change: HistoryChange) -> str:
    """Return the message about one change to an earlier answer."""
    first = HISTORY_CHANGES[change.kind].words.format(name=change.name, number=change.number)
    was, now = _apart(change.was, change.now)
    return mask(
        f"call {call.number} {first}\n\narrived   {call.asked}\n"
        f"was       {was}\nis now    {now}\nat        messages[{change.message}]"
    )


_KEEP: Final = (
    "The model goes on from words that are not its own. Keep the message of each answer as it came, all of its\n"
    "blocks, and send that back. If the change is meant: "
)

KEEP_ANSWERS: Final = Advice(
    f'{_KEEP}@pytest.mark.converse(history="off").   More: converse-harness docs conversation',
    f'{_KEEP}open the fake with "history": "off".   More: converse-harness docs conversation',
)
"""The advice about a changed answer."""


def _apart(was: str, now: str) -> tuple[str, str]:
    """Mask secrets in two texts, and shorten each text to one line.

    Both lines begin shortly before the first difference of the texts.
    """
    place = max(0, common_length(was, now) - _NEAR)
    masked = [mask(text[place : place + 2 * _NEAR]) for text in (was, now)]
    same = common_length(*masked)
    start = same - _BEFORE if same > 2 * _BEFORE else 0
    begins = "..." if place + start else ""
    shown = [text[start : start + _SHOWN].replace("\n", "\\n") for text in masked]
    ends = ["..." * (len(text) > start + _SHOWN) for text in masked]
    return f"{begins}{shown[0]}{ends[0]}", f"{begins}{shown[1]}{ends[1]}"


Block = Mapping[str, Any]
Message = Mapping[str, Any]

_PUNCTUATION: Final = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201b", "'"),
        **dict.fromkeys("\u201c\u201d\u201f", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013", "-"),
        "\u2014": "--",
        "\u2026": "...",
    }
)
"""Maps quotation marks, dashes and dots to those of ASCII. A difference only in these characters is not reported."""

_COMPARED: Final = 1000
"""The maximum number of characters, from the beginning of each text, that are used to compute a similarity."""


class GivenThought(NamedTuple):
    """A reasoning block: its stripped text and its signature, or the redacted content as base64."""

    text: str
    signature: str
    redacted: str = ""


@dataclass(slots=True, eq=False)
class GivenAnswer:
    """A call's answer in the form in which clients send it back.

    `whole` is true if the answer is complete. `uses` are the tool uses by id. `texts` are the stripped texts without
    blank ones, `cited` are the texts with citations, and `written` is all text without white space. `unchanged` are the
    messages with which the answer was last compared. If a later request contains them again, they are not compared
    again. `reported` contains the keys of the changes that were already reported.
    """

    call: Call
    whole: bool
    uses: Mapping[str, Block]
    texts: Sequence[str]
    cited: Sequence[str] = ()
    written: str = ""
    thoughts: Sequence[GivenThought] = ()
    unchanged: Sequence[Message] | None = None
    reported: set[tuple[str, str, str]] = field(default_factory=set[tuple[str, str, str]])

    @property
    def words(self) -> list[str]:
        """All texts of the answer, including those of citations and reasoning."""
        return [*self.texts, *self.cited, *(each.text for each in self.thoughts if each.text)]


@dataclass(frozen=True, eq=False)
class AssistantTurn:
    """Consecutive messages of the assistant, and the index of the first of these messages."""

    start: int
    messages: Sequence[Message]

    @property
    def end(self) -> int:
        """The index after the last message of the turn."""
        return self.start + len(self.messages)

    @property
    def blocks(self) -> list[Block]:
        """The blocks of all messages of the turn."""
        return [block for message in self.messages for block in _content_of(message)]

    @cached_property
    def uses(self) -> Mapping[str, Block]:
        """The ToolUseBlocks of the turn by id."""
        return _uses_of(self.blocks)

    @cached_property
    def texts(self) -> Sequence[str]:
        """The stripped texts of the turn; blank texts are left out."""
        return _texts_of(self.blocks)

    def has_uses_of(self, answer: GivenAnswer) -> bool:
        """Whether the turn contains all tool uses of an answer, by their names and inputs; their ids may differ."""
        sent = [*self.uses.values()]
        return all(any(_is_same_use(use, each) for each in sent) for use in answer.uses.values())


@dataclass(frozen=True)
class SentHistory:
    """The messages of a request in JSON form, with their tool uses, texts and tool results.

    `known` are the first turns of the request, if an earlier request begins with them too.
    """

    call: Call
    known: Sequence[AssistantTurn] = ()

    @cached_property
    def messages(self) -> Sequence[Message]:
        """All messages of the request."""
        return messages_of(self.call)

    @cached_property
    def turns(self) -> Sequence[AssistantTurn]:
        """The turns of the assistant. Consecutive messages of the assistant form one turn."""
        first = self.known[-1].end if self.known else 0
        rest = enumerate(self.messages[first:], first)
        runs = groupby(rest, lambda each: each[1].get("role") == "assistant")
        found = [[*run] for is_assistant, run in runs if is_assistant]
        return [*self.known, *(AssistantTurn(run[0][0], [message for _, message in run]) for run in found)]

    @cached_property
    def uses(self) -> Mapping[str, Block]:
        """The assistant's ToolUseBlocks by id."""
        return {use_id: use for turn in self.turns for use_id, use in turn.uses.items()}

    @cached_property
    def texts(self) -> str:
        """All texts of the assistant joined, without any white space."""
        return squeezed("".join(text for turn in self.turns for text in turn.texts))

    @cached_property
    def results(self) -> Collection[str]:
        """The ids of all tool results in the request."""
        return {*self._results(0, len(self.messages))}

    def results_after(self, turn: AssistantTurn) -> list[str]:
        """Return the ids of the tool results between this turn and the next turn of the assistant."""
        later = self.turns[self.turns.index(turn) + 1 :][:1]
        return self._results(turn.end, later[0].start if later else len(self.messages))

    def _results(self, start: int, end: int) -> list[str]:
        blocks = [block for message in self.messages[start:end] for block in _content_of(message)]
        return [str(result.get("toolUseId")) for result in _members(blocks, "toolResult")]

    def begins_with(self, call: Call, start: int) -> bool:
        """Whether the messages before index `start` are exactly the messages of an earlier call."""
        earlier = call.items.messages
        return len(earlier) == start and all(map(_is_same_message, messages_of(call), self.messages))

    def follows(self, call: Call, start: int) -> bool:
        """Whether the message before index `start` equals the last user message of an earlier call."""
        latest_first = reversed(call.items.messages)
        last = next((item.value for item in latest_first if item.value.get("role") != "assistant"), None)
        return last is not None and start > 0 and _is_same_message(last, self.messages[start - 1])

    @property
    def of_claude(self) -> bool:
        """Whether the request is for a Claude model."""
        return standing(self.call.stands_for).id in Claude()

    @cached_property
    def needs_thoughts(self) -> bool:
        """Whether the request must repeat the reasoning of the assistant's last turn.

        Claude requires this if thinking is enabled, and tool results follow the turn.
        """
        thinking = member_of(self.call.body, "additionalModelRequestFields", "thinking", "type")
        return self.of_claude and thinking == "enabled" and bool(self.results_after(self.turns[-1]))


class TurnReader(NamedTuple):
    """Finds the changes that a turn of a request makes to an answer.

    `history` contains all messages of the request. `others` are the other answers that the turn contains. `given` are
    the ids of all tool uses that the fake has sent. `parts` are the texts of incomplete answers of the fake.
    """

    history: SentHistory
    turn: AssistantTurn
    answer: GivenAnswer
    others: Sequence[GivenAnswer] = ()
    given: Collection[str] = ()
    parts: Sequence[str] = ()

    def changes(self) -> list[HistoryChange]:
        """Return all changes that the turn makes to the answer."""
        return [*self._changed_uses(), *self._changed_texts(), *self._changed_thoughts()]

    def _change(self, kind: HistoryChangeKind, name: str, was: str, now: str) -> HistoryChange:
        return HistoryChange(kind, self.answer.call.number, name, was, now, self.turn.start)

    # The following methods find changes to tool uses.

    def _changed_uses(self) -> Iterator[HistoryChange]:
        ours = AssistantTurn(self.turn.start, [message for message in self.turn.messages if self._is_ours(message)])
        added = {use_id: use for use_id, use in ours.uses.items() if use_id not in self.given}
        uses = {**self.history.uses, **self.turn.uses}  # if an id occurs twice, the use in this turn counts
        for use_id, was in self.answer.uses.items():
            now = uses.get(use_id)
            if now is not None:
                yield from self._changed_use(was, now)
            elif (renamed := self._renamed(use_id, was, added)) is not None:
                del added[renamed]
            elif was.get("type") != "server_tool_use":  # clients may leave out uses of tools that the service runs
                yield self._change("history_leaves_out_tool_use", str(was.get("name")), _shown(was), NOTHING)
        for use in added.values():
            yield self._change("history_adds_tool_use", str(use.get("name")), NOTHING, _shown(use))
        for use_id in self.history.results_after(self.turn):
            if use_id not in self.given and use_id not in self.history.uses:
                yield self._change("history_adds_tool_result", use_id, NOTHING, use_id)

    def _changed_use(self, was: Block, now: Block) -> Iterator[HistoryChange]:
        name = str(was.get("name"))
        if name != now.get("name"):
            yield self._change("history_changes_tool_name", name, name, str(now.get("name")))
        old, new = was.get("input"), now.get("input")
        if is_object(old) and not equal(old, new, whole=True):
            yield self._change("history_changes_tool_input", name, _as_json(old), _as_json(new))

    def _renamed(self, use_id: str, use: Block, added: Mapping[str, Block]) -> str | None:
        """Return the id that the client has given to the tool use `use` in place of `use_id`.

        Return None if no tool use in `added` has the same name and input, or if a tool result still has the id
        `use_id`.
        """
        if use_id in self.history.results:
            return None
        return next((other for other, each in added.items() if _is_same_use(use, each)), None)

    def _is_ours(self, message: Message) -> bool:
        """Whether a message of the turn contains a part of the answer, or is the only message of the turn."""
        blocks = _content_of(message)
        texts = _texts_of(blocks)
        mine = (*self.answer.texts, *self.answer.cited)
        by_text = any(text in each or each in text for each in texts for text in mine)
        return by_text or not self.answer.uses.keys().isdisjoint(_uses_of(blocks)) or len(self.turn.messages) == 1

    # The following methods find changes to texts.

    def _changed_texts(self) -> Iterator[HistoryChange]:
        sent = self.turn.texts
        words = sorted((word for each in (self.answer, *self.others) for word in each.words), key=len, reverse=True)
        left = [text for text in sent if not any(word in text for word in words)]
        lacking: list[str] = []
        for text in self.answer.texts:
            around = [each for each in sent if text in each]
            if not around and squeezed(text) not in self.history.texts:
                lacking.append(text)
            elif around and not any(self._is_merged(text, each, words) for each in around):
                yield self._change("history_changes_text", "", text, around[0])
        for now in left[: len(lacking)]:
            was = max(lacking, key=partial(likeness, now))
            lacking.remove(was)
            if was.translate(_PUNCTUATION) != now.translate(_PUNCTUATION):
                yield self._change("history_changes_text", "", was, now)

    def _is_merged(self, text: str, sent: str, words: Iterable[str]) -> bool:
        """Whether the longer text `sent` is `text` joined with texts of other messages, blocks or citations.

        Return True also if this is possible and cannot be checked.
        """
        earlier: list[Message] = [{}, *messages_of(self.answer.call)]
        # After citations, or after a prefill (an assistant message at the end of the request), `sent` is not compared.
        if self.answer.cited or earlier[-1].get("role") == "assistant":
            return True
        rest = sent
        for word in (*words, *self.parts):
            rest = rest.replace(word, "")
        return not rest.strip() or f"\n{text}\n" in f"\n{sent}\n"

    # The following methods find changes to reasoning.

    def _changed_thoughts(self) -> Iterator[HistoryChange]:
        known = [thought for each in (self.answer, *self.others) for thought in each.thoughts]
        sent = _thoughts_of(self.turn.blocks)
        left = [thought for thought in sent if thought not in known]
        lacking = [thought for thought in self.answer.thoughts if thought not in sent]
        in_order = not self.others and len(left) == len(lacking)
        for was in lacking:
            alike = [each for each in left if any(mine and mine == its for mine, its in zip(was, each, strict=True))]
            now = next(iter(alike or (left if in_order else ())), None)
            if now is not None:
                left.remove(now)
                yield from self._changed_thought(was, now)
            elif self.turn is self.history.turns[-1] and self.history.needs_thoughts:
                yield self._change("history_leaves_out_reasoning", "", was.text or was.redacted, NOTHING)

    def _changed_thought(self, was: GivenThought, now: GivenThought) -> Iterator[HistoryChange]:
        if (was.text, was.redacted) != (now.text, now.redacted):
            yield self._change("history_changes_reasoning", "", was.text or was.redacted, now.text or now.redacted)
        if was.signature != now.signature and (now.signature or self.history.of_claude):
            yield self._change("history_changes_signature", "", was.signature or NOTHING, now.signature or NOTHING)


def given_answer(call: Call, content: Iterable[Block], *, whole: bool) -> GivenAnswer:
    """Build the GivenAnswer of a call from the answer's content blocks, in which blobs are bytes."""
    blocks = [*content]
    parts = [[block, *block.get("citationsContent", {}).get("content", ())] for block in blocks]
    cited = _texts_of(part for _, *more in parts for part in more)
    written = squeezed("".join(text for each in parts for text in _texts_of(each)))
    return GivenAnswer(call, whole, _uses_of(blocks), _texts_of(blocks), cited, written, _thoughts_of(blocks))


def _content_of(message: Message) -> Sequence[Block]:
    return cast("Sequence[Block]", message.get("content", ()))


def _members(blocks: Iterable[Block], kind: str) -> Iterator[Block]:
    """Return the values of the member `kind` in all blocks that have this member."""
    return (block[kind] for block in blocks if kind in block)


def _uses_of(blocks: Iterable[Block]) -> dict[str, Block]:
    """Return the ToolUseBlocks among some blocks, by id."""
    return {str(use.get("toolUseId")): use for use in _members(blocks, "toolUse")}


def _texts_of(blocks: Iterable[Block]) -> list[str]:
    """Return the stripped texts of some blocks; blank texts are left out."""
    return [str(block["text"]).strip() for block in blocks if "text" in block and not is_blank_block(block)]


def _thoughts_of(blocks: Iterable[Block]) -> list[GivenThought]:
    """Return the reasoning blocks among some blocks, without blank ones."""
    found: list[GivenThought] = []
    for reasoning in _members(blocks, "reasoningContent"):
        thought: Mapping[str, Any] = reasoning.get("reasoningText", {})
        redacted: str | bytes = reasoning.get("redactedContent", "")
        shown = b64encode(redacted).decode() if isinstance(redacted, bytes) else redacted
        found.append(GivenThought(thought.get("text", "").strip(), thought.get("signature", ""), shown))
    return [thought for thought in found if any(thought)]


def messages_of(call: Call) -> list[Message]:
    """Return the messages of a request in JSON form."""
    return [item.value for item in call.items.messages]


def squeezed(text: str) -> str:
    """Return a text without any white space."""
    return "".join(text.split())


def _is_same_message(one: Message, other: Message) -> bool:
    """Whether two messages are equal without their cachePoints, because clients move cachePoints between requests."""
    return one == other or (one.get("role") == other.get("role") and _without_points(one) == _without_points(other))


def _without_points(message: Message) -> list[Block]:
    return [block for block in _content_of(message) if "cachePoint" not in block]


def _is_same_use(one: Block, other: Block) -> bool:
    """Whether two tool uses have the same name and input; their ids may differ."""
    return one.get("name") == other.get("name") and equal(one.get("input"), other.get("input"), whole=True)


def likeness(one: str, other: str) -> float:
    """Return the similarity of two texts, from 0 to 1. Only the beginnings of long texts are compared."""
    return SequenceMatcher(None, one[:_COMPARED], other[:_COMPARED], autojunk=False).ratio()


def _as_json(value: object) -> str:
    """Return a JSON value as text with sorted keys, so that people can compare two values."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def _shown(use: Block) -> str:
    return f"{use.get('name')} {_as_json(use.get('input'))}"
