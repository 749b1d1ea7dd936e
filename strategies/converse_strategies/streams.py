"""Strategies for all ways to cut a message into events, and for whole legal streams."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness import bedrock
from converse_harness.bedrock.cutting import ends_empty
from converse_harness.bedrock.families import FAMILIES, Family
from converse_harness.errors import ReplyError
from converse_harness.literals import FamilyName
from converse_harness.stream.chunk import ByFamily, chunk, cut_message, default_stop_reason
from converse_strategies import leaves, metadata
from converse_strategies.blocks import Block, assistant_messages, draw_part, rename_tools, streamable
from converse_strategies.leaves import Texts, cached, chosen, composite

Event = dict[str, Any]

_CUTS: Final = st.binary()
"""Strategy for the cut points of one text, as one draw; the function `cut` describes the meaning of the bytes."""

_BITS: Final = st.integers(0, 2**32 - 1)
"""Strategy for the grouping of a tool result's items into deltas: if bit n is set, items n - 1 and n share a delta."""

_LONGEST: Final = 16
_SKIPS: Final = 224
_EMPTY: Final = 240

_NO_ARGUMENTS: Final[Sequence[Sequence[str]]] = ([], ["{}"], [""], ["", "{}"], ["{", "}"])
"""Ways in which models stream an empty tool input."""

_JSON_STYLES: Final[Sequence[Mapping[str, Any]]] = (
    {"ensure_ascii": False},
    {"ensure_ascii": False, "separators": (",", ":")},
    {"ensure_ascii": True},
    {"ensure_ascii": False, "indent": 1},
)
"""Arguments of `json.dumps` for the styles in which models write a tool input: spaced, compact, ASCII, indented."""


@dataclass(frozen=True)
class ChunkedMessage:
    """A message, and the events of one way to cut the message: `assemble(case.events).message == case.message`."""

    message: dict[str, Any]
    events: list[Event]


@composite
def chunkings(draw: st.DrawFn, message: Mapping[str, object]) -> list[Event]:
    """Complete streams of one AWS Message: its texts, reasoning and tool inputs cut anywhere, empty deltas included.

    The streams differ only in their deltas; stop reason, usage and metrics are those that `chunk` makes from the
    message. Raises InvalidArgument, when drawn, for a message that cannot be streamed.

    >>> from converse_harness import assemble
    >>> from hypothesis import find
    >>> hello = {"role": "assistant", "content": [{"text": "Hi"}]}
    >>> [event["contentBlockDelta"]["delta"] for event in find(chunkings(hello), lambda e: len(e) > 5)[1:-3]]
    [{'text': 'H'}, {'text': 'i'}]
    """
    try:
        whole = chunk(message)
        return [*cut_message(message, _DrawnCutter(draw)), *whole[-2:]]
    except (ReplyError, KeyError, TypeError, AttributeError) as error:
        raise InvalidArgument(f"chunkings({message!r}): not an AWS Message that can be streamed: {error}") from error


@composite
def chunked_messages(
    draw: st.DrawFn,
    *,
    kinds: Collection[str] | None = None,
    min_blocks: int = 1,
    max_blocks: int = 3,
    texts: Texts | None = None,
) -> ChunkedMessage:
    """Assistant messages with one way each to cut them; the arguments are those of `assistant_messages`.

    >>> from hypothesis import find
    >>> find(chunked_messages(), lambda case: True).message
    {'role': 'assistant', 'content': [{'text': ''}]}
    """
    message = draw(assistant_messages(kinds=kinds, min_blocks=min_blocks, max_blocks=max_blocks, texts=texts))
    return ChunkedMessage(message, draw(chunkings(message)))


