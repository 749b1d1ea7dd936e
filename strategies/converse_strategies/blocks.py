"""Strategies for content blocks that ConverseStream can send, and for the messages of the assistant made of them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache, lru_cache
from typing import Any, Final

from hypothesis import strategies as st

from converse_harness import bedrock
from converse_strategies import leaves
from converse_strategies.citation import citations_content_blocks
from converse_strategies.leaves import chosen, composite
from converse_strategies.media import images

Block = dict[str, Any]
Message = dict[str, Any]
Texts = st.SearchStrategy[str]

_DELTAS: Final[Mapping[str, tuple[str, str]]] = {
    "text": ("ContentBlockDelta", "text"),
    "toolUse": ("ContentBlockStart", "toolUse"),
    "reasoningContent": ("ContentBlockDelta", "reasoningContent"),
    "citationsContent": ("ContentBlockDelta", "citation"),
    "toolResult": ("ContentBlockStart", "toolResult"),
    "image": ("ContentBlockStart", "image"),
}
"""The member of AWS's model that a block is streamed by: an older botocore lacks some. The simplest block first."""

_USUAL: Final = {"text": 3, "toolUse": 1, "reasoningContent": 2}
"""How much more often a kind comes than the rare ones do, which also take longest to draw."""

SERVER_TOOLS: Final = ("nova_grounding", "nova_code_interpreter")
"""Tools that the service runs itself; their results have the type `<name>_result`."""


@cache
def streamable() -> tuple[str, ...]:
    """The members of ContentBlock that the installed botocore can stream, the simplest first."""
    return tuple(name for name, place in _DELTAS.items() if bedrock.has_member(*place))


@composite
def streamable_blocks(draw: st.DrawFn, *, kinds: Collection[str] | None = None, texts: Texts | None = None) -> Block:
    """AWS ContentBlocks that ConverseStream can send: text, reasoning, tool uses, citations, images, server tools.

    `kinds` are members of ContentBlock; `texts` is a strategy for texts. A toolResult is that of a server tool. Raises
    InvalidArgument, when drawn, for a kind that cannot be streamed.

    >>> from hypothesis import find
    >>> find(streamable_blocks(kinds=["text", "toolUse"]), lambda block: True)
    {'text': ''}
    """
    kind = draw(_sampled(chosen("streamable_blocks", "kinds", kinds, streamable())))
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

    `kinds` are the members of ContentBlock to choose from, all that can be streamed if not given; `texts` is a strategy
    for texts. A result of a server tool brings the use that it answers, so there may be more than `max_blocks`. Raises
    InvalidArgument, when drawn, for a kind that cannot be streamed.

    >>> from hypothesis import find
    >>> find(assistant_messages(kinds=["text"]), lambda message: len(message["content"]) > 1)
    {'role': 'assistant', 'content': [{'text': ''}, {'text': ''}]}
    """
    wanted = chosen("assistant_messages", "kinds", kinds, streamable())
    some = leaves.texts() if texts is None else texts
    return {"role": "assistant", "content": draw(contents(wanted, some, min_blocks, max_blocks))}


@lru_cache
def contents(kinds: tuple[str, ...], texts: Texts, min_blocks: int, max_blocks: int) -> st.SearchStrategy[list[Block]]:
    """Strategy for the content of one assistant message: tool use ids are unique, a server tool's result follows its
    use.
    """
    return st.lists(_parts(kinds, texts), min_size=min_blocks, max_size=max_blocks).map(_joined)


@composite
def _parts(draw: st.DrawFn, kinds: tuple[str, ...], texts: Texts) -> list[Block]:
    return draw_part(draw, kinds, texts)


def draw_part(draw: st.DrawFn, kinds: tuple[str, ...], texts: Texts) -> list[Block]:
    """Draw one block of some kind; a result of a server tool is drawn together with the use before it."""
    kind = draw(_sampled(kinds))
    block = draw_block(draw, kind, texts)
    return [*_server_tool(draw, block)] if kind == "toolResult" else [block]


def _joined(parts: list[list[Block]]) -> list[Block]:
    rename_tools([[block.get("toolUse") or block.get("toolResult") for block in part] for part in parts])
    return [block for part in parts for block in part]


def rename_tools(parts: Iterable[Iterable[dict[str, Any] | None]]) -> None:
    """Give every tool use a unique id; a server tool's use and result keep a common id."""
    used: set[str] = set()
    for part in parts:
        members = [member for member in part if member]
        if members:
            base = unique = str(members[0]["toolUseId"])
            number = 0
            while unique in used:
                number += 1
                unique = f"{base[: 64 - len(str(number))]}{number}"
            used.add(unique)
            for member in members:
                member["toolUseId"] = unique


