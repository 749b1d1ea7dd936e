"""Clients of aiohttp under a fake: all that is above the connection works as over a socket.

Most of these tests compare with the same client at the same script on the loopback server: an oracle that aiohttp's own
sockets give.
"""

from __future__ import annotations

import asyncio
import gc
import json
import warnings
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import boto3
import httpx
import pytest
import vcr
from aiohttp.abc import AbstractResolver

from converse_harness import (
    BlockedConnection,
    Call,
    ConverseServer,
    Fake,
    Reply,
    UnexpectedCall,
    fake_converse,
    faults,
    reply,
)
from converse_harness.intercept.aiohttp.connection import InMemoryTransport
from tests.intercept.guard import pools

BEDROCK = "https://bedrock-runtime.us-east-1.amazonaws.com"
PATH = "/model/us.amazon.nova-lite-v1%3A0/converse"
URL = BEDROCK + PATH
STREAM = f"{URL}-stream"
BODY: dict[str, Any] = {"messages": [{"role": "user", "content": [{"text": "hello"}]}]}

Scenario = Callable[[str], Coroutine[Any, Any, Any]]
"""What a client does at a base URL."""


@pytest.fixture(scope="module")
def server() -> Iterator[ConverseServer]:
    with ConverseServer() as server:
        yield server


def in_memory(scenario: Scenario, *replies: Reply) -> tuple[Any, Fake]:
    with fake_converse(*replies, unexpected="allow", rules="off") as fake:
        return asyncio.run(scenario(BEDROCK)), fake


def over_a_socket(server: ConverseServer, scenario: Scenario, *replies: Reply) -> tuple[Any, Fake]:
    with server.script(*replies, unexpected="allow", rules="off") as fake:
        return asyncio.run(scenario(fake.url)), fake


def said(answer: dict[str, Any]) -> str:
    return "".join(block["text"] for block in answer["output"]["message"]["content"])


@asynccontextmanager
async def asking(base: str = BEDROCK, path: str = PATH, **options: Any) -> AsyncIterator[aiohttp.ClientResponse]:
    of_session = {name: options.pop(name) for name in ("connector", "trace_configs", "middlewares") if name in options}
    async with (
        aiohttp.ClientSession(**of_session) as client,
        client.request(options.pop("method", "POST"), base + path, **{"json": BODY, **options}) as response,
    ):
        yield response


# One fake for all libraries


def test_one_script_answers_boto_httpx_and_aiohttp(converse: Fake) -> None:
    converse.script(*map(reply.text, ["boto", "httpx", "aiohttp"]))
    client = boto3.client("bedrock-runtime", region_name="us-east-1")
    first = client.converse(modelId="us.amazon.nova-lite-v1:0", **BODY)
    second = httpx.post(URL, json=BODY).json()

    async def over_aiohttp() -> Any:
        async with asking() as response:
            return await response.json()

    answers = [first, second, asyncio.run(over_aiohttp())]
    assert [*map(said, answers)] == ["boto", "httpx", "aiohttp"]
    assert [call.number for call in converse.calls] == [1, 2, 3]


def test_a_session_from_before_the_fake_is_answered_and_then_not() -> None:
    async def run() -> None:
        async with aiohttp.ClientSession() as client:
            with fake_converse(reply.text("hi")):
                async with client.post(URL, json=BODY) as response:
                    assert said(await response.json()) == "hi"
            connector: Any = client.connector
            assert not connector._conns, "nothing of a fake is kept for a later request"

    asyncio.run(run())


def test_an_idle_connection_of_before_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    pools.without_proxies(monkeypatch)
    pools.as_bedrock(monkeypatch)
    with pools.serving() as port:
        url = f"http://bedrock-runtime.us-east-1.amazonaws.com:{port}{PATH}"

        async def ask(client: aiohttp.ClientSession) -> str:
            async with client.post(url, json=BODY) as response:
                return await response.text()

        async def run() -> list[bool]:
            async with aiohttp.ClientSession() as client:
                before = await ask(client)
                with fake_converse(reply.text("hi")):
                    during = await ask(client)
                return ["hi" in text for text in (before, during, await ask(client))]

        assert asyncio.run(run()) == [False, True, False]


