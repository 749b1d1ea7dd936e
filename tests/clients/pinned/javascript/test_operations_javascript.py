"""The AWS SDK for JavaScript gets the answers of operations of every Bedrock service, with HTTP/2 and with HTTP/1.1."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from converse_harness import ConverseServer, bedrock, faults, reply
from converse_harness.bedrock.api.example import input_example, output_example
from converse_harness.literals import ErrorName, OtherErrorName
from converse_harness.server.mounts import ServerFake
from tests.clients.pinned.javascript.conftest import Node
from tests.intercept.operations.asking import STREAMS, ask, comparable
from tests.intercept.operations.whole import whole_input, whole_output

AGENT: Final = "bedrock-agent-runtime"
CORE: Final = "bedrock-agentcore"
PROTOCOLS: Final = ("h2", "http/1.1")
PLAIN: Final = ((AGENT, "Retrieve"), (AGENT, "Rerank"), (CORE, "ListEvents"), (CORE, "CreateEvent"))
ARN: Final = "arn:aws:bedrock:us-east-1:123456789012:session/a"


def to_js(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: to_js(each) for key, each in value.items()}
    if isinstance(value, list):
        return [to_js(each) for each in value]
    if isinstance(value, bytes):
        return {"$blob": base64.b64encode(value).decode()}
    return {"$time": value.isoformat()} if isinstance(value, datetime) else value


def from_js(value: Any) -> Any:
    if isinstance(value, list):
        return [from_js(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "$blob" in value:
        return base64.b64decode(value["$blob"])
    if "$time" in value:
        return datetime.fromisoformat(value["$time"])
    return {key: from_js(each) for key, each in value.items()}


class Sdk(Node):
    """The process of operations.mjs."""

    def call(
        self, url: str, service: str, operation: str, params: Any = None, *, protocol: str | None = None
    ) -> dict[str, Any]:
        """Call an operation. Return its `output` without the stream, the `events` of the stream, and the `error`.

        Without a protocol, the client chooses it.
        """
        params = to_js(input_example(operation, service) if params is None else params)
        self.say({"url": url, "service": service, "operation": operation, "params": params, "protocol": protocol})
        answer: dict[str, Any] = from_js(self.read())
        assert protocol in (None, answer["protocol"])
        return answer


@pytest.fixture(scope="module")
def sdk(project: Path) -> Iterator[Sdk]:
    with Sdk(project, script="operations.mjs") as started:
        yield started


@pytest.fixture
def fake(converse_server: ConverseServer) -> Iterator[ServerFake]:
    with converse_server.script() as opened:
        yield opened


def shared(sent: Any, came: Any) -> Any:
    """Return the part of `sent` that the SDK's own API model has: its release may be older than botocore's."""
    if isinstance(sent, dict) and isinstance(came, dict):
        return {key: shared(each, came[key]) for key, each in sent.items() if key in came}
    if isinstance(sent, list) and isinstance(came, list) and len(sent) == len(came):
        return [shared(each, other) for each, other in zip(sent, came, strict=True)]
    return sent


def size(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(size, inner))


def check(came: Any, sent: Any) -> None:
    """Compare what came with what was sent, times as exact as JSON carries them."""
    came, sent = comparable(came), comparable(sent)
    assert came == shared(sent, came)
    assert size(came) >= 0.9 * size(sent)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("service", "name"), STREAMS)
class TestStreams:
    """Each operation that answers with a stream of events."""

    def test_its_events_arrive_in_order_with_all_their_members(
        self, sdk: Sdk, fake: ServerFake, service: str, name: str, protocol: str
    ) -> None:
        output, stream = whole_output(name, service), bedrock.event_stream(name, service)
        assert stream is not None
        fake.on_operation(name, output, service=service)
        answer = sdk.call(fake.url, service, name, protocol=protocol)
        assert answer["error"] is None
        check(answer["events"], output.pop(stream.member))
        if name == "InvokeAgentRuntimeCommand":
            output["contentType"] = "application/vnd.amazon.eventstream"  # its header is that of the stream
        assert answer["output"] == output
        assert [call.service for call in fake.calls.of(name)] == [service]

    def test_an_exception_and_a_broken_stream_are_errors_at_their_places(
        self, sdk: Sdk, fake: ServerFake, service: str, name: str, protocol: str
    ) -> None:
        output, stream = whole_output(name, service), bedrock.event_stream(name, service)
        assert stream is not None
        for exception, shape in stream.exceptions.items():
            fake.on_operation(name, reply.output(output).fails_after(2, exception, "No more."), service=service)
            answer = sdk.call(fake.url, service, name, protocol=protocol)
            check(answer["events"], output[stream.member][:2])
            error = answer["error"]
            assert (error["name"], error["message"], error["isOwn"]) == (shape.name, "No more.", True)
        fake.on_operation(name, reply.output(output).broken(faults.bad_crc, after=2), service=service)
        answer = sdk.call(fake.url, service, name, protocol=protocol)
        assert "checksum" in answer["error"]["message"]
        check(answer["events"], output[stream.member][:2])


@pytest.mark.parametrize(("service", "name"), PLAIN)
def test_inputs_and_outputs_with_all_their_members(sdk: Sdk, fake: ServerFake, service: str, name: str) -> None:
    for pick in range(3):
        output, params = whole_output(name, service, pick), whole_input(name, service, pick)
        fake.on_operation(name, output, service=service)
        answer = sdk.call(fake.url, service, name, params)
        assert answer["error"] is None
        check(answer["output"], output)
        check(fake.calls.all[-1].params, params)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_streaming_body_and_its_headers(sdk: Sdk, fake: ServerFake, protocol: str) -> None:
    output = {"contentType": "text/event-stream", "runtimeSessionId": "a", "response": b"data: 1\n\ndata: \xff\n\n"}
    fake.on_operation("InvokeAgentRuntime", output, {"contentType": "text/plain", "statusCode": 204})
    params = {"agentRuntimeArn": ARN, "payload": b"\0\xff", "runtimeUserId": "Zürich", "qualifier": "a b/ü"}
    answer = sdk.call(fake.url, CORE, "InvokeAgentRuntime", params, protocol=protocol)
    assert (answer["error"], answer["output"]) == (None, {**output, "statusCode": 200})
    assert {**fake.calls.all[0].params, **params} == fake.calls.all[0].params
    answer = sdk.call(fake.url, CORE, "InvokeAgentRuntime", params, protocol=protocol)
    assert (answer["error"], answer["output"]["statusCode"]) == (None, 204)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("service", "name", "error", "status"),
    [
        (AGENT, "Retrieve", "DependencyFailedException", 424),
        (AGENT, "Retrieve", "ThrottlingException", 429),
        (CORE, "ListEvents", "ResourceNotFoundException", 404),
        (CORE, "InvokeAgentRuntime", "RuntimeClientError", 424),
        ("bedrock-agentcore-control", "ListTagsForResource", "ValidationException", 400),
    ],
)
def test_an_error_by_its_name(
    sdk: Sdk, fake: ServerFake, service: str, name: str, error: ErrorName | OtherErrorName, status: int, protocol: str
) -> None:
    fake.on_operation(name, reply.error(error, "Not now."), service=service)
    said = sdk.call(fake.url, service, name, protocol=protocol)["error"]
    assert (said["name"], said["message"], said["status"], said["isOwn"]) == (error, "Not now.", status, True)


def test_services_with_the_same_path_are_told_apart(sdk: Sdk, converse_server: ConverseServer) -> None:
    """By the name in the signature, and where this is the same by what is scripted."""
    services = (AGENT, "bedrock-agentcore-control")
    fake = converse_server.script(rules="off")  # one ARN for three services
    for service in services:
        fake.on_operation("ListTagsForResource", {"tags": {"of": service}}, service=service)
    for service in reversed(services):
        assert sdk.call(fake.url, service, "ListTagsForResource", {"resourceArn": ARN})["output"] == {
            "tags": {"of": service}
        }
    assert [(call.service, call.params) for call in fake.calls.all] == [
        (service, {"resourceArn": ARN}) for service in reversed(services)
    ]
    fake.on_operation("ListTagsForResource", {"tags": {"of": "agents"}}, service="bedrock-agent")
    assert ask("bedrock-agent", "ListTagsForResource", {"resourceArn": ARN}, endpoint_url=fake.url) == {
        "tags": {"of": "agents"}
    }


def test_scripts_over_the_control_api(sdk: Sdk, converse_server: ConverseServer) -> None:
    whens = [
        {"operation": "Retrieve", "script": [{"output": output_example("Retrieve", AGENT)}, {"throttled": True}]},
        {
            "operation": "InvokeAgent",
            "service": AGENT,
            "script": [
                {
                    "output": {
                        "contentType": "text/plain",
                        "sessionId": "ab",
                        "completion": [{"chunk": {"bytes": "aGk="}}, {"chunk": {"bytes": "aG8="}}],
                    },
                    "fails_after": {"events": 1, "exception": "throttlingException", "message": "No more."},
                }
            ],
        },
    ]
    fakes = f"{converse_server.url}/__converse/fakes"
    opened = httpx.post(fakes, json={"when": whens}).raise_for_status().json()
    assert sdk.call(opened["url"], AGENT, "Retrieve")["output"] == output_example("Retrieve", AGENT)
    assert sdk.call(opened["url"], AGENT, "Retrieve")["error"]["name"] == "ThrottlingException"
    answer = sdk.call(opened["url"], AGENT, "InvokeAgent")
    assert answer["events"] == [{"chunk": {"bytes": b"hi"}}]
    assert (answer["error"]["name"], answer["error"]["message"]) == ("ThrottlingException", "No more.")
    assert httpx.delete(f"{fakes}/{opened['id']}").json()["problems"] == []