@cache
def _sampled(kinds: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.sampled_from([*kinds, *(kind for kind in kinds for _ in range(_USUAL.get(kind, 0)))])


def draw_block(draw: st.DrawFn, kind: str, texts: Texts) -> Block:
    """Draw one streamable block of this kind."""
    return _BLOCKS[kind](draw, texts)


def _text(draw: st.DrawFn, texts: Texts) -> Block:
    return {"text": draw(texts)}


def _reasoning(draw: st.DrawFn, texts: Texts) -> Block:
    form = draw(_REASONING_FORMS)
    if form == "redacted":
        return {"reasoningContent": {"redactedContent": draw(_BLOBS)}}
    text: dict[str, Any] = {"text": draw(texts)}
    if form == "signed":
        text["signature"] = base64.b64encode(draw(_BLOBS)).decode()
    return {"reasoningContent": {"reasoningText": text}}


def _tool_use(draw: st.DrawFn, texts: Texts) -> Block:
    return {
        "toolUse": {
            "toolUseId": draw(leaves.tool_use_ids()),
            "name": draw(leaves.tool_names()),
            "input": draw(_INPUTS),
        }
    }


def _tool_result(draw: st.DrawFn, texts: Texts) -> Block:
    items = draw(_RESULT_ITEMS)
    content = [{"json": item} if isinstance(item, dict) else {"text": item} for item in items]
    result: dict[str, Any] = {"toolUseId": draw(leaves.tool_use_ids()), "content": content}
    status = draw(_STATUSES)
    if status is not None and (content or status != "error"):
        result["status"] = status
    return {"toolResult": result}


def _server_tool(draw: st.DrawFn, result: Block) -> tuple[Block, Block]:
    name = draw(_SERVER_TOOL_NAMES)
    use = {"name": name, "input": draw(_INPUTS), "type": "server_tool_use"}
    result["toolResult"]["type"] = f"{name}_result"
    return {"toolUse": {"toolUseId": result["toolResult"]["toolUseId"], **use}}, result


def _cited(draw: st.DrawFn, texts: Texts) -> Block:
    return {"citationsContent": draw(_cited_blocks(texts))}


def _image(draw: st.DrawFn, texts: Texts) -> Block:
    return {"image": draw(_images())}


@lru_cache
def _cited_blocks(texts: Texts) -> st.SearchStrategy[dict[str, Any]]:
    return citations_content_blocks(texts=texts)


@cache
def _images() -> st.SearchStrategy[dict[str, Any]]:
    return images(sources=("bytes",))


_INPUTS: Final[st.SearchStrategy[dict[str, Any]]] = st.one_of(
    st.fixed_dictionaries(dict[str, st.SearchStrategy[Any]]()),
    st.dictionaries(leaves.texts(), leaves.texts(), min_size=1, max_size=1),
    leaves.json_objects(),
)
"""Inputs of tools, two of three of them simple: an object takes longer to draw than all the rest of a block."""

_BLOBS: Final = st.binary(min_size=1, max_size=48)
_REASONING_FORMS: Final = st.sampled_from(("unsigned", "signed", "redacted"))
_RESULT_ITEMS: Final = st.lists(leaves.texts() | leaves.json_objects(), max_size=3)
_STATUSES: Final = st.sampled_from((None, "success", "error"))
_SERVER_TOOL_NAMES: Final = st.sampled_from(SERVER_TOOLS)
_BLOCKS: Final[Mapping[str, Callable[[st.DrawFn, Texts], Block]]] = {
    "text": _text,
    "toolUse": _tool_use,
    "reasoningContent": _reasoning,
    "citationsContent": _cited,
    "toolResult": _tool_result,
    "image": _image,
}
