"""Answers of `on_operation` and of a `when` with an operation: order, conditions, what is unused, what fails."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

import botocore.session
import pytest
from botocore.exceptions import ClientError

from converse_harness import (
    Call,
    ConverseServer,
    Fake,
    ReplyError,
    UnexpectedCall,
    UnusedReplies,
    bedrock,
    fake_converse,
    reply,
)
from converse_harness.intercept.clients import create_client

TITAN, COHERE = "amazon.titan-embed-text-v2:0", "cohere.embed-english-v3"
COUNTED = "anthropic.claude-sonnet-4-20250514-v1:0"
"""A model for which Bedrock counts tokens."""


def vector(number: float) -> Mapping[str, Any]:
    return {"body": json.dumps([number]).encode(), "contentType": "application/json"}


def embed(model: str = TITAN, **options: Any) -> Any:
    answer = create_client(**options).invoke_model(modelId=model, body=b'{"inputText": "four"}')
    return json.loads(answer["body"].read())[0]


def test_answers_are_used_in_order_and_appended() -> None:
    with fake_converse() as fake:
        fake.on_operation("InvokeModel", vector(1), lambda call: vector(len(call.body["inputText"])))
        fake.on_operation("InvokeModel", reply.output(vector(3)).times(2))
        assert [embed() for _ in range(4)] == [1, 4, 3, 3]
        assert len(fake.calls) == 0
        assert len(fake.calls.of("InvokeModel")) == 4


def test_a_client_retries_an_error_and_gets_the_next_answer() -> None:
    with fake_converse() as fake:
        fake.on_operation("InvokeModel", reply.throttled().times(2), vector(1))
        assert embed() == 1
        assert [call.status for call in fake.calls.all] == [429, 429, 200]


def test_a_single_function_answers_all_other_calls_and_the_last_one_counts() -> None:
    with fake_converse() as fake:
        fake.on_operation("InvokeModel", lambda call: vector(8))
        fake.on_operation("InvokeModel", lambda call: vector(9))
        fake.on_operation("InvokeModel", vector(1))
        assert [embed() for _ in range(3)] == [1, 9, 9]


def test_a_function_that_no_call_needed_is_not_unused() -> None:
    with fake_converse() as fake:
        fake.on_operation("InvokeModel", lambda call: vector(8))
        fake.when(operation="InvokeModel", model="*").always(vector(1))
        assert not fake.calls


def test_conditions_come_first_in_the_order_written() -> None:
    with fake_converse() as fake:
        fake.on_operation("InvokeModel", lambda call: vector(0))
        fake.when(operation="InvokeModel", model="cohere.*").script(vector(1), reply.output(vector(2)))
        fake.when(lambda call: "titan" in call.model_id, operation="InvokeModel").always(vector(3))
        assert [embed(COHERE), embed(TITAN), embed(COHERE), embed(COHERE), embed(TITAN)] == [1, 3, 2, 0, 3]


def test_the_replies_of_the_script_are_left_to_the_model() -> None:
    with fake_converse(reply.text("hi")) as fake:
        fake.when(model="*").script(reply.text("also"))
        fake.on_operation("InvokeModel", vector(1))
        assert embed() == 1
        for text in ("also", "hi"):
            answer = create_client().converse(modelId="m", messages=[{"role": "user", "content": [{"text": "?"}]}])
            assert answer["output"]["message"]["content"] == [{"text": text}]


def test_a_block_ends_the_answers_time() -> None:
    with fake_converse(unexpected="allow") as fake:
        with fake.on_operation("InvokeModel", vector(1)) as answered:
            assert embed() == 1
        assert [call.operation for call in answered.calls] == ["InvokeModel"]
        with fake.on_operation("InvokeModel", lambda call: vector(2)):
            assert embed() == embed() == 2
        with pytest.raises(ClientError, match="InvokeModel of bedrock-runtime is not scripted"):
            embed()
        with (
            pytest.raises(UnusedReplies, match="1 scripted reply was not used"),
            fake.on_operation("InvokeModel", {**vector(1)}),
        ):
            pass


@pytest.mark.needs_os
def test_a_server_answers_them_as_well() -> None:
    with ConverseServer() as server, server.script() as fake:
        fake.on_operation("InvokeModel", vector(1), lambda call: vector(2))
        assert [embed(endpoint_url=fake.url) for _ in range(2)] == [1, 2]


def count(text: str = "four") -> object:
    messages = [{"role": "user", "content": [{"text": text}]}]
    return create_client().count_tokens(modelId=COUNTED, input={"converse": {"messages": messages}})["inputTokens"]


def guard() -> object:
    content = [{"text": {"text": "hi"}}]
    return create_client().apply_guardrail(
        guardrailIdentifier="abcdefghijkl", guardrailVersion="1", source="INPUT", content=content
    )["action"]


def listed() -> int:
    client = botocore.session.get_session().create_client("bedrock", region_name="us-east-1")
    return len(client.list_foundation_models()["modelSummaries"])


COUNTS = pytest.mark.skipif("CountTokens" not in bedrock.operations(), reason="this botocore has no CountTokens")

OWN: dict[str, tuple[Callable[[], object], Any, object]] = {
    "CountTokens": (count, {"inputTokens": 42}, 42),
    "ApplyGuardrail": (guard, reply.guardrail_blocked("No."), "GUARDRAIL_INTERVENED"),
    "ListFoundationModels": (listed, {"modelSummaries": []}, 0),
    "InvokeModel": (embed, vector(1), 1),
}
"""For an operation: a call, an answer of it, and what the call returns then. All but the last have an answer of the
fake's own."""
OPERATIONS = [pytest.param(name, marks=COUNTS if name == "CountTokens" else ()) for name in OWN]
WITH_OWN = OPERATIONS[:-1]


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("by", ["on_operation", "when"])
def test_answers_that_are_used_up_fail_the_next_call_of_every_operation(name: str, by: str) -> None:
    ask, answer, returned = OWN[name]
    with closing(fake_converse().open()) as fake:
        if by == "when":
            fake.when(lambda call: True, operation=name).script(answer)
        else:
            fake.on_operation(name, answer)
        assert ask() == returned
        with pytest.raises(ClientError, match=f"call 2, {name}, has no answer left."):
            ask()
        with pytest.raises(UnexpectedCall, match=f"call 2, {name}, has no answer left."):
            fake.check()


