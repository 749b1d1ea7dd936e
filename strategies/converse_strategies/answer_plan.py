"""The common properties of the blocks of one answer: the maker of the model, and the long part, if there is one."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

from hypothesis import strategies as st

from converse_harness.bedrock.families import Family

Block = dict[str, Any]


class Maker(NamedTuple):
    """The blocks that models of one maker send: `lacks` contains the kinds that they never send.

    `signs`: they sign their reasoning. `cites_web`: they cite web pages, not documents. Source: recorded answers
    (signatures, redacted reasoning and citations of documents: only Claude; server tools and citations of web pages:
    only Nova).
    """

    lacks: frozenset[str]
    signs: bool
    cites_web: bool


CLAUDE: Final = Maker(frozenset({"toolResult", "image"}), signs=True, cites_web=False)
NOVA: Final = Maker(frozenset(), signs=False, cites_web=True)
OTHERS: Final = Maker(frozenset({"toolResult", "image", "citationsContent"}), signs=False, cites_web=False)
_TITAN: Final = Maker(OTHERS.lacks | {"toolUse", "reasoningContent"}, signs=False, cites_web=False)

_MAKERS: Final = {"claude": CLAUDE, "claude-3": CLAUDE, "nova": NOVA, "titan": _TITAN}
"""Name of a model family -> its maker; all other families are OTHERS."""

HEAD_SIZE: Final = 5
HEADS: Final = st.binary(min_size=HEAD_SIZE, max_size=HEAD_SIZE)
"""Strategy for the bytes that `plan_of` reads. Zeros, the simplest bytes, stand for a short answer of Claude."""

_LONG_FROM: Final = 224
"""If the second byte is at least this number, a part of the answer is long. This happens in about one of ten draws."""

_FORMS: Final = ("text", "toolUse", "blocks")
_UNITS: Final = ("0", "\U0001f600", "Zürich ", "a\r\n")
"""The texts that a long text repeats."""

MOST_DELTAS: Final = 250
"""The largest number of deltas in a long block; recorded blocks have up to 170."""

_TEXT: Final = (2000, 32)
_INPUT: Final = (4097, 16)
"""For a long tool input: the shortest length, and the length added for each step of a byte, in characters. `_TEXT`
contains the same two numbers for a long text.
"""


@dataclass(frozen=True, slots=True)
class AnswerPlan:
    """The plan of an answer: the maker, the kinds of blocks that its models send, and `form`, the long part, if any.

    `form` is one of _FORMS, or None. `usual`: the answer has at least one block. `length` and `deltas` are bytes;
    `unit` is the text that a long text repeats.
    """

    maker: Maker
    kinds: tuple[str, ...]
    usual: bool = False
    form: str | None = None
    length: int = 0
    deltas: int = 0
    unit: str = "0"

    def size(self, least: int, most: int | None) -> tuple[int, int]:
        """Return the smallest and the largest number of blocks to draw; the largest is three by default.

        Seven of eight answers have at least one block even if no block is required.
        """
        found = max(least, 3) if most is None else most
        return (min(1, found) if least == 0 and self.usual else least), found

    def repeated(self, parts: list[Any]) -> list[Any]:
        """Repeat the parts of an answer until there are twelve or more, if the plan is an answer with many blocks."""
        if self.form != "blocks" or not parts:
            return parts
        more = range(12 + self.length % 5 - len(parts))
        return [*parts, *(copy.deepcopy(parts[place % len(parts)]) for place in more)]

    def long_block(self) -> Block | None:
        """Return the long block that follows the drawn blocks, if the plan has one."""
        if self.form == "text":
            return {"text": self._long(_TEXT)}
        if self.form == "toolUse":
            use = {"toolUseId": "tooluse_aaaaaaaaaaaaaaaaaaaaaa", "name": "0", "input": {"0": self._long(_INPUT)}}
            return {"toolUse": use}
        return None

    def _long(self, sizes: tuple[int, int]) -> str:
        size = sizes[0] + sizes[1] * self.length
        return (self.unit * (size // len(self.unit) + 1))[:size]


def even_pieces(text: str, byte: int) -> list[str]:
    """Cut a long text into pieces of the same length: 1 to 8 pieces for a byte below 128, otherwise 180 to 250.

    >>> [len(piece) for piece in even_pieces("forty-two" * 10, 255)[:3]]
    [1, 1, 1]
    """
    wanted = 1 + byte % 8 if byte < 128 else min(MOST_DELTAS, 180 + byte - 128)
    size = -(-len(text) // wanted)
    return [text[start : start + size] for start in range(0, len(text), size)]


def maker_of(family: Family) -> Maker:
    """Return the maker of a model family."""
    return _MAKERS.get(family.name, OTHERS)


def plan_of(
    head: Sequence[int], kinds: tuple[str, ...], *, any_text: bool, any_number: bool, maker: Maker | None = None
) -> AnswerPlan:
    """Read drawn bytes as a plan for an answer of these kinds of blocks.

    Texts are long only with `any_text`. Many blocks, or an additional long block, are possible only with `any_number`.
    Thus the plan never contradicts the user's arguments.
    """
    if maker is None:
        maker = (CLAUDE, NOVA)[head[0] & 1]
        if not sent_by(maker, kinds):
            maker = NOVA
        kinds = sent_by(maker, kinds)
    usual = head[0] >= 32
    if head[1] < _LONG_FROM or not any_number:
        return AnswerPlan(maker, kinds, usual)
    form = _FORMS[head[1] % len(_FORMS)]
    if form != "blocks" and (not any_text or form not in kinds):
        return AnswerPlan(maker, kinds, usual)
    return AnswerPlan(maker, kinds, usual, form, head[2], head[3], _UNITS[head[4] % len(_UNITS)])


@cache
def sent_by(maker: Maker, kinds: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of the kinds of blocks that the maker's models send."""
    return tuple(kind for kind in kinds if kind not in maker.lacks)
