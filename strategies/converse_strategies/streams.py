"""Strategies for complete, valid streams, and for all ways in which a message can be cut into events."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Literal

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness.bedrock.families import FAMILIES, Family, ends_empty
from converse_harness.errors import ReplyError
from converse_harness.literals import FamilyName
from converse_harness.stream.chunk import ByFamily, Cutter, chunk, cut_message
from converse_strategies.basics import Texts, chosen, composite
from converse_strategies.message.answer_end import ADDITIONAL, TAIL_SIZE, draw_stop_reason, read_options
from converse_strategies.message.answer_plan import (
    HEAD_SIZE,
    MOST_DELTAS,
    Maker,
    even_pieces,
    maker_of,
    plan_of,
    sent_by,
)
from converse_strategies.message.blocks import (
    Block,
    assistant_messages,
    draw_part,
    draw_text,
    rename_tools,
    streamable,
)
from converse_strategies.observing import aim, tell_answer

Event = dict[str, Any]

_CUTS: Final = st.binary()
"""Strategy for the points at which one text is cut. The function `cut` explains the meaning of the bytes."""

_BITS: Final = st.integers(0, 2**32 - 1)
"""Strategy for the grouping of the items of a tool result into deltas. If bit n is set, item n is in the same delta as
item n - 1.
"""

_LONGEST: Final = 16
_SEAMS: Final = 160
_SKIPS: Final = 224
_EMPTY: Final = 240

_HARD_SEAM: Final = re.compile(r"(?<=\r)(?=\n)|(?<=\\ud[89ab][0-9a-f]{2})(?=\\ud)")
_SEAM: Final = re.compile(r"(?<=\s)(?=\S)|(?<=\S)(?=\s)|(?<=(.))(?=\1)")
_SEAMS_OF_TEXT: Final = (_HARD_SEAM, _SEAM)
"""Both patterns match positions at which many consumers do not expect a cut. `_HARD_SEAM` matches between a carriage
return and a line feed, and inside an escaped surrogate pair. `_SEAM` is used if `_HARD_SEAM` matches nowhere in the
rest of the text. It matches beside white space and between two equal characters.
"""

_SPACE_IN_STRING: Final = re.compile(r'(?<=[^\s,{\[])(?<!(?<!\\)":)(?=\s)')
_SIMPLEST_SEAMS: Final = (_HARD_SEAM, _SPACE_IN_STRING, _SEAM)
"""The patterns for the byte 0, towards which hypothesis shrinks: white space in a string comes before that which
separates the values of a JSON text, because more bugs need it.
"""

_EVEN_FROM: Final = 128
_EVEN_TO: Final = _SKIPS
"""If the first byte for `cut` is in this range, the pieces have equal lengths."""

_NO_ARGUMENTS: Final[Sequence[Sequence[str]]] = ([], ["{}"], [""], ["", "{}"], ["{", "}"])
"""The ways in which models stream an empty tool input."""

_JSON_STYLES: Final[Sequence[Mapping[str, Any]]] = (
    {"ensure_ascii": False},
    {"ensure_ascii": False, "separators": (",", ":")},
    {"ensure_ascii": True},
    {"ensure_ascii": False, "indent": 1},
    {"ensure_ascii": True},
)
"""Keyword arguments of `json.dumps`, one dict for each style in which models write a tool input: spaced, compact,
ASCII, indented. ASCII comes twice, because only there a delta can end within a surrogate pair.
"""


@dataclass(frozen=True)
class ChunkedMessage:
    """A message, and the events of one way to cut it. `assemble(events)` returns a Response that contains this message.

    >>> from converse_harness import assemble, chunk
    >>> message = {"role": "assistant", "content": [{"text": "hi"}]}
    >>> case = ChunkedMessage(message, chunk(message))
    >>> assemble(case.events).message == case.message
    True
    """

    message: dict[str, Any]
    events: list[Event]


@composite
def chunkings(draw: st.DrawFn, message: Mapping[str, object]) -> list[Event]:
    """Complete streams of one AWS Message: texts, reasoning and tool inputs are cut at any positions. A delta may be
    empty.

    The streams differ only in their deltas; stop reason, usage and metrics are those that `chunk` makes from the
    message. Raises InvalidArgument, when drawn, for a message that cannot be streamed, such as one of the user.

    >>> from converse_harness import assemble
    >>> from hypothesis import find
    >>> hello = {"role": "assistant", "content": [{"text": "Hi"}]}
    >>> [event["contentBlockDelta"]["delta"] for event in find(chunkings(hello), lambda e: len(e) > 5)[1:-3]]
    [{'text': 'H'}, {'text': 'i'}]
    """
    try:
        whole = chunk(message)
        if message["role"] != "assistant":
            raise ReplyError(f"its role is {message['role']!r}, and a model sends 'assistant' alone.")
        return [*cut_message(message, _DrawnCutter(draw)), *whole[-2:]]
    except (ReplyError, KeyError, TypeError, AttributeError) as error:
        raise InvalidArgument(
            f"chunkings(message={message!r}): not an AWS Message that can be streamed: {error}"
        ) from error


@composite
def chunked_messages(
    draw: st.DrawFn,
    *,
    kinds: Collection[str] | None = None,
    min_blocks: int = 1,
    max_blocks: int | None = None,
    texts: Texts | None = None,
) -> ChunkedMessage:
    """Messages of the assistant, each with one way to cut it into events. The arguments mean the same as in
    `assistant_messages`.

    >>> from hypothesis import find
    >>> find(chunked_messages(), lambda case: True).message
    {'role': 'assistant', 'content': [{'text': ''}]}
    """
    chosen("chunked_messages", "kinds", kinds, streamable())
    message = draw(assistant_messages(kinds=kinds, min_blocks=min_blocks, max_blocks=max_blocks, texts=texts))
    tell_answer(message["content"])
    return ChunkedMessage(message, draw(chunkings(message)))


@dataclass(frozen=True, slots=True)
class _DrawnCutter:
    """A Cutter, which cuts messages into deltas, at drawn positions. They shrink towards one delta per block."""

    draw: st.DrawFn

    def text(self, index: int, text: str) -> Iterable[Sequence[str]]:
        """Cut the text of a text block or of a reasoning block at drawn positions."""
        return (cut(text, self.draw(_CUTS)),)

    reasoning = text

    def tool_input(self, index: int, value: object) -> Sequence[str]:
        """Write a tool input as JSON in a drawn style, and cut it at drawn positions.

        The empty input is streamed in one of the ways in `_NO_ARGUMENTS`.
        """
        drawn = self.draw(_CUTS)
        form, cuts = sum(drawn[:1]), drawn[1:]
        if value == {}:
            return _NO_ARGUMENTS[form % len(_NO_ARGUMENTS)]
        return cut(json.dumps(value, **_JSON_STYLES[form % len(_JSON_STYLES)]), cuts)

    def tool_result(self, index: int, content: Sequence[Mapping[str, Any]]) -> Iterable[Sequence[Mapping[str, Any]]]:
        """Put the items of a server tool's result into drawn groups; each group becomes one delta."""
        groups: list[list[Mapping[str, Any]]] = []
        together = self.draw(_BITS)
        for place, item in enumerate(content):
            if groups and together >> place & 1:
                groups[-1].append(item)
            else:
                groups.append([item])
        return groups


