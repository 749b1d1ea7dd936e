"""The ASGI app: called directly, and under uvicorn in this process."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import httpx
import pytest
import urllib3.exceptions
import uvicorn
from botocore.config import Config

from converse_harness import Call, Reply, TransportError, UnexpectedCall, faults, reply
from converse_harness.intercept.clients import create_client
from converse_harness.server.asgi import ConverseApp, Message, Scope
from converse_harness.stream import http_protocol as protocol
from converse_harness.stream.events import decode_event
from converse_harness.stream.frames import decode
from converse_harness.stream.grammar import kind

LIMIT = 10.0
"""Seconds after which whatever is waited for has failed."""

BODY = b'{"messages":[{"role":"user","content":[{"text":"hello"}]}]}'
LEFT: Message = {"type": "http.disconnect"}


def asked(body: bytes = BODY, *, last: bool = True) -> Message:
    return {"type": "http.request", "body": body, "more_body": not last}


def scope(operation: str = "converse", model: str = "m", **more: Any) -> Scope:
    path = f"/model/{model}/{operation}"
    return {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
        **more,
    }


class Server:
    """The other side of the app: what it receives, in order, and what it sends."""

    def __init__(self, *messages: Message) -> None:
        self.sent: list[Message] = []
        self.messages: asyncio.Queue[Message] = asyncio.Queue()
        for message in messages:
            self.messages.put_nowait(message)
        self.on_send: Callable[[Message], object] = lambda message: None

    def leaves_after_a_chunk(self) -> None:
        def look(message: Message) -> None:
            if message.get("body"):
                self.messages.put_nowait(LEFT)

        self.on_send = look

    async def receive(self) -> Message:
        return await self.messages.get()

    async def send(self, message: Message) -> None:
        self.on_send(message)
        self.sent.append(message)

    async def run(self, app: ConverseApp, asked_for: Scope) -> None:
        await asyncio.wait_for(app(asked_for, self.receive, self.send), LIMIT)

    @property
    def status(self) -> int:
        assert self.sent[0]["type"] == "http.response.start"
        status: int = self.sent[0]["status"]
        return status

    @property
    def bodies(self) -> list[bytes]:
        return [message["body"] for message in self.sent[1:]]

    @property
    def whole(self) -> bool:
        """Whether the answer was ended."""
        return not self.sent[-1].get("more_body", False)


def run(steps: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(steps, LIMIT))


async def ask(app: ConverseApp, asked_for: Scope, *messages: Message) -> Server:
    server = Server(*(messages or (asked(),)))
    await server.run(app, asked_for)
    return server


# Called directly


def test_a_whole_answer() -> None:
    async def steps() -> None:
        app = ConverseApp(reply.text("hi"))
        server = await ask(app, scope())
        assert server.status == 200
        assert server.whole
        assert json.loads(b"".join(server.bodies))["output"]["message"]["content"] == [{"text": "hi"}]
        (call,) = app.fake.calls
        assert (call.outcome, call.status, call.last_user_text) == ("complete", 200, "hello")
        app.fake.check()

    run(steps())


def test_a_stream_is_one_event_for_each_send() -> None:
    async def steps() -> None:
        app = ConverseApp(reply.text("one two three"))
        server = await ask(app, scope("converse-stream"))
        *events, end = server.bodies
        kinds = [kind(decode_event(decode(body))[0]) for body in events]
        assert kinds[0] == "messageStart"
        assert kinds[-1] == "metadata"
        assert end == b""
        assert server.whole
        assert len(app.fake.calls[0].events) == len(events)

    run(steps())


def test_the_headers_are_those_that_are_not_the_servers() -> None:
    async def steps() -> None:
        server = await ask(ConverseApp(reply.text("hi")), scope("converse-stream"))
        names = [name for name, _ in server.sent[0]["headers"]]
        assert names == [b"content-type", b"x-amzn-requestid"]
        server = await ask(ConverseApp(reply.throttled()), scope())
        assert [name for name, _ in server.sent[0]["headers"]] == [
            b"content-type",
            b"content-length",
            b"x-amzn-requestid",
            b"x-amzn-errortype",
        ]

    run(steps())


ARN = "arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Fus.anthropic.claude"
DECODED = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude"


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({"path": f"/model/{DECODED}/converse", "raw_path": f"/model/{ARN}/converse".encode()}, DECODED),
        ({"path": "/model/a:0/converse", "raw_path": None}, "a:0"),
        ({"path": "/fake/model/m/converse", "raw_path": b"/fake/model/m/converse", "root_path": "/fake"}, "m"),
        ({"path": "/model/m/converse", "raw_path": b"/model/m/converse", "root_path": "/fake"}, "m"),
        ({"path": "/é/model/m/converse", "raw_path": b"/%C3%A9/model/m/converse", "root_path": "/é"}, "m"),
        ({"path": "/a:b/model/m/converse", "raw_path": b"/a:b/model/m/converse", "root_path": "/a:b"}, "m"),
        ({"path": "/a:b/model/m/converse", "raw_path": b"/%61%3ab/model/m/converse", "root_path": "/a:b"}, "m"),
        ({"path": "/model/m/converse", "raw_path": b"/model/m/converse?x=1", "query_string": b"x=1"}, "m"),
    ],
    ids=[
        "arn",
        "no raw_path",
        "mounted",
        "mounted, an older server",
        "mounted, not ASCII",
        "mounted at a colon",
        "mounted, escaped",
        "query",
    ],
)
def test_the_raw_path_says_what_is_asked(where: dict[str, Any], found: str) -> None:
    async def steps() -> None:
        app = ConverseApp(reply.text("hi"))
        server = await ask(app, {**scope(), **where})
        assert (server.status, app.fake.calls[0].model_id) == (200, found)

    run(steps())


def test_a_body_comes_in_parts() -> None:
    async def steps() -> None:
        app = ConverseApp(reply.text("hi"))
        parts = (asked(BODY[:10], last=False), {"type": "http.request", "more_body": True}, asked(BODY[10:]))
        await ask(app, scope(), *parts)
        assert app.fake.calls[0].raw == BODY

    run(steps())


def test_who_leaves_while_asking_is_nobody() -> None:
    async def steps() -> None:
        app = ConverseApp(reply.text("hi"))
        server = await ask(app, scope(), asked(BODY[:10], last=False), LEFT)
        assert server.sent == []
        assert app.fake.calls == []

    run(steps())


def test_a_body_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("converse_harness.server.asgi.LIMITS", protocol.Limits(body=20))

    async def steps() -> None:
        app = ConverseApp(reply.text("hi"))
        endless = [asked(b"x" * 15, last=False)] * 2
        server = await ask(app, scope(), *endless)
        assert server.status == 413
        assert json.loads(server.bodies[0]) == {"message": "The request body is longer than 20 bytes."}
        assert app.fake.calls == []

    run(steps())


def test_nothing_scripted_is_said_and_remembered() -> None:
    async def steps() -> None:
        app = ConverseApp()
        server = await ask(app, scope())
        assert server.status == 400
        with pytest.raises(UnexpectedCall):
            app.fake.check()

    run(steps())


def test_pauses_count_from_when_an_event_was_due() -> None:
    async def steps() -> None:
        app = ConverseApp(reply.text("one two three").paced(first=0.02, each=0.02))
        await ask(app, scope("converse-stream"))
        times = [event.at for event in app.fake.calls[0].events]
        assert all(at >= 0.02 * number for number, at in enumerate(times, 1))
        assert all(earlier < later for earlier, later in pairwise(times))

    run(steps())


def test_the_head_of_a_stream_comes_before_its_first_pause() -> None:
    async def steps() -> None:
        app = ConverseApp(reply.text("hi").paced(first=60))
        server = Server(asked())

        def leave(message: Message) -> None:
            assert message["type"] == "http.response.start"
            server.messages.put_nowait(LEFT)

        server.on_send = leave
        await server.run(app, scope("converse-stream"))
        assert len(server.sent) == 1
        assert app.fake.calls[0].outcome == "closed by client"

    run(steps())


def test_a_client_that_leaves_ends_the_answer() -> None:
    async def steps() -> None:
        app = ConverseApp(reply.text("one two three").paced(each=60))
        server = Server(asked())
        server.leaves_after_a_chunk()
        await server.run(app, scope("converse-stream"))
        (call,) = app.fake.calls
        assert (call.outcome, len(call.events)) == ("closed by client", 1)

    run(steps())


def test_a_send_that_fails_is_a_client_that_left() -> None:
    async def steps() -> None:
        app = ConverseApp(reply.text("one two three"))
        server = Server(asked())

        def gone(message: Message) -> None:
            if len(server.sent) == 3:
                raise OSError("the client is gone")

        server.on_send = gone
        await server.run(app, scope("converse-stream"))
        (call,) = app.fake.calls
        assert (call.outcome, len(call.events)) == ("closed by client", 2)

    run(steps())


def test_what_the_server_cancels_is_cut() -> None:
    async def steps() -> None:
        app = ConverseApp(reply.text("hi").paced(first=60))
        server = Server(asked())
        before, waiting = asyncio.all_tasks(), asyncio.Event()
        server.on_send = lambda message: waiting.set()
        task = asyncio.ensure_future(app(scope("converse-stream"), server.receive, server.send))
        await waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert app.fake.calls[0].outcome == "cut"
        assert asyncio.all_tasks() == before

    run(steps())


def test_a_long_stream_lets_others_have_their_turn() -> None:
    async def steps() -> None:
        app = ConverseApp(reply.text("word " * 2000))
        turns: list[int] = []
        server = Server(asked())

        async def other() -> None:
            while not server.sent or not server.whole:
                turns.append(len(server.sent))
                await asyncio.sleep(0)

        await asyncio.gather(other(), server.run(app, scope("converse-stream")))
        assert len(set(turns)) > 5

    run(steps())


# Functions


@pytest.mark.needs_os
def test_functions_run_in_a_thread_of_their_own() -> None:
    async def steps() -> None:
        asked_both = threading.Barrier(2)

        def answer(call: Call) -> Reply:
            asked_both.wait(LIMIT)  # passes only if the event loop goes on meanwhile
            return reply.text(threading.current_thread().name)

        app = ConverseApp()
        app.fake.always(answer)
        servers = await asyncio.gather(ask(app, scope()), ask(app, scope()))
        for server in servers:
            assert threading.current_thread().name.encode() not in server.bodies[0]
        app.fake.check()

    run(steps())


@pytest.mark.needs_os
def test_what_a_function_raises_is_told_and_remembered() -> None:
    async def steps() -> None:
        def answer(call: Call) -> Reply:
            raise LookupError("no such city")

        app = ConverseApp(answer)
        server = await ask(app, scope())
        assert server.status == 400
        assert b"no such city" in server.bodies[0]
        with pytest.raises(LookupError):
            app.fake.check()

    run(steps())


@pytest.mark.needs_os
def test_a_client_may_leave_while_a_function_thinks() -> None:
    async def steps() -> None:
        def answer(call: Call) -> Reply:
            return reply.text("hi")

        app = ConverseApp(answer)
        server = await ask(app, scope(), asked(), LEFT)
        assert server.sent == []
        assert app.fake.calls[0].outcome == "closed by client"

    run(steps())


# What breaks


@pytest.mark.parametrize("operation", ["converse", "converse-stream"])
def test_a_break_is_raised_after_what_comes_before_it(operation: str) -> None:
    async def steps() -> None:
        app = ConverseApp(reply.text("one two three").broken(faults.closed, after=2))
        server = Server(asked())
        with pytest.raises(ConnectionAbortedError, match="the script breaks this answer here"):
            await server.run(app, scope(operation))
        assert server.status == 200
        assert not server.whole
        assert server.bodies != [b""]
        assert app.fake.calls[0].outcome == "cut"
        app.fake.check()

    run(steps())


def test_a_timeout_is_silence_until_the_client_leaves() -> None:
    async def steps() -> None:
        app = ConverseApp(reply.read_timeout())
        server = await ask(app, scope(), asked(), LEFT)
        assert server.sent == []
        assert app.fake.calls[0].outcome == "cut"

    run(steps())


def test_a_slow_first_byte_comes_with_everything_else() -> None:
    async def steps() -> None:
        app = ConverseApp(reply.text("one two three").broken(faults.slow_first_byte.lasting(0.02)))
        started = time.monotonic()
        server = await ask(app, scope("converse-stream"))
        assert time.monotonic() - started >= 0.02
        assert (server.status, server.whole, app.fake.calls[0].outcome) == (200, True, "complete")

    run(steps())


def test_a_client_that_leaves_before_the_first_byte_is_seen() -> None:
    async def steps() -> None:
        app = ConverseApp(reply.text("one two three").broken(faults.slow_first_byte.lasting(60)))
        server = await ask(app, scope("converse-stream"), asked(), LEFT)
        assert (server.sent, app.fake.calls[0].outcome) == ([], "closed by client")

    run(steps())


def test_a_stall_is_silence_after_what_comes_before_it() -> None:
    async def steps() -> None:
        app = ConverseApp(reply.text("one two three").broken(faults.stall, after=1))
        server = Server(asked())
        server.leaves_after_a_chunk()
        await server.run(app, scope("converse-stream"))
        assert len(server.bodies) == 1
        assert not server.whole

    run(steps())


# What is no request


def test_lifespan() -> None:
    async def steps() -> None:
        app = ConverseApp(reply.text("hi"))
        server = await ask(app, {"type": "lifespan"}, {"type": "lifespan.startup"}, {"type": "lifespan.shutdown"})
        assert [message["type"] for message in server.sent] == [
            "lifespan.startup.complete",
            "lifespan.shutdown.complete",
        ]

    run(steps())


def test_another_scope_is_refused() -> None:
    async def steps() -> None:
        with pytest.raises(TransportError, match="an ASGI scope of type 'websocket' came to a ConverseApp"):
            await ask(ConverseApp(), {"type": "websocket"})

    run(steps())


def test_it_says_what_it_is() -> None:
    assert repr(ConverseApp()) == "<ConverseApp, open, 0 calls>"


def test_requests_are_held_to_the_rules_of_bedrock() -> None:
    async def blank(app: ConverseApp) -> int:
        asked = {"messages": [{"role": "user", "content": [{"text": " "}]}]}
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://fake") as client:
            return (await client.post("/model/m/converse", json=asked)).status_code

    assert asyncio.run(blank(ConverseApp(reply.text("hi")))) == 400
    assert asyncio.run(blank(ConverseApp(reply.text("hi"), rules="off"))) == 200


# Under uvicorn


class Uvicorn(uvicorn.Server):
    """uvicorn in a thread of this process."""

    def __init__(self, app: Any) -> None:
        super().__init__(uvicorn.Config(app, log_level="critical", ws="none", timeout_graceful_shutdown=1))
        self.is_up = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.is_up.set()


@contextmanager
def served(app: Any) -> Iterator[str]:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        server = Uvicorn(app)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            assert server.is_up.wait(LIMIT)
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(LIMIT)
            assert not thread.is_alive()


QUIET = Config(read_timeout=LIMIT, retries={"total_max_attempts": 1})


@pytest.mark.needs_os
def test_boto_streams_through_uvicorn(question: dict[str, Any]) -> None:
    app = ConverseApp(reply.text("one two three").paced(each=0.01), reply.text("hi"))
    with served(app) as url:
        client = create_client(endpoint_url=url, config=QUIET)
        events = list(client.converse_stream(**question)["stream"])
        deltas = [event["contentBlockDelta"]["delta"]["text"] for event in events if "contentBlockDelta" in event]
        assert "".join(deltas) == "one two three"
        question["modelId"] = DECODED
        assert client.converse(**question)["output"]["message"]["content"] == [{"text": "hi"}]
    assert [call.outcome for call in app.fake.calls] == ["complete", "complete"]
    assert app.fake.calls[1].model_id == DECODED
    app.fake.check()


@pytest.mark.needs_os
def test_a_reader_that_leaves_is_seen_through_uvicorn(question: dict[str, Any]) -> None:
    app = ConverseApp(reply.text("one two three").paced(first=0.01, each=60))
    over = threading.Event()

    async def watched(asked_for: Scope, receive: Callable[[], Awaitable[Message]], send: Any) -> None:
        try:
            await app(asked_for, receive, send)
        finally:
            if asked_for["type"] == "http":
                over.set()

    with served(watched) as url:
        stream = create_client(endpoint_url=url, config=QUIET).converse_stream(**question)["stream"]
        next(iter(stream))
        stream.close()
        assert over.wait(LIMIT)
    assert app.fake.calls[0].outcome == "closed by client"


@pytest.mark.needs_os
def test_a_break_is_an_error_through_uvicorn(question: dict[str, Any]) -> None:
    app = ConverseApp(reply.text("one two three").broken(faults.closed, after=3))
    with served(app) as url:
        stream = create_client(endpoint_url=url, config=QUIET).converse_stream(**question)["stream"]
        events: list[Any] = []
        with pytest.raises(urllib3.exceptions.ProtocolError, match="Response ended prematurely"):
            events.extend(stream)
    assert len(events) == 3
