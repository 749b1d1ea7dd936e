"""A path that Bedrock does not know: the client gets a 200 that is no answer, and the test fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial

import httpx
import pytest

from converse_harness import ConverseServer, Fake, HttpxFake, UnexpectedCall
from converse_harness.cli.server_output import print_call
from converse_harness.server.asgi import ConverseApp

MODEL = "/model/arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abcdefghijkl"
BODY = b'{"messages":[{"role":"user","content":[{"text":"hello"}]}]}'
NO_ANSWER = b'{"Output":{"__type":"com.amazon.coral.service#UnknownOperationException"},"Version":"1.0"}'

Ask = Callable[[str], httpx.Response]


@contextmanager
def in_process() -> Iterator[tuple[Fake, Ask]]:
    with closing(HttpxFake().open()) as fake, httpx.Client() as client:
        yield fake, lambda path: client.post(f"https://bedrock-runtime.us-east-1.amazonaws.com{path}", content=BODY)


@contextmanager
def over_a_socket(http2: bool) -> Iterator[tuple[Fake, Ask]]:
    with (
        ConverseServer() as server,
        closing(server.script()) as fake,
        httpx.Client(trust_env=False, verify=False, http1=not http2, http2=http2) as client,
    ):
        yield fake, lambda path: client.post(fake.url + path, content=BODY)


@contextmanager
def over_asgi() -> Iterator[tuple[Fake, Ask]]:
    app = ConverseApp()

    async def ask(path: str) -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
            return await client.post(f"http://app{path}", content=BODY)

    yield app.fake, lambda path: asyncio.run(ask(path))


WAYS: dict[str, Callable[[], AbstractContextManager[tuple[Fake, Ask]]]] = {
    "httpx": in_process,
    "HTTP/1.1": partial(over_a_socket, False),
    "HTTP/2": partial(over_a_socket, True),
    "ASGI": over_asgi,
}


@pytest.mark.needs_os
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("operation", ["converse", "converse-stream", "invoke"])
def test_the_slash_of_an_arn_is_not_encoded(way: str, operation: str, capsys: pytest.CaptureFixture[str]) -> None:
    with WAYS[way]() as (fake, ask):
        answer = ask(f"{MODEL}/{operation}")
        assert (answer.status_code, answer.headers["content-type"], answer.content) == (
            200,
            "application/json",
            NO_ANSWER,
        )
        with pytest.raises(UnexpectedCall) as caught:
            fake.check()
    first, _, advice = str(caught.value).split("\n\n")
    assert first.endswith(
        f"/{operation} is no operation of Bedrock. Bedrock answers such a path with HTTP 200 and no answer: its "
        "body has UnknownOperationException in a place that clients do not read."
    )
    assert advice.startswith("The model id has a slash. Send it as %2F: /model/arn")
    assert advice.endswith(f"%2Fabcdefghijkl/{operation}")
    # Whoever reads the calls sees that this 200 is no answer.
    [call] = fake.calls.all
    assert str(call).startswith("200  no answer: UnknownOperationException in a body that clients do not read")
    print_call(call)
    assert "-> UNEXPECTED 200: no answer: UnknownOperationException" in capsys.readouterr().out