@dataclass(frozen=True, slots=True)
class _DrawnCutter:
    """A Cutter whose cuts are drawn by hypothesis; the cuts shrink towards one delta per block."""

    draw: st.DrawFn

    def text(self, index: int, text: str) -> Iterable[Sequence[str]]:
        """Cut a text, or a reasoning text, at drawn points."""
        return (cut(text, self.draw(_CUTS)),)

    reasoning = text

    def tool_input(self, index: int, value: object) -> Sequence[str]:
        """Write a tool input as JSON in a drawn style, and cut it at drawn points.

        An input without arguments may also have no delta or an empty delta.
        """
        drawn = self.draw(_CUTS)
        form, cuts = sum(drawn[:1]), drawn[1:]
        if value == {}:
            return _NO_ARGUMENTS[form % len(_NO_ARGUMENTS)]
        return cut(json.dumps(value, **_JSON_STYLES[form % len(_JSON_STYLES)]), cuts)

    def tool_result(self, index: int, content: Sequence[Mapping[str, Any]]) -> Iterable[Sequence[Mapping[str, Any]]]:
        """Split the items of a server tool's result into drawn groups, one group per delta."""
        groups: list[list[Mapping[str, Any]]] = []
        together = self.draw(_BITS)
        for place, item in enumerate(content):
            if groups and together >> place & 1:
                groups[-1].append(item)
            else:
                groups.append([item])
        return groups


def cut(text: str, cuts: bytes) -> list[str]:
    """Cut a text at points given by bytes; the pieces, at least one, join to the text.

    A byte below 224 ends the current piece after 1 to 16 more characters. A byte from 224 to 239 lengthens the piece by
    16 to 256 characters and does not end it. A byte from 240 on ends the piece at once, so two such bytes in a row make
    an empty piece. Thus every way to cut is possible. b"" leaves the text whole.

    >>> cut("forty-two", bytes([4, 0, 255, 1]))
    ['forty', '-', '', 'tw', 'o']
    """
    pieces: list[str] = []
    start = end = 0
    for byte in cuts:
        if byte >= _EMPTY:
            pieces.append(text[start:end])
            start = end
        elif byte >= _SKIPS:
            end = min(len(text), end + (byte - _SKIPS + 1) * _LONGEST)
        elif start < len(text):
            end = min(len(text), end + byte % _LONGEST + 1)
            pieces.append(text[start:end])
            start = end
    rest = text[start:]
    return [*pieces, rest] if rest or not pieces else pieces


_ADDITIONAL: Final = "additionalModelResponseFields"
_EXTRA: Final[Mapping[str, Callable[[], st.SearchStrategy[Any]]]] = {
    "performanceConfig": metadata.performance_configs,
    "serviceTier": metadata.service_tiers,
    _ADDITIONAL: leaves.json_objects,
    "usage": metadata.token_usages,
    "trace": metadata.traces,
}
"""Strategies for members of ConverseResponse that only some answers have.

Every answer has a plain usage without cache counts; the drawn `usage` replaces it, and may have cache counts.
"""

_CONTEXT: Final = 1_000_000
_TAIL: Final = st.binary(min_size=8, max_size=8)
"""Strategy for the end of a stream, as one draw. Byte 0 has one bit per member of `_EXTRA`.

In seven of eight draws this byte is 32 or more, and selects no member. Bytes 1 to 3 are the input tokens (modulo
`_CONTEXT`, a long context), bytes 4 and 5 the output tokens, and bytes 6 and 7 the latency in milliseconds.
"""