def cut(text: str, cuts: bytes) -> list[str]:
    r"""Cut a text at the points that the bytes in `cuts` encode. There is at least one piece; the pieces together are
    the text.

    A byte below 160 ends the current piece after 1 to 16 more characters. A byte from 160 to 223 ends the piece at one
    of the next four seams: positions at which many consumers do not expect a cut, such as between `\r` and `\n`. So
    does 0, towards which hypothesis shrinks, at the next one. If there is no seam, these bytes act like those below
    160. A byte from 224 to 239 lengthens the piece by 16 to 256 characters and does not end it. A byte from 240 on ends
    the piece at once, so two such bytes in a row make an empty piece.

    If the first byte is 128 to 223, this byte alone decides: the pieces have equal lengths. Most such bytes make few
    pieces, and 223 makes up to 250. b"" leaves the text whole.

    >>> cut("forty-two", bytes([4, 0, 255, 1]))
    ['forty', '-', '', 'tw', 'o']
    """
    if text and cuts and _EVEN_FROM <= cuts[0] < _EVEN_TO:
        return even_pieces(
            text, 1 + (cuts[0] - _EVEN_FROM) ** 2 * (MOST_DELTAS - 1) // (_EVEN_TO - 1 - _EVEN_FROM) ** 2
        )
    pieces: list[str] = []
    start = end = 0
    for byte in cuts:
        seam = None
        if byte == 0:
            seam = _next_seam(text, start + 1, 0, _SIMPLEST_SEAMS)
        elif _SEAMS <= byte < _SKIPS:
            seam = _next_seam(text, start + 1, byte % 4, _SEAMS_OF_TEXT)
        if _SKIPS <= byte < _EMPTY:
            end = min(len(text), end + (byte - _SKIPS + 1) * _LONGEST)
            continue
        if seam is not None:
            end = seam
        elif byte < _SKIPS:
            end = min(len(text), end + byte % _LONGEST + 1)
        if end > start or byte >= _EMPTY:
            pieces.append(text[start:end])
            start = end
    rest = text[start:]
    return [*pieces, rest] if rest or not pieces else pieces


