"""Every way to cut a message into the events of a stream."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness.errors import ReplyError
from converse_harness.stream.chunk import chunk, cut_message
from converse_strategies import leaves
from converse_strategies.blocks import Texts
from converse_strategies.message import assistant_messages

Event = dict[str, Any]

_CUTS: Final = st.binary()
"""Cut points of one text as one draw: a byte says how many characters the next delta has; see `cut`."""

_LONGEST: Final = 16
_SKIPS: Final = 224
_EMPTY: Final = 240

_NO_ARGUMENTS: Final[Sequence[Sequence[str]]] = ([], ["{}"], [""], ["", "{}"], ["{", "}"])
"""How models stream the input of a tool that has no arguments, or may."""

_JSON_STYLES: Final[Sequence[Mapping[str, Any]]] = (
    {"ensure_ascii": False},
    {"ensure_ascii": False, "separators": (",", ":")},
    {"ensure_ascii": True},
    {"ensure_ascii": False, "indent": 1},
)
"""How models write the JSON of a tool's input: with spaces, compact, escaped, on lines of its own."""


@dataclass(frozen=True)
class ChunkedMessage:
    """A message and one way to cut it: `assemble(case.events).message == case.message`."""

    message: dict[str, Any]
    events: list[Event]


@st.composite
def chunkings(draw: st.DrawFn, message: Mapping[str, object]) -> list[Event]:
    """Complete streams of one AWS Message: its texts, reasoning and tool inputs cut anywhere, empty deltas included.

    Two of them differ in their deltas only: stop reason, usage and metrics follow from the message, as in `chunk`.
    Raises InvalidArgument, when drawn, for a message that cannot be streamed.

    >>> from converse_harness import assemble
    >>> from hypothesis import find
    >>> hello = {"role": "assistant", "content": [{"text": "Hi"}]}
    >>> [event["contentBlockDelta"]["delta"] for event in find(chunkings(hello), lambda e: len(e) > 5)[1:-3]]
    [{'text': 'H'}, {'text': 'i'}]
    """
    try:
        whole = chunk(message)
        return [*cut_message(message, DrawnCutter(draw)), *whole[-2:]]
    except (ReplyError, KeyError, TypeError, AttributeError) as error:
        raise InvalidArgument(f"chunkings({message!r}): not an AWS Message that can be streamed: {error}") from error


@st.composite
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
class DrawnCutter:
    """Cuts as hypothesis likes, shrinking towards one delta for each block."""

    draw: st.DrawFn

    def text(self, index: int, text: str) -> Sequence[str]:
        """A text in any pieces."""
        return cut(text, self.draw(_CUTS))

    def tool_input(self, index: int, value: object) -> Sequence[str]:
        """The JSON in any style and pieces; no delta at all, or an empty one, for an input without arguments."""
        drawn = self.draw(_CUTS)
        form, cuts = sum(drawn[:1]), drawn[1:]
        if value == {}:
            return _NO_ARGUMENTS[form % len(_NO_ARGUMENTS)]
        return cut(json.dumps(value, **_JSON_STYLES[form % len(_JSON_STYLES)]), cuts)

    def tool_result(self, index: int, content: Sequence[Mapping[str, Any]]) -> Iterable[Sequence[Mapping[str, Any]]]:
        """The items in any groups."""
        groups: list[list[Mapping[str, Any]]] = []
        together = self.draw(leaves.bits())
        for place, item in enumerate(content):
            if groups and together >> place & 1:
                groups[-1].append(item)
            else:
                groups.append([item])
        return groups


def cut(text: str, cuts: bytes) -> list[str]:
    """Cut a text by a string of bytes; joined the pieces are the text, and there is at least one.

    A byte under 224 ends a piece after 1 to 16 more characters, one from 240 on ends it where it is, which is an empty
    one between pieces; those between make it 16 to 256 characters longer. So every way to cut is reachable, and no
    bytes are the whole text.

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
