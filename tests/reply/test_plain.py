"""reply.message and its kin: how pieces may spell a tool's input, where it may end, and what strict=False allows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.vendor.pretty import pretty

from converse_harness import Endpoint, Reply, ReplyError, bedrock, chunk, reply
from converse_harness.literals import StopReason
from converse_harness.stream.chunk import CUT_OFF, estimate_tokens
from converse_harness.stream.http import Request

CITY = {"city": "Zürich"}
TEXT = '{"city": "Zürich"}'


def pieces_of(answer: Reply) -> list[str]:
    """The deltas of a tool's input."""
    deltas = [event["contentBlockDelta"]["delta"] for event in answer.events() if "contentBlockDelta" in event]
    return [delta["toolUse"]["input"] for delta in deltas]


# Pieces


@given(
    value=st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text(), max_size=3),
    escaped=st.booleans(),
    indent=st.none() | st.integers(0, 2),
    cut=st.integers(0, 30),
)
def test_the_pieces_of_a_tool_input_may_be_any_json_of_it(
    value: dict[str, Any], escaped: bool, indent: int | None, cut: int
) -> None:
    text = json.dumps(value, ensure_ascii=escaped, indent=indent)
    assert pieces_of(reply.tool_use("look_up", value, pieces=[text[:cut], text[cut:]])) == [text[:cut], text[cut:]]


@pytest.mark.parametrize(
    "pieces",
    [['{"city": "Zür'], ['{"city": "Bern"}'], ['{"city": "Zürich"} more'], ['{"city":', "5}"], [""], []],
    ids=["cut off", "another value", "more than it", "another type", "empty", "none"],
)
def test_pieces_that_are_not_the_input_are_refused(pieces: Sequence[str]) -> None:
    with pytest.raises(ReplyError) as caught:
        reply.tool_use("look_up", CITY, pieces=pieces)
    assert str(caught.value) == f"pieces is {pieces!r}; joined they must be the block's text, {TEXT!r}."


@pytest.mark.parametrize("reason", [reason for reason in CUT_OFF if reason in bedrock.enum("StopReason")])
@pytest.mark.parametrize("spelling", [TEXT, '{"city":"Zürich"}', '{"city": "Z\\u00fcrich"}'])
def test_what_is_cut_off_may_end_anywhere_in_its_last_tool_input(spelling: str, reason: StopReason) -> None:
    for end in range(len(spelling) + 1):
        assert pieces_of(reply.tool_use("look_up", CITY, pieces=[spelling[:end]], stop_reason=reason)) == [
            spelling[:end]
        ]


def test_only_the_beginning_of_the_last_tool_input_may_be_left() -> None:
    first, last = ({"toolUse": {"name": "look_up", "input": CITY}} for _ in range(2))
    beginning = ['{"city"']
    with pytest.raises(ReplyError) as caught:
        reply.message(first, last, pieces={0: beginning}, stop_reason="max_tokens")
    assert str(caught.value) == f"pieces[0] is {beginning!r}; joined they must be the block's text, {TEXT!r}."
    with pytest.raises(ReplyError) as caught:
        reply.message(first, last, pieces={1: ['{"town"']}, stop_reason="max_tokens")
    assert str(caught.value).endswith(f"the block's text, {TEXT!r}, or its beginning.")
    with pytest.raises(ReplyError, match="joined they must be the block's text, 'hello'"):
        reply.text("hello", pieces=["hel"], stop_reason="max_tokens")
    assert beginning[0] in pieces_of(reply.message(first, last, pieces={1: beginning}, stop_reason="max_tokens"))


def test_chunk_cuts_off_as_well() -> None:
    message = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "look_up", "input": CITY}}]}
    events = chunk(message, pieces={0: ['{"ci']}, stop_reason="max_tokens")
    assert [event for event in events if "contentBlockDelta" in event] == [
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": '{"ci'}}}}
    ]
    with pytest.raises(ReplyError, match=r"pieces\[0\]"):
        chunk(message, pieces={0: ['{"ci']})