def _next_seam(text: str, start: int, number: int, patterns: Sequence[re.Pattern[str]]) -> int | None:
    """Return the position of a seam in `text`: the one with the index `number` among the seams from `start` on.

    If there are fewer seams, return the position of the last one. Return None if there is no seam.
    """
    for pattern in patterns:
        places = [seam.start() for seam in islice(pattern.finditer(text, start), number + 1)]
        if places:
            return places[-1]
    return None


_HEAD_AND_TAIL: Final = st.binary(min_size=HEAD_SIZE + TAIL_SIZE, max_size=HEAD_SIZE + TAIL_SIZE)
"""Strategy for the bytes that `plan_of` reads, followed by those that `read_options` reads. All are one draw: several
draws would take most of the time of a short stream.
"""


@composite
def stream_events(
    draw: st.DrawFn,
    *,
    kinds: Collection[str] | None = None,
    min_blocks: int = 0,
    max_blocks: int | None = None,
    texts: Texts | None = None,
    stop_reasons: st.SearchStrategy[str] | None = None,
    family: FamilyName | None = None,
    traces: st.SearchStrategy[dict[str, Any]] | None = None,
    unfinished: bool = False,
    target: Literal["events", "blocks", "characters"] | None = None,
) -> list[Event]:
    """Complete streams that ConverseStream could send, from messageStart to metadata, as AWS event dicts.

    `kinds` are the members of ContentBlock to choose from, by default all that can be streamed. `texts` is a strategy
    for texts. `stop_reasons` is a strategy for the stop reason, by default for all stop reasons that are possible after
    the blocks. By default, the deltas are cut at any positions. With `family`, they are cut as models of this family do
    (docs/fidelity.md names the families, such as `claude`), and `kinds` are by default those that this family sends.
    `traces` is a strategy for ConverseStreamTraces. If it is given, every stream has a trace, otherwise a few streams
    do. The streams contain no exceptions, the token counts of `usage` add up, and by default an answer that a guardrail
    blocked stops with `guardrail_intervened`.

    Most streams have a text. Without `max_blocks`, there are usually at most three blocks, but one stream in eleven has
    up to 23 more. In one of eight, a text or a tool input has up to 10,000 characters more, in up to 250 deltas. If
    `texts` is given, no text is long. If `unfinished` is true, some streams that stop with `max_tokens` end in the
    middle of a tool's input. `assemble` raises StreamOrderError for them, because such an input is not JSON. With
    `target`, hypothesis searches for streams with as many events, blocks or characters as possible, as
    `hypothesis.target` does. Raises InvalidArgument, when drawn, for an unknown kind or family.

    >>> from hypothesis import find
    >>> [next(iter(event)) for event in find(stream_events(), lambda events: True)]
    ['messageStart', 'messageStop', 'metadata']
    """
    if family is not None and family not in FAMILIES:
        raise InvalidArgument(
            f"stream_events(family={family!r}) is no model family. One of: {', '.join(FAMILIES)}; None cuts anywhere."
        )
    model = FAMILIES[family] if family else None
    wanted = chosen("stream_events", "kinds", kinds, streamable())
    maker = None if model is None else maker_of(model)
    if maker is not None and kinds is None:
        wanted = sent_by(maker, wanted)
    drawn = draw(_HEAD_AND_TAIL)
    room = max_blocks is None or max_blocks > 0
    plan = plan_of(drawn, wanted, any_text=texts is None, any_number=max_blocks is None, room=room, maker=maker)
    least, most = plan.size(min_blocks, max_blocks)
    cutter = _DrawnCutter(draw) if model is None else ByFamily(model, {})
    text = [[(block, _cut(block, cutter))] for block in draw_text(draw, texts, plan.talks)]
    parts = draw(st.lists(_streamed(plan.kinds, texts, plan.maker, model), min_size=least, max_size=most))
    parts = plan.ordered(text, parts, lambda part: next(iter(part[0][0])), _is_small)
    content = [block for part in parts for block, _ in part]
    options = read_options(draw, drawn[HEAD_SIZE:], traces)
    reason = draw_stop_reason(draw, "stream_events", content, options, stop_reasons, traces)
    longer = plan.lengthened(draw, content)
    if longer is not None:
        streamed = [events for part in parts for _, events in part]
        streamed[longer][:] = _cut(content[longer], _LongCutter(plan.deltas) if model is None else cutter)
    events = _joined(parts)
    if unfinished and reason == "max_tokens":
        _leave_unfinished(events)
    if model is not None and ends_empty(model, content, reason):
        last = {"contentBlockIndex": len(content) - 1, "delta": {"text": ""}}
        events = [*events[:-1], {"contentBlockDelta": last}, events[-1]]
    stop = {"stopReason": reason}
    if ADDITIONAL in options:
        stop[ADDITIONAL] = options.pop(ADDITIONAL)
    tell_answer(content, reason)
    whole = [{"messageStart": {"role": "assistant"}}, *events, {"messageStop": stop}, {"metadata": options}]
    aim(target, whole)
    return whole


