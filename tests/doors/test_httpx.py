"""The httpx door: transports for one client, a respx route for all others, and peace with the test's own mocks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import anyio
import httpx
import httpx2
import pytest
import respx
from botocore.eventstream import EventStreamBuffer
from pytest_httpserver import HTTPServer

from converse_harness import BlockedConnection, Fake, UnexpectedCall, assemble, fake_converse, faults, reply
from converse_harness.calls import Outcome
from converse_harness.doors.httpx import HttpxFake
from converse_harness.wire.events import decode_event
from converse_harness.wire.eventstream import Decoder

HOST = "https://bedrock-runtime.us-east-1.amazonaws.com"
ARN = "arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aprompt%2Fx"
URL = f"{HOST}/model/m/converse"
STREAM = f"{HOST}/model/m/converse-stream"
BODY: dict[str, Any] = {"messages": [{"role": "user", "content": [{"text": "hello"}]}]}


@pytest.fixture
def fake() -> Iterator[HttpxFake]:
    with HttpxFake(unused="allow") as fake:
        yield fake


def said(response: Any) -> str:
    return str(response.json()["output"]["message"]["content"][0]["text"])


def event_types(data: bytes) -> list[str]:
    buffer = EventStreamBuffer()
    buffer.add_data(data)
    return [message.headers[":event-type"] for message in buffer]


# Every way to a client


def self_built(library: Any, fake: HttpxFake) -> str:
    return said(library.post(URL, json=BODY))


def one_transport(library: Any, fake: HttpxFake) -> str:
    with library.Client(transport=fake.transport_for(library), base_url="https://gateway.example") as client:
        return said(client.post("/model/m/converse", json=BODY))


def self_built_async(library: Any, fake: HttpxFake) -> str:
    async def ask() -> str:
        async with library.AsyncClient() as client:
            return said(await client.post(URL, json=BODY))

    return asyncio.run(ask())


def one_async_transport(library: Any, fake: HttpxFake, backend: str = "trio") -> str:
    async def ask() -> str:
        async with library.AsyncClient(transport=fake.async_transport_for(library)) as client:
            return said(await client.post(URL, json=BODY))

    return anyio.run(ask, backend=backend)


def one_async_transport_on_asyncio(library: Any, fake: HttpxFake) -> str:
    # trio keeps idle threads for ten seconds, and botocore stays patched while one lives that was born under a fake.
    return one_async_transport(library, fake, "asyncio")


WAYS = [self_built, one_transport, self_built_async, one_async_transport]


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_a_client_is_answered(fake: HttpxFake, library: Any, way: Any) -> None:
    fake.script(reply.text("hi"))
    assert way(library, fake) == "hi"
    (call,) = fake.calls
    assert (call.last_user_text, call.outcome, call.status) == ("hello", Outcome.COMPLETE, 200)


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
@pytest.mark.parametrize("way", [*WAYS[:3], one_async_transport_on_asyncio])
def test_a_function_of_the_script_runs_where_it_blocks_no_event_loop(fake: HttpxFake, library: Any, way: Any) -> None:
    threads: list[threading.Thread] = []

    def computed(call: Any) -> Any:
        threads.append(threading.current_thread())
        return reply.text(call.last_user_text.upper())

    fake.script(computed)
    assert way(library, fake) == "HELLO"
    assert (threads[0] is threading.main_thread()) is ("async" not in way.__name__)


def test_transports_are_those_of_httpx_by_default(fake: HttpxFake) -> None:
    assert isinstance(fake.transport, httpx.BaseTransport)
    assert isinstance(fake.async_transport, httpx.AsyncBaseTransport)
    fake.script(reply.text("hi"))
    with httpx.Client(transport=fake.transport) as client:
        assert said(client.post(URL, json=BODY)) == "hi"


def test_requests_are_read_as_they_were_sent(fake: HttpxFake) -> None:
    fake.script(reply.text("hi"))
    parts = iter([b'{"messages":[{"role":"user",', b'"content":[{"text":"hello"}]}]}'])
    httpx.post(f"{HOST}/model/{ARN}/converse", content=parts, headers={"X-Mine": "Yes"})
    (call,) = fake.calls
    assert call.model_id == "arn:aws:bedrock:us-east-1:123456789012:prompt/x"
    assert (call.last_user_text, call.headers["x-mine"]) == ("hello", "Yes")


# Streams


def test_a_stream_is_bedrocks_to_the_byte(fake: HttpxFake) -> None:
    fake.script(reply.tool_use("get_weather", {"city": "Zürich"}))
    answer = httpx.post(STREAM, json=BODY)
    assert [name for name, _ in answer.headers.multi_items()] == [
        "date",
        "content-type",
        "transfer-encoding",
        "connection",
        "x-amzn-requestid",
    ]
    assert event_types(answer.content)[0] == "messageStart"
    decoder = Decoder()
    sent = [decode_event(frame)[0] for frame in decoder.feed(answer.content)]
    assert assemble(sent).message["content"][0]["toolUse"]["input"] == {"city": "Zürich"}
    assert [event for event, _ in fake.calls[0].events] == sent


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
def test_an_event_is_seen_before_the_next_is_due(fake: HttpxFake, library: Any) -> None:
    fake.script(reply.text("one two three").paced(each=0.001))
    with library.Client().stream("POST", STREAM, json=BODY) as answer:
        seen = [(len(fake.calls[0].events), len(event_types(data))) for data in answer.iter_raw()]
    assert seen == [(number, 1) for number in range(1, len(seen) + 1)]


def test_the_same_asynchronously(fake: HttpxFake) -> None:
    fake.script(reply.text("one two three").paced(each=0.001))

    async def read() -> list[int]:
        async with httpx.AsyncClient() as client, client.stream("POST", STREAM, json=BODY) as answer:
            return [len(fake.calls[0].events) async for _ in answer.aiter_raw()]

    seen = anyio.run(read, backend="trio")
    assert seen == list(range(1, len(seen) + 1))


def test_a_client_that_leaves_is_seen(fake: HttpxFake) -> None:
    fake.script(reply.text("one two three"))
    with httpx.Client().stream("POST", STREAM, json=BODY) as answer:
        next(answer.iter_raw())
    (call,) = fake.calls
    assert (call.outcome, len(call.events)) == (Outcome.CLOSED, 1)


# Errors


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (reply.connection_refused(), "ConnectError"),
        (reply.connect_timeout(), "ConnectTimeout"),
        (reply.read_timeout(), "ReadTimeout"),
        (reply.text("one two three").broken(faults.reset), "ReadError"),
        (reply.text("one two three").broken(faults.truncated_frame), "RemoteProtocolError"),
        (reply.text("one two three").broken(faults.stall), "ReadTimeout"),
    ],
    ids=lambda value: getattr(value, "summary", value),
)
@pytest.mark.parametrize("url", [URL, STREAM])
def test_broken_connections_are_httpxs_own_errors(
    fake: HttpxFake, library: Any, answer: Any, error: str, url: str
) -> None:
    fake.script(answer)
    with pytest.raises(getattr(library, error)):
        library.post(url, json=BODY)
    assert fake.calls[0].outcome is Outcome.CUT


def test_errors_before_and_in_the_stream(fake: HttpxFake) -> None:
    fake.script(reply.throttled(), reply.text("one two").fails_after(2, "throttlingException"))
    refused, broken = httpx.post(STREAM, json=BODY), httpx.post(STREAM, json=BODY)
    assert (refused.status_code, refused.headers["x-amzn-errortype"].partition(":")[0]) == (429, "ThrottlingException")
    assert broken.status_code == 200
    assert "throttlingException" in broken.content.decode("latin-1")


def test_an_unexpected_call_fails_what_encloses_it() -> None:
    with pytest.raises(UnexpectedCall, match="call 1 has no reply"), HttpxFake():
        assert httpx.post(URL, json=BODY).status_code == 400


# Neighbours


@pytest.fixture
def elsewhere(httpserver: HTTPServer) -> str:
    httpserver.expect_request("/elsewhere").respond_with_data("really sent")
    return httpserver.url_for("/elsewhere")


def test_other_hosts_pass_through(fake: HttpxFake, elsewhere: str) -> None:
    fake.script(reply.text("hi"))
    assert httpx.get(elsewhere).text == httpx2.get(elsewhere).text == "really sent"
    assert said(httpx.post(URL, json=BODY)) == "hi"


@pytest.mark.parametrize("using", ["httpcore", "httpx"])
@pytest.mark.parametrize("all_mocked", [True, False])
@pytest.mark.parametrize("ours_first", [True, False])
def test_a_respx_mock_of_the_tests_own_goes_on(using: str, all_mocked: bool, ours_first: bool, elsewhere: str) -> None:
    fake = HttpxFake(reply.text("hi").times(2), reply.text("after it"))
    mine = respx.mock(using=using, assert_all_mocked=all_mocked)
    first, second = (fake, mine) if ours_first else (mine, fake)
    with first, second:
        mine.get("https://example.com/").respond(text="mocked")
        mine.route(url=elsewhere).pass_through()
        mine.reset()
        assert httpx.get("https://example.com/").text == "mocked"
        assert httpx.get(elsewhere).text == "really sent"
        assert said(httpx.post(URL, json=BODY)) == "hi"
        assert asyncio.run(_asked_both()) == ("hi", "mocked")
        if all_mocked:
            with pytest.raises(AssertionError, match="not mocked"):
                httpx.get("https://example.com/other")
        assert said(httpx.post(URL, json=BODY)) == "after it"


async def _asked_both() -> tuple[str, str]:
    async with httpx.AsyncClient() as client:
        bedrock = await client.post(URL, json=BODY)
        return said(bedrock), (await client.get("https://example.com/")).text


def test_a_mock_that_is_entered_and_left_meanwhile(fake: HttpxFake, elsewhere: str) -> None:
    fake.script(reply.text("hi").times(2))
    with respx.mock:
        respx.get("https://example.com/").respond(text="mocked")
        assert httpx.get("https://example.com/").text == "mocked"
        assert said(httpx.post(URL, json=BODY)) == "hi"
    assert httpx.get(elsewhere).text == "really sent"
    assert said(httpx.post(URL, json=BODY)) == "hi"


def test_everything_is_given_back() -> None:
    from respx.mocks import Mocker

    before = [httpx.Client._transport_for_url, httpx2.HTTPTransport.handle_request]
    with HttpxFake():
        pass
    assert [httpx.Client._transport_for_url, httpx2.HTTPTransport.handle_request] == before
    assert [mocker.routers for mocker in Mocker.registry.values()] == [[] for _ in Mocker.registry]
    assert not any(mocker._patches for mocker in Mocker.registry.values())


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
def test_the_newest_answers(library: Any) -> None:
    with HttpxFake(reply.text("outer").times(2)):
        assert said(library.post(URL, json=BODY)) == "outer"
        with HttpxFake(reply.text("inner")):
            assert said(library.post(URL, json=BODY)) == "inner"
        assert said(library.post(URL, json=BODY)) == "outer"


# Fails closed


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
def test_without_the_door_httpx_is_stopped_and_told_of_it(library: Any) -> None:
    told = r"for httpx2? open the httpx door: use the fixture `converse_httpx`"
    with pytest.raises(BlockedConnection, match=told), fake_converse():
        library.post(URL, json=BODY)


def test_boto_is_answered_by_its_own_door_beside_it_or_refused(make_client: Any, question: dict[str, Any]) -> None:
    with fake_converse(reply.text("boto")), HttpxFake(reply.text("httpx")):
        assert make_client().converse(**question)["output"]["message"]["content"] == [{"text": "boto"}]
        assert said(httpx.post(URL, json=BODY)) == "httpx"
    with pytest.raises(BlockedConnection, match="fixture `converse`"), HttpxFake():
        make_client().converse(**question)


def test_the_fixture(converse_httpx: HttpxFake, converse: Fake) -> None:
    converse_httpx.script(reply.text("hi"))
    assert said(httpx.post(URL, json=BODY)) == "hi"
    assert converse.calls == []
