"""What strands makes of our events, against what we make of them: one message from both.

strands reads a stream with a state machine of its own. Both must agree on every stream, save where strands is known to
be wrong, and each such case has a test of its own: it drops a text or reasoning that is empty, an image, the result of
a server tool and the type of a tool use; it holds a citation without a text back for the next block; and it turns the
stop reason end_turn into tool_use where there is a tool use.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, get_args

from hypothesis import assume, given
from hypothesis import strategies as st
from strands.event_loop.streaming import process_stream

from converse_harness import assemble, chunk
from converse_harness.literals import FamilyName
from converse_strategies import assistant_messages, stream_events

Message = dict[str, Any]


def read_by_strands(events: Iterable[Mapping[str, Any]]) -> tuple[str, Message, Any, Any]:
    """Stop reason, message, usage and metrics, as strands' event loop gets them."""

    async def stream() -> AsyncIterator[Any]:
        for event in events:
            yield event

    async def read() -> list[Any]:
        return [event async for event in process_stream(stream())]

    stop: tuple[str, Message, Any, Any] = asyncio.run(read())[-1]["stop"]
    return stop


def reads_nothing_of(block: Message) -> bool:
    """Blocks that strands drops: what is empty, and what it has no branch for."""
    reasoning = block.get("reasoningContent", {}).get("reasoningText", {})
    empty = block.get("text") == "" or (reasoning.get("text") == "" and "signature" not in reasoning)
    return empty or "image" in block or "toolResult" in block


def as_strands_reads(block: Message) -> Message:
    """A block without the type of its tool use, of which strands knows nothing."""
    if "toolUse" not in block:
        return block
    return {"toolUse": {name: value for name, value in block["toolUse"].items() if name != "type"}}


def holds_a_citation_back(content: list[Message]) -> bool:
    cited = [block["citationsContent"] for block in content if "citationsContent" in block]
    return any(not any(text["text"] for text in block.get("content", ())) for block in cited)


families: st.SearchStrategy[FamilyName | None] = st.none() | st.sampled_from(get_args(FamilyName))


@given(events=families.flatmap(lambda family: stream_events(family=family)))
def test_strands_and_assemble_make_the_same_of_every_stream(events: list[Message]) -> None:
    ours = assemble(events)
    assume(not holds_a_citation_back(ours.message["content"]))
    stop_reason, theirs, usage, metrics = read_by_strands(events)
    read = [as_strands_reads(block) for block in ours.message["content"] if not reads_nothing_of(block)]
    assert theirs == {"role": "assistant", "content": read}
    asks = any("toolUse" in block for block in read)
    assert stop_reason == ("tool_use" if asks and ours.stop_reason == "end_turn" else ours.stop_reason)
    assert usage == ours.usage
    assert metrics["latencyMs"] == (ours.metrics and ours.metrics["latencyMs"])


@given(message=assistant_messages(kinds=["text", "toolUse"]))
def test_strands_says_tool_use_where_the_model_said_end_turn(message: Message) -> None:
    events = chunk(message, stop_reason="end_turn")
    asks_for_a_tool = any("toolUse" in block for block in message["content"])
    assert assemble(events).stop_reason == "end_turn"
    assert read_by_strands(events)[0] == ("tool_use" if asks_for_a_tool else "end_turn")


def test_strands_drops_what_is_empty() -> None:
    content = [{"text": ""}, {"text": "hi"}, {"reasoningContent": {"reasoningText": {"text": ""}}}]
    events = chunk({"role": "assistant", "content": content})
    assert assemble(events).message["content"] == content
    assert read_by_strands(events)[1]["content"] == [{"text": "hi"}]


def test_strands_gives_a_citation_without_text_to_the_next_block() -> None:
    citation = {"title": "Alps", "location": {"documentPage": {"documentIndex": 0, "start": 1, "end": 2}}}
    content = [{"citationsContent": {"citations": [citation]}}, {"text": "hi"}]
    events = chunk({"role": "assistant", "content": content})
    assert assemble(events).message["content"] == content
    assert read_by_strands(events)[1]["content"] == [
        {"citationsContent": {"citations": [citation], "content": [{"text": "hi"}]}}
    ]


def test_strands_drops_what_it_has_no_branch_for() -> None:
    tool = {"toolUseId": "t", "name": "nova_grounding", "input": {}}
    content = [
        {"image": {"format": "png", "source": {"bytes": b"x"}}},
        {"toolUse": {**tool, "type": "server_tool_use"}},
        {"toolResult": {"toolUseId": "t", "type": "nova_grounding_result", "content": [{"text": "found"}]}},
    ]
    events = chunk({"role": "assistant", "content": content})
    assert assemble(events).message["content"] == content
    assert read_by_strands(events)[1]["content"] == [{"toolUse": tool}]
