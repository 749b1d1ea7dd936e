"""Strategies for `converse_harness.types.content`: messages and their blocks."""

from __future__ import annotations

from typing import Any, Final, get_args
from uuid import UUID

from hypothesis import strategies as st

from converse_harness.types import content as types
from converse_strategies import basics
from converse_strategies.basics import (
    INDEXES,
    Texts,
    Value,
    Values,
    cached,
    composite,
    dicts,
    either,
    or_none,
    rarely,
    sampled,
    some,
    tagged,
)
from converse_strategies.strands.citations import citations_content_blocks
from converse_strategies.strands.event_loop import metrics, usages
from converse_strategies.strands.media import audio_contents, document_contents, image_contents, video_contents
from converse_strategies.strands.tools import tool_results, tool_uses

_MOST_BLOCKS: Final = 3
_MOST_TURNS: Final = 4


def roles() -> st.SearchStrategy[str]:
    """Return a strategy for Roles, `"user"` and `"assistant"`."""
    return sampled(get_args(types.Role))


@cached
def guard_content_texts(*, texts: Texts | None = None) -> Values:
    """GuardContentTexts: dicts with a text; some also have a list of qualifiers."""
    qualifiers = st.lists(st.sampled_from(get_args(types.GuardContentQualifier)), max_size=3, unique=True)
    return dicts({"text": some(texts)}, qualifiers=qualifiers)


def guard_contents(*, texts: Texts | None = None) -> Values:
    """GuardContents: dicts with a GuardContentText under `text`."""
    return tagged("text", guard_content_texts(texts=texts))


def reasoning_text_blocks(*, texts: Texts | None = None) -> Values:
    """ReasoningTextBlocks: dicts with a text; some also have a signature, which may be None."""
    return dicts({"text": some(texts)}, signature=or_none(basics.signatures()))


def reasoning_content_blocks(*, texts: Texts | None = None) -> Values:
    r"""ReasoningContentBlocks: dicts with a readable text or with encrypted bytes.

    >>> from hypothesis import find
    >>> find(reasoning_content_blocks(), lambda block: "redactedContent" in block)
    {'redactedContent': b'\x00'}
    """
    return either(reasoningText=reasoning_text_blocks(texts=texts), redactedContent=basics.BLOBS)


@cached
def cache_points() -> Values:
    """CachePoints: dicts with the type `default`; some also have a time to live."""
    return dicts({"type": st.just("default")}, ttl=st.sampled_from(("5m", "1h")))


def content_blocks(*, texts: Texts | None = None) -> Values:
    """ContentBlocks of every kind: dicts with one member.

    >>> from hypothesis import find
    >>> find(content_blocks(), lambda block: True)
    {'text': ''}
    """
    return either(**_blocks(texts))


@cached
def _blocks(texts: Texts | None) -> dict[str, st.SearchStrategy[Any]]:
    """Return the strategy for each member of a ContentBlock, the simplest first."""
    return {
        "text": some(texts),
        "toolUse": tool_uses(),
        "toolResult": tool_results(texts=texts),
        "reasoningContent": reasoning_content_blocks(texts=texts),
        "image": image_contents(),
        "document": document_contents(texts=texts),
        "cachePoint": cache_points(),
        "guardContent": guard_contents(texts=texts),
        "citationsContent": citations_content_blocks(texts=texts),
        "video": video_contents(),
        "audio": audio_contents(),
    }


_KINDS_OF: Final = {
    "user": ("text", "image", "document", "cachePoint", "guardContent", "video", "audio"),
    "assistant": ("text", "toolUse", "reasoningContent", "citationsContent"),
}
"""Role -> the kinds of blocks in its messages. Tool results are treated apart, because each belongs to a tool use."""


@cached
def _blocks_of(role: str, texts: Texts | None, least: int) -> st.SearchStrategy[list[Value]]:
    kinds = _KINDS_OF[role] if least else (*_KINDS_OF[role], *(("toolResult",) if role == "user" else ()))
    blocks = either(**{kind: _blocks(texts)[kind] for kind in kinds})
    return st.lists(blocks, min_size=least, max_size=_MOST_BLOCKS)