@pytest.mark.parametrize("name", WITH_OWN)
def test_the_fakes_own_answer_comes_where_none_of_the_test_fits(name: str) -> None:
    ask, answer, returned = OWN[name]
    with fake_converse() as fake:
        fake.when(lambda call: call.number == 3, operation=name).script(answer)
        fake.when(operation=name).script(reply.throttled())
        with fake.on_operation(name, answer):
            assert ask() == returned  # call 1 is throttled, and tried again
            assert ask() == returned
        assert [ask() == returned for _ in range(2)] == [False, False]  # only the used condition of call 3 remains
        assert [call.status for call in fake.calls.all] == [429, 200, 200, 200, 200]


def test_an_answer_that_is_not_used_fails_the_test_in_the_words_of_replies() -> None:
    def run(**settings: Any) -> Fake:
        with fake_converse(**settings) as fake:
            fake.on_operation("InvokeModel", vector(1), vector(2), reply.output(vector(3)).optional())
            embed()
        return fake

    with pytest.raises(UnusedReplies) as raised:
        run()
    said = str(raised.value)
    assert said.startswith(
        "1 scripted reply was not used.\n\nscripted  1. on_operation(\"InvokeModel\"): output {'body'"
    )
    assert re.search(
        r"\[1\].* used by call 1\n.*\[2\].* not used\n.*\[3\].*, optional +not used\narrived   InvokeModel", said
    )
    assert "write .optional() behind a reply" in said
    assert (
        repr(run(unused="allow")) == "<InProcessFake, closed, 0 calls (and 1 in .all), InvokeModel (3 answers, 2 left)>"
    )


def problem(write: Callable[[Fake], object], asked: Callable[[], object] = embed, count: int = 1) -> str:
    """What fails the test if the last of some calls fails."""
    with closing(fake_converse().open()) as fake:
        write(fake)
        for _ in range(count - 1):
            asked()
        with pytest.raises(ClientError) as seen:
            asked()
        with pytest.raises(UnexpectedCall) as raised:
            fake.check()
        said = str(raised.value)
        error = seen.value.response["Error"]
        assert (error["Code"], error["Message"]) == ("ValidationException", said.partition("\n")[0])
        return said


