"""The httpx transport: transports for one client, a respx route for all others, and peace with the test's own mocks."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import httpcore
import httpx
import httpx2
import pytest
import respx
import vcr
from botocore.eventstream import EventStreamBuffer
from pytest_httpserver import HTTPServer
from respx.mocks import Mocker

from converse_harness import (
    BlockedConnection,
    Fake,
    HttpxFake,
    TransportError,
    UnexpectedCall,
    assemble,
    fake_converse,
    faults,
    refusals,
    reply,
)
from converse_harness.intercept.registry import OPEN_FAKES
from converse_harness.stream.events import decode_event
from converse_harness.stream.frames import Decoder
from tests.intercept.guard.boto_only import BotoOnlyFake
from tests.intercept.interrupts import each_step, interrupt_everywhere
from tests.threads import taking_turns

pytestmark = pytest.mark.any_answer

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
    assert (call.last_user_text, call.outcome, call.status) == ("hello", "complete", 200)


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
    assert isinstance(fake.httpx_transport, httpx.BaseTransport)
    assert isinstance(fake.httpx_async_transport, httpx.AsyncBaseTransport)
    fake.script(reply.text("hi"))
    with httpx.Client(transport=fake.httpx_transport) as client:
        assert said(client.post(URL, json=BODY)) == "hi"


def test_requests_are_read_as_they_were_sent(fake: HttpxFake) -> None:
    fake.script(reply.text("hi"))
    httpx.post(f"{HOST}/model/{ARN}/converse", json=BODY, headers={"X-Mine": "Yes"})
    (call,) = fake.calls
    assert call.model_id == "arn:aws:bedrock:us-east-1:123456789012:prompt/x"
    assert (call.last_user_text, call.headers["x-mine"]) == ("hello", "Yes")


PARTS = [b'{"messages":[{"role":"user",', b'"content":[{"text":"hello"}]}]}']


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
@pytest.mark.parametrize("one", [True, False], ids=["one transport", "self-built"])
def test_a_body_may_come_in_parts(fake: HttpxFake, library: Any, one: bool) -> None:
    fake.script(reply.text("hi").times(2))

    async def parts() -> AsyncIterator[bytes]:
        for part in PARTS:
            yield part

    async def ask() -> None:
        transport = fake.async_transport_for(library) if one else None
        async with library.AsyncClient(transport=transport) as client:
            await client.post(URL, content=parts())

    with library.Client(transport=fake.transport_for(library) if one else None) as client:
        client.post(URL, content=iter(PARTS))
    asyncio.run(ask())
    assert [call.last_user_text for call in fake.calls] == ["hello", "hello"]


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
    fake.script(reply.text("one two three").times(2))

    async def leave() -> None:
        async with httpx.AsyncClient() as client, client.stream("POST", STREAM, json=BODY) as answer:
            await anext(answer.aiter_raw())

    with httpx.Client() as client, client.stream("POST", STREAM, json=BODY) as answer:
        next(answer.iter_raw())
    asyncio.run(leave())
    assert [(call.outcome, len(call.events)) for call in fake.calls] == [
        ("closed by client", 1),
        ("closed by client", 1),
    ]


def test_an_answer_that_is_closed_while_it_is_read_is_an_error(fake: HttpxFake) -> None:
    fake.script(reply.text("one two three").times(2), reply.text("one two three").paced(each=0.01))
    for _ in range(2):
        with httpx.Client() as client, client.stream("POST", STREAM, json=BODY) as answer:
            pieces = answer.iter_raw()
            next(pieces)
            answer.close()
            with pytest.raises(httpx.ReadError):
                next(pieces)

    async def close_while_waiting() -> None:
        async with httpx.AsyncClient() as client, client.stream("POST", STREAM, json=BODY) as answer:
            pieces = answer.aiter_raw()
            await anext(pieces)
            waiting = asyncio.ensure_future(anext(pieces))
            await asyncio.sleep(0)
            await answer.aclose()
            with pytest.raises(httpx.ReadError):
                await waiting

    asyncio.run(close_while_waiting())


def test_so_is_one_that_forgets_its_answer(fake: HttpxFake) -> None:
    fake.script(reply.text("one two three"))
    with httpx.Client(transport=fake.httpx_transport) as client:
        client.send(client.build_request("POST", STREAM, json=BODY), stream=True)
    gc.collect()
    assert fake.calls[0].outcome == "closed by client"


# Errors


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (reply.connection_refused(), "ConnectError"),
        (reply.connect_timeout(), "ConnectTimeout"),
        (reply.read_timeout(), "ReadTimeout"),
        (reply.text("one two three").broken(faults.reset), "ReadError"),
        (reply.text("one two three").broken(faults.closed), "RemoteProtocolError"),
        (reply.text("one two three").broken(faults.wrong_content_length), "RemoteProtocolError"),
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
    assert fake.calls[0].outcome == "cut"


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
def test_a_pause_that_is_longer_than_the_clients_patience(fake: HttpxFake, library: Any) -> None:
    text = reply.text("one two three")
    late = [text.paced(each=500), text.broken(faults.stall.lasting(500), after=1), text.broken(faults.slow_first_byte)]

    async def ask() -> None:
        async with library.AsyncClient(timeout=0.9) as client:
            await client.post(STREAM, json=BODY)

    for answer in late:
        fake.script(answer.times(2))
        with pytest.raises(library.ReadTimeout):
            library.post(STREAM, json=BODY, timeout=0.9)
        with pytest.raises(library.ReadTimeout):
            asyncio.run(ask())
    assert {call.outcome for call in fake.calls} == {"closed by client"}
    assert [len(call.events) for call in fake.calls] == [1, 1, 1, 1, 0, 0]


def test_a_client_without_timeouts_waits(fake: HttpxFake) -> None:
    fake.script(reply.text("hi").paced(first=0.001))
    assert said(httpx.post(URL, json=BODY, timeout=None)) == "hi"


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

    async def ask(library: Any) -> str:
        async with library.AsyncClient() as client:
            return str((await client.get(elsewhere)).text)

    assert [asyncio.run(ask(library)) for library in (httpx, httpx2)] == ["really sent", "really sent"]
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
        else:
            assert httpx.get("https://example.com/other").content == b""
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


def test_mocks_within_each_other_and_what_they_forget(fake: HttpxFake, elsewhere: str) -> None:
    fake.script(reply.text("hi").times(3))
    with respx.mock(assert_all_called=False) as outer:
        outer.get("https://example.com/").respond(text="outer")
        outer.snapshot()
        with respx.mock(assert_all_mocked=False, assert_all_called=False) as inner:
            inner.get("https://example.org/").respond(text="inner")
            assert [httpx.get(f"https://example.{end}/").text for end in ("com", "org")] == ["outer", "inner"]
            assert said(httpx.post(URL, json=BODY)) == "hi"
        outer.get("https://example.org/").respond(text="outer")
        outer.rollback()
        assert said(httpx.post(URL, json=BODY)) == "hi"
        with pytest.raises(AssertionError, match="not mocked"):
            httpx.get("https://example.org/")
        outer.clear()
        outer.route().pass_through()
        assert httpx.get(elsewhere).text == "really sent"
        assert said(httpx.post(URL, json=BODY)) == "hi"
        assert {call.request.url for call in outer.calls} == {elsewhere}


def test_what_a_mock_of_the_tests_own_asks_for_must_still_be_called(fake: HttpxFake) -> None:
    fake.script(reply.text("hi"))
    mine = respx.mock()
    mine.start()
    mine.post(URL).respond(text="mine")
    assert said(httpx.post(URL, json=BODY)) == "hi"
    with pytest.raises(AssertionError, match="not called"):
        mine.stop()


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
def test_inside_a_cassette_of_vcrpy_a_transport_is_answered(fake: HttpxFake, library: Any, tmp_path: Path) -> None:
    fake.script(reply.text("hi").times(2))
    with vcr.use_cassette(str(tmp_path / "cassette.yaml"), record_mode="none"):
        assert one_transport(library, fake) == "hi"
        assert one_async_transport_on_asyncio(library, fake) == "hi"


def test_a_cassette_of_vcrpy_can_leave_bedrock_to_the_transport(fake: HttpxFake, tmp_path: Path) -> None:
    fake.script(reply.text("hi").times(2))
    writer = str(tmp_path / "cassette.yaml")
    with vcr.use_cassette(writer, record_mode="none", ignore_hosts=[httpx.URL(HOST).host]):
        assert self_built(httpx, fake) == self_built_async(httpx, fake) == "hi"


def test_under_pytest_socket(fake: HttpxFake, socket_disabled: None) -> None:
    fake.script(reply.text("hi").times(2))
    assert [way(httpx, fake) for way in (self_built, one_transport)] == ["hi", "hi"]


# Leaving


Patched = list[tuple[str, Any]]


def patched() -> Patched:
    """What the transport replaces, as it is now."""
    methods = [
        (owner.__name__, getattr(owner, name))
        for owners, name in (
            ((httpcore.ConnectionPool, httpcore.HTTPProxy), "handle_request"),
            ((httpcore.AsyncConnectionPool,), "handle_async_request"),
            ((httpx.HTTPTransport, httpx2.HTTPTransport), "handle_request"),
            ((httpx.AsyncHTTPTransport, httpx2.AsyncHTTPTransport), "handle_async_request"),
            ((httpx.Client, httpx.AsyncClient), "_transport_for_url"),
        )
        for owner in owners
    ]
    return [*methods, *((mocker.name, list(mocker.routers)) for mocker in Mocker.registry.values())]


@pytest.fixture
def originals(unkept: None) -> Iterator[Patched]:
    """What everything was before the test, and must be after it."""
    OPEN_FAKES.forget_threads()  # a thread of another test may end only now
    OPEN_FAKES.unpatch_if_idle()
    before = patched()
    yield before
    OPEN_FAKES.unpatch_if_idle()
    assert patched() == before
    assert OPEN_FAKES.newest() is None


def test_everything_is_given_back(originals: Patched) -> None:
    with HttpxFake():
        assert patched() != originals
    assert patched() == originals


def test_fakes_close_in_any_order(originals: Patched) -> None:
    first, second = HttpxFake(), HttpxFake(reply.text("second").times(2))
    first.open()
    second.open()
    first.close()
    assert [said(library.post(URL, json=BODY)) for library in (httpx, httpx2)] == ["second", "second"]
    second.close()
    assert patched() == originals


def test_a_mock_of_the_tests_own_that_ends_last_is_given_back_too(originals: Patched) -> None:
    fake, mine = HttpxFake(), respx.mock(using="httpx")
    fake.open()
    mine.start()
    fake.close()
    assert patched() != originals
    mine.stop()
    assert patched() == originals


@each_step
def test_an_interrupt_at_any_line_leaves_nothing_behind(originals: Patched, each_step: bool) -> None:
    def open_and_close(fake: Fake) -> None:
        with fake._transport():
            pass

    def check(where: str) -> None:
        assert patched() == originals, where
        assert OPEN_FAKES.newest() is None, where

    assert interrupt_everywhere(open_and_close, check, HttpxFake, each_step=each_step) > 10


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
def test_the_newest_answers(library: Any) -> None:
    with HttpxFake(reply.text("outer").times(2)):
        assert said(library.post(URL, json=BODY)) == "outer"
        with HttpxFake(reply.text("inner")):
            assert said(library.post(URL, json=BODY)) == "inner"
        assert said(library.post(URL, json=BODY)) == "outer"


def test_a_respx_that_hooks_nothing_is_named(originals: Patched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(respx.mocks.HTTPCoreMocker, "targets", ["httpcore.Renamed"])
    with pytest.raises(TransportError, match=r"respx \d.* with httpcore \d.* does not replace the connection pools"):
        HttpxFake().open()
    assert patched() == originals
    monkeypatch.delattr(respx.mocks, "HTTPCoreMocker")
    with pytest.raises(TransportError, match=r"respx \d.*cannot import name 'HTTPCoreMocker'.*Install"):
        HttpxFake().open()
    monkeypatch.undo()
    with HttpxFake():
        pass


def test_threads_open_and_close_at_once(originals: Patched) -> None:
    def open_and_close(number: int) -> None:
        with HttpxFake():
            taken.append(httpcore.ConnectionPool.handle_request is not real)

    # respx itself starts and stops as if there was one thread.
    real = httpcore.ConnectionPool.handle_request
    taken: list[bool] = []
    with taking_turns(), ThreadPoolExecutor(8) as pool:
        assert len([*pool.map(open_and_close, range(300))]) == 300
    assert all(taken)


# Fails closed


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
def test_without_the_transport_httpx_is_stopped_and_told_of_it(library: Any) -> None:
    told = r"The fixture `converse` answers httpx2?: take it in this test"
    with pytest.raises(BlockedConnection, match=told), BotoOnlyFake():
        library.post(URL, json=BODY)


def test_boto_is_answered_by_its_own_transport_beside_it_or_refused(make_client: Any, question: dict[str, Any]) -> None:
    with fake_converse(reply.text("boto")), HttpxFake(reply.text("httpx")):
        assert make_client().converse(**question)["output"]["message"]["content"] == [{"text": "boto"}]
        assert said(httpx.post(URL, json=BODY)) == "httpx"
    with pytest.raises(BlockedConnection, match="fixture `converse`"), HttpxFake():
        make_client().converse(**question)


@pytest.mark.parametrize("when", ["before it opens", "after it closed"])
@pytest.mark.parametrize("way", [one_transport, one_async_transport_on_asyncio])
def test_a_transport_answers_only_while_its_fake_is_open(when: str, way: Any) -> None:
    fake = HttpxFake(reply.text("hi"), unused="allow")
    if when == "after it closed":
        with fake:
            pass
    with pytest.raises(BlockedConnection, match="a fake that is not open"):
        way(httpx, fake)
    assert fake.calls == []
    with pytest.raises(BlockedConnection):
        fake.check()


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
def test_a_thread_that_outlives_its_fake_is_refused(library: Any) -> None:
    go_on = threading.Event()
    caught: list[BaseException] = []

    def ask() -> None:
        assert go_on.wait(5)
        try:
            library.post(URL, json=BODY)
        except BlockedConnection as error:
            caught.append(error)

    thread = threading.Thread(target=ask, name="outliving")
    with HttpxFake() as fake:
        thread.start()
    with refusals.of_a_run():  # it fails this test no more
        go_on.set()
        thread.join()
    assert "'outliving' made a call to Bedrock after" in str(caught[0])
    assert [str(failure) for failure in fake.failures()] == [str(error) for error in caught]


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
@pytest.mark.parametrize("way", [self_built, one_transport])
def test_a_forked_child_is_refused(library: Any, way: Any) -> None:
    fails = pytest.raises(BlockedConnection, match=r"a call to Bedrock \(.+\) from process \d+, which was forked")
    with fails, HttpxFake(reply.text("hi"), unused="allow") as fake:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                way(library, fake)
            except BlockedConnection as error:
                os.write(writing, str(error).encode())
            os._exit(0)
        os.close(writing)
        os.waitpid(child, 0)
        with open(reading) as pipe:
            told = pipe.read()
        assert f"process {child}, which was forked from process {os.getpid()}" in told
        assert fake.calls == []
        assert way(library, fake) == "hi"


def ask_in_child() -> str:
    """What a call to Bedrock comes to in a child."""
    try:
        httpx.post(URL, json=BODY)
    except Exception as error:  # noqa: BLE001 - its name is the answer
        return f"{type(error).__name__}: {error}"
    return "answered"


@pytest.mark.slow
def test_a_spawned_child_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[3])  # it imports this module by its name
    spawn = multiprocessing.get_context("spawn")
    fails = pytest.raises(BlockedConnection, match=r"from process \d+, which process \d+ started")
    with fails, HttpxFake(), ProcessPoolExecutor(1, mp_context=spawn) as pool:
        told = pool.submit(ask_in_child).result(timeout=60)
    assert told.startswith(
        "BlockedConnection: a call to Bedrock (bedrock-runtime.us-east-1.amazonaws.com) from process "
    )
    assert "`converse_server`" in told


def test_the_fixture(converse: Fake, converse_httpx: HttpxFake) -> None:
    converse_httpx.script(reply.text("hi"))
    assert said(httpx.post(URL, json=BODY)) == "hi"
    assert converse.calls == []
