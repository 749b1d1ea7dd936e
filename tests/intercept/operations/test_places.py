"""Members of an output whose place is a header, the status or the whole body: what cannot travel fails at its line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from botocore.exceptions import ClientError

from converse_harness import ConverseServer, Fake, ReplyError, bedrock, fake_converse, reply
from converse_harness.bedrock.api.example import input_example
from tests.intercept.operations.asking import ask

AGENTCORE = "bedrock-agentcore"
AGENT: dict[str, Any] = {"contentType": "text/plain", "response": b"hi"}
PAIRS = {"InvokeAgentRuntime": AGENT, "InvokeAgent": {"contentType": "text/plain", "sessionId": "ab", "completion": []}}


@pytest.fixture
def fake() -> Iterator[Fake]:
    with fake_converse() as opened:
        yield opened


def service_of(name: str) -> str:
    (service,) = bedrock.services_of(name)
    return service


def invoke(url: str | None = None) -> dict[str, Any]:
    return ask(AGENTCORE, "InvokeAgentRuntime", input_example("InvokeAgentRuntime", AGENTCORE), endpoint_url=url)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("value", ["text/plain; name=Zürich", "日本", "a\r\nX-Planted: 1", "a\tb", " a", "a ", "a\0"])
def test_what_no_header_carries(fake: Fake, name: str, value: str, strict: bool) -> None:
    output = reply.output({**PAIRS[name], "contentType": value}, strict=strict)
    header = bedrock.operation(name, service_of(name)).output_shape.members["contentType"].serialization["name"]
    with pytest.raises(ReplyError) as failed:
        fake.on_operation(name, output)
    said = str(failed.value)
    assert f"{name}.contentType is {value!r}; its place is the HTTP header {header}, which carries printable" in said
    assert said.count("contentType") == 1


@pytest.mark.parametrize("value", ["", "a", "a; b=c", "!~"])
def test_what_a_header_carries(fake: Fake, value: str) -> None:
    fake.on_operation("InvokeAgentRuntime", {**AGENT, "baggage": value})
    assert invoke()["baggage"] == value


def test_values_that_are_no_texts_of_an_output_that_is_not_strict(fake: Fake) -> None:
    wrong = {"baggage": True, "traceId": 5, "traceState": None, "response": "Zürich"}
    fake.on_operation("InvokeAgentRuntime", reply.output({**AGENT, **wrong}, strict=False))
    came = invoke()
    assert came.pop("response").decode() == "Zürich"
    assert came == {"contentType": "text/plain", "baggage": "true", "traceId": "5", "statusCode": 200}


@pytest.mark.parametrize(
    ("status", "said"),
    [
        *((status, "it is the HTTP status of the answer, from 200 to 599") for status in (-5, 0, 100, 101, 199, 1000)),
        *((status, "an answer with this HTTP status has no body; leave out 'response'") for status in (204, 304)),
        *((status, "it must be an int") for status in (True, "200", 200.5)),
    ],
)
def test_what_is_no_status_of_an_answer(fake: Fake, status: Any, said: str) -> None:
    for strict in (True, False):
        with pytest.raises(ReplyError, match=f"InvokeAgentRuntime.statusCode is {status!r}.*{said}") as failed:
            fake.on_operation("InvokeAgentRuntime", reply.output({**AGENT, "statusCode": status}, strict=strict))
        assert str(failed.value).count("statusCode") == 1


@pytest.mark.needs_os
def test_a_status_without_a_body_leaves_the_connection_whole() -> None:
    """A body after 304 would be the head of the next answer."""
    without = {"contentType": "text/plain"}
    with ConverseServer() as server, server.script() as fake, httpx.Client() as client:
        for status in (204, 304):
            fake.on_operation("InvokeAgentRuntime", {**without, "statusCode": status}, AGENT)
        url = f"{fake.url}/runtimes/arn%3Aaws%3Abedrock-agentcore%3Aus-east-1%3A123456789012%3Aruntime%2Fa/invocations"
        answers = [client.post(url, content=b"{}") for _ in range(4)]
        assert [(answer.status_code, answer.content) for answer in answers] == [
            (204, b""),
            (200, b"hi"),
            (304, b""),
            (200, b"hi"),
        ]
        assert not {"content-length", "transfer-encoding"} & {*answers[0].headers, *answers[2].headers}
        fake.on_operation("InvokeAgentRuntime", {**AGENT, "statusCode": 500})
        with pytest.raises(ClientError) as error:
            invoke(fake.url)
        assert error.value.response["ResponseMetadata"]["HTTPStatusCode"] == 500


@pytest.mark.needs_os
@pytest.mark.parametrize("user", ["a b", "Zürich", "日本"])
def test_a_header_of_a_request_is_known_as_it_was_given(user: str) -> None:
    params = {**input_example("InvokeAgentRuntime", AGENTCORE), "runtimeUserId": user}
    with fake_converse() as fake, ConverseServer() as server, server.script() as other:
        for opened, url in ((fake, None), (other, other.url)):
            opened.on_operation("InvokeAgentRuntime", AGENT)
            ask(AGENTCORE, "InvokeAgentRuntime", params, endpoint_url=url)
            assert opened.calls.all[0].params["runtimeUserId"] == user
