"""Each fault and each case through each transport that can: the same bytes, up to the same break. The other transports
say so.
"""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import botocore.session
import httpx
import pytest
from botocore.config import Config
from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError, ReadTimeoutError
from urllib3.exceptions import HTTPError

from converse_harness import (
    Call,
    ConverseServer,
    Endpoint,
    Fake,
    HttpxFake,
    Reply,
    ReplyError,
    fake_converse,
    faults,
    reply,
)
from converse_harness.cases import CASES
from converse_harness.faults.model import TRANSPORTS, Fault, Transport
from converse_harness.server.asgi import ConverseApp, Message
from converse_harness.stream.http import Request
from tests.broken import WHOLE, faulty

pytestmark = pytest.mark.any_answer

TOOL = {"toolSpec": {"name": "n", "inputSchema": {"json": {"type": "object"}}}}
ANSWER: dict[str, Any] = {
    "messages": [{"role": "user", "content": [{"text": "hello"}]}],
    "toolConfig": {"tools": [TOOL]},
}
MODEL = "anthropic.claude-haiku-4-5"
BODY = json.dumps(ANSWER).encode()
COUNT = ("content-type", "content-length", "x-amzn-requestid", "x-amzn-errortype")
"""Names of the headers that are not the server's own."""


@dataclass(frozen=True, slots=True)
class Reached:
    """What a client gets: of the head the status, 0 if there is none, and COUNT; of the body all until it breaks."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""


def reached(status: int, headers: Iterable[tuple[str, str]], parts: Iterable[bytes]) -> Reached:
    """All of an answer; a part that breaks is the end of it."""
    body = b""
    with suppress(httpx.TransportError, HTTPError):
        for part in parts:
            body += part
    return Reached(status, {name.lower(): value for name, value in headers if name.lower() in COUNT}, body)


def patience(answer: Reply) -> float:
    """Seconds after which a client gives up: few where nothing comes, many where a slow machine may not matter."""
    lasts = any(
        placement.fault.no_answer or placement.fault.seconds == float("inf") for placement in answer.plan.placements
    )
    return 0.3 if lasts else 30.0


def path(operation: str) -> str:
    return f"/model/{MODEL}/{operation}"


def read_httpx(client: httpx.Client, url: str, answer: Reply) -> Reached:
    with (
        suppress(httpx.TransportError),  # that no answer came is what it reached
        client.stream("POST", url, content=BODY, timeout=patience(answer)) as response,
    ):
        return reached(response.status_code, response.headers.multi_items(), response.iter_raw())
    return Reached()


def through_httpx(answer: Reply, operation: str) -> Reached:
    with HttpxFake(answer) as fake, httpx.Client(transport=fake.httpx_transport) as client:
        return read_httpx(client, f"https://bedrock{path(operation)}", answer)


def through_aiohttp(answer: Reply, operation: str) -> Reached:
    async def run() -> Reached:
        timeout = aiohttp.ClientTimeout(sock_read=patience(answer))
        parts: list[bytes] = []
        head: tuple[int, Any] = (0, ())
        with suppress(aiohttp.ClientError):  # that no answer came, or that it broke, is what it reached
            async with (
                aiohttp.ClientSession(timeout=timeout) as client,
                client.post(f"https://bedrock-runtime.us-east-1.amazonaws.com{path(operation)}", data=BODY) as response,
            ):
                head = response.status, response.headers.items()
                async for part in response.content.iter_any():
                    parts += [part]
        return reached(*head, parts)

    with fake_converse(answer):
        return asyncio.run(run())


def through_boto(session: botocore.session.Session, answer: Reply, operation: str) -> Reached:
    config = Config(read_timeout=patience(answer), retries={"total_max_attempts": 1})
    seen: list[Any] = []
    with fake_converse(answer), closing(session.create_client("bedrock-runtime", config=config)) as client:
        send = client._endpoint._send

        def keep(request: Any) -> Any:
            # As a stream in either case: a whole body that breaks would be raised, and not given.
            request.stream_output = True
            seen.append(send(request))
            raise ConnectionAbortedError

        client._endpoint._send = keep
        named = client.converse_stream if operation == "converse-stream" else client.converse
        # That of `keep`, or botocore's own where there is no head.
        with suppress(ConnectionAbortedError, ReadTimeoutError, ConnectTimeoutError, EndpointConnectionError):
            named(modelId=MODEL, **ANSWER)
        for response in seen:
            return reached(response.status_code, response.headers.items(), response.raw.stream())
        return Reached()


def over_a_socket(server: ConverseServer, http2: bool, answer: Reply, operation: str) -> Reached:
    with (
        server.script(answer) as fake,
        httpx.Client(trust_env=False, verify=False, http1=not http2, http2=http2) as client,
    ):
        return read_httpx(client, fake.url + path(operation), answer)


def through_asgi(answer: Reply, operation: str) -> Reached:
    sent: list[Message] = []

    async def run() -> None:
        left = asyncio.Event()
        asked: list[Message] = [{"type": "http.request", "body": BODY}]

        async def receive() -> Message:
            if asked:
                return asked.pop()
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            sent.append(message)

        app = ConverseApp(answer)
        scope: Message = {"type": "http", "method": "POST", "path": path(operation), "headers": []}
        asyncio.get_running_loop().call_later(patience(answer), left.set)
        with suppress(ConnectionAbortedError):  # how the application breaks an answer
            await app({**scope, "raw_path": path(operation).encode()}, receive, send)

    asyncio.run(run())
    if not sent:
        return Reached()
    head, *parts = sent
    headers = [(name.decode(), value.decode()) for name, value in head["headers"]]
    return reached(head["status"], headers, [each["body"] for each in parts])


WAYS = {
    "boto": "boto",
    "httpx": "httpx",
    "aiohttp": "boto",
    "HTTP/1.1": "server",
    "HTTP/2": "server",
    "ASGI": "asgi",
}
each_way = pytest.mark.parametrize("way", WAYS)
Through = Callable[[Reply, str], Reached]


@pytest.fixture(scope="module")
def ways() -> Iterator[dict[str, Through]]:
    """How an answer reaches a client."""
    session = botocore.session.Session()
    session.set_config_variable("region", "us-east-1")
    with ConverseServer() as server:
        yield {
            "boto": functools.partial(through_boto, session),
            "httpx": through_httpx,
            "aiohttp": through_aiohttp,
            "HTTP/1.1": functools.partial(over_a_socket, server, False),
            "HTTP/2": functools.partial(over_a_socket, server, True),
            "ASGI": through_asgi,
        }


def rendered(answer: Reply, operation: str) -> Reached:
    response = Endpoint(answer).exchange(Request("POST", path(operation), (), BODY)).response
    return reached(response.status, response.headers, (chunk.data for chunk in response.chunks))


@each_way
@pytest.mark.parametrize("fault", faults.FAULTS.values(), ids=lambda fault: fault.name)
def test_the_same_bytes_come_through_every_transport_that_can(ways: Any, fault: Fault, way: str) -> None:
    transport, through = WAYS[way], ways[way]
    answer = faulty(fault)
    operations = ["converse-stream", *(["converse"] if fault.on_body is not None else [])]
    for operation in operations:
        if transport not in fault.transports:
            with pytest.raises(ReplyError, match=f"the {transport} transport cannot express the fault {fault.name}"):
                through(answer, operation)
            continue
        assert through(answer, operation) == rendered(answer, operation)


ANSWERS = [(case, answer) for case in CASES.values() for answer in case.replies]


@each_way
@pytest.mark.parametrize("operation", ["converse-stream", "converse"])
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["one way each", "all"])
def test_so_do_those_of_each_case(ways: Any, way: str, operation: str, every: bool) -> None:
    """The answer of each case goes one of the ways that can carry it, in the slow tier all of them."""
    compared = 0
    for number, (case, answer) in enumerate(ANSWERS):
        able = [
            name for name in WAYS if all(WAYS[name] in placed.fault.transports for placed in answer.plan.placements)
        ]
        chosen = able if every else [able[number % len(able)]]
        if way in chosen and (operation == "converse-stream" or not case.stream_only):
            once = answer.times(1)
            assert ways[way](once, operation) == rendered(once, operation), case
            compared += 1
    assert compared > (100 if every else 10)


COMBINED: dict[str, Reply] = {
    "a cut frame in one chunk": WHOLE.broken(faults.no_block_stop)
    .broken(faults.truncated_frame, after=9)
    .broken(faults.one_chunk),
    "a closed connection byte by byte": WHOLE.broken(faults.bad_crc, after=1)
    .broken(faults.closed, after=2)
    .broken(faults.one_byte_chunks),
    "slow garbage": WHOLE.broken(faults.garbage_after_end).broken(faults.slow_first_byte.lasting(0.01)),
    "a pause in an error frame": WHOLE.error_frame_after(3).broken(faults.stall.lasting(0.01), after=1),
}


@each_way
@pytest.mark.parametrize("name", COMBINED)
def test_so_do_those_of_several(ways: Any, name: str, way: str) -> None:
    assert ways[way](COMBINED[name], "converse-stream") == rendered(COMBINED[name], "converse-stream")


# A transport that cannot


def opened(transport: Transport, server: ConverseServer) -> Fake:
    match transport:
        case "server":
            return server.script(unused="allow")
        case "asgi":
            return ConverseApp().fake
        case "httpx":
            return HttpxFake(unused="allow")
        case "boto":
            return fake_converse(unused="allow")


LACKING = [
    (fault, transport)
    for fault in faults.FAULTS.values()
    for transport in TRANSPORTS
    if transport not in fault.transports
]


@pytest.mark.parametrize(("fault", "transport"), LACKING, ids=lambda each: getattr(each, "name", each))
def test_a_transport_that_cannot_says_so_at_the_line_of_the_script(fault: Fault, transport: Transport) -> None:
    answer = WHOLE.broken(fault)
    able = ", ".join(each for each in TRANSPORTS if each in fault.transports)
    cannot = f"{answer.summary}: the {transport} transport cannot express the fault {fault.name}."
    said = f"{cannot} Transports that can: {able}."

    def computed(call: Call) -> Reply:
        return answer

    def says_so(fake: Fake) -> None:
        lines: list[Callable[[], object]] = [
            lambda: fake.script(reply.text("before"), answer),
            lambda: fake.always(answer),
            lambda: fake.when(turn=1).script(answer),
            lambda: fake.when(turn=1).always(answer),
        ]
        for line in lines:
            with pytest.raises(ReplyError) as at_once:
                line()
            assert str(at_once.value) == said
        fake.script(computed)
        exchange = fake.core.exchange(Request("POST", path("converse-stream"), (), BODY))
        assert exchange.response.status == 400
        with pytest.raises(ReplyError) as in_the_end:
            fake.check()
        assert str(in_the_end.value) == said

    with ConverseServer() as server, opened(transport, server) as fake:
        says_so(fake)