def test_redacted_reasoning_weighs_as_much_as_its_bytes() -> None:
    short, long = ({"reasoningContent": {"redactedContent": b"\xff" * length}} for length in (40, 400))
    assert estimate_tokens(long) - estimate_tokens(short) == 90
    assert estimate_tokens({"image": {"source": {"bytes": b"\xff" * 40}}}) > 1500


# Of the future

FUTURE = reply.message(
    {"futureThing": {"a": [1]}},
    {"text": "hi"},
    stop_reason="something_new",
    usage={"dreamTokens": 7},
    service_tier={"type": "gold"},
    strict=False,
)


def test_a_message_of_the_future_is_streamed_as_one_delta_for_an_unknown_block() -> None:
    events = list(FUTURE.events())
    assert events[1:3] == [
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"futureThing": {"a": [1]}}}},
        {"contentBlockStop": {"contentBlockIndex": 0}},
    ]
    assert events[-2:] == [
        {"messageStop": {"stopReason": "something_new"}},
        {"metadata": {"usage": {"dreamTokens": 7}, "serviceTier": {"type": "gold"}}},
    ]


def test_a_message_of_the_future_is_printed_as_it_is_written() -> None:
    code = pretty(FUTURE)
    assert "strict=False" in code
    again: Any = eval(code, {"reply": reply})
    assert list(again.events()) == list(FUTURE.events())
    short = reply.message({"text": "a"}, strict=False)
    assert "strict=False" in pretty(short)


NO_LISTS: dict[str, Any] = {"guardrail": {"inputAssessment": {"gr": {"contentPolicy": {}}}}}


@pytest.mark.parametrize(
    ("write", "told"),
    [
        (lambda **lax: reply.message({"futureThing": 1}, **lax), "unknown member 'futureThing'"),
        (lambda **lax: reply.message(stop_reason="something_new", **lax), "stop_reason is 'something_new'"),
        (lambda **lax: reply.message(usage={"dreamTokens": 7}, **lax), "unknown member 'dreamTokens'"),
        (lambda **lax: reply.message(trace={"futureThing": {}}, **lax), "unknown member 'futureThing'"),
        (lambda **lax: reply.message(trace=NO_LISTS, **lax), "lacks 'filters'"),
        (lambda **lax: reply.message(metrics={}, **lax), "metrics lacks 'latencyMs'"),
    ],
    ids=["block", "stop reason", "usage", "trace", "trace that lacks something", "metrics that lack something"],
)
def test_what_is_of_the_future_has_to_be_asked_for(write: Any, told: str) -> None:
    with pytest.raises(ReplyError, match=told):
        write()
    assert write(strict=False)


@pytest.mark.parametrize("operation", ["converse", "converse-stream"])
def test_a_trace_that_lacks_what_the_model_requires_is_sent(operation: str) -> None:
    lax = reply.message({"text": "a"}, trace=NO_LISTS, metrics={}, strict=False)
    asked = b'{"messages": [{"role": "user", "content": [{"text": "hi"}]}]}'
    sent = Endpoint(lax).exchange(Request("POST", f"/model/us.amazon.nova-lite-v1%3A0/{operation}", (), asked))
    assert b'"contentPolicy":{}' in b"".join(chunk.data for chunk in sent.response.chunks)


@pytest.mark.parametrize(
    ("block", "told"),
    [
        ({"text": 5}, r"content\[0\].text is 5"),
        ({"text": "a", "futureThing": 1}, r"content\[0\] has two members"),
        ({}, r"content\[0\]"),
        ({"futureThing": object()}, r"events\[1\] cannot be sent"),
        ({"document": {"name": "a", "source": {"bytes": object()}}}, r"content\[0\].document.source.bytes"),
    ],
)
def test_without_strict_what_is_known_must_still_be_right(block: Any, told: str) -> None:
    with pytest.raises(ReplyError, match=told):
        reply.message(block, strict=False)


def test_a_tool_without_input_may_have_no_delta() -> None:
    kinds = [next(iter(event)) for event in reply.tool_use("now", pieces=[]).events()]
    assert kinds == ["messageStart", "contentBlockStart", "contentBlockStop", "messageStop", "metadata"]
    with pytest.raises(ReplyError, match=r"pieces is \[\]; joined they must be"):
        reply.tool_use("now", {"zone": "UTC"}, pieces=[])