def test_a_refused_call_of_another_api_is_advised_by_its_path() -> None:
    async def run() -> None:
        async with asking(path="/openai/v1/chat/completions"):
            pass

    with pytest.raises(BlockedConnection, match="a path of Bedrock's Chat Completions API"), fake_converse():
        asyncio.run(run())


def test_a_way_that_no_fake_answers_is_refused_without_a_circle(network: list[Any]) -> None:
    async def run() -> None:
        host = {"Host": "bedrock-runtime.us-east-1.amazonaws.com"}
        async with asking("http://192.0.2.1", headers=host):
            pass

    said = r"No fixture answers this way of aiohttp .* `converse_server`"
    with pytest.raises(BlockedConnection, match=said), fake_converse():
        asyncio.run(run())
    assert network == []


# The same as over a socket


async def whole(base: str) -> Any:
    async with asking(base) as response:
        return response.status, response.reason, [name for name, _ in response.raw_headers], said(await response.json())


async def streamed(base: str) -> Any:
    async with asking(base, f"{PATH}-stream") as response:
        chunks = [(len(data), ends) async for data, ends in response.content.iter_chunks()]
        return response.status, response.headers["Content-Type"], chunks


async def a_head(base: str) -> Any:
    async with asking(base, method="HEAD", json=None) as response:
        return response.status, await response.read()


async def expecting_100(base: str) -> Any:
    async with asking(base, expect100=True) as response:
        return said(await response.json())


async def chunked(base: str) -> Any:
    async def parts() -> AsyncIterator[bytes]:
        body = json.dumps(BODY).encode()
        for at in range(0, len(body), 10):
            yield body[at : at + 10]
            await asyncio.sleep(0)

    async with asking(base, json=None, data=parts()) as response:
        return said(await response.json())


async def of_http_1_0(base: str) -> Any:
    async with (
        aiohttp.ClientSession(version=aiohttp.HttpVersion10) as client,
        client.post(f"{base}{PATH}-stream", json=BODY) as response,
    ):
        return response.status, len(await response.read())


async def forced_to_close(base: str) -> Any:
    connector = aiohttp.TCPConnector(force_close=True)
    async with asking(base, connector=connector) as response:
        return response.headers["Connection"], said(await response.json())


async def with_cookies(base: str) -> Any:
    async with aiohttp.ClientSession(cookies={"a": "b"}) as client, client.post(base + PATH, json=BODY) as response:
        return response.request_info.headers["Cookie"], said(await response.json())


async def raised_for_status(base: str) -> Any:
    try:
        async with asking(base, raise_for_status=True):
            return None
    except aiohttp.ClientResponseError as error:
        return error.status, error.message


async def too_long(base: str) -> Any:
    async with asking(base, headers={"x-long": "x" * 100_000}) as response:
        return response.status, await response.json()


async def signals(base: str) -> Any:
    seen: list[str] = []
    trace = aiohttp.TraceConfig()
    for name in (name for name in dir(trace) if name.startswith("on_") and "dns" not in name):

        async def note(*_: Any, name: str = name) -> None:
            seen.append(name)

        getattr(trace, name).append(note)
    trace.freeze()
    async with asking(base, trace_configs=[trace]) as response:
        await response.read()
    return seen


async def in_lines(base: str) -> Any:
    async with asking(base) as response:
        return [len(line) async for line in response.content]


async def slowly(base: str) -> Any:
    """A client that thinks for longer than its timeout for the next bytes: that is for the service alone."""
    timeout = aiohttp.ClientTimeout(sock_read=0.1)
    async with asking(base, f"{PATH}-stream", timeout=timeout) as response:
        first = await response.content.readchunk()
        await asyncio.sleep(0.2)
        return first[1], len(await response.content.read()) > 0


async def through_a_middleware(base: str) -> Any:
    seen: list[int] = []

    async def note(request: Any, handler: Any) -> Any:
        response = await handler(request)
        seen.append(response.status)
        return await handler(request) if response.status == 429 else response

    async with asking(base, middlewares=(note,)) as response:
        return seen, said(await response.json())


