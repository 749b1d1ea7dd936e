"""Calls: what stands among them, which of them there are by operation, and the tools that the agent executed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from converse_harness import Calls, Fake, ReplyError, bedrock, fake_converse, reply
from converse_harness.intercept.clients import create_client
from converse_harness.stream.http import Request

pytestmark = pytest.mark.any_answer

HELLO: dict[str, Any] = {
    "modelId": "us.amazon.nova-lite-v1:0",
    "messages": [{"role": "user", "content": [{"text": "hi"}]}],
}
TOOLS = {
    "tools": [{"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}}} for name in ("a", "b", "clock")]
}

counts = pytest.mark.skipif(not bedrock.has_shape("CountTokensRequest"), reason="this botocore has no CountTokens")


@counts
def test_calls_are_those_that_ask_a_model() -> None:
    with fake_converse(reply.text("one"), reply.text("two")) as fake:
        fake.on_operation("InvokeModel", lambda call: {"body": b"{}", "contentType": "application/json"})
        client = create_client()
        client.count_tokens(
            modelId="anthropic.claude-haiku-4-5-20251001-v1:0", input={"converse": {"messages": HELLO["messages"]}}
        )
        client.converse(**HELLO)
        client.invoke_model(modelId="amazon.titan-embed-text-v2:0", body=b"{}")
        [*client.converse_stream(**HELLO)["stream"]]
    assert [call.operation for call in fake.calls] == ["Converse", "ConverseStream"]
    assert [call.number for call in fake.calls] == [2, 4]
    assert [call.operation for call in fake.calls.of("CountTokens")] == ["CountTokens"]
    assert [call.number for call in fake.calls.all] == [1, 2, 3, 4]
    assert len(fake.calls.of("Converse")) == len(fake.calls.of("InvokeModel")) == 1
    assert fake.calls.of("ApplyGuardrail") == []
    assert fake.calls.last.operation == "ConverseStream"
    assert "call 3  InvokeModel" in fake.transcript
    assert repr(fake.calls).startswith(
        "<2 calls (and 1 of CountTokens, 1 of InvokeModel in .all):\n  <Call 2: Converse us."
    )


def test_calls_are_a_sequence() -> None:
    with fake_converse() as fake:
        fake.always(reply.text("hi"))
        for _ in range(3):
            create_client().converse(**HELLO)
        calls = fake.calls
        create_client().converse(**HELLO)
    assert isinstance(calls, Sequence)
    assert (len(calls), len(fake.calls)) == (3, 4)
    assert calls == fake.calls[:3] == [*calls]
    assert calls == tuple(calls)
    assert calls != fake.calls
    assert calls != "abc"
    assert isinstance(calls[1:], Calls)
    assert [call.number for call in calls[1:]] == [2, 3]
    assert calls[1:].last is calls[-1] is calls[2]
    assert calls[1] in calls
    assert calls.index(calls[1]) == 1
    assert [call.number for call in reversed(calls)] == [3, 2, 1]
    first, *_ = calls
    assert first.number == 1
    assert not calls[3:]
    with pytest.raises(TypeError, match="unhashable"):
        hash(calls)


@pytest.mark.parametrize(
    ("take", "message"),
    [
        (lambda calls: calls.last, "calls.last: no call reached the fake. Look at what"),
        (lambda calls: calls[0], "calls[0]: no call reached the fake. Look at what"),
    ],
)
def test_no_call_at_all_is_said(take: Any, message: str) -> None:
    with pytest.raises(IndexError) as raised:
        take(Fake().calls)
    assert str(raised.value).startswith(message)


def test_what_came_in_place_of_calls_is_said() -> None:
    with fake_converse(unexpected="allow") as fake:
        create_client(region_name="us-east-1")
        fake.core.exchange(Request("GET", "/foundation-models", (), b""), operation="ListFoundationModels")
    with pytest.raises(
        IndexError, match=r"calls.last: none .* Calls so far: ListFoundationModels \(1\). Look at calls.all"
    ):
        _ = fake.calls.last
    assert repr(fake.calls) == "<no calls (and 1 of ListFoundationModels in .all)>"
    with fake_converse(reply.text("hi")) as fake:
        create_client().converse(**HELLO)
    with pytest.raises(IndexError, match=r"^calls\[1\]: there is 1 call: calls\[0\]\.$"):
        _ = fake.calls[1]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("CuontTokens", "Did you mean 'CountTokens'? "),
        ("converse", "Did you mean 'Converse'? "),
        ("list_foundation_models", "Did you mean 'ListFoundationModels'? "),
        ("Nothing at all", "It takes the name of one operation"),
        (None, "calls.of(operation=None): no operation"),
        ([], "calls.of(operation=[]): no operation"),
        (b"Converse", "calls.of(operation=b'Converse'): no operation"),
    ],
)
def test_an_unknown_operation_is_an_error_with_a_near_name(name: Any, hint: str) -> None:
    if "Tokens" in hint and not bedrock.has_shape("CountTokensRequest"):
        pytest.skip("this botocore has no CountTokens")
    with pytest.raises(ReplyError) as raised:
        Fake().calls.of(name)
    assert hint in str(raised.value)


def test_operations_of_other_services_of_bedrock_are_known() -> None:
    assert Fake().calls.of("Rerank") == Fake().calls.of("ListInferenceProfiles") == []


# The tools that the agent executed


def agent(fake: Fake, run: Any = lambda name, given: f"{name}!", *, model: str = HELLO["modelId"]) -> str:
    """A small agent on the fake: it executes what the model asks for, and tries a failed call once more."""
    client = create_client()
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"text": "go"}]}]
    while True:
        asked = {"modelId": model, "messages": messages, "toolConfig": TOOLS}
        try:
            answer = client.converse(**asked)
        except client.exceptions.ModelErrorException:
            answer = client.converse(**asked)
        message = answer["output"]["message"]
        messages.append(message)
        uses = [block["toolUse"] for block in message["content"] if "toolUse" in block]
        if not uses:
            return str(message["content"][0]["text"])
        results = []
        for use in uses:
            done: dict[str, Any]
            try:
                done = {"content": [{"text": run(use["name"], use["input"])}]}
            except KeyError as error:
                done = {"content": [{"text": str(error)}], "status": "error"}
            results.append({"toolResult": {"toolUseId": use["toolUseId"], **done}})
        messages.append({"role": "user", "content": results[::-1]})


def test_tools_used() -> None:
    both = reply.message({"toolUse": {"name": "b", "input": {"x": 1}}}, {"toolUse": {"name": "a", "input": {}}})
    with fake_converse(
        reply.tool_use("clock"), both, reply.tool_use("clock", {"zone": "UTC"}), reply.text("done")
    ) as fake:
        assert agent(fake) == "done"
    assert fake.calls.tools_used == ["clock", "b", "a", "clock"]
    clock = fake.calls.tools_used[-1]
    assert (clock.input, clock.content, clock.failed, clock.call) == (
        {"zone": "UTC"},
        [{"text": "clock!"}],
        False,
        fake.calls[3],
    )
    assert fake.calls[:3].tools_used == ["clock", "b", "a"]
    assert repr(fake.calls.tools_used) == "['clock', 'b', 'a', 'clock']"


def test_a_tool_that_was_asked_for_and_not_executed_is_not_used() -> None:
    with fake_converse(reply.tool_use("clock")) as fake:
        create_client().converse(**HELLO, toolConfig=TOOLS)
    assert fake.calls.tools_used == []


def test_a_tool_that_failed_was_used_and_one_that_does_not_exist_was_not() -> None:
    def run(name: str, given: object) -> str:
        raise KeyError(name)

    with fake_converse(reply.tool_use("clock"), reply.tool_use("invented"), reply.text("sorry")) as fake:
        agent(fake, run)
    (clock,) = fake.calls.tools_used
    assert (clock, clock.failed) == ("clock", True)


def test_results_that_are_sent_again_count_once() -> None:
    with fake_converse(reply.tool_use("clock"), reply.model_error(), reply.text("done")) as fake:
        agent(fake)
    assert len(fake.calls) == 3
    assert fake.calls.tools_used == ["clock"]


def test_two_agents_with_the_same_answers_both_used_their_tools() -> None:
    with fake_converse() as fake:
        fake.when(turn=1).always(reply.tool_use("clock"))
        fake.when(turn=2).always(reply.text("done"))
        agent(fake)
        agent(fake, model="us.amazon.nova-pro-v1:0")
    assert fake.calls.tools_used == ["clock", "clock"]


def test_tools_of_a_history_that_the_test_wrote_were_not_used_now() -> None:
    use = {"toolUse": {"toolUseId": "t1", "name": "clock", "input": {}}}
    result = {"toolResult": {"toolUseId": "t1", "content": [{"text": "12:00"}]}}
    history = [
        *HELLO["messages"],
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": [{"text": "It is noon."}]},
        {"role": "user", "content": [{"text": "thanks"}]},
    ]
    with fake_converse(reply.text("you are welcome")) as fake:
        create_client().converse(modelId=HELLO["modelId"], messages=history, toolConfig=TOOLS)
    assert fake.calls.tools_used == []


# What objects say of themselves


def test_a_fake_says_what_it_holds() -> None:
    fake = fake_converse(reply.text("one").times(2), reply.text("two").optional())
    assert repr(fake) == "<InProcessFake, not open, 0 calls, 3 scripted replies, 3 left>"
    with fake:
        fake.always(reply.text("any"))
        create_client().converse(**HELLO)
        assert repr(fake) == '<InProcessFake, open, 1 call, 3 scripted replies, 2 left, always text "any">'
        create_client().converse(**HELLO)
    assert repr(fake).startswith("<InProcessFake, closed, 2 calls, 3 scripted replies, 1 left")


def test_handles_say_what_they_hold() -> None:
    fake = Fake()
    scripted = fake.script(reply.text("one"), reply.text("two").optional())
    assert repr(scripted) == '<2 scripted replies, 1 must still be used: text "one", text "two", optional>'
    when = fake.when(model="*haiku*")
    assert repr(when) == "<when(model='*haiku*'): no replies>"
    when.always(reply.text("cheap"))
    assert repr(when) == "<when(model='*haiku*'): 1 reply>"


def test_a_call_says_what_it_asked_and_what_came_of_it() -> None:
    secret = "AKIA" + "Q7EXAMPLEKEYABCD"
    body = {"messages": [{"role": "user", "content": [{"text": secret}]}]}
    fake = Fake(reply.text("hi"))
    exchange = fake.core.exchange(Request("POST", "/model/m/converse", (), json.dumps(body).encode()))
    assert repr(exchange.call) == '<Call 1: Converse m, 1 message, last: text "***" -> 200 text "hi" (still running)>'


@pytest.mark.parametrize(
    "made",
    [
        Fake(),
        Fake().calls,
        Fake().script(reply.text("hi")),
        Fake().when(turn=1),
    ],
)
def test_only_public_names_are_listed(made: object) -> None:
    check_dir(made)


def check_dir(made: object) -> None:
    """Fail if the names that `dir` lists contain one that is not public."""
    names = dir(made)
    assert names
    assert not [name for name in names if name.startswith("_")]
    assert not {"exchange", "block", "waited", "lock", "takes"} & set(names)
