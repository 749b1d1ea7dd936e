"""A request that breaks exactly one rule: boto lets it pass, Bedrock refuses it in just these words."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import boto3
import pytest
from botocore.exceptions import ClientError
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness import Endpoint, RefusedRequest, bedrock, fake_converse, reply
from converse_harness.bedrock.rules import BY_NAME, NOTING, RULES
from converse_harness.settings import RuleLevel
from converse_harness.stream.http import Request
from converse_strategies import Refused, refused_requests
from converse_strategies.rule_breaks import BREAKS, breakable
from tests.profiles import examples
from tests.strategies.conftest import NOTED, found, never

Json = dict[str, Any]
boto: Any = boto3
KEYS = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": "us-east-1"}
HI = reply.text("hi")
NOVA = "amazon.nova-lite-v1:0"
ASKED = {"role": "user", "content": [{"text": "0"}]}
GREETED = {"role": "assistant", "content": [{"text": "0"}]}
OFFERED = {"tools": [{"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}}}]}
USED = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "name": "look", "input": {}}}]}
FAILED = {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": [], "status": "error"}}]}
METHODS = {"Converse": "converse", "ConverseStream": "converse_stream"}


def over_http(case: Refused, request: Json) -> Request:
    body = {name: value for name, value in request.items() if name != "modelId"}
    path = "converse-stream" if case.operation == "ConverseStream" else "converse"
    sent = bedrock.to_json("ConverseRequest", body).encode()
    return Request("POST", f"/model/{quote(request['modelId'], safe='')}/{path}", (), sent)


def levels_of(case: Refused) -> list[RuleLevel]:
    """Those at which its rule is held against requests."""
    return ["strict"] if BY_NAME[case.rule].verdict == "strict" else ["default", "strict"]


@given(case=refused_requests())
def test_an_endpoint_refuses_the_request_with_this_message_and_answers_the_unmodified_one(case: Refused) -> None:
    for level in levels_of(case):
        endpoint = Endpoint(HI, rules=level)
        exchange = endpoint.exchange(over_http(case, case.request))
        body = b"".join(chunk.data for chunk in exchange.response.chunks)
        status = bedrock.all_errors()[BY_NAME[case.rule].error].status
        if BY_NAME[case.rule].framed and case.operation == "ConverseStream":
            assert (exchange.response.status, case.message.encode() in body) == (200, True)
        else:
            assert (exchange.response.status, json.loads(body)) == (status, {"message": case.message})
        assert exchange.call.refusal is not None
        assert exchange.call.refusal.rule.name == case.rule
        assert [type(problem) for problem in endpoint.problems] == [RefusedRequest]
        assert endpoint.exchange(over_http(case, case.unmodified)).response.status == 200


@pytest.fixture(scope="module")
def client() -> Any:
    with fake_converse():
        return boto.client("bedrock-runtime", **KEYS)


@pytest.mark.parametrize("name", breakable())
def test_boto_lets_it_pass(client: Any, name: str) -> None:
    """Also its sound one, which is answered. The endpoint holds the rule at its other level as well."""

    @given(case=refused_requests(rules=[name]))
    @settings(max_examples=examples(0.1))
    def only_this(case: Refused) -> None:
        assert case.rule == name
        with fake_converse(HI, rules=levels_of(case)[0], answers="off", unexpected="allow", unused="allow") as fake:
            converse = getattr(client, METHODS[case.operation])
            with pytest.raises(ClientError) as caught:
                converse(**case.request)
            assert caught.value.response["Error"] == {"Code": BY_NAME[name].error, "Message": case.message}
            converse(**case.unmodified)
        refusals = [call.refusal for call in fake.calls]
        # boto repeats a call that was answered with 500.
        assert [*dict.fromkeys(refusal.rule.name if refusal else None for refusal in refusals)] == [name, None]
        assert {note.kind for note in fake.notes} <= NOTED

    only_this()


def test_every_rule_is_broken_but_those_that_boto_keeps_itself() -> None:
    kept = {"unions_are_set", "unions_have_one_member"}
    too_large = {"claude_reads_nine_megabytes"}  # each example would have nine megabytes
    of_converse = {rule.name for rule in RULES if rule.verdict not in NOTING and "Converse" in rule.operations}
    assert BREAKS.keys() == of_converse - kept - too_large


@pytest.mark.slow
def test_every_break_comes() -> None:
    assert never(refused_requests(), breakable(), lambda case: [case.rule]) == set()


@pytest.mark.parametrize(
    ("name", "request_"),
    [
        ("conversation_is_not_empty", {"modelId": NOVA, "messages": []}),
        ("first_message_is_the_users", {"modelId": NOVA, "messages": [GREETED, ASKED]}),
        ("failed_results_say_why", {"modelId": NOVA, "messages": [ASKED, USED, FAILED], "toolConfig": OFFERED}),
    ],
)
def test_it_is_found_small(name: str, request_: Json) -> None:
    case = found(refused_requests(rules=[name]))
    assert case == (request_, "Converse", name, case.message, {"modelId": NOVA, "messages": [ASKED]})


@given(case=refused_requests(rules=["first_message_is_the_users"], texts=st.just("hi")))
def test_what_is_said_can_be_chosen(case: Refused) -> None:
    texts = {block["text"] for message in case.unmodified["messages"] for block in message["content"]}
    assert texts == {"hi"}


def test_changing_the_request_leaves_the_sound_one_alone() -> None:
    case = found(refused_requests(rules=["first_message_is_the_users"]))
    case.request["messages"][-1]["content"].clear()
    assert case.unmodified["messages"] == [ASKED]


@pytest.mark.parametrize(
    ("rules", "refused"),
    [
        (["roles_alternte"], "'roles_alternte'"),
        (["unions_are_set"], "'unions_are_set'"),
        ([], "[]"),
    ],
)
def test_a_rule_that_is_none_is_refused_when_drawn(rules: list[str], refused: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        found(refused_requests(rules=rules))
    message = f"refused_requests(rules={rules!r}): {refused} is no choice of rules. Give a list of some of: model_id"
    assert str(caught.value).startswith(message)