SAME: dict[str, tuple[Scenario, Reply]] = {
    "whole": (whole, reply.text("hi")),
    "streamed": (streamed, reply.text("one two three")),
    "HEAD": (a_head, reply.text("x").optional()),
    "expect100": (expecting_100, reply.text("hi")),
    "chunked request": (chunked, reply.text("hi")),
    "HTTP/1.0": (of_http_1_0, reply.text("one two three")),
    "force_close": (forced_to_close, reply.text("hi")),
    "cookies": (with_cookies, reply.text("hi")),
    "raise_for_status": (raised_for_status, reply.throttled()),
    "a head that is too long": (too_long, reply.text("x").optional()),
    "signals": (signals, reply.text("hi")),
    "slow client": (slowly, reply.text("one two three")),
    "lines": (in_lines, reply.text("one\ntwo")),
}


if hasattr(aiohttp, "ClientHandlerType"):  # since aiohttp 3.12
    SAME["middleware"] = through_a_middleware, reply.text("hi")


@pytest.mark.parametrize("name", SAME)
def test_a_client_sees_the_same_as_over_a_socket(server: ConverseServer, name: str) -> None:
    scenario, answer = SAME[name]
    seen, fake = in_memory(scenario, answer)
    expected, over = over_a_socket(server, scenario, answer)
    assert seen == expected
    assert [(call.operation, call.outcome, call.body) for call in fake.calls.all] == [
        (call.operation, call.outcome, call.body) for call in over.calls.all
    ]


async def broken(base: str, **options: Any) -> Any:
    size = 0
    try:
        async with asking(base, f"{PATH}-stream", **options) as response:
            async for data, _ in response.content.iter_chunks():
                size += len(data)
    except (aiohttp.ClientError, TimeoutError) as error:
        return type(error).__name__, size > 0
    return None, size > 0


SOON = aiohttp.ClientTimeout(sock_read=0.2)


@pytest.mark.parametrize(
    "answer",
    [
        reply.text("one two three").broken(faults.reset, after=2),
        reply.text("one two three").broken(faults.closed, after=2),
        reply.text("one two three").broken(faults.stall, after=2),
        reply.text("one two three").paced(each=30.0),
        reply.text("one").broken(faults.read_timeout),
    ],
    ids=["reset", "closed", "stalled", "slow", "silent"],
)
def test_a_break_raises_the_same_as_over_a_socket(server: ConverseServer, answer: Reply) -> None:
    async def scenario(base: str) -> Any:
        return await broken(base, timeout=SOON)

    seen, fake = in_memory(scenario, answer)
    expected, over = over_a_socket(server, scenario, answer)
    assert seen == expected
    outcomes = [call.outcome for call in fake.calls]
    # Whether the server sees the client leave before its fake closes is chance.
    assert outcomes == (["closed by client"] if answer.plan.pace.each else [call.outcome for call in over.calls])


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (faults.connection_refused, aiohttp.ClientConnectorError),
        (faults.connect_timeout, aiohttp.ConnectionTimeoutError),
        (faults.read_timeout, aiohttp.SocketTimeoutError),
    ],
    ids=lambda each: getattr(each, "name", ""),
)
def test_a_connection_fails_in_no_time(fault: Any, error: type[Exception]) -> None:
    async def run() -> None:
        async with asking():
            pass

    with fake_converse(reply.text("x").broken(fault)), pytest.raises(error):
        asyncio.run(run())


def test_a_wait_that_outlasts_the_timeout_ends_at_once() -> None:
    async def run() -> None:
        async with asking(timeout=aiohttp.ClientTimeout(sock_read=50.0)):
            pass

    slow = reply.text("x").broken(faults.slow_first_byte.lasting(100.0))
    with fake_converse(slow) as fake, pytest.raises(aiohttp.SocketTimeoutError):
        asyncio.run(asyncio.wait_for(run(), 10.0))  # which would raise another error
    assert [call.outcome for call in fake.calls] == ["closed by client"]


# What the call shows


def test_a_client_that_leaves_a_stream_has_read_what_the_call_shows(converse: Fake) -> None:
    converse.script(reply.text("one two three").optional())

    async def run() -> None:
        async with asking(path=f"{PATH}-stream") as response:
            await response.content.readchunk()
            await response.content.readchunk()

    asyncio.run(run())
    (call,) = converse.calls
    assert (call.outcome, len(call.events)) == ("closed by client", 2)


def test_a_response_that_nobody_closes_ends_its_call(converse: Fake) -> None:
    converse.script(reply.text("one two three").optional())

    async def run() -> None:
        client = aiohttp.ClientSession()
        response = await client.post(STREAM, json=BODY)
        await response.content.readchunk()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # aiohttp's own, about the client
        asyncio.run(run())
        gc.collect()
    (call,) = converse.calls
    assert call.outcome == "closed by client"