def test_one_call_more_than_answers_says_what_to_add() -> None:
    def write(fake: Fake) -> None:
        fake.script(reply.text("hi"))
        fake.on_operation("InvokeModel", vector(1), vector(2))

    said = problem(write, count=3)
    assert said.startswith(
        f"call 3, InvokeModel, has no answer left.\n\narrived   InvokeModel {TITAN}\nscripted  1. on_op"
    )
    assert said.count("used by call") == 2
    assert 'text "hi"' not in said  # no answer of this operation
    assert 'Add an answer: converse.on_operation("InvokeModel", ..., {...}).' in said


def test_where_no_condition_matches_each_says_why() -> None:
    def write(fake: Fake) -> None:
        fake.when(operation="InvokeModel", model="cohere.*").always(vector(1))
        fake.when(operation="InvokeModel", model="amazon.titan").always(vector(2))
        fake.when(operation="ApplyGuardrail").always(reply.throttled())

    said = problem(write)
    assert said.startswith("call 1, InvokeModel, has no answer: no condition matches.")
    first, second = re.findall(r"no match: (.*)", said)
    assert first == f'model is "{TITAN}"'
    assert second == f"model is \"{TITAN}\" (a string is a glob of the whole text: model='*amazon.titan*')"


@pytest.mark.parametrize("part", [{"turn": 1}, {"last_user_text": "*"}, {"system": "*"}, {"tool": "*"}])
@pytest.mark.parametrize("operation", ["InvokeModel", "Retrieve", "ApplyGuardrail"])
def test_a_part_about_conversations_is_refused_for_calls_without_one(operation: str, part: Any) -> None:
    (name,) = part
    with fake_converse() as fake, pytest.raises(ReplyError) as error:
        fake.when(operation=operation, **part)
    assert str(error.value).startswith(f"when({name}={part[name]!r}): the calls of {operation} have no conversation. ")
    assert f'when(lambda call: call.params[...] == ..., operation="{operation}")' in str(error.value)


@pytest.mark.parametrize("operation", ["Retrieve", "ApplyGuardrail", "ListFoundationModels"])
def test_a_model_is_refused_for_calls_without_one(operation: str) -> None:
    with fake_converse() as fake, pytest.raises(ReplyError, match=f"the calls of {operation} have no model id"):
        fake.when(operation=operation, model="*")


@COUNTS
def test_parts_that_the_calls_of_an_operation_have() -> None:
    with fake_converse() as fake:
        fake.when(operation="CountTokens", model="*", turn=1, last_user_text="*").always(reply.throttled())
        fake.when(operation="InvokeModel", model="*").always(vector(1))
        assert not fake.calls


def test_a_retry_that_is_not_scripted_says_so() -> None:
    said = problem(lambda fake: fake.on_operation("InvokeModel", reply.throttled()))
    assert "attempt 2" in said
    assert "reply.throttled().times(3)" in said


def test_a_call_of_the_model_does_not_list_the_answers_of_operations() -> None:
    def ask() -> None:
        create_client().converse(modelId="m", messages=[{"role": "user", "content": [{"text": "?"}]}])

    said = problem(lambda fake: fake.on_operation("InvokeModel", lambda call: vector(1)), ask)
    assert said.startswith("call 1 has no reply: nothing is scripted.")
    assert "on_operation" not in said


def test_the_transcript_has_the_answer() -> None:
    with fake_converse() as fake:
        fake.on_operation("InvokeModel", vector(1))
        embed()
        assert "answer   200  output {'body': b'[1]', 'contentType': 'application/json'}  (complete)" in fake.transcript


BOTOCORE = f"botocore {bedrock.botocore_version()}"
SESSION = {
    "sessionId": "00000000-0000-0000-0000-000000000000",
    "sessionArn": "arn:aws:bedrock:us-east-1:111122223333:session/00000000-0000-0000-0000-000000000000",
    "sessionStatus": "ACTIVE",
    "createdAt": "2026-01-01T00:00:00Z",
    "lastUpdatedAt": "2026-01-01T00:00:00Z",
}

