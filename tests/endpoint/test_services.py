"""Operations of the other Bedrock services: which request asks which, what its call holds, and what answers it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from converse_harness import Endpoint, Fake, ReplyError, bedrock, reply
from converse_harness.endpoint.operations import any_route
from converse_harness.stream.http import Request

AGENT, AGENTS, CORE = "bedrock-agent", "bedrock-agent-runtime", "bedrock-agentcore-control"
AUTOMATION = "bedrock-data-automation"


def signed(name: str) -> tuple[str, str]:
    return "Authorization", f"AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/{name}/aws4_request, Signature=0"


TAGS = ("GET", "/tags/arn%3Aaws%3Abedrock%3Aus-east-1%3A111122223333%3Aagent%2Fx")
"""A path that three services have, of which two sign with one name."""


@pytest.mark.parametrize(
    ("asked", "headers", "scripted", "service"),
    [
        (TAGS, (), (), AGENT),
        (TAGS, (), (AGENTS,), AGENTS),
        (TAGS, (), (CORE,), CORE),
        (TAGS, (signed("bedrock"),), (), AGENT),
        (TAGS, (signed("bedrock"),), (CORE,), AGENT),
        (TAGS, (signed("bedrock-agentcore"),), (), CORE),
        (TAGS, (signed("bedrock-agentcore"),), (AGENTS,), CORE),
        (TAGS, (("Host", "bedrock-agent-runtime.eu-central-1.amazonaws.com"),), (), AGENTS),
        (TAGS, (("host", "bedrock-agent-runtime-fips.us-gov-west-1.amazonaws.com"),), (AGENT,), AGENTS),
        (TAGS, (("Host", "127.0.0.1:8080"),), (CORE,), CORE),
        (("POST", "/tagResource"), (), (), "bedrock"),
        (("POST", "/tagResource"), (), (AUTOMATION,), AUTOMATION),
        (("POST", "/tagResource"), (("Host", f"{AUTOMATION}.us-east-1.amazonaws.com"),), (), AUTOMATION),
    ],
)
def test_a_path_of_several_services_is_told_apart(
    asked: tuple[str, str], headers: tuple[tuple[str, str], ...], scripted: tuple[str, ...], service: str
) -> None:
    if CORE in (service, *scripted) and "ListTagsForResource" not in bedrock.operations(CORE):
        pytest.skip(f"this botocore has no ListTagsForResource of {CORE}")
    fake = Fake()
    operation = "TagResource" if "tagResource" in asked[1] else "ListTagsForResource"
    for each in scripted:
        fake.on_operation(operation, lambda call: {}, service=each)
    call = fake.endpoint.receive(Request(*asked, headers, b"{}"))
    assert (call.operation, call.service) == (operation, service)


def test_a_host_of_another_service_does_not_ask_this_one() -> None:
    converse = Request("POST", "/knowledgebases/kb/retrieve", (("Host", f"{AGENT}.us-east-1.amazonaws.com"),), b"{}")
    assert any_route(converse) is None


def test_the_json_protocol_names_its_operation_in_a_header() -> None:
    target = "AmazonBedrockKeystoneRuntimeService.GetDataAutomationStatus"
    endpoint = Endpoint()
    call = endpoint.receive(Request("POST", "/", (("X-Amz-Target", target),), b'{"invocationArn": "arn"}'))
    assert (call.operation, call.service) == ("GetDataAutomationStatus", "bedrock-data-automation-runtime")
    assert call.params == {"invocationArn": "arn"}
    assert endpoint.receive(Request("POST", "/", (("X-Amz-Target", f"{target}es"),), b"{}")).operation is None


def test_errors_of_the_json_protocol_are_named_in_the_body() -> None:
    fake = Fake()
    fake.on_operation("GetDataAutomationStatus", reply.throttled("Slow down"))
    target = "AmazonBedrockKeystoneRuntimeService.GetDataAutomationStatus"
    response = fake.core.exchange(Request("POST", "/", (("X-Amz-Target", target),), b"{}")).response
    assert response.status == 429
    (chunk,) = response.chunks
    assert json.loads(chunk.data) == {"__type": "ThrottlingException", "message": "Slow down"}


def test_one_operation_of_two_services_has_two_scripts() -> None:
    fake = Fake()
    fake.on_operation("ListSessions", {"sessionSummaries": []}, service=AGENTS)
    fake.on_operation("ListSessions", {"sessionSummaries": []}, {"sessionSummaries": []}, service="bedrock-agentcore")
    for _ in range(2):
        exchange = fake.core.exchange(Request("POST", "/memories/m/actor/a/sessions", (), b"{}"))
        assert exchange.response.status == 200
    with pytest.raises(ReplyError, match="several services have this operation"):
        fake.when(operation="ListSessions")
    assert len(fake.calls.of("ListSessions")) == len(fake.calls.of("ListSessions", service="bedrock-agentcore")) == 2
    assert len(fake.calls.of("ListSessions", service=AGENTS)) == 0
    assert [str(slot.used_by) != "[]" for _, slot in fake.endpoint.script.slots()] == [False, True, True]


@pytest.mark.parametrize(
    ("operation", "service", "message"),
    [
        ("ListSessions", "bedrock", "calls.of(operation='ListSessions'): no operation of bedrock has this name in"),
        ("Retreive", None, "calls.of(operation='Retreive'): no operation of Bedrock has this name in botocore "),
        ("Retrieve", "bedrock-agnt", "calls.of(service='bedrock-agnt'): it must be one of the services of Bedrock in"),
    ],
)
def test_calls_of_an_operation_that_a_service_lacks(operation: str, service: str | None, message: str) -> None:
    with pytest.raises(ReplyError) as caught:
        _ = Fake().calls.of(operation, service=service)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("method", "target", "headers", "body", "params"),
    [
        (
            "POST",
            "/knowledgebases/kb%2F1/retrieve",
            (),
            {"retrievalQuery": {"text": "Why?"}, "nextToken": None},
            {"knowledgeBaseId": "kb/1", "retrievalQuery": {"text": "Why?"}},
        ),
        ("GET", "/flows/?maxResults=5&nextToken=a%2Fb", (), None, {"maxResults": 5, "nextToken": "a/b"}),
        ("GET", "/flows/?maxResults=five", (), None, {"maxResults": "five"}),
        (
            "DELETE",
            "/flows/f/?skipResourceInUseCheck=true",
            (),
            None,
            {"flowIdentifier": "f", "skipResourceInUseCheck": True},
        ),
        ("DELETE", "/tags/arn?tagKeys=a&tagKeys=b", (), None, {"resourceArn": "arn", "tagKeys": ["a", "b"]}),
        (
            "GET",
            "/custom-models?creationTimeAfter=2026-01-01T00%3A00%3A00Z",
            (),
            None,
            {"creationTimeAfter": datetime(2026, 1, 1, tzinfo=UTC)},
        ),
        (
            "PUT",
            "/sessions/s/invocationSteps/",
            (),
            {"invocationStepTime": "2026-01-01T01:00:00+01:00", "payload": {"contentBlocks": [{"text": "t"}]}},
            {
                "sessionIdentifier": "s",
                "invocationStepTime": datetime(2026, 1, 1, tzinfo=UTC),
                "payload": {"contentBlocks": [{"text": "t"}]},
            },
        ),
        (
            "POST",
            "/runtimes/r/invocations",
            (("X-Amzn-Bedrock-AgentCore-Runtime-Session-Id", "s" * 33), ("Content-Type", "application/json")),
            {"prompt": "hi"},
            {
                "agentRuntimeArn": "r",
                "runtimeSessionId": "s" * 33,
                "contentType": "application/json",
                "payload": b'{"prompt": "hi"}',
            },
        ),
    ],
)
def test_params_are_those_of_the_boto_call(
    method: str, target: str, headers: tuple[tuple[str, str], ...], body: object, params: dict[str, Any]
) -> None:
    sent = b"" if body is None else json.dumps(body).encode()
    call = Endpoint().receive(Request(method, target, headers, sent))
    assert call.params == params


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        (b'{"retrievalQuery": {"text": 5}}', "retrievalQuery.text is a JSON int; it must be a string."),
        (b"[]", "The request body is a JSON list; it must be an object."),
        (b"{", "The request body is not JSON"),
    ],
)
def test_a_body_of_another_structure_is_refused_as_of_converse(body: bytes, wrong: str) -> None:
    fake = Fake()
    fake.on_operation("Retrieve", lambda call: {"retrievalResults": []})
    exchange = fake.core.exchange(Request("POST", "/knowledgebases/kb/retrieve", (), body))
    assert exchange.response.status == 400
    assert dict(exchange.response.headers)["x-amzn-ErrorType"].startswith("SerializationException")
    assert (exchange.call.malformed or "").startswith(wrong)
