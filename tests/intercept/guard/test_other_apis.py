"""Clients of Bedrock's other APIs are told which API they ask, wherever they arrive, and are sent to no fixture."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import httpx
import httpx2
import pytest

from converse_harness import BlockedConnection, CallError, ConverseServer, Fake, HttpxFake, fake_converse
from converse_harness.endpoint.own_answers.unknown_paths import OTHER_APIS, other_api
from converse_harness.errors import json_text
from converse_harness.intercept.guard.session import SessionGuard

RUNTIME = "https://bedrock-runtime.us-east-1.amazonaws.com"
MANTLE = "https://bedrock-mantle.us-east-1.api.aws"
OWN_TRANSPORT = (
    "Give this client a transport of its own in this test: httpx.MockTransport, or httpx2.MockTransport if the client\n"
    "is built on httpx2.   More: converse-harness docs transports other-apis-of-bedrock"
)


Held = Fake | SessionGuard


@contextmanager
def without_a_fake(host: str) -> Iterator[tuple[Held, str]]:
    guard = SessionGuard()
    guard.open()
    try:
        yield guard, host
    finally:
        guard.close()


@contextmanager
def with_boto(host: str) -> Iterator[tuple[Held, str]]:
    with closing(fake_converse().open()) as fake:
        yield fake, host


@contextmanager
def with_httpx(host: str) -> Iterator[tuple[Held, str]]:
    with closing(HttpxFake().open()) as fake:
        yield fake, host


@contextmanager
def past_a_server(host: str) -> Iterator[tuple[Held, str]]:
    with ConverseServer() as server, closing(server.script()) as fake:
        yield fake, host


@contextmanager
def at_a_server(host: str) -> Iterator[tuple[Held, str]]:
    with ConverseServer() as server, closing(server.script()) as fake:
        yield fake, fake.url


PLACES = {each.__name__: each for each in (without_a_fake, with_boto, with_httpx, past_a_server, at_a_server)}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("library", [httpx, httpx2], ids=lambda library: library.__name__)
@pytest.mark.parametrize(
    ("host", "path", "api"),
    [
        (RUNTIME, "/openai/v1/chat/completions", "Chat Completions"),
        (MANTLE, "/v1/responses", "Responses"),
        (MANTLE, "/anthropic/v1/messages?beta=true", "Messages"),
    ],
)
def test_the_api_is_named(place: str, library: Any, host: str, path: str, api: str) -> None:
    status = None
    with PLACES[place](host) as (held, url), library.Client(trust_env=False) as client:
        with suppress(BlockedConnection):
            status = client.post(url + path, json={}).status_code
        with pytest.raises(CallError) as caught:
            held.check()
    assert status == (404 if place == "at_a_server" else None)
    said = str(caught.value)
    assert f"a path of Bedrock's {api} API; converse-harness answers Converse and ConverseStream." in said
    assert said.endswith(OWN_TRANSPORT)
    assert "fixture" not in said
    assert "fake.url" not in said
    if place == "at_a_server":
        assert "Give this client a double of its own, or another endpoint." in json_text(caught.value)


@pytest.mark.parametrize(
    ("path", "api"),
    [
        *OTHER_APIS.items(),
        ("/v1/messages/count_tokens", "Messages"),
        ("/openai/v1/responses/resp_1?stream=true", "Responses"),
        ("/messages", None),
        ("/v1/responses_of_mine", None),
        ("/model/m/converse", None),
    ],
)
def test_the_api_of_a_path(path: str, api: str | None) -> None:
    assert other_api(path) == api