def system_content_blocks(*, texts: Texts | None = None) -> Values:
    """SystemContentBlocks: dicts with a text or with a cache point."""
    return either(text=some(texts), cachePoint=cache_points())


def delta_contents(*, texts: Texts | None = None) -> Values:
    """DeltaContents: dicts with a text, or with a tool use whose `input` is any text."""
    return either(text=some(texts), toolUse=tagged("input", some(texts)))


def content_block_start_tool_uses() -> Values:
    """ContentBlockStartToolUses: dicts with the id and name of a tool use; one in four has a signature."""
    start = dicts({"name": basics.tool_names(), "toolUseId": basics.tool_use_ids()})
    return rarely(start, tagged("reasoningSignature", basics.signatures()))


def content_block_starts() -> Values:
    """ContentBlockStarts: empty dicts, or dicts with `toolUse`, which may be None.

    >>> from hypothesis import find
    >>> find(content_block_starts(), lambda start: start.get("toolUse"))["toolUse"]["name"]
    '0'
    """
    return dicts({}, toolUse=or_none(content_block_start_tool_uses()))


def content_block_deltas(*, texts: Texts | None = None) -> Values:
    """ContentBlockDeltas of the module `content`, which contain the index of the block.

    The type with the same name in the module `streaming` has no index.
    """
    return dicts({"contentBlockIndex": INDEXES, "delta": delta_contents(texts=texts)})


def content_block_stops() -> Values:
    """ContentBlockStops: dicts with the index of a block."""
    return dicts({"contentBlockIndex": INDEXES})


def message_metadata() -> Values:
    """MessageMetadata: dicts in which usage, metrics and custom data are each present or absent."""
    return dicts({}, usage=usages(), metrics=metrics(), custom=basics.json_objects())


def messages(*, texts: Texts | None = None) -> Values:
    """Messages of the user or of the assistant, with kinds of blocks that this role sends.

    One message in four may have a tracking id, metadata, or both; the others have neither.

    >>> from hypothesis import find
    >>> find(messages(), lambda message: message["content"])
    {'role': 'user', 'content': [{'text': ''}]}
    """
    return rarely(_message(texts), _extras())


@composite
def _message(draw: st.DrawFn, texts: Texts | None) -> Value:
    role = draw(roles())
    return {"role": role, "content": draw(_blocks_of(role, texts, 0))}


@cached
def _extras() -> Values:
    # st.uuids() is not used: it takes additional draws, because it never draws a value twice.
    ids = basics.made(st.integers(0, 2**64 - 1), lambda number: str(UUID(int=number, version=4)))
    return dicts({}, tracking_id=ids, metadata=message_metadata())


@composite
def conversations(draw: st.DrawFn, *, texts: Texts | None = None) -> list[Value]:
    """Conversations: lists of Messages. The first message is the user's, and the roles alternate.

    If a message with a tool use is not the last one, the next message contains the result of the tool.

    >>> from hypothesis import find
    >>> [message["role"] for message in find(conversations(), lambda messages: len(messages) == 3)]
    ['user', 'assistant', 'user']
    """
    conversation: list[Value] = []
    asked: list[Value] = []
    used: set[str] = set()
    for turn in range(draw(_TURNS)):
        role = ("user", "assistant")[turn % 2]
        content = draw(_blocks_of(role, texts, 0 if asked else 1))
        content = [block for block in content if "toolResult" not in block]
        if asked:
            results = [{**draw(tool_results(texts=texts)), "toolUseId": use["toolUseId"]} for use in asked]
            content = [*({"toolResult": result} for result in results), *content]
        asked = [block["toolUse"] for block in content if "toolUse" in block]
        for use in asked:
            use["toolUseId"] = basics.distinct(use["toolUseId"], used, 64)
        conversation.append({"role": role, "content": content})
    return conversation


_TURNS: Final = st.integers(1, _MOST_TURNS)
