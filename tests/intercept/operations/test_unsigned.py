"""Requests that no SDK made: without a signature, or with a token for an agent."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import httpx
import pytest

from converse_harness import ConverseServer, bedrock, fake_converse
from converse_harness.bedrock.api.example import output_example

ARN = "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/ü a"
IN_PATH = "arn%3Aaws%3Abedrock-agentcore%3Aus-east-1%3A123456789012%3Aruntime%2F%C3%BC%20a"
LITERAL = IN_PATH.replace("%3A", ":")
KEYSTONE = "AmazonBedrockKeystoneRuntimeService.GetDataAutomationStatus"
TAGGED = tuple(
    each
    for each in ("bedrock-agent", "bedrock-agent-runtime", "bedrock-agentcore-control")
    if "ListTagsForResource" in bedrock.operations(each)
)
"""Services with the path /tags/{resourceArn}; an older botocore has two of them."""
REQUESTS: dict[str, tuple[str, str, str, str, dict[str, Any], dict[str, Any]]] = {
    "body": (
        "bedrock-agent-runtime",
        "Retrieve",
        "POST",
        "/knowledgebases/KB12345678/retrieve",
        {"json": {"retrievalQuery": {"text": "glaciers"}, "nextToken": None}},
        {"knowledgeBaseId": "KB12345678", "retrievalQuery": {"text": "glaciers"}},
    ),
    "encoded colons": (
        "bedrock-agent-runtime",
        "ListTagsForResource",
        "GET",
        f"/tags/{IN_PATH}",
        {},
        {"resourceArn": ARN},
    ),
    "literal colons": (
        "bedrock-agent-runtime",
        "ListTagsForResource",
        "GET",
        f"/tags/{LITERAL}",
        {},
        {"resourceArn": ARN},
    ),
    "list in the query": (
        "bedrock-agent-runtime",
        "UntagResource",
        "DELETE",
        "/tags/a?tagKeys=a&tagKeys=b%20c%2B&tagKeys=",
        {},
        {"resourceArn": "a", "tagKeys": ["a", "b c+", ""]},
    ),
    "slash at the end": (
        "bedrock-agent-runtime",
        "ListSessions",
        "POST",
        "/sessions/?maxResults=5&nextToken=a%2Bb+c",
        {"json": {}},
        {"maxResults": 5, "nextToken": "a+b c"},
    ),
    "no JSON": (
        "bedrock-agentcore",
        "InvokeAgentRuntime",
        "POST",
        f"/runtimes/{IN_PATH}/invocations?qualifier=DEFAULT",
        {"content": b"\xff\0", "headers": {"content-type": "application/octet-stream", "accept": "text/event-stream"}},
        {
            "agentRuntimeArn": ARN,
            "qualifier": "DEFAULT",
            "payload": b"\xff\0",
            "contentType": "application/octet-stream",
            "accept": "text/event-stream",
        },
    ),
    "name in a header": (
        "bedrock-data-automation-runtime",
        "GetDataAutomationStatus",
        "POST",
        "/",
        {"json": {"invocationArn": "a"}, "headers": {"x-amz-target": KEYSTONE}},
        {"invocationArn": "a"},
    ),
}


@pytest.fixture(scope="module")
def server() -> Iterator[ConverseServer]:
    with ConverseServer() as running:
        yield running


@pytest.mark.needs_os
@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_to_the_server(server: ConverseServer, name: str) -> None:
    service, operation, method, path, options, params = REQUESTS[name]
    with server.script(rules="off") as fake:
        fake.on_operation(operation, output_example(operation, service), service=service)
        assert httpx.request(method, fake.url + path, **options).is_success
        assert [(call.service, call.params) for call in fake.calls.of(operation)] == [(service, params)]


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_to_the_host_of_the_service(name: str) -> None:
    service, operation, method, path, options, params = REQUESTS[name]
    headers = {**options.get("headers", {}), "authorization": "Bearer of-a-user"}
    with fake_converse(rules="off") as fake:
        fake.on_operation(operation, output_example(operation, service), service=service)
        url = f"https://{service}.eu-central-1.amazonaws.com{path}"
        assert httpx.request(method, url, **{**options, "headers": headers}).is_success
        assert [(call.service, call.params) for call in fake.calls.of(operation)] == [(service, params)]


def test_the_lines_of_an_agent_with_a_token() -> None:
    body = b"data: one\n\ndata: two\n\n"
    with fake_converse(rules="off") as fake, httpx.Client(headers={"authorization": "Bearer of-a-user"}) as client:
        fake.on_operation("InvokeAgentRuntime", {"contentType": "text/event-stream", "response": body})
        url = f"https://bedrock-agentcore.us-east-1.amazonaws.com/runtimes/{IN_PATH}/invocations"
        with client.stream("POST", url, json={"prompt": "hi"}) as answer:
            assert answer.headers["content-type"] == "text/event-stream"
            assert [line for line in answer.iter_lines() if line] == ["data: one", "data: two"]
        assert fake.calls.all[0].params["payload"] == fake.calls.all[0].raw
        assert fake.calls.all[0].body == {"prompt": "hi"}
        assert "of-a-user" not in str(fake.calls.all[0].headers)


@pytest.mark.needs_os
@pytest.mark.parametrize("services", [*permutations(TAGGED)])
def test_one_path_of_several_services_means_them_in_the_order_of_the_script(
    server: ConverseServer, services: tuple[str, ...]
) -> None:
    with server.script(rules="off") as fake:
        for service in services:
            fake.on_operation("ListTagsForResource", {"tags": {"of": service}}, service=service)
        came = [httpx.get(f"{fake.url}/tags/{IN_PATH}").json() for _ in services]
        assert came == [{"tags": {"of": service}} for service in services]
