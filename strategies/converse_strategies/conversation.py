"""Whole conversations that Bedrock takes: lists of AWS Messages, ready to send."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from hypothesis import strategies as st

from converse_strategies import leaves
from converse_strategies.blocks import Block, Texts, draw_block, rename_tools, streamable
from converse_strategies.choices import chosen
from converse_strategies.message import Message, Used, draw_user_content, user_kinds
from converse_strategies.tools import tool_results, tool_uses

_ANSWERED: Final = ("text", "toolUse", "reasoningContent", "citationsContent")
"""What the assistant says in a conversation, of the members of ContentBlock."""


@st.composite
def conversations(
    draw: st.DrawFn,
    *,
    tools: Sequence[Mapping[str, Any]] | None = None,
    min_turns: int = 0,
    max_turns: int = 3,
    kinds: Collection[str] | None = None,
    texts: Texts | None = None,
) -> list[Message]:
    """Conversations that Bedrock takes: the user begins, roles alternate, the user has the last word.

    Every tool use is answered by a result in the next message, and nothing else is; its input satisfies the schema of
    its tool. No text is blank; documents come with a text, have names of their own and are five at the most. `tools`
    are the Tools (or ToolSpecifications) that the assistant may use, any if not given, none if empty. A turn is an
    answer of the assistant and what the user says to it. `kinds` are the members of ContentBlock to choose from, for
    either role. Source: what Bedrock refuses beyond its model, as its users report it.

    >>> from hypothesis import find
    >>> [message["role"] for message in find(conversations(min_turns=1), lambda messages: True)]
    ['user', 'assistant', 'user']
    """
    some = leaves.visible_texts(texts)
    of_assistant, of_user = _kinds_of(kinds, tools)
    used = Used()
    opening = draw_user_content(draw, of_user, some, 2, used)
    specs = st.sampled_from(_specs(tools)) if tools else None
    turns = draw(st.lists(_turn(of_assistant, of_user, some, specs, used), min_size=min_turns, max_size=max_turns))
    rename_tools([use, result] for turn in turns for use, result in turn.tools)
    return [{"role": "user", "content": opening}, *(message for turn in turns for message in turn.messages)]


@dataclass(frozen=True, slots=True)
class _Turn:
    """An answer and what the user says to it; `tools` are its uses, each with its result."""

    messages: list[Message]
    tools: list[tuple[dict[str, Any], dict[str, Any]]]


@st.composite
def _turn(
    draw: st.DrawFn,
    of_assistant: tuple[str, ...],
    of_user: tuple[str, ...],
    texts: Texts,
    specs: st.SearchStrategy[Any] | None,
    used: Used,
) -> _Turn:
    answer = sorted(draw(_answers(of_assistant, texts, specs)), key=_place)
    uses = [block["toolUse"] for block in answer if "toolUse" in block]
    results = [_result(draw, use, used) for use in uses]
    said = draw_user_content(draw, of_user, texts, 2, used) if not results or draw(st.booleans()) else []
    content = [*({"toolResult": result} for result in results), *said]
    return _Turn(
        [{"role": "assistant", "content": answer}, {"role": "user", "content": content}],
        list(zip(uses, results, strict=True)),
    )


def _specs(tools: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The tools that an assistant can ask its client for."""
    return [tool for tool in tools if "toolSpec" in tool or "inputSchema" in tool]


def _place(block: Block) -> int:
    """The order in which models answer: first they think, and last they ask for tools."""
    return {"reasoningContent": 0, "toolUse": 2}.get(next(iter(block)), 1)


@lru_cache
def _answers(
    kinds: tuple[str, ...], texts: Texts, specs: st.SearchStrategy[Any] | None
) -> st.SearchStrategy[list[Block]]:
    return st.lists(_block(kinds, texts, specs), min_size=1, max_size=3)


@st.composite
def _block(draw: st.DrawFn, kinds: tuple[str, ...], texts: Texts, specs: st.SearchStrategy[Any] | None) -> Block:
    kind = draw(st.sampled_from(kinds))
    return {"toolUse": draw(tool_uses(spec=specs))} if kind == "toolUse" else draw_block(draw, kind, texts)


def _result(draw: st.DrawFn, use: Mapping[str, Any], used: Used) -> dict[str, Any]:
    result = draw(tool_results(use))
    result["content"] = [item for item in result["content"] if used.has_room(item)] or [{"text": "0"}]
    return result


def _kinds_of(
    kinds: Collection[str] | None, tools: Sequence[Mapping[str, Any]] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The kinds of the assistant and of the user; a role for which none is left has text."""
    streamed = [kind for kind in streamable() if kind in _ANSWERED]
    said = user_kinds(None)
    wanted = chosen("conversations", "kinds", kinds, [*streamed, *(kind for kind in said if kind not in streamed)])
    streamed = [kind for kind in streamed if kind in wanted]
    if tools is not None and not _specs(tools):
        streamed = [kind for kind in streamed if kind != "toolUse"]
    return tuple(streamed or ["text"]), tuple(kind for kind in said if kind in wanted) or ("text",)