@composite
def stream_events(
    draw: st.DrawFn,
    *,
    kinds: Collection[str] | None = None,
    min_blocks: int = 0,
    max_blocks: int = 3,
    texts: Texts | None = None,
    stop_reasons: st.SearchStrategy[str] | None = None,
    family: FamilyName | None = None,
    traces: st.SearchStrategy[dict[str, Any]] | None = None,
) -> list[Event]:
    """Complete streams that ConverseStream could send, messageStart to metadata, as AWS event dicts.

    `kinds` are the members of ContentBlock to choose from, by default all that can be streamed. `texts` is a strategy
    for texts. `stop_reasons` is a strategy for the stop reason, by default for all stop reasons that are possible after
    the blocks. By default, the deltas are cut anywhere; with `family`, they are cut as this model family does
    (docs/fidelity.md names the families, such as `claude`). `traces` is a strategy for ConverseStreamTraces; if given,
    every stream has one, otherwise a few have one. The streams contain no exceptions, and the token counts of `usage`
    add up. Raises InvalidArgument, when drawn, for an unknown kind or family.

    >>> from hypothesis import find
    >>> [next(iter(event)) for event in find(stream_events(), lambda events: True)]
    ['messageStart', 'messageStop', 'metadata']
    """
    wanted = chosen("stream_events", "kinds", kinds, streamable())
    some = leaves.texts() if texts is None else texts
    model = _family(family)
    events, content = _joined(draw(st.lists(_streamed(wanted, some, model), min_size=min_blocks, max_size=max_blocks)))
    if stop_reasons is None:
        stop_reasons = stop_reasons_after(default_stop_reason(content))
    options = draw_options(draw, traces)
    stop = {"stopReason": draw(stop_reasons)}
    if model is not None and ends_empty(model, content, stop["stopReason"]):
        last = {"contentBlockIndex": len(content) - 1, "delta": {"text": ""}}
        events = [*events[:-1], {"contentBlockDelta": last}, events[-1]]
    if _ADDITIONAL in options:
        stop[_ADDITIONAL] = options.pop(_ADDITIONAL)
    return [{"messageStart": {"role": "assistant"}}, *events, {"messageStop": stop}, {"metadata": options}]


@composite
def _streamed(
    draw: st.DrawFn, kinds: tuple[str, ...], texts: Texts, family: Family | None
) -> list[tuple[Block, list[Event]]]:
    """Draw one block, or the two blocks of a server tool. Return each block with the events of the block.

    Blocks and events are drawn by the same strategy, so that hypothesis shrinks them together.
    """
    cutter = _DrawnCutter(draw) if family is None else ByFamily(family, {})
    blocks = draw_part(draw, kinds, texts)
    return [(block, list(cut_message({"role": "assistant", "content": [block]}, cutter))[1:]) for block in blocks]


def _joined(parts: list[list[tuple[Block, list[Event]]]]) -> tuple[list[Event], list[Block]]:
    rename_tools([[_tool_start(events[0]) for _, events in part] for part in parts])
    streamed = [events for part in parts for _, events in part]
    for index, events in enumerate(streamed):
        for event in events:
            (members,) = event.values()
            members["contentBlockIndex"] = index
    return [event for events in streamed for event in events], [block for part in parts for block, _ in part]


def _tool_start(event: Event) -> dict[str, Any] | None:
    start: dict[str, dict[str, Any]] = event.get("contentBlockStart", {}).get("start", {})
    return start.get("toolUse") or start.get("toolResult")


def draw_options(draw: st.DrawFn, traces: st.SearchStrategy[dict[str, Any]] | None = None) -> dict[str, Any]:
    """Draw the members of a ConverseResponse besides the message: always usage and metrics, sometimes other members."""
    tail = draw(_TAIL)  # one draw instead of five, because a short stream spends most of its time in draws
    chosen = tail[0] if tail[0] < 1 << len(_EXTRA) else 0
    given, answered = int.from_bytes(tail[1:4], "big") % _CONTEXT, int.from_bytes(tail[4:6], "big")
    options: dict[str, Any] = {
        "usage": {"inputTokens": given, "outputTokens": answered, "totalTokens": given + answered},
        "metrics": {"latencyMs": int.from_bytes(tail[6:], "big")},
    }
    for bit, (name, values) in enumerate(_EXTRA.items()):
        if chosen >> bit & 1 and bedrock.has_member("ConverseResponse", name):
            options[name] = draw(values())
    if traces is not None:
        options["trace"] = draw(traces)
    return options


def _family(name: str | None) -> Family | None:
    if name is not None and name not in FAMILIES:
        raise InvalidArgument(
            f"stream_events(family={name!r}) is no model family. One of: {', '.join(FAMILIES)}; None cuts anywhere."
        )
    return None if name is None else FAMILIES[name]


@cached
def stop_reasons_after(usual: str) -> st.SearchStrategy[str]:
    """Stop reasons: `usual`, which comes first, and all stop reasons of AWS except `end_turn` and `tool_use`."""
    others = [name for name in bedrock.enum("StopReason") if name not in ("end_turn", "tool_use")]
    return st.sampled_from([usual, *others])
