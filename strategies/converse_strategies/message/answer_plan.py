"""The plan of an answer: which company makes the model (models of one company send the same kinds of blocks), whether
there is a text, and what is long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple, cast

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

HEAD_SIZE: Final = 6
HEADS: Final = st.binary(min_size=HEAD_SIZE, max_size=HEAD_SIZE)
"""Strategy for the argument `head` of `plan_of`. Zeros, the simplest bytes, mean a short answer of Claude."""

_UNITS: Final = ("0", "\U0001f600", "Zürich ", "a\r\n")
"""Short texts. What is added to a long text consists of repetitions of one of them."""

MOST_DELTAS: Final = 250
"""The largest number of deltas in a long block; recorded blocks have up to 170."""

_MOST_BLOCKS: Final = 23
"""If the second byte of a plan is 1 to `_MOST_BLOCKS`, so many blocks are added, which repeat the others. Small bytes
are small numbers, because hypothesis always tries 1, and then takes away one block after the other.
"""

_LONG_BELOW: Final = 33
_LENGTHS: Final = st.sampled_from((20, 40, 60, 80, 100, 120, 140, *range(160, 10_241, 40)))
"""If the third byte is 1 to 32, a text or a tool input gets so many characters more as is drawn then. This is a draw of
its own: hypothesis does not find the smallest number of two bytes, because to lower one it must raise the other. It is
one of few hundred numbers, because of more numbers hypothesis draws small ones more often.
"""

_ANYTHING_FROM: Final = 32
_MORE_THAN_TEXT_FROM: Final = 40
"""If the first byte is at least `_ANYTHING_FROM`, the answer has a block; besides a text, the other number counts."""

_TALKS_FROM: Final = 12
_TALKS: Final = "text"
"""If the fifth byte is at least `_TALKS_FROM`, the answer has a block of this kind besides its other blocks."""


@dataclass(frozen=True, slots=True)
class AnswerPlan:
    """The plan of an answer. `maker` makes the model; `kinds` are the kinds of blocks to draw.

    If `usual` is true, at least one block is drawn. If `talks` is true, a text comes besides the drawn blocks.

    `more` is the number of blocks to add by repetition, usually 0. If `is_long` is true, one text or tool input gets
    more characters. `deltas` is the number of its deltas, at most 250, and `which` selects the block. Bytes of 0 stand
    for none of this, so hypothesis shrinks a long answer to the short one that was drawn with it.
    """

    maker: Maker
    kinds: tuple[str, ...]
    usual: bool = False
    talks: bool = False
    more: int = 0
    is_long: bool = False
    deltas: int = 1
    which: int = 0

    def size(self, least: int, most: int | None) -> tuple[int, int]:
        """Return the smallest and the largest number of blocks to draw, besides the text of an answer that `talks`.

        With this text there are `least` to `most` blocks; without `most`, at most three or, if that is more, `least`.
        If `usual` is true, the smallest is at least 1.
        """
        found = (max(least, 3) if most is None else most) - self.talks
        low = max(least - self.talks, 0)
        return (min(1, found) if low == 0 and self.usual else low), found

    def ordered(
        self, text: list[Any], parts: list[Any], kind: Callable[[Any], str], is_small: Callable[[Any], bool]
    ) -> list[Any]:
        """Return the parts with the text, if there is one, where models send it: after reasoning, before anything else.

        `kind` returns the kind of the first block of a part. As many copies of small parts follow as `more` says.
        """
        place = 1 if parts and kind(parts[0]) == "reasoningContent" else 0
        found = [*parts[:place], *text, *parts[place:]]
        small = [part for part in found if is_small(part)] if self.more else []
        if not small:
            return found
        # Not in turn: with two parts, every second block would be the same, and a consumer could exchange them unseen.
        return [*found, *(_copied(small[at * (at + 1) // 2 % len(small)]) for at in range(self.more))]

    def lengthened(self, draw: st.DrawFn, content: Sequence[Block]) -> int | None:
        """Make one text or tool input of an answer that `is_long` longer, and return its place; otherwise return None.

        It is also None if there is no text, and no tool use that a client must run. This must be the last draw of an
        answer: if another one came after it, hypothesis would take the length for that one when it leaves out the
        length.
        """
        if not self.is_long:
            return None
        texts = [place for place, block in enumerate(content) if "text" in block]
        tools = [place for place, block in enumerate(content) if _is_for_a_client(block)]
        places = (texts if self.which % 3 == 0 else tools) or texts or tools
        if not places:
            return None
        place = places[self.which // 3 % len(places)]
        unit = _UNITS[self.which // 16 % len(_UNITS)]
        length = draw(_LENGTHS)
        more = (unit * (length // len(unit) + 1))[:length]
        if "text" in content[place]:
            content[place]["text"] += more
        else:
            given = content[place]["toolUse"]["input"]
            name = next((name for name, value in given.items() if isinstance(value, str)), _unused(given))
            given[name] = given.get(name, "") + more
        return place


def _copied(value: object) -> Any:
    """Copy a drawn value faster than copy.deepcopy does, which looks for what occurs twice."""
    if isinstance(value, dict):
        return {name: _copied(each) for name, each in cast("Mapping[str, object]", value).items()}
    if isinstance(value, list | tuple):
        copied = [_copied(each) for each in cast("Sequence[object]", value)]
        return copied if isinstance(value, list) else tuple(copied)
    return value


def _is_for_a_client(block: Block) -> bool:
    return "toolUse" in block and block["toolUse"].get("type", "tool_use") == "tool_use"


def _unused(names: Mapping[str, Any]) -> str:
    name = "a"
    while name in names:
        name += "a"
    return name


def even_pieces(text: str, number: int) -> list[str]:
    """Cut `text` into `number` pieces whose lengths differ by at most one, the longer ones first.

    A text of fewer characters is cut into these. So the number of pieces stays while hypothesis shortens the text.

    >>> even_pieces("forty-two", 2)
    ['forty', '-two']
    """
    size, longer = divmod(len(text), number)
    middle = longer * (size + 1)
    pieces = [text[start : start + size + 1] for start in range(0, middle, size + 1)]
    return pieces + [text[start : start + size] for start in range(middle, len(text), size or 1)]


def tool_type(maker: Maker) -> dict[str, str]:
    """Return the `type` of a tool use that a client must run, as the only member; {} if the tool use has none.

    It has none, too, if the installed botocore cannot parse the member.
    """
    return {"type": "tool_use"} if maker.types_tools and bedrock.has_member("ToolUseBlock", "type") else {}


def maker_of(family: Family) -> Maker:
    """Return the maker of a model family."""
    return _MAKERS.get(family.name, OTHERS)


def plan_of(
    head: Sequence[int],
    kinds: tuple[str, ...],
    *,
    any_text: bool,
    any_number: bool,
    room: bool,
    maker: Maker | None = None,
) -> AnswerPlan:
    """Read the drawn bytes `head` as a plan for an answer with blocks of some of `kinds`.

    A text or a tool input is long only if `any_text` is true. Many blocks are possible only if `any_number` is true,
    and a text besides the other blocks only if `room` is true. Thus the plan never contradicts the user's arguments.
    Without `maker`, the plan is for Claude or Nova, and leaves out the kinds that this maker's models never send.
    """
    if maker is None:
        maker = (CLAUDE, NOVA)[head[0] & 1]
        if not sent_by(maker, kinds):
            maker = NOVA
        kinds = sent_by(maker, kinds)
    maker = maker._replace(types_tools=maker.types_tools and bool(head[0] & 2))
    talks = room and _TALKS in kinds and head[4] >= _TALKS_FROM
    return AnswerPlan(
        maker,
        kinds,
        usual=head[0] >= (_MORE_THAN_TEXT_FROM if talks else _ANYTHING_FROM),
        talks=talks,
        more=head[1] if any_number and head[1] <= _MOST_BLOCKS else 0,
        is_long=any_text and 0 < head[2] < _LONG_BELOW,
        deltas=1 + head[3] * (MOST_DELTAS - 1) // 255,
        which=head[5],
    )


@cache
def sent_by(maker: Maker, kinds: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of `kinds` that models of `maker` send."""
    return tuple(kind for kind in kinds if kind not in maker.lacks)
