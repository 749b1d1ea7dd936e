"""What strands makes of our events, against what we make of them: one message from both.

strands reads a stream with a state machine of its own. Where it differs on purpose, the messages below are ones on
which both must agree, and the differences have tests of their own: it drops a text or reasoning that is empty, holds a
citation without a text back for the next block, and turns the stop reason end_turn into tool_use where there is a tool
use.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from strands.event_loop.streaming import process_stream

from converse_harness import assemble, chunk
from converse_harness.families import FAMILIES, Family

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


texts = st.text(min_size=1)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=5,
)
text_blocks = st.fixed_dictionaries({"text": texts})
tool_uses = st.fixed_dictionaries(
    {
        "toolUseId": st.from_regex(r"tooluse_[A-Za-z0-9_-]{22}", fullmatch=True),
        "name": st.from_regex(r"[a-zA-Z0-9_-]{1,64}", fullmatch=True),
        "input": st.dictionaries(st.text(), json_values, max_size=3),
    }
).map(lambda tool: {"toolUse": tool})
reasoning = st.fixed_dictionaries({"text": texts}, optional={"signature": texts}).map(
    lambda text: {"reasoningContent": {"reasoningText": text}}
)
redacted = st.binary(min_size=1).map(lambda data: {"reasoningContent": {"redactedContent": data}})
citations = st.builds(
    lambda title, start, source: {
        "title": title,
        "location": {"documentChar": {"documentIndex": 0, "start": start, "end": start + 9}},
        "sourceContent": [{"text": source}],
    },
    texts,
    st.integers(0, 999),
    texts,
)
cited = st.builds(
    lambda found, text: {"citationsContent": {"citations": found, "content": [{"text": text}]}},
    st.lists(citations, min_size=1, max_size=3),
    texts,
)
messages = st.lists(st.one_of(text_blocks, tool_uses, reasoning, redacted, cited), min_size=1, max_size=4).map(
    lambda content: {"role": "assistant", "content": content}
)
families = st.sampled_from(list(FAMILIES.values()))


@given(message=messages, family=families)
def test_strands_and_assemble_make_the_same_of_every_stream(message: Message, family: Family) -> None:
    events = chunk(message, family=family)
    ours = assemble(events)
    stop_reason, theirs, usage, metrics = read_by_strands(events)
    assert theirs == ours.message == message
    assert (stop_reason, usage["totalTokens"]) == (ours.stop_reason, ours.usage and ours.usage["totalTokens"])
    assert metrics["latencyMs"] == (ours.metrics and ours.metrics["latencyMs"])


@given(message=messages)
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
