"""What the helpers write reaches boto3 by both operations: reasoning, several tools, pasted responses, odd names."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest
from botocore.exceptions import ClientError, EventStreamError
from hypothesis.vendor.pretty import pretty

from converse_harness import Fake, Reply, ReplyError, Response, StreamOrderError, assemble, chunk, fake_converse, reply
from converse_harness.stream.grammar import ORDER, check_beginning

pytestmark = pytest.mark.any_answer

CLAUDE: Final = "us.anthropic.claude-sonnet-4-20250514-v1:0"
GPT: Final = "openai.gpt-oss-20b-1:0"
USAGE: Final = {"inputTokens": 7, "outputTokens": 11, "totalTokens": 18}


def question(model: str = CLAUDE, *names: str, history: Any = ()) -> dict[str, Any]:
    tools = [{"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}}} for name in names]
    messages = [{"role": "user", "content": [{"text": "?"}]}, *history]
    return {"modelId": model, "messages": messages, **({"toolConfig": {"tools": tools}} if tools else {})}


def asked(client: Any, answer: Reply, **given: Any) -> tuple[dict[str, Any], Response]:
    """The answer by Converse and, assembled, by ConverseStream: the same but for latency and types of tool uses."""
    with fake_converse() as fake:
        fake.script(replace(answer, uses=2))
        whole = client.converse(**(given or question()))
        streamed = assemble(client.converse_stream(**(given or question()))["stream"])
    for block in whole["output"]["message"]["content"]:
        block.get("toolUse", {}).pop("type", None)  # which model sends it in which operation: test_corpus_forms.py
    assert streamed.message == whole["output"]["message"]
    assert streamed.stop_reason == whole["stopReason"]
    return whole, streamed


# Several blocks in one line


def test_text_comes_before_a_tool_use(converse_client: Any) -> None:
    whole, _ = asked(converse_client, reply.tool_use("look", {"a": 1}, text="Let me look.", id="tooluse_1"))
    assert whole["output"]["message"]["content"] == [
        {"text": "Let me look."},
        {"toolUse": {"toolUseId": "tooluse_1", "name": "look", "input": {"a": 1}}},
    ]
    assert whole["stopReason"] == "tool_use"


def test_several_tool_uses_have_ids_of_their_own(converse_client: Any) -> None:
    answer = reply.tool_uses(("look", {"a": 1}), ("look", {"a": 2}), "now", text="Both.")
    (whole, _), (again, _) = asked(converse_client, answer), asked(converse_client, answer)
    assert whole["output"] == again["output"]
    text, *tools = whole["output"]["message"]["content"]
    assert text == {"text": "Both."}
    assert [(tool["toolUse"]["name"], tool["toolUse"]["input"]) for tool in tools] == [
        ("look", {"a": 1}),
        ("look", {"a": 2}),
        ("now", {}),
    ]
    assert len({tool["toolUse"]["toolUseId"] for tool in tools}) == 3


def test_pieces_are_those_of_the_tool_after_the_text(converse: Fake, converse_client: Any) -> None:
    converse.script(reply.tool_use("look", {"a": 1}, text="Hm.", pieces=['{"a"', ": 1}"]))
    events = list(converse_client.converse_stream(**question())["stream"])
    deltas = [event["contentBlockDelta"]["delta"] for event in events if "contentBlockDelta" in event]
    assert [delta["toolUse"]["input"] for delta in deltas if "toolUse" in delta] == ['{"a"', ": 1}"]


# Reasoning


@pytest.mark.parametrize(
    ("then", "content"),
    [
        ("Easy.", [{"text": "Easy."}]),
        (None, []),
        (
            reply.tool_use("look", {}, text="So:", id="t"),
            [{"text": "So:"}, {"toolUse": {"toolUseId": "t", "name": "look", "input": {}}}],
        ),
    ],
)
def test_reasoning_comes_first(then: Any, content: list[Any], converse_client: Any) -> None:
    whole, _ = asked(converse_client, reply.reasoning("Hm.", then, signature="c2ln"))
    thought = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}}
    assert whole["output"]["message"]["content"] == [thought, *content]


def test_redacted_reasoning(converse_client: Any) -> None:
    whole, _ = asked(converse_client, reply.reasoning(b"\xff\x00", reply.json({"a": 1})))
    assert whole["output"]["message"]["content"] == [
        {"reasoningContent": {"redactedContent": b"\xff\x00"}},
        {"text": '{"a": 1}'},
    ]


@pytest.mark.parametrize(("model", "signed"), [(CLAUDE, True), (GPT, False)])
@pytest.mark.parametrize("streams", [False, True])
def test_the_model_that_is_asked_signs_as_it_does(
    model: str, signed: bool, streams: bool, converse_client: Any
) -> None:
    """Given back to the model, the reasoning is taken: a rule refuses it without, or with, a signature."""
    answer = reply.reasoning("Hm.", reply.tool_use("look", {}))
    with fake_converse(answer, reply.text("done"), answers="off") as fake:
        if streams:
            message = assemble(converse_client.converse_stream(**question(model, "look"))["stream"]).message
        else:
            message = converse_client.converse(**question(model, "look"))["output"]["message"]
        thought, use = message["content"]
        assert ("signature" in thought["reasoningContent"]["reasoningText"]) is signed
        result = {"toolResult": {"toolUseId": use["toolUse"]["toolUseId"], "content": [{"text": "1"}]}}
        back = [message, {"role": "user", "content": [result]}]
        converse_client.converse(**question(model, "look", history=back))
        assert not fake.notes


def test_pieces_stay_with_their_blocks() -> None:
    answer = reply.reasoning("ab", reply.text("cd", pieces=["c", "d"]), pieces=["a", "b"])
    deltas = [event["contentBlockDelta"] for event in answer.events() if "contentBlockDelta" in event]
    texts = [delta["delta"].get("text") or delta["delta"]["reasoningContent"]["text"] for delta in deltas]
    assert [(delta["contentBlockIndex"], text) for delta, text in zip(deltas, texts, strict=True)] == [
        (0, "a"),
        (0, "b"),
        (1, "c"),
        (1, "d"),
    ]


def test_without_signature_there_is_none(converse_client: Any) -> None:
    whole, _ = asked(converse_client, reply.reasoning("Hm.", "Easy.", signature=False))
    assert whole["output"]["message"]["content"][0] == {"reasoningContent": {"reasoningText": {"text": "Hm."}}}


def test_reasoning_is_printed_as_it_is_written(converse_client: Any) -> None:
    inner = reply.reasoning("b", reply.tool_use("look", {}, text="c"), pieces=["b"])
    answer = reply.reasoning("a", inner, pieces=["", "a"], usage=USAGE).times(2)
    again = eval(pretty(answer), {"reply": reply})
    assert pretty(again) == pretty(answer)
    assert list(again.events()) == list(answer.events())
    assert asked(converse_client, answer)[0]["output"] == asked(converse_client, again)[0]["output"]


@pytest.mark.parametrize(
    ("then", "told"),
    [
        (reply.text("a").times(2), "say how the whole is sent, as reply.reasoning(..., then).times(2) does."),
        (reply.text("a").fails_after(1, "throttlingException"), "say how the whole is sent"),
        (reply.text("a").optional(), "say how the whole is sent"),
        (reply.throttled(), "it must be a message: text, tool_use"),
        (reply.read_timeout(), "it must be a message"),
        ({"text": "a"}, "Give blocks of the AWS API as reply.message(...)"),
    ],
)
def test_what_cannot_follow_reasoning_is_refused(then: Any, told: str) -> None:
    with pytest.raises(ReplyError, match=re.escape(told)):
        reply.reasoning("Hm.", then)


# Usage


@pytest.mark.parametrize(
    "answer",
    [
        reply.text("a", usage=USAGE),
        reply.tool_use("look", usage=USAGE),
        reply.tool_uses("look", "now", usage=USAGE),
        reply.json(1, usage=USAGE),
        reply.reasoning("Hm.", "a", usage=USAGE),
        reply.reasoning("Hm.", reply.text("a", usage=USAGE)),
        reply.cited("a", usage=USAGE),
        reply.message({"text": "a"}, usage=USAGE),
        reply.guardrail_blocked(usage=USAGE),
        reply.guardrail_masked("{EMAIL}", usage=USAGE),
        reply.guardrail_passed("a", usage=USAGE),
    ],
    ids=lambda answer: answer.summary[:20],
)
def test_usage_is_what_was_given(answer: Reply, converse_client: Any) -> None:
    whole, streamed = asked(converse_client, answer)
    assert whole["usage"] | USAGE == whole["usage"]
    assert streamed.usage is not None
    assert streamed.usage | USAGE == streamed.usage


# Responses as pasted

CONVERSE: Final[dict[str, Any]] = {
    "ResponseMetadata": {"RequestId": "8b7...", "HTTPStatusCode": 200, "HTTPHeaders": {}, "RetryAttempts": 0},
    "output": {"message": {"role": "assistant", "content": [{"text": "18 °C"}]}},
    "stopReason": "stop_sequence",
    "usage": USAGE,
    "metrics": {"latencyMs": 321},
    "additionalModelResponseFields": {"stop_sequence": "C"},
    "trace": {
        "promptRouter": {
            "invokedModelId": "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-3-haiku-20240307-v1:0"
        }
    },
    "performanceConfig": {"latency": "standard"},
}

EVENTS: Final = chunk(CONVERSE["output"]["message"], stop_reason="end_turn", usage=USAGE, metrics={"latencyMs": 321})


def test_a_response_of_converse_is_answered_as_pasted(converse_client: Any) -> None:
    whole, streamed = asked(converse_client, reply.response(CONVERSE))
    kept = {name: value for name, value in CONVERSE.items() if name != "ResponseMetadata"}
    assert {name: whole[name] for name in kept} == kept
    assert (streamed.additional, streamed.metrics) == ({"stop_sequence": "C"}, {"latencyMs": 321})
    assert asked(converse_client, reply.response(whole))[0]["output"] == whole["output"]
    assert list(reply.response(streamed).events())[-1] == {
        "metadata": {name: kept[name] for name in ("usage", "metrics", "trace", "performanceConfig")}
    }


@pytest.mark.parametrize("given", [EVENTS, tuple(EVENTS), {"ResponseMetadata": {}, "stream": EVENTS}, iter(EVENTS)])
def test_a_response_of_converse_stream_is_answered_as_pasted(given: Any, converse_client: Any) -> None:
    answer = reply.response(given)
    assert list(answer.events()) == EVENTS
    assert asked(converse_client, answer)[0]["output"] == CONVERSE["output"]


def test_a_stream_of_boto3_itself_is_taken(converse: Fake, converse_client: Any) -> None:
    converse.script(reply.tool_use("look", {"a": 1}))
    answer = reply.response(converse_client.converse_stream(**question()))
    converse.script(answer)
    assert assemble(converse_client.converse_stream(**question())["stream"]).stop_reason == "tool_use"


@pytest.mark.parametrize(
    "written",
    [reply.throttled(), reply.model_error("died", original_status_code=500), reply.error("Future", "Hm.", status=418)],
    ids=["throttled", "more members", "unknown"],
)
def test_an_error_of_boto3_is_answered_as_pasted(written: Reply, converse: Fake, converse_client: Any) -> None:
    caught: list[Any] = []
    converse.always(written)
    for _ in range(2):
        with pytest.raises(ClientError) as raised:
            converse_client.converse(**question())
        caught.append(raised.value.response)
        converse.always(reply.response(raised.value.response))
    for response in caught:
        response.pop("ResponseMetadata")
    assert caught[0] == caught[1]


def test_what_comes_in_a_stream_is_no_error_before_it() -> None:
    told = 'reply.events([..., {"throttlingException": {"message": "..."}}])'
    with pytest.raises(ReplyError, match=re.escape(told)):
        reply.response({"Error": {"Code": "throttlingException", "Message": "Slow down."}})


WHOLE: Final = {"whole": CONVERSE, "stream": {"stream": EVENTS}, "error": {"Error": {"Code": "a"}}}
ELSEWHERE: dict[str, Callable[[Any], Reply]] = {
    "message": reply.message,
    "events": reply.events,
    "events, in a list": lambda response: reply.events([response]),
    "message, lax": lambda response: reply.message(response, strict=False),
}


@pytest.mark.parametrize("write", ELSEWHERE.values(), ids=ELSEWHERE)
@pytest.mark.parametrize("response", WHOLE.values(), ids=WHOLE)
def test_a_response_in_another_place_is_told_its_own(write: Callable[[Any], Reply], response: Any) -> None:
    with pytest.raises(ReplyError, match=re.escape("use reply.response(...)")):
        write(response)


def test_an_argument_for_another_function_gets_advice() -> None:
    wrong: Any = reply
    message = CONVERSE["output"]["message"]
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: wrong.message(message), 'reply.message(*message["content"])'),
        (lambda: wrong.response(message), 'reply.message(*message["content"])'),
        (lambda: wrong.message([{"text": "a"}]), "reply.message(*blocks)"),
        (lambda: wrong.events(EVENTS[0]), "even of one: reply.events(["),
        (lambda: wrong.response({**CONVERSE, "futureMember": 1}), "the unknown member 'futureMember'"),
        (lambda: wrong.response({"output": {"message": {"role": "user", "content": []}}}), "output.message.role"),
    ]
    for write, told in cases:
        with pytest.raises(ReplyError, match=re.escape(told)):
            write()
    assert reply.response({**CONVERSE, "futureMember": 1}, strict=False).summary == 'text "18 °C", stop_sequence'


# Names that models invent


@pytest.mark.parametrize("name", ["invalid tool", "functions.look", "", "x" * 65, "töol", "<tool>"])
def test_an_invented_name_is_sent(name: str, converse_client: Any) -> None:
    writes: list[Callable[..., Reply]] = [
        lambda **lax: reply.tool_use(name, {"a": 1}, **lax),
        lambda **lax: reply.tool_uses((name, {"a": 1}), **lax),
        lambda **lax: reply.message({"toolUse": {"name": name, "input": {"a": 1}}}, **lax),
    ]
    for write in writes:
        with pytest.raises(ReplyError, match="ToolName"):
            write()
        whole, _ = asked(converse_client, write(strict=False))
        (block,) = whole["output"]["message"]["content"]
        assert (block["toolUse"]["name"], block["toolUse"]["input"]) == (name, {"a": 1})


# Events that fail

BEGINNING: Final[list[dict[str, Any]]] = [
    {"messageStart": {"role": "assistant"}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "The ans"}}},
]
FRAME: Final = {"throttlingException": {"message": "Slow down."}}


@pytest.mark.parametrize(
    "answer",
    [
        reply.events([*BEGINNING, FRAME]),
        reply.events(BEGINNING).fails_after(2, "throttlingException", "Slow down."),
        reply.response([*BEGINNING, FRAME]),
    ],
    ids=["as pasted", "fails_after", "response"],
)
def test_partial_text_comes_before_an_exception(answer: Reply, converse: Fake, converse_client: Any) -> None:
    converse.always(answer)
    got: list[Any] = []
    with pytest.raises(EventStreamError, match=r"Slow down"):
        got.extend(iter(converse_client.converse_stream(**question())["stream"]))
    assert got == BEGINNING
    with pytest.raises(ClientError, match="ThrottlingException"):
        converse_client.converse(**question())


@pytest.mark.filterwarnings("ignore::converse_harness.FakeNotOpenWarning")
def test_every_beginning_may_fail_and_none_may_just_end() -> None:
    """A beginning of a stream in each state of the grammar."""
    whole = chunk(
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}},
                {"text": "a b"},
                {"toolUse": {"toolUseId": "t", "name": "look", "input": {"a": 1}}},
            ],
        }
    )
    states = set()
    for length in range(len(whole)):
        written = reply.events(whole[:length])
        states.add(check_beginning(whole[:length]).state)
        with pytest.raises(StreamOrderError, match=re.escape(f'.fails_after({length}, "throttlingException")')):
            fake_converse(written)
        for after in range(length + 1):
            failing = written.fails_after(after, "validationException")
            fake_converse(failing)
        with pytest.raises(ReplyError, match=rf"this reply has {length} events .*: 0 to {length}\."):
            written.fails_after(length + 1, "validationException")
    assert states >= {"start", "message", "reasoning", "signed", "text", "toolUse", "stopped"} <= ORDER.keys()


def test_a_beginning_that_a_function_returns_fails_the_call(converse_client: Any) -> None:
    told = "The stream ends in block 0"
    with (
        pytest.raises(StreamOrderError, match=told),
        fake_converse(lambda call: reply.events(BEGINNING)),
        pytest.raises(ClientError, match=told),
    ):
        converse_client.converse_stream(**question())