WRONG: dict[str, tuple[Callable[[Any], object], str]] = {
    "no answer": (lambda fake: fake.on_operation("InvokeModel"), "on_operation('InvokeModel'): it needs an answer"),
    "a member that lacks": (
        lambda fake: fake.on_operation("InvokeModel", vector(1), {"body": b"1"}),
        "on_operation('InvokeModel', ...): InvokeModel lacks 'contentType'; an InvokeModelResponse needs",
    ),
    "a reply of the model": (
        lambda fake: fake.on_operation("InvokeModel", reply.text("hi")),
        "on_operation('InvokeModel', ...): text \"hi\" cannot answer InvokeModel: only an error before the stream",
    ),
    "a function of reply": (
        lambda fake: fake.on_operation("InvokeModel", reply.throttled),
        "on_operation('InvokeModel', ...): reply.throttled is a function that makes a reply. Call it",
    ),
    "members for the model": (
        lambda fake: fake.script(vector(1)),
        "script(): {'body': b'[1]', 'contentType': 'application/json'} is not a reply. Write one",
    ),
    "members for a condition of the model": (
        lambda fake: fake.when(turn=1).script(reply.output({})),
        "when().script(): <Output {}> is not a reply. Write one",
    ),
    "a number of uses for any number of calls": (
        lambda fake: fake.when(operation="InvokeModel").always(reply.output(vector(1)).times(2)),
        "when().always(): output {'body': b'[1]', 'contentType': 'application/json'}, 2 times: any number of calls",
    ),
    "a service that Bedrock lacks": (
        lambda fake: fake.on_operation("Retrieve", {}, service="bedrock-agnt-runtime"),
        "on_operation(service='bedrock-agnt-runtime'): it must be one of the services of Bedrock in botocore ",
    ),
    "an operation that the service lacks": (
        lambda fake: fake.on_operation("Retrieve", {}, service="bedrock-agent"),
        f"on_operation('Retrieve', ...): bedrock-agent has no operation of this name in {BOTOCORE}. Did you mean ser",
    ),
    "a service without an operation": (
        lambda fake: fake.when(turn=1, service="bedrock-agent-runtime"),
        "when(service='bedrock-agent-runtime'): name the operation too: when(operation=",
    ),
    "an event that the stream lacks": (
        lambda fake: fake.on_operation("InvokeModelWithResponseStream", {"body": [{"chunks": {}}]}),
        "on_operation('InvokeModelWithResponseStream', ...): 2 things are not as in AWS's API model:\n  InvokeModelW",
    ),
    "a timestamp that is none": (
        lambda fake: fake.on_operation("GetSession", {**SESSION, "createdAt": "today"}),
        "on_operation('GetSession', ...): GetSession.createdAt is 'today' (str); it must be a datetime with a",
    ),
    "an operation of several services": (
        lambda fake: fake.when(operation="ListSessions"),
        "when(operation='ListSessions'): several services have this operation. Name the service: service=\"bed",
    ),
}


@pytest.mark.parametrize(("write", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_answer_is_refused_at_its_line(write: Callable[[Any], object], message: str) -> None:
    with fake_converse() as fake, pytest.raises(ReplyError) as raised:
        write(fake)
    assert str(raised.value).startswith(message)
    assert fake.endpoint.script.unused() == []


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("text", "The handler of InvokeModel returned 'text'; it must return"),
        (None, "The handler of InvokeModel returned None; it must return"),
        (reply.text("hi"), 'text "hi" cannot answer InvokeModel: only an error'),
    ],
)
def test_what_a_function_returns_is_checked(returned: Any, message: str) -> None:
    with closing(fake_converse().open()) as fake:
        fake.on_operation("InvokeModel", lambda call: returned)
        with pytest.raises(ClientError):
            embed()
        with pytest.raises(ReplyError, match=re.escape(message)):
            fake.check()


def test_a_function_may_return_an_output_or_an_error() -> None:
    def answer(call: Call) -> Any:
        return reply.throttled() if call.attempt == 1 else reply.output(vector(call.number))

    with fake_converse() as fake:
        fake.on_operation("InvokeModel", answer)
        assert embed() == 2