def test_a_function_of_the_user_does_not_stop_the_loop(converse: Fake) -> None:
    ticks = asyncio.Event()

    def computed(call: Call) -> Reply:
        asyncio.run_coroutine_threadsafe(_set(ticks), loops[0]).result(10)
        return reply.text(str(call.last_user_text))

    converse.always(computed)
    loops: list[asyncio.AbstractEventLoop] = []

    async def run() -> str:
        loops.append(asyncio.get_running_loop())
        async with asking() as response:
            return said(await response.json())

    assert asyncio.run(run()) == "hello"


async def _set(event: asyncio.Event) -> None:
    event.set()


def test_what_a_function_raises_reaches_the_client_and_fails_the_test() -> None:
    def computed(call: Call) -> Reply:
        raise LookupError("mine")

    async def run() -> Any:
        async with asking() as response:
            return response.status

    fake = fake_converse(computed)
    with pytest.raises(LookupError, match="mine"), fake:
        asyncio.run(run())
    assert fake.calls.last.status == 400


# The connector's own rules


async def started(client: aiohttp.ClientSession, count: int) -> list[asyncio.Task[aiohttp.ClientResponse]]:
    """Requests that are sent, of which not all get a connection."""
    tasks = [asyncio.create_task(client.post(STREAM, json=BODY)) for _ in range(count)]
    for _ in range(20):
        await asyncio.sleep(0)
    return tasks


@pytest.mark.parametrize("limits", [{"limit": 2}, {"limit_per_host": 2}], ids=["limit", "limit_per_host"])
def test_the_limits_of_a_connector_hold(limits: Any) -> None:
    async def run() -> list[int]:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(**limits)) as client:
            tasks = await started(client, 3)
            first = sum(task.done() for task in tasks)
            done = [task for task in tasks if task.done()]
            reading = asyncio.create_task((await done[0]).read())
            await asyncio.sleep(0)
            reading.cancel()
            with suppress(asyncio.CancelledError):
                await reading
            (await done[0]).close()
            left = [await task for task in tasks if task not in done]
            for response in [*left, await done[1]]:
                await response.read()
            return [first, len(left)]

    with fake_converse(unused="allow") as fake:
        fake.always(reply.text("one two three"))
        assert asyncio.run(run()) == [2, 1]
        assert sorted(call.outcome for call in fake.calls) == ["closed by client", "complete", "complete"]


