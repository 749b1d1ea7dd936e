"""The plan of an answer: which company makes the model (models of one company send the same kinds of blocks), and what
is long.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

from hypothesis import strategies as st

from converse_harness import bedrock
from converse_harness.bedrock.families import Family

Block = dict[str, Any]


class Maker(NamedTuple):
    """A company that makes models, and what its models send. `lacks` contains the kinds of blocks that they never send.

    If `signs` is true, the models sign their reasoning. If `cites_web` is true, they cite web pages, otherwise
    documents. If `types_tools` is true, the tool uses that a client must run have a `type`: in the maker of a plan all
    tool uses of the answer, in a constant those of some models. Source: recorded answers. In these, only Claude sends
    signatures, redacted reasoning and citations of documents; only Nova sends server tools and citations of web pages;
    only Claude and Nova send the type.
    """

    lacks: frozenset[str]
    signs: bool
    cites_web: bool
    types_tools: bool = False


CLAUDE: Final = Maker(frozenset({"toolResult", "image"}), signs=True, cites_web=False, types_tools=True)
NOVA: Final = Maker(frozenset(), signs=False, cites_web=True, types_tools=True)
OTHERS: Final = Maker(frozenset({"toolResult", "image", "citationsContent"}), signs=False, cites_web=False)
_TITAN: Final = Maker(OTHERS.lacks | {"toolUse", "reasoningContent"}, signs=False, cites_web=False)

_CLAUDE_3: Final = CLAUDE._replace(types_tools=False)

_MAKERS: Final = {"claude": CLAUDE, "claude-3": _CLAUDE_3, "nova": NOVA, "titan": _TITAN}
"""Name of a model family -> its maker. The maker of all other families is `OTHERS`."""

HEAD_SIZE: Final = 5
HEADS: Final = st.binary(min_size=HEAD_SIZE, max_size=HEAD_SIZE)
"""Strategy for the argument `head` of `plan_of`. Zeros, the simplest bytes, mean a short answer of Claude."""

_LONG_FROM: Final = 224
"""If the second byte of the argument `head` of `plan_of` is at least this, a part of the answer is long (in one of ten
draws).
"""

_FORMS: Final = ("text", "toolUse", "blocks")
_UNITS: Final = ("0", "\U0001f600", "Zürich ", "a\r\n")
"""Short texts. A long text consists of repetitions of one of them."""

MOST_DELTAS: Final = 250
"""The largest number of deltas in a long block; recorded blocks have up to 170."""

_TEXT: Final = (2000, 32)
_INPUT: Final = (4097, 16)
"""The length of a long tool input, in characters, is the first number plus the second number times `AnswerPlan.length`.
`_TEXT` contains the same two numbers for a long text.
"""


@dataclass(frozen=True, slots=True)
class AnswerPlan:
    """The plan of an answer. `maker` makes the model; `kinds` are the kinds of blocks to draw.

    If `usual` is true, the answer has at least one block. `form`, one of `_FORMS` or None, says what is long: a text, a
    tool input, or the list of blocks. The bytes `length` and `deltas` determine the length of the long part and its
    number of deltas. A long text repeats `unit`.
    """

    maker: Maker
    kinds: tuple[str, ...]
    usual: bool = False
    form: str | None = None
    length: int = 0
    deltas: int = 0
    unit: str = "0"

    def size(self, least: int, most: int | None) -> tuple[int, int]:
        """Return the smallest and the largest number of blocks to draw.

        These are `least` and `most`; without `most`, the largest is three or, if that is more, `least`. If `least` is 0
        and `usual` is true (in seven of eight plans), the smallest is 1.
        """
        found = max(least, 3) if most is None else most
        return (min(1, found) if least == 0 and self.usual else least), found

    def repeated(self, parts: list[Any]) -> list[Any]:
        """Return `parts`; if `form` is `blocks`, repeat them until there are at least twelve."""
        if self.form != "blocks" or not parts:
            return parts
        more = range(12 + self.length % 5 - len(parts))
        return [*parts, *(copy.deepcopy(parts[place % len(parts)]) for place in more)]

    def long_block(self) -> Block | None:
        """Return the long block that is added after the drawn blocks, or None if the plan has no such block."""
        if self.form == "text":
            return {"text": self._long(_TEXT)}
        if self.form == "toolUse":
            use = {"toolUseId": "tooluse_aaaaaaaaaaaaaaaaaaaaaa", "name": "0", "input": {"0": self._long(_INPUT)}}
            return {"toolUse": {**use, **tool_type(self.maker)}}
        return None

    def _long(self, sizes: tuple[int, int]) -> str:
        size = sizes[0] + sizes[1] * self.length
        return (self.unit * (size // len(self.unit) + 1))[:size]


def even_pieces(text: str, byte: int) -> list[str]:
    """Cut `text` into equally long pieces; the last may be shorter.

    `byte` determines the number of pieces: at most 8 for a byte below 128, otherwise at most 250.

    >>> [len(piece) for piece in even_pieces("forty-two" * 10, 255)[:3]]
    [1, 1, 1]
    """
    wanted = 1 + byte % 8 if byte < 128 else min(MOST_DELTAS, 180 + byte - 128)
    size = -(-len(text) // wanted)
    return [text[start : start + size] for start in range(0, len(text), size)]


def tool_type(maker: Maker) -> dict[str, str]:
    """Return the `type` of a tool use that a client must run, as the only member; {} if the tool use has none.

    It has none, too, if the installed botocore cannot parse the member.
    """
    return {"type": "tool_use"} if maker.types_tools and bedrock.has_member("ToolUseBlock", "type") else {}


def maker_of(family: Family) -> Maker:
    """Return the maker of a model family."""
    return _MAKERS.get(family.name, OTHERS)


def plan_of(
    head: Sequence[int], kinds: tuple[str, ...], *, any_text: bool, any_number: bool, maker: Maker | None = None
) -> AnswerPlan:
    """Read the drawn bytes `head` as a plan for an answer with blocks of some of `kinds`.

    A text or a tool input is long only if `any_text` is true. Many blocks or an additional long block are possible only
    if `any_number` is true. Thus the plan never contradicts the user's arguments. Without `maker`, the plan is for
    Claude or Nova, and leaves out the kinds that this maker's models never send.
    """
    if maker is None:
        maker = (CLAUDE, NOVA)[head[0] & 1]
        if not sent_by(maker, kinds):
            maker = NOVA
        kinds = sent_by(maker, kinds)
    maker = maker._replace(types_tools=maker.types_tools and bool(head[0] & 2))
    usual = head[0] >= 32
    if head[1] < _LONG_FROM or not any_number:
        return AnswerPlan(maker, kinds, usual)
    form = _FORMS[head[1] % len(_FORMS)]
    if form != "blocks" and (not any_text or form not in kinds):
        return AnswerPlan(maker, kinds, usual)
    return AnswerPlan(maker, kinds, usual, form, head[2], head[3], _UNITS[head[4] % len(_UNITS)])


@cache
def sent_by(maker: Maker, kinds: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of `kinds` that models of `maker` send."""
    return tuple(kind for kind in kinds if kind not in maker.lacks)
