"""Messages and conversations: valid in AWS's API model, and what Bedrock takes beyond it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness import bedrock, chunk
from converse_strategies import (
    assistant_messages,
    conversations,
    messages,
    tool_configs,
    user_messages,
)
from converse_strategies.message.messages import MAX_CACHE_POINTS, MAX_DOCUMENTS, MAX_IMAGES
from tests.strategies.conftest import found, never, smallest

Message = dict[str, Any]

DOCUMENT_NAME = re.compile(r"[a-zA-Z0-9_\-()\[\]]+(?: [a-zA-Z0-9_\-()\[\]]+)*", re.ASCII)


def blocks(message: Message, kind: str) -> list[dict[str, Any]]:
    return [block[kind] for block in message["content"] if kind in block]


def everything(conversation: list[Message], kind: str) -> Iterator[Message]:
    """All blocks of a kind, those in results of tools included."""
    for message in conversation:
        yield from blocks(message, kind)
        for result in blocks(message, "toolResult"):
            yield from (item[kind] for item in result["content"] if kind in item)


def check_service_rules(conversation: list[Message]) -> None:
    """What Bedrock refuses beyond its model: see the rules in tests of the requests that it answered with an error."""
    roles = [message["role"] for message in conversation]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
    asked: list[str] = []
    for message in conversation:
        assert message["content"]
        assert all(block["text"].strip() for block in message["content"] if "text" in block)
        results = blocks(message, "toolResult")
        assert [result["toolUseId"] for result in results] == asked
        for result in results:
            assert result["content"] or result.get("status") != "error"
            assert all(isinstance(item.get("json", {}), dict) for item in result["content"])
        asked = [use["toolUseId"] for use in blocks(message, "toolUse")]
        assert blocks(message, "text") or not blocks(message, "document")
        assert "cachePoint" not in message["content"][0]
    every = [use["toolUseId"] for message in conversation for use in blocks(message, "toolUse")]
    assert len(set(every)) == len(every)
    names = [document["name"] for document in everything(conversation, "document")]
    assert len(set(names)) == len(names) <= MAX_DOCUMENTS
    assert all(DOCUMENT_NAME.fullmatch(name) for name in names)
    assert len(list(everything(conversation, "image"))) <= MAX_IMAGES
    points = list(everything(conversation, "cachePoint"))
    assert len(points) <= MAX_CACHE_POINTS
    lives = [point.get("ttl", "5m") for point in points]
    assert lives == sorted(lives), "1h comes before 5m"


@given(conversation=conversations())
def test_conversations_are_what_bedrock_takes(conversation: list[Message]) -> None:
    for message in conversation:
        bedrock.check("Message", message)
    check_service_rules(conversation)


@given(config=tool_configs(), data=st.data())
def test_tools_are_used_as_their_schemas_say(config: dict[str, Any], data: st.DataObject) -> None:
    conversation = data.draw(conversations(tools=config["tools"], kinds=["toolUse"], min_turns=1))
    specs = {tool["toolSpec"]["name"]: tool["toolSpec"] for tool in config["tools"] if "toolSpec" in tool}
    for message in conversation:
        for use in blocks(message, "toolUse"):
            jsonschema.validate(use["input"], specs[use["name"]]["inputSchema"]["json"])
    check_service_rules(conversation)


@given(conversation=conversations(tools=[]))
def test_without_tools_nothing_is_asked_for(conversation: list[Message]) -> None:
    assert not [use for message in conversation for use in blocks(message, "toolUse")]


def test_conversations_have_every_kind_of_block() -> None:
    kinds = set(bedrock.shape("ContentBlock").members) - {"toolAddition", "toolRemoval"}  # of the role system

    def seen(conversation: list[Message]) -> set[str]:
        return {kind for message in conversation for block in message["content"] for kind in block}

    assert never(conversations(), kinds, seen) == set()


@pytest.mark.skipif(not bedrock.has_member("CachePointBlock", "ttl"), reason="botocore lacks the member")
def test_cache_points_have_lifetimes() -> None:
    def lives(conversation: list[Message]) -> set[str]:
        return {point["ttl"] for point in everything(conversation, "cachePoint") if "ttl" in point}

    assert never(conversations(kinds=["cachePoint", "text"]), {"1h", "5m"}, lives) == set()


def test_the_simplest_conversation_is_one_message() -> None:
    assert found(conversations()) == [{"role": "user", "content": [{"text": "0"}]}]


@pytest.mark.nightly
def test_the_smallest_conversation_is_one_message() -> None:
    assert smallest(conversations()) == [{"role": "user", "content": [{"text": "0"}]}]


@given(conversation=conversations(min_turns=2, max_turns=2))
def test_turns_are_as_many_as_asked_for(conversation: list[Message]) -> None:
    assert len(conversation) == 5


@given(message=user_messages())
def test_users_messages_begin_a_conversation(message: Message) -> None:
    bedrock.check("Message", message)
    check_service_rules([message])


@given(message=assistant_messages())
def test_assistants_messages_can_be_streamed(message: Message) -> None:
    bedrock.check("Message", message)
    chunk(message)


@given(message=messages(kinds=["text", "toolUse", "document"]))
def test_messages_are_of_either_role_and_of_the_kinds_chosen(message: Message) -> None:
    kinds = {kind for block in message["content"] for kind in block}
    assert kinds <= ({"text", "toolUse"} if message["role"] == "assistant" else {"text", "document"})


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        (user_messages(kinds=["toolUse"]), "user_messages(kinds=['toolUse']): 'toolUse' is no choice of kinds. "),
        (
            conversations(kinds=["txt"]),
            "conversations(kinds=['txt']): 'txt' is no choice of kinds; did you mean 'text'?",
        ),
        (assistant_messages(kinds=["video"]), "assistant_messages(kinds=['video']): 'video' is no choice of kinds. "),
    ],
)
def test_wrong_arguments_are_refused_when_drawn(strategy: st.SearchStrategy[Any], message: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        found(strategy)
    assert str(caught.value).startswith(message)