def _draw_streamed(
    draw: st.DrawFn, kinds: tuple[str, ...], texts: Texts | None, maker: Maker, family: Family | None
) -> list[tuple[Block, list[Event]]]:
    """Draw one block, or the tool use and the result of a server tool. Return each block together with its events.

    A block and its events are drawn by the same strategy, so that hypothesis shrinks them together, and can leave out a
    block in one step.
    """
    cutter = _DrawnCutter(draw) if family is None else ByFamily(family, {})
    return [(block, _cut(block, cutter)) for block in draw_part(draw, kinds, texts, maker)]


_streamed = composite(_draw_streamed)


def _is_small(part: list[tuple[Block, list[Event]]]) -> bool:
    return sum(len(events) for _, events in part) <= _SMALL


_SMALL: Final = 20
"""Blocks of more events are not repeated."""


def _cut(block: Block, cutter: Cutter) -> list[Event]:
    return list(cut_message({"role": "assistant", "content": [block]}, cutter))[1:]


@dataclass(frozen=True, slots=True)
class _LongCutter:
    """A Cutter for long blocks. It cuts messages into deltas, and draws nothing. `deltas` is the number of deltas."""

    deltas: int

    def text(self, index: int, text: str) -> Iterable[Sequence[str]]:
        """Cut the text into pieces of equal length."""
        return (even_pieces(text, self.deltas),)

    reasoning = text

    def tool_input(self, index: int, value: object) -> Sequence[str]:
        """Cut the JSON of the input into pieces of equal length."""
        return even_pieces(json.dumps(value, ensure_ascii=False), self.deltas)

    def tool_result(self, index: int, content: Sequence[Mapping[str, Any]]) -> Iterable[Sequence[Mapping[str, Any]]]:
        """Return the whole result as one delta."""
        return (content,)


def _leave_unfinished(events: list[Event]) -> None:
    """Cut off the end of a tool input, in the middle of its last delta, if the last block is a tool use."""
    for event in reversed(events):
        delta = event.get("contentBlockDelta", {}).get("delta", {})
        piece = delta.get("toolUse", {}).get("input")
        if piece:
            delta["toolUse"] = {"input": piece[: len(piece) // 2]}
        if piece or ("contentBlockStop" in event and event is not events[-1]):
            return


def _joined(parts: list[list[tuple[Block, list[Event]]]]) -> list[Event]:
    rename_tools([[_tool_start(events[0]) for _, events in part] for part in parts])
    streamed = [events for part in parts for _, events in part]
    for index, events in enumerate(streamed):
        for event in events:
            (members,) = event.values()
            members["contentBlockIndex"] = index
    return [event for events in streamed for event in events]


def _tool_start(event: Event) -> dict[str, Any] | None:
    start: dict[str, dict[str, Any]] = event.get("contentBlockStart", {}).get("start", {})
    return start.get("toolUse") or start.get("toolResult")
