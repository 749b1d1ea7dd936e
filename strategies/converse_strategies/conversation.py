"""Whole conversations that Bedrock takes: lists of AWS Messages, ready to send."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_strategies import leaves
from converse_strategies.blocks import Block, Texts, chosen_kinds, draw_block, rename
from converse_strategies.message import Message, Used, draw_user_content, user_kinds
from converse_strategies.tools import tool_results, tool_uses

_ORDER: Final = {"reasoningContent": 0, "text": 1, "citationsContent": 1, "image": 1, "toolUse": 2}
"""The order in which models answer: first they think, and last they ask for tools."""


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
    some = leaves.visible_texts() if texts is None else texts.map(leaves.visible)
    of_assistant, of_user = _kinds_of(kinds, tools)
    used, ids = Used(), set[str]()
    messages: list[Message] = [{"role": "user", "content": draw_user_content(draw, of_user, some, 2, used)}]
    for chosen in draw(_turns(of_assistant, min_turns, max_turns)):
        answer = [_answer(draw, kind, some, tools, ids) for kind in sorted(chosen, key=_ORDER.__getitem__)]
        messages.append({"role": "assistant", "content": answer})
        results = [_result(draw, block["toolUse"], used) for block in answer if "toolUse" in block]
        said = draw_user_content(draw, of_user, some, 2, used) if not results or draw(st.booleans()) else []
        messages.append({"role": "user", "content": [*results, *said]})
    return messages


def _answer(
    draw: st.DrawFn, kind: str, texts: Texts, tools: Sequence[Mapping[str, Any]] | None, ids: set[str]
) -> Block:
    if kind != "toolUse":
        return draw_block(draw, kind, texts)
    block = {"toolUse": draw(tool_uses() if tools is None else tool_uses(spec=_spec_strategy(tools)))}
    rename([], block, ids)
    return block


def _result(draw: st.DrawFn, use: Mapping[str, Any], used: Used) -> Block:
    result = draw(tool_results(use))
    result["content"] = [item for item in result["content"] if used.has_room(item)] or [{"text": "0"}]
    return {"toolResult": result}


def _spec_strategy(tools: Sequence[Mapping[str, Any]]) -> st.SearchStrategy[Mapping[str, Any]]:
    return st.sampled_from([tool.get("toolSpec", tool) for tool in tools])


def _kinds_of(
    kinds: Collection[str] | None, tools: Sequence[Mapping[str, Any]] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The kinds of the assistant and of the user; a role for which none is left has text."""
    streamed = [kind for kind in chosen_kinds(None, "conversations()") if kind in _ORDER]
    said = list(user_kinds(None))
    if kinds is not None:
        known = [*streamed, *(kind for kind in said if kind not in streamed)]
        unknown = [repr(kind) for kind in kinds if kind not in known]
        if unknown or isinstance(kinds, str) or not kinds:
            raise InvalidArgument(
                f"conversations(kinds={kinds!r}): {', '.join(unknown) or repr(kinds)} is no choice of blocks. Give a "
                f"list of some of: {', '.join(known)}."
            )
        streamed = [kind for kind in streamed if kind in kinds]
        said = [kind for kind in said if kind in kinds]
    if tools is not None and not tools:
        streamed = [kind for kind in streamed if kind != "toolUse"]
    return tuple(streamed or ["text"]), tuple(said or ["text"])


@cache
def _turns(kinds: tuple[str, ...], min_turns: int, max_turns: int) -> st.SearchStrategy[list[list[str]]]:
    return st.lists(
        st.lists(st.sampled_from(kinds), min_size=1, max_size=3), min_size=min_turns, max_size=max_turns
    )
