"""Each fault through each door that can express it: the same bytes, up to the same break. The other doors say so."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Any

import botocore.session
import httpx
import pytest
from botocore.config import Config
from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError, ReadTimeoutError
from urllib3.exceptions import HTTPError

from converse_harness import Call, ConverseServer, Endpoint, Fake, Reply, ReplyError, fake_converse, faults, reply
from converse_harness.damage import Door, Fault
from converse_harness.doors.asgi import ConverseApp, Message
from converse_harness.doors.httpx import HttpxFake
from converse_harness.wire.http import Request, Response
from tests.broken import WHOLE, faulty

ANSWER: dict[str, Any] = {"messages": [{"role": "user", "content": [{"text": "hello"}]}]}
MODEL = "anthropic.claude-haiku-4-5"
BODY = json.dumps(ANSWER).encode()
IMPATIENT = httpx.Timeout(10, read=0.3)

Reached = tuple[int, bytes]
"""The status and the bytes of the body that a client gets, until it ends or breaks; 0 if there is no head."""


def path(operation: str) -> str:
    return f"/model/{MODEL}/{operation}"


def read_httpx(client: httpx.Client, url: str) -> Reached:
    status, parts = 0, b""
    with suppress(httpx.TransportError), client.stream("POST", url, content=BODY) as answer:
        status = answer.status_code
        for part in answer.iter_raw():
            parts += part
    return status, parts


def through_httpx(answer: Reply, operation: str) -> Reached:
    with HttpxFake(answer) as fake, httpx.Client(transport=fake.transport, timeout=IMPATIENT) as client:
        return read_httpx(client, f"https://bedrock{path(operation)}")


def through_boto(session: botocore.session.Session, answer: Reply, operation: str) -> Reached:
    config = Config(read_timeout=0.3, retries={"total_max_attempts": 1})
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
        status, parts = 0, b""
        with suppress(HTTPError):
            for response in seen:
                status = response.status_code
                for part in response.raw.stream():
                    parts += part
        return status, parts


def through_http_1(server: ConverseServer, answer: Reply, operation: str) -> Reached:
    with server.script(answer) as fake, httpx.Client(timeout=IMPATIENT, trust_env=False) as client:
        return read_httpx(client, fake.url + path(operation))


def through_http_2(server: ConverseServer, answer: Reply, operation: str) -> Reached:
    with (
        server.script(answer) as fake,
        httpx.Client(timeout=IMPATIENT, trust_env=False, http1=False, http2=True) as client,
    ):
        return read_httpx(client, fake.url + path(operation))


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
        asyncio.get_running_loop().call_later(0.3, left.set)
        with suppress(ConnectionAbortedError):
            await app({**scope, "raw_path": path(operation).encode()}, receive, send)

    asyncio.run(run())
    return (sent[0]["status"] if sent else 0), b"".join(each["body"] for each in sent[1:])


@pytest.fixture(scope="module")
def ways() -> Iterator[dict[str, tuple[Door, Callable[[Reply, str], Reached]]]]:
    """How an answer reaches a client, by the door."""
    session = botocore.session.Session()
    session.set_config_variable("region", "us-east-1")
    with ConverseServer() as server:
        yield {
            "boto": (Door.BOTO, functools.partial(through_boto, session)),
            "httpx": (Door.HTTPX, through_httpx),
            "HTTP/1.1": (Door.SERVER, functools.partial(through_http_1, server)),
            "HTTP/2": (Door.SERVER, functools.partial(through_http_2, server)),
            "ASGI": (Door.ASGI, through_asgi),
        }


def rendered(answer: Reply, operation: str) -> tuple[int, bytes, Response]:
    response = Endpoint(answer).exchange(Request("POST", path(operation), (), BODY)).response
    return response.status, b"".join(chunk.data for chunk in response.chunks), response


@pytest.mark.parametrize("way", ["boto", "httpx", "HTTP/1.1", "HTTP/2", "ASGI"])
@pytest.mark.parametrize("fault", faults.FAULTS.values(), ids=lambda fault: fault.name)
def test_the_same_bytes_come_through_every_door_that_can(ways: Any, fault: Fault, way: str) -> None:
    door, through = ways[way]
    answer = faulty(fault)
    operations = ["converse-stream", *(["converse"] if fault.on_body is not None else [])]
    for operation in operations:
        if door not in fault.doors:
            with pytest.raises(ReplyError, match=f"the {door.value} door cannot express faults.{fault.name}"):
                through(answer, operation)
            continue
        status, data, _ = rendered(answer, operation)
        assert through(answer, operation) == (status, data)


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


@pytest.mark.parametrize("way", ["boto", "httpx", "HTTP/1.1", "HTTP/2", "ASGI"])
@pytest.mark.parametrize("name", COMBINED)
def test_so_do_those_of_several(ways: Any, name: str, way: str) -> None:
    _, through = ways[way]
    status, data, _ = rendered(COMBINED[name], "converse-stream")
    assert through(COMBINED[name], "converse-stream") == (status, data)


# A door that cannot


def opened(door: Door, server: ConverseServer) -> Fake:
    match door:
        case Door.SERVER:
            return server.script(unused="allow")
        case Door.ASGI:
            return ConverseApp().fake
        case Door.HTTPX:
            return HttpxFake(unused="allow")
        case Door.BOTO:
            return fake_converse(unused="allow")


LACKING = [(fault, door) for fault in faults.FAULTS.values() for door in Door if door not in fault.doors]


@pytest.mark.parametrize(("fault", "door"), LACKING, ids=lambda each: getattr(each, "name", each))
def test_a_door_that_cannot_says_so_at_the_line_of_the_script(fault: Fault, door: Door) -> None:
    answer = WHOLE.broken(fault)
    able = ", ".join(each.value for each in Door if each in fault.doors)
    said = f"{answer.summary}: the {door.value} door cannot express faults.{fault.name}. Doors that can: {able}."

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
        exchange = fake.exchange(Request("POST", path("converse-stream"), (), BODY))
        assert exchange.response.status == 400
        with pytest.raises(ReplyError) as in_the_end:
            fake.check()
        assert str(in_the_end.value) == said

    with ConverseServer() as server, opened(door, server) as fake:
        says_so(fake)
