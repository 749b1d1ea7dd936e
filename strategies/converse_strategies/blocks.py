"""Strategies for content blocks that ConverseStream can send, and for assistant messages made of such blocks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from typing import Any, Final

from hypothesis import strategies as st

from converse_harness import bedrock
from converse_strategies import leaves
from converse_strategies.citation import citations_content_blocks
from converse_strategies.leaves import Texts, cached, chosen, composite, sampled
from converse_strategies.media import images

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
"""Kind of block -> the shape and the member of AWS's model that can stream the block.

Older versions of botocore lack some of these members. The simplest kind comes first.
"""

_USUAL: Final = {"text": 3, "toolUse": 1, "reasoningContent": 2}
"""Kind of block -> the number added to its weight of 1 in draws. The other kinds take longest to draw."""

SERVER_TOOLS: Final = ("nova_grounding", "nova_code_interpreter")
"""Tools that the service runs itself. The result of such a tool has the type `<name>_result`."""


@cache
def streamable() -> tuple[str, ...]:
    """The members of ContentBlock that the installed botocore can stream, the simplest first."""
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
    kind = draw(sampled(_weighted(chosen("streamable_blocks", "kinds", kinds, streamable()))))
    return draw_block(draw, kind, leaves.texts() if texts is None else texts)


@composite
def assistant_messages(
    draw: st.DrawFn,
    *,
    kinds: Collection[str] | None = None,
    min_blocks: int = 1,
    max_blocks: int = 3,
    texts: Texts | None = None,
) -> Message:
    """Messages of the assistant, of blocks that ConverseStream can send.

    `kinds` are members of ContentBlock, by default all that can be streamed; `texts` is a strategy for texts. The
    result of a server tool comes together with its tool use, so there may be more than `max_blocks` blocks. Raises
    InvalidArgument, when drawn, for a kind that cannot be streamed.

    >>> from hypothesis import find
    >>> find(assistant_messages(kinds=["text"]), lambda message: len(message["content"]) > 1)
    {'role': 'assistant', 'content': [{'text': ''}, {'text': ''}]}
    """
    wanted = chosen("assistant_messages", "kinds", kinds, streamable())
    some = leaves.texts() if texts is None else texts
    return {"role": "assistant", "content": draw(contents(wanted, some, min_blocks, max_blocks))}


def draw_part(draw: st.DrawFn, kinds: tuple[str, ...], texts: Texts) -> list[Block]:
    """Draw one block of one of these kinds. The result of a server tool comes after its tool use, as a second block."""
    kind = draw(sampled(_weighted(kinds)))
    block = draw_block(draw, kind, texts)
    return [*_server_tool(draw, block)] if kind == "toolResult" else [block]


@cached
def contents(kinds: tuple[str, ...], texts: Texts, min_blocks: int, max_blocks: int) -> st.SearchStrategy[list[Block]]:
    """Strategy for the content of one assistant message.

    Tool use ids are unique, and the result of a server tool follows the tool use of this server tool.
    """
    return st.lists(_parts(kinds, texts), min_size=min_blocks, max_size=max_blocks).map(_joined)


_parts = composite(draw_part)


@cache
def _weighted(kinds: tuple[str, ...]) -> tuple[str, ...]:
    return (*kinds, *(kind for kind in kinds for _ in range(_USUAL.get(kind, 0))))


def _joined(parts: list[list[Block]]) -> list[Block]:
    rename_tools([[block.get("toolUse") or block.get("toolResult") for block in part] for part in parts])
    return [block for part in parts for block in part]


def rename_tools(parts: Iterable[Iterable[dict[str, Any] | None]]) -> None:
    """Give every tool use a unique id. The tool use and the result of a server tool get the same id."""
    used: set[str] = set()
    for part in parts:
        members = [member for member in part if member]
        name = leaves.distinct(str(members[0]["toolUseId"]), used, 64) if members else ""
        for member in members:
            member["toolUseId"] = name


def draw_block(draw: st.DrawFn, kind: str, texts: Texts) -> Block:
    """Draw one streamable block of this kind."""
    return {kind: draw(_BLOCKS[kind](texts))}


@composite
def _reasoning(draw: st.DrawFn, texts: Texts) -> dict[str, Any]:
    form = draw(_REASONING_FORMS)
    if form == "redacted":
        return {"redactedContent": draw(leaves.BLOBS)}
    signed = {"signature": draw(leaves.signatures())} if form == "signed" else {}
    return {"reasoningText": {"text": draw(texts), **signed}}


@composite
def _tool_result(draw: st.DrawFn) -> dict[str, Any]:
    items = draw(_RESULT_ITEMS)
    content = [{"json": item} if isinstance(item, dict) else {"text": item} for item in items]
    result: dict[str, Any] = {"toolUseId": draw(leaves.tool_use_ids()), "content": content}
    status = draw(_STATUSES)
    if status is not None and (content or status != "error"):
        result["status"] = status
    return result


def _server_tool(draw: st.DrawFn, result: Block) -> tuple[Block, Block]:
    name = draw(sampled(SERVER_TOOLS))
    use = {"name": name, "input": draw(_INPUTS), "type": "server_tool_use"}
    result["toolResult"]["type"] = f"{name}_result"
    return {"toolUse": {"toolUseId": result["toolResult"]["toolUseId"], **use}}, result


_INPUTS: Final[st.SearchStrategy[dict[str, Any]]] = st.one_of(
    st.fixed_dictionaries(dict[str, st.SearchStrategy[Any]]()),
    st.dictionaries(leaves.texts(), leaves.texts(), min_size=1, max_size=1),
    leaves.json_objects(),
)
"""Inputs of tools. Two of the three alternatives are simple, because any JSON object takes longer to draw than the rest
of a block."""

_REASONING_FORMS: Final = st.sampled_from(("unsigned", "signed", "redacted"))
_RESULT_ITEMS: Final = st.lists(leaves.texts() | leaves.json_objects(), max_size=3)
_STATUSES: Final = st.sampled_from((None, "success", "error"))
_TOOL_USES: Final = st.fixed_dictionaries(
    {"toolUseId": leaves.tool_use_ids(), "name": leaves.tool_names(), "input": _INPUTS}
)
_BLOCKS: Final[Mapping[str, Callable[[Texts], st.SearchStrategy[Any]]]] = {
    "text": lambda texts: texts,
    "toolUse": lambda texts: _TOOL_USES,
    "reasoningContent": _reasoning,
    "citationsContent": lambda texts: citations_content_blocks(texts=texts),
    "toolResult": lambda texts: _tool_result(),
    "image": lambda texts: images(sources=("bytes",)),
}
"""Kind of block -> function that takes a strategy for texts and makes a strategy for the content of the block."""