class Own(aiohttp.TCPConnector):
    """Overrides `connect`, as connectors of some libraries do."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.asked: list[str] = []

    async def connect(self, req: Any, *args: Any, **kwargs: Any) -> Any:
        self.asked.append(req.url.host)
        return await super().connect(req, *args, **kwargs)


class Nowhere(AbstractResolver):
    async def resolve(self, *_: Any, **__: Any) -> Any:
        raise OSError("no name is looked up")

    async def close(self) -> None: ...


CONNECTORS: dict[str, Callable[[], aiohttp.BaseConnector]] = {
    "own": Own,
    "own resolver": lambda: aiohttp.TCPConnector(resolver=Nowhere()),
    "no pool": lambda: aiohttp.TCPConnector(force_close=True),
    "no certificates": lambda: aiohttp.TCPConnector(ssl=False),
    "socket of Unix": lambda: aiohttp.UnixConnector("/nowhere"),
    "no DNS cache": lambda: aiohttp.TCPConnector(use_dns_cache=False, enable_cleanup_closed=False),
}


@pytest.mark.parametrize("name", CONNECTORS)
def test_every_connector_is_answered(name: str, converse: Fake, network: list[Any]) -> None:
    converse.script(reply.text("hi"))

    async def run() -> str:
        async with asking(connector=CONNECTORS[name]()) as response:
            return said(await response.json())

    assert asyncio.run(run()) == "hi"
    assert network == []


def test_a_proxy_of_the_environment_is_not_asked(
    converse: Fake, network: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("https_proxy", "http_proxy"):
        monkeypatch.setenv(name, "http://proxy.example:3128")
    converse.script(reply.text("https"), reply.text("http"))

    async def run() -> list[str]:
        async with aiohttp.ClientSession(trust_env=True) as client:
            texts: list[str] = []
            for url in (URL, URL.replace("https", "http")):
                async with client.post(url, json=BODY) as response:
                    texts.append(said(await response.json()))
            return texts

    assert asyncio.run(run()) == ["https", "http"]
    assert network == []


def test_a_redirect_to_bedrock_is_answered(converse: Fake) -> None:
    from aiohttp import web

    converse.script(reply.text("hi"))

    async def run() -> str:
        async def elsewhere(request: web.Request) -> web.Response:
            raise web.HTTPTemporaryRedirect(URL)

        app = web.Application()
        app.router.add_post("/", elsewhere)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            async with asking(runner.addresses[0] and f"http://127.0.0.1:{runner.addresses[0][1]}", "/") as response:
                return said(await response.json())
        finally:
            await runner.cleanup()

    assert asyncio.run(run()) == "hi"


@pytest.mark.asyncio
@pytest.mark.parametrize("turn", [1, 2])
async def test_a_loop_of_pytest_asyncio(converse: Fake, turn: int) -> None:
    converse.script(reply.text("hi"))
    async with asking() as response:
        assert said(await response.json()) == "hi"


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_loop_of_anyio(converse: Fake) -> None:
    converse.script(reply.text("hi"))
    async with asking() as response:
        assert said(await response.json()) == "hi"


@pytest.mark.parametrize("fakes", [100, pytest.param(5_000, marks=pytest.mark.slow)])
def test_fakes_leave_nothing_in_a_session(fakes: int) -> None:
    async def run() -> None:
        connector = aiohttp.TCPConnector(limit=3)
        async with aiohttp.ClientSession(connector=connector) as client:
            for number in range(fakes):
                with fake_converse(reply.text("one two three").optional()):
                    async with client.post(STREAM if number % 2 else URL, json=BODY) as response:
                        await (response.content.readchunk() if number % 3 else response.read())
            assert not connector._acquired
            assert not connector._conns
            assert len(asyncio.all_tasks()) == 1

    asyncio.run(run())
    gc.collect()
    assert [each for each in gc.get_objects() if type(each) is InMemoryTransport] == []


def test_a_session_that_outlives_its_loop_leaves_nothing() -> None:
    with fake_converse(reply.text("one two three"), unused="allow") as fake:

        async def run() -> Any:
            client = aiohttp.ClientSession()
            response = await client.post(STREAM, json=BODY)
            return client, weakref.ref(response)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            client, response = asyncio.run(run())
            del client
            gc.collect()
        assert response() is None
        assert [call.outcome for call in fake.calls] == ["closed by client"]


def test_total_timeouts_are_aiohttps() -> None:
    async def run() -> None:
        async with asking(timeout=aiohttp.ClientTimeout(total=0.05)) as response:
            await response.read()

    with pytest.raises(TimeoutError), fake_converse(reply.text("x").paced(first=60.0)):
        asyncio.run(run())


# Beside other tools


@pytest.mark.parametrize("inside", ["vcr", "fake"])
def test_beside_vcrpy(inside: str, tmp_path: Path) -> None:
    """Vcrpy replaces `ClientSession._request`, so it sees a request before any fake."""
    cassette = tmp_path / "cassette.yaml"
    recorder = vcr.VCR(record_mode="once")

    async def run() -> str:
        async with asking() as response:
            return said(await response.json())

    def once() -> tuple[str, int]:
        with fake_converse(reply.text("hi").optional()) as fake, recorder.use_cassette(str(cassette)):
            return asyncio.run(run()), len(fake.calls)

    def other_order() -> tuple[str, int]:
        with recorder.use_cassette(str(cassette)), fake_converse(reply.text("hi").optional()) as fake:
            return asyncio.run(run()), len(fake.calls)

    both = once if inside == "vcr" else other_order
    assert [both(), both()] == [("hi", 1), ("hi", 0)]


def test_a_websocket_is_refused() -> None:
    async def run() -> None:
        with pytest.raises(aiohttp.WSServerHandshakeError):
            async with aiohttp.ClientSession() as client, client.ws_connect(URL):
                pass

    with pytest.raises(UnexpectedCall, match="This path is asked with POST, and the request is a GET"), fake_converse():
        asyncio.run(run())
