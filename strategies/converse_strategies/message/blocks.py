"""Strategies for content blocks that ConverseStream can send, and for assistant messages made of such blocks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from typing import Any, Final

from hypothesis import strategies as st

from converse_harness import bedrock
from converse_strategies import basics
from converse_strategies.basics import Texts, chosen, composite, sampled
from converse_strategies.message.answer_plan import CLAUDE, HEADS, NOVA, Maker, plan_of, sent_by, tool_type
from converse_strategies.message.citation import citations_content_blocks, kinds_of_web
from converse_strategies.message.media import images
from converse_strategies.values.decoding import read_object

Block = dict[str, Any]
Message = dict[str, Any]

_DELTAS: Final[Mapping[str, tuple[str, str]]] = {
    "text": ("ContentBlockDelta", "text"),
    "toolUse": ("ContentBlockStart", "toolUse"),
    "reasoningContent": ("ContentBlockDelta", "reasoningContent"),
    "citationsContent": ("ContentBlockDelta", "citation"),
    "toolResult": ("ContentBlockStart", "toolResult"),
    "image": ("ContentBlockStart", "image"),
}
"""Kind of block -> the shape and the member of AWS's API model that can stream the block.

Older versions of botocore lack some of these members. The simplest kind comes first.
"""

PLAIN: Final = "plain"
SPECIAL: Final = "special"
WIDE: Final = "wide"
WIDEST: Final = "widest"
"""The forms in which a block is drawn. `PLAIN` has any texts and values. `SPECIAL` has what models send, and what
consumers often read wrongly. `WIDE` is the same with longer texts, and with many members in a tool input; `WIDEST` has
the longest texts.
"""

_FORMS: Final = (PLAIN, SPECIAL, WIDE, WIDEST)

_WEIGHTS: Final[Mapping[tuple[str, str], int]] = {
    ("text", PLAIN): 1,
    ("text", SPECIAL): 2,
    ("text", WIDE): 4,
    ("text", WIDEST): 1,
    ("toolUse", SPECIAL): 24,
    ("toolUse", WIDE): 3,
    ("reasoningContent", PLAIN): 18,
    ("reasoningContent", SPECIAL): 7,
    ("reasoningContent", WIDE): 1,
    ("citationsContent", PLAIN): 15,
    ("image", PLAIN): 2,
    ("toolUse", PLAIN): 4,
    ("toolResult", PLAIN): 30,
}
"""Kind of block and form -> the weight with which this kind is drawn in this form, besides the text that most answers
have anyway. In recorded answers 71 % of the blocks are texts, 15 % tool uses, 8 % cited texts, 6 % reasoning. Tool uses
and results of server tools are drawn more often than that, because consumers have most of their bugs there. A
toolResult comes after the toolUse that begins with the same draws, so that hypothesis can exchange one for the other.
"""

SERVER_TOOLS: Final = ("nova_grounding", "nova_code_interpreter")
"""Tools that the service runs itself. The result of such a tool has the type `<name>_result`."""


@cache
def streamable() -> tuple[str, ...]:
    """Return the members of ContentBlock that the installed botocore can stream, the simplest first."""
    return tuple(name for name, place in _DELTAS.items() if bedrock.has_member(*place))


@composite
def streamable_blocks(draw: st.DrawFn, *, kinds: Collection[str] | None = None, texts: Texts | None = None) -> Block:
    """AWS ContentBlocks that ConverseStream can send: text, reasoning, tool uses, citations, images, server tools.

    `kinds` are members of ContentBlock; `texts` is a strategy for texts. A toolResult is the result of a server tool.
    Raises InvalidArgument, when drawn, for a kind that cannot be streamed.

    >>> from hypothesis import find
    >>> find(streamable_blocks(kinds=["text", "toolUse"]), lambda block: True)
    {'text': ''}
    """
    wanted = chosen("streamable_blocks", "kinds", kinds, streamable())
    kind, form = draw(sampled(weighted(wanted, texts is None)))
    maker = CLAUDE if sent_by(CLAUDE, (kind,)) else NOVA
    if kind == "toolUse":
        maker = maker._replace(types_tools=draw(st.booleans()))
    return draw_block(draw, kind, texts, maker, form)


@composite
def assistant_messages(
    draw: st.DrawFn,
    *,
    kinds: Collection[str] | None = None,
    min_blocks: int = 1,
    max_blocks: int | None = None,
    texts: Texts | None = None,
) -> Message:
    """Messages of the assistant that consist of blocks that ConverseStream can send.

    `kinds` are members of ContentBlock, by default all that can be streamed; `texts` is a strategy for texts. All
    blocks of a message come from models of one maker: no message has both a signature of Claude and a server tool of
    Nova. The result of a server tool comes together with its tool use, so there may be more than `max_blocks` blocks.
    Most messages have a text. Without `max_blocks`, there are usually at most three blocks, but one message in eleven
    has up to 23 more. In one of eight, a text or a tool input has up to 10,000 characters more. Texts of a given
    strategy are never made longer. Raises InvalidArgument, when drawn, for a kind that cannot be streamed.

    >>> from hypothesis import find
    >>> find(assistant_messages(kinds=["text"]), lambda message: len(message["content"]) > 1)
    {'role': 'assistant', 'content': [{'text': ''}, {'text': ''}]}
    """
    wanted = chosen("assistant_messages", "kinds", kinds, streamable())
    return {"role": "assistant", "content": draw(contents(wanted, texts, min_blocks, max_blocks))}


def draw_part(draw: st.DrawFn, kinds: tuple[str, ...], texts: Texts | None, maker: Maker) -> list[Block]:
    """Draw one block of one of `kinds`. If it is the result of a server tool, the tool use is drawn, too, and comes
    first.
    """
    kind, form = draw(sampled(weighted(kinds, texts is None)))
    if kind == "toolResult":
        return [*_server_tool(draw)]
    return [draw_block(draw, kind, texts, maker, form)]


def draw_text(draw: st.DrawFn, texts: Texts | None, talks: bool) -> list[Block]:
    """Draw the text of an answer that `talks`. It comes before the draws of the other blocks, or it is often empty."""
    if not talks:
        return []
    _, form = draw(sampled(weighted(_TEXT_ALONE, texts is None)))
    return [{"text": _draw_text(draw, texts, form)}]


_TEXT_ALONE: Final = ("text",)


@composite
def contents(
    draw: st.DrawFn, kinds: tuple[str, ...], texts: Texts | None, min_blocks: int, max_blocks: int | None
) -> list[Block]:
    """Contents of one assistant message: lists of blocks.

    Tool use ids are unique, and the result of a server tool directly follows the tool use to which it belongs.
    """
    plan = plan_of(
        draw(HEADS),
        kinds,
        any_text=texts is None,
        any_number=max_blocks is None,
        room=max_blocks is None or max_blocks > 0,
    )
    least, most = plan.size(min_blocks, max_blocks)
    text = [[block] for block in draw_text(draw, texts, plan.talks)]
    drawn = draw(st.lists(_parts(plan.kinds, texts, plan.maker), min_size=least, max_size=most))
    content = _joined(plan.ordered(text, drawn, lambda part: next(iter(part[0])), _is_small))
    plan.lengthened(draw, content)
    return content


def _is_small(part: list[Block]) -> bool:
    return all(len(block.get("text", "")) <= _SMALL for block in part)


_SMALL: Final = 200
"""A longer text is not repeated."""

_parts = composite(draw_part)


@cache
def weighted(kinds: tuple[str, ...], any_text: bool) -> tuple[tuple[str, str], ...]:
    """Return pairs (kind of block, form), the simplest first; a frequent pair occurs several times.

    All forms are `PLAIN` unless `any_text` is true.
    """
    pairs = [
        (kind, form if any_text else PLAIN)
        for (kind, form), number in _WEIGHTS.items()
        if kind in kinds
        for _ in range(number)
    ]
    return (*sorted({*pairs}, key=lambda pair: (kinds.index(pair[0]), _FORMS.index(pair[1]))), *pairs)


def _draw_text(draw: st.DrawFn, texts: Texts | None, form: str) -> str:
    if texts is None and form != PLAIN:
        return basics.draw_special_text(draw, _SIZES[form])
    return draw(basics.texts() if texts is None else texts)


_SIZES: Final = {SPECIAL: 0, WIDE: 1, WIDEST: 2}


def _joined(parts: list[list[Block]]) -> list[Block]:
    rename_tools([[block.get("toolUse") or block.get("toolResult") for block in part] for part in parts])
    return [block for part in parts for block in part]


def rename_tools(parts: Iterable[Iterable[dict[str, Any] | None]]) -> None:
    """Change the ids so that each tool use has a unique id, and its result has the same one.

    Each part has one or two members: a tool use, a tool use and its result, or None for another kind of block.
    """
    used: set[str] = set()
    for part in parts:
        members = [member for member in part if member]
        name = basics.distinct(str(members[0]["toolUseId"]), used, 64) if members else ""
        for member in members:
            member["toolUseId"] = name


def draw_block(
    draw: st.DrawFn, kind: str, texts: Texts | None = None, maker: Maker = CLAUDE, form: str = PLAIN
) -> Block:
    """Draw one streamable block of the kind `kind`, as models of `maker` send it.

    Unless `form` is `PLAIN`, a tool input has texts and values that consumers often read wrongly, and reasoning has the
    forms in `_SPECIAL_FORMS`.
    """
    if kind == "text":
        return {kind: _draw_text(draw, texts, form)}
    if kind == "toolUse":
        use = draw(_PLAIN_USES) if form == PLAIN else _special_use(draw(_SPECIAL_USES[form]))
        return {kind: {**use, **tool_type(maker)}}
    if kind == "reasoningContent":
        return {kind: _draw_reasoning(draw, texts, maker, form)}
    return {kind: draw(_BLOCKS[kind](basics.texts() if texts is None else texts, maker))}


def _draw_reasoning(draw: st.DrawFn, texts: Texts | None, maker: Maker, of: str) -> dict[str, Any]:
    form = draw(_REASONING_FORMS if of == PLAIN else _SPECIAL_FORMS) if maker.signs else "unsigned"
    if form == "redacted":
        return {"redactedContent": draw(basics.BLOBS)}
    signed = {"signature": draw(basics.signatures())} if form != "unsigned" else {}
    return {"reasoningText": {"text": "" if form == "omitted" else _draw_text(draw, texts, of), **signed}}


@composite
def _tool_result(draw: st.DrawFn) -> dict[str, Any]:
    return {"toolUseId": draw(basics.tool_use_ids()), **draw(_answered())[1]}


@composite
def _answered(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """The name of a server tool, and the content and status of its result."""
    items = draw(_RESULT_ITEMS)
    content = [{"json": item} if isinstance(item, dict) else {"text": item} for item in items]
    result: dict[str, Any] = {"content": content}
    status = draw(_STATUSES)
    if status is not None and (content or status != "error"):
        result["status"] = status
    return draw(sampled(SERVER_TOOLS)), result


def _special_use(drawn: bytes) -> dict[str, Any]:
    """Read drawn bytes as a tool use: the first selects the name, the second the id, the others are the input."""
    return {
        "toolUseId": basics.tool_use_id(sum(drawn[1:2])),
        "name": _NAMES[sum(drawn[:1]) % len(_NAMES)],
        "input": read_object(drawn[2:]),
    }


_NAMES: Final = ("0", "0", "0", "get_weather", "search-files", "A" * 64)
"""Names of tools. Most tool uses have the same name, because consumers confuse tool uses with equal names."""


def _server_tool(draw: st.DrawFn) -> tuple[Block, Block]:
    """Draw the tool use and the result of a server tool. The first draws are those of a `PLAIN` tool use."""
    use = draw(_PLAIN_USES)
    name, result = draw(_answered())
    return (
        {"toolUse": {**use, "name": name, "type": "server_tool_use"}},
        {"toolResult": {"toolUseId": use["toolUseId"], "type": f"{name}_result", **result}},
    )


_INPUTS: Final[st.SearchStrategy[dict[str, Any]]] = st.one_of(
    st.fixed_dictionaries(dict[str, st.SearchStrategy[Any]]()),
    st.dictionaries(basics.texts(), basics.texts(), min_size=1, max_size=1),
    basics.json_objects(),
)
"""Inputs of tools. Two of the three alternatives are simple, because any JSON object takes longer to draw than the rest
of a block."""

_REASONING_FORMS: Final = st.sampled_from(("unsigned", "signed", "redacted"))
_SPECIAL_FORMS: Final = st.sampled_from(("unsigned", "signed", "omitted"))
"""The forms of reasoning with special texts. "omitted" is signed but without text, as newer models of Claude send it.
"""

_RESULT_ITEMS: Final = st.lists(basics.texts() | basics.json_objects(), max_size=3)
_STATUSES: Final = st.sampled_from((None, "success", "error", "error"))
_PLAIN_USES: Final = st.fixed_dictionaries(
    {"toolUseId": basics.tool_use_ids(), "name": basics.tool_names(), "input": _INPUTS}
)
_SPECIAL_USES: Final = {SPECIAL: st.binary(max_size=82), WIDE: st.binary(min_size=10, max_size=82)}
"""Form -> strategy for the bytes of a tool use in this form. Of `WIDE` ones they are enough for 3 to 15 arguments. The
largest size is the same, so that hypothesis can shrink them to `SPECIAL` ones.
"""

_BLOCKS: Final[Mapping[str, Callable[[Texts, Maker], st.SearchStrategy[Any]]]] = {
    "citationsContent": lambda texts, maker: citations_content_blocks(kinds=kinds_of_web(maker.cites_web), texts=texts),
    "toolResult": lambda texts, maker: _tool_result(),
    "image": lambda texts, maker: images(sources=("bytes",)),
}
"""Kind of block -> a function. The function takes a strategy for texts and a maker, and returns a strategy for the
content of the block.
"""
