"""A recorded answer as calls of `reply`: the shortest that send the same, for every answer that a fake can send."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from converse_harness import Endpoint, Reply, citing, faults, reply
from converse_harness.bedrock import all_errors
from converse_harness.errors import ConverseHarnessError
from converse_harness.features.as_python.spelling import answer_of, same, sent, spelled
from converse_harness.literals import ErrorName
from converse_harness.recordings.format.exchanges import RecordedExchange, reply_of
from converse_harness.recordings.format.lines import End
from converse_harness.recordings.format.read import exchange_of
from converse_harness.recordings.record.captured import CapturedExchange, exchange_lines
from converse_harness.reply.body import Call
from converse_harness.reply.source import chain_source
from converse_harness.stream.http import Request
from converse_strategies import faulty_replies, replies
from tests.profiles import examples

BODY = b'{"messages":[{"role":"user","content":[{"text":"Gr\xc3\xbcezi?"}]}]}'
MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
ACTIONS = {"Converse": "converse", "ConverseStream": "converse-stream"}


def recorded(made: Reply, operation: str = "ConverseStream", *, ended: End | None = None, read: int = 999) -> Any:
    """What is recorded of a reply: the first `read` chunks, and how it ended."""
    request = Request("POST", f"/model/{MODEL.replace(':', '%3A')}/{ACTIONS[operation]}", (), BODY)
    response = Endpoint(made, rules="off").exchange(request).response
    pieces = [(chunk.data, 0.2) for chunk in response.chunks][:read]
    captured = CapturedExchange(
        request, operation, response.status, response.headers, 0.1, pieces, response.failure, ended or response.broken
    )
    return exchange_of(exchange_lines(captured, 1), 1)


def source(made: Reply, operation: str = "ConverseStream", *, short: bool = False, **how: Any) -> str:
    calls = spelled(recorded(made, operation, **how), short=short)
    assert calls is not None
    return chain_source(calls, width=10**6)


def evaluated(calls: Sequence[Call]) -> Reply:
    made: Any = reduce(lambda value, call: getattr(value, call[0])(*call[1], **call[2]), calls, reply)
    written = chain_source(calls)
    assert repr(eval(written, {"reply": reply, "faults": faults})) == repr(made)
    assert isinstance(made, Reply)
    return made


USE = {"toolUse": {"name": "maps", "input": {"to": "Tirano"}}}
FULL = {"inputTokens": 7, "outputTokens": 8, "totalTokens": 15}

CITATION = (
    '{"location": {"documentChar": {"documentIndex": 0, "end": 5, "start": 0}}, '
    '"sourceContent": [{"text": "18 °C"}], "title": "f"}'
)

SPELLED: dict[str, tuple[Reply, str]] = {
    "text": (reply.text("hi"), 'reply.text("hi")'),
    "cut off": (reply.text("hi", stop_reason="max_tokens"), 'reply.text("hi", stop_reason="max_tokens")'),
    "pieces": (reply.text("a cat", pieces=["a c", "at"]), 'reply.text("a cat", pieces=["a c", "at"])'),
    "JSON": (reply.json({"score": 7}), 'reply.json({"score": 7})'),
    "a number": (reply.text("7"), 'reply.text("7")'),
    "tool": (
        reply.tool_use("maps", {"to": "Chur"}, id="tooluse_1"),
        'reply.tool_use("maps", {"to": "Chur"}, id="tooluse_1")',
    ),
    "tool, cut": (
        reply.tool_use("maps", {"to": 1}, id="tooluse_1", pieces=['{"to"', ":1}"]),
        'reply.tool_use("maps", {"to": 1}, id="tooluse_1", pieces=[\'{"to"\', ":1}"])',
    ),
    "usage": (
        reply.message({"text": "a"}, {"text": "b"}, usage=FULL),
        f'reply.message({{"text": "a"}}, {{"text": "b"}}, usage={FULL})'.replace("'", '"'),
    ),
    "cited": (
        reply.cited("It is ", "18 °C", citing({"name": "f", "source": {"text": "18 °C"}}, "18 °C"), "."),
        f'reply.cited("It is ", "18 °C", {CITATION}, ".")',
    ),
    "throttled": (reply.throttled(), "reply.throttled()"),
    "a wording": (reply.throttled(wording="tokens"), 'reply.throttled(wording="tokens")'),
    "a message": (reply.access_denied("No."), 'reply.access_denied("No.")'),
    "overflow": (reply.context_overflow(), "reply.context_overflow()"),
    "an error": (reply.error("XException", "y", status=418), 'reply.error("XException", "y", status=418)'),
    "retry": (reply.throttled().retry_after(2), "reply.throttled().retry_after(seconds=2)"),
    "failing": (
        reply.text("one two three").fails_after(2, "throttlingException", "Slow."),
        'reply.text("one").fails_after(2, "throttlingException", "Slow.")',
    ),
    "failing in a tool": (
        reply.tool_use("maps", {"to": "Chur"}, id="tooluse_1").fails_after(2, "throttlingException", "Slow."),
        'reply.tool_use("maps", id="tooluse_1").fails_after(2, "throttlingException", "Slow.")',
    ),
    "failing at once": (
        reply.text("a").fails_after(0, "validationException", "x"),
        'reply.events([{"validationException": {"message": "x"}}])',
    ),
    "error frame": (
        reply.text("one two").error_frame_after(2, "InternalFailure", "Sorry."),
        'reply.text("one").error_frame_after(2, "InternalFailure", "Sorry.")',
    ),
    "reset": (reply.text("one two").broken(faults.reset, after=2), 'reply.text("one").broken(faults.reset, after=2)'),
    "closed": (
        reply.text("one two").broken(faults.closed, after=2),
        'reply.text("one").broken(faults.closed, after=2)',
    ),
    "stalled": (reply.text("one two").broken(faults.stall, after=2), 'reply.text("one").broken(faults.stall, after=2)'),
    "bad CRC": (
        reply.text("one two").broken(faults.bad_crc, after=2),
        'reply.text("one").broken(faults.bad_crc, after=2)',
    ),
    "truncated": (
        reply.text("one two").broken(faults.truncated_frame, after=2),
        'reply.text("one").broken(faults.truncated_frame, after=2)',
    ),
    "no end": (reply.text("one").broken(faults.no_message_stop), 'reply.text("one").broken(faults.no_message_stop)'),
    "no answer": (reply.read_timeout(), "reply.read_timeout()"),
}


@pytest.mark.parametrize(("made", "written"), SPELLED.values(), ids=SPELLED)
def test_the_shortest(made: Reply, written: str) -> None:
    assert source(made) == written


def test_a_body_that_breaks_off() -> None:
    assert source(reply.text("x").broken(faults.reset), "Converse") == 'reply.text("...").broken(faults.reset)'


def test_an_answer_that_the_client_did_not_read() -> None:
    made = source(reply.text("one two three"), ended="closed by client", read=2)
    assert made == 'reply.text("one two")'


SHORT: dict[str, tuple[Reply, str]] = {
    "pieces": (reply.text("a cat", pieces=["a c", "at"]), 'reply.text("a cat")'),
    "usage": (reply.message({"text": "hi"}, usage=FULL), 'reply.text("hi")'),
    "ids": (
        reply.message(
            {"text": "a"},
            {"text": "b"},
            {"toolUse": {**USE["toolUse"], "toolUseId": "tooluse_1", "type": "tool_use"}},
            strict=False,
        ),
        'reply.message({"text": "a"}, {"text": "b"}, {"toolUse": {"name": "maps", "input": {"to": "Tirano"}}})',
    ),
    "spelling of the input": (
        reply.tool_use("maps", {"a": 1}, pieces=['{ "a":1}']),
        'reply.tool_use("maps", {"a": 1})',
    ),
    "trace": (
        reply.message({"text": "hi"}, trace={"guardrail": {"actionReason": "x"}}),
        'reply.message({"text": "hi"}, trace={"guardrail": {"actionReason": "x"}})',
    ),
    "an error": (reply.throttled("x"), 'reply.throttled("x")'),
}


@pytest.mark.parametrize(("made", "written"), SHORT.values(), ids=SHORT)
@pytest.mark.parametrize("operation", ACTIONS)
def test_short(made: Reply, written: str, operation: str) -> None:
    made_of = source(made, operation, short=True)
    assert made_of.replace(', "modelOutput": []', "") == written  # AWS adds it to a trace of Converse


@pytest.mark.parametrize("name", all_errors())
def test_each_error(name: ErrorName) -> None:
    made = reply.error(name, "Because.")
    calls = spelled(recorded(made))
    assert calls is not None
    assert evaluated(calls).plan.body.status == all_errors()[name].status  # type: ignore[union-attr]


def test_another_operation_has_no_spelling() -> None:
    call: Any = {"call": 1, "operation": "InvokeModel", "modelId": "m", "request": {}}
    assert spelled(RecordedExchange(1, call, {"t": 1, "status": 200, "body": {}})) is None


def test_a_body_that_no_reply_sends_has_no_spelling() -> None:
    call: Any = {"call": 1, "operation": "Converse", "modelId": "m", "request": {}}
    assert spelled(RecordedExchange(1, call, {"t": 1, "status": 503, "bodyText": "<html>"})) is None
    assert spelled(RecordedExchange(1, call, {"t": 1, "failed": "connection closed"})) is None


def gives_the_same(exchange: RecordedExchange, *, short: bool) -> None:
    calls = spelled(exchange, short=short)
    assert calls is not None
    known = reply_of(exchange).plan.recorded
    assert known is not None
    again = answer_of(evaluated(calls), exchange)
    assert same(sent(known.response, whole=short), sent(again, whole=short), partial=known.partial)


@settings(max_examples=examples(2))
@given(replies(), st.sampled_from([*ACTIONS]), st.booleans())
def test_every_reply_is_sent_again(made: Reply, operation: str, short: bool) -> None:
    try:
        exchange = recorded(made, operation)
    except ConverseHarnessError:
        assume(False)
        raise
    gives_the_same(exchange, short=short)


@settings(max_examples=examples(2))
@given(faulty_replies(), st.sampled_from([*ACTIONS]), st.booleans())
def test_every_broken_reply_is_sent_again(case: Any, operation: str, short: bool) -> None:
    try:
        exchange = recorded(case.reply, operation)
    except ConverseHarnessError:
        assume(False)
        raise
    gives_the_same(exchange, short=short)
