"""Both lines of the advice for an operation without an answer work as they are written, and its JSON does."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import httpx
import pytest
from botocore.exceptions import ClientError

from converse_harness import ConverseServer, UnexpectedCall, bedrock, fake_converse
from converse_harness.bedrock.api.example import input_example
from tests.intercept.operations.asking import OPERATIONS, STREAMS, ask

OWN = ("CountTokens", "ApplyGuardrail", "ListFoundationModels", "GetFoundationModel", "GetInferenceProfile")
"""The operations that the fake answers by itself."""
SOME = [*random.Random(53).sample([each for each in OPERATIONS if each[1] not in OWN], 10), *STREAMS]
"""Drawn operations, and those with a stream. `boto/test_every_service.py` tries all."""


def advice_of(service: str, name: str) -> str:
    with pytest.raises(UnexpectedCall) as failed, fake_converse():
        ask(service, name, input_example(name, service))
    assert str(failed.value).startswith(f"{name} of {service} is not scripted.")
    return str(failed.value)


@pytest.mark.parametrize(("service", "name"), SOME)
def test_each_line_of_the_advice_answers_the_call(service: str, name: str) -> None:
    lines = re.findall(r"^(converse\.on_operation\(.*\))(?:   More: .*)?$", advice_of(service, name), re.MULTILINE)
    assert len(lines) == 2
    for line, calls in zip(lines, (1, 2), strict=True):
        with fake_converse() as converse:
            exec(line, {"converse": converse})
            for _ in range(calls):
                answer = ask(service, name, input_example(name, service))
                required = bedrock.operation(name, service).output_shape.metadata.get("required", ())
                assert {*required} <= answer.keys()


@pytest.mark.needs_os
@pytest.mark.parametrize(("service", "name"), SOME[5:])
def test_the_advice_over_http_answers_the_call(server: ConverseServer, service: str, name: str) -> None:
    def opened(body: Any) -> Any:
        return httpx.post(f"{server.url}/__converse/fakes", json=body).raise_for_status().json()

    fake = opened({})
    with pytest.raises(ClientError, match=f"{name} of {service} is not scripted"):
        ask(service, name, input_example(name, service), endpoint_url=fake["url"])
    closed = httpx.delete(f"{server.url}/__converse/fakes/{fake['id']}").json()
    (problem,) = closed["problems"]
    advice = re.search(r'^("when": \[.*\])   More: ', problem, re.MULTILINE)
    assert advice is not None
    other = opened(json.loads(f"{{{advice[1]}}}"))
    ask(service, name, input_example(name, service), endpoint_url=other["url"])
    assert not httpx.delete(f"{server.url}/__converse/fakes/{other['id']}").json()["problems"]


@pytest.fixture(scope="module")
def server() -> Any:
    with ConverseServer() as running:
        yield running


def test_an_answer_for_another_service_with_this_operation_is_named() -> None:
    service, name = "bedrock-agent", "ListTagsForResource"
    with fake_converse(unused="allow", unexpected="allow") as fake:
        fake.on_operation(name, {"tags": []})
        with pytest.raises(ClientError) as failed:
            ask(service, name, input_example(name, service))
    assert f": {name} of {service} is not scripted. The script answers {name} of bedrock." in str(failed.value)


@pytest.mark.parametrize(
    "url",
    [
        "https://x.gateway.bedrock-agentcore.us-east-1.amazonaws.com/mcp",
        "https://bedrock-agent-runtime.us-east-1.amazonaws.com/knowledgebase/KB12345678/retrieve",
    ],
)
def test_a_path_that_is_no_operation_of_the_service_in_the_host(url: str) -> None:
    host, path = httpx.URL(url).host, httpx.URL(url).path
    service = re.search(r"bedrock[a-z-]*", host)
    assert service is not None
    with pytest.raises(UnexpectedCall) as failed, fake_converse():
        httpx.post(url, json={})
    first, _, advice = str(failed.value).split("\n\n")
    assert first == f"POST {path} is no operation of {service[0]} in botocore {bedrock.botocore_version()}."
    assert advice.startswith(f"The host is {host}. ")
    assert "httpx.MockTransport" in advice
