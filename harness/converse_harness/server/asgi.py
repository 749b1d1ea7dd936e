"""The ASGI transport: a fake as an application for an ASGI server, which provides workers, TLS and protocols.

The server must support ASGI 3 and use asyncio. An ASGI application can close a connection, by raising an exception; it
cannot reset one.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from time import monotonic
from typing import Any, Final, Unpack
from urllib.parse import quote

from converse_harness.endpoint.script import Replies, Responder
from converse_harness.errors import TransportError
from converse_harness.intercept.exchange import ResponseReader, TransportExchange
from converse_harness.intercept.fake import Fake
from converse_harness.server.mounts import PlainExchange
from converse_harness.settings import OF_ENDPOINT, EndpointSettings, check_settings, shows_settings
from converse_harness.stream.http import Request
from converse_harness.stream.http_protocol import LIMITS, portable_headers, refusal

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_BATCH: Final = 32_768
"""Number of bytes of an answer that are sent before other tasks of the event loop may run."""

_UNKNOWN_SCOPE: Final = (
    "an ASGI scope of type {type!r} came to a ConverseApp, which answers 'http' and 'lifespan': that is how Bedrock is "
    "asked. Route everything else to another app."
)
_BROKEN: Final = (
    "the script breaks this answer here ({what}). This is no mistake: to raise is the only way in which an ASGI app "
    "can have its server close a connection."
)


class _AsgiFake(Fake):
    transport = "asgi"
    _made_by = "ConverseApp"

    @property
    def _state(self) -> str:
        return "open"  # whether or not a server runs the app


@shows_settings(EndpointSettings)
class ConverseApp:
    """An ASGI 3 application that answers with a fake Bedrock; `fake` is its Fake.

    Replies are scripted as for any Fake: `app.fake.when(...)`, `app.fake.always(...)`. Each worker of a server has its
    own app, which does not see the calls of other workers. Functions in a script run in threads of the event loop's
    default executor. Raises ReplyError for a wrong setting.

    >>> import asyncio, httpx
    >>> from converse_harness import reply
    >>> from converse_harness import ConverseApp
    >>> app = ConverseApp(reply.text("hi"))
    >>> async def ask():
    ...     async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://fake") as client:
    ...         question = {"messages": [{"role": "user", "content": [{"text": "hello"}]}]}
    ...         return await client.post("/model/m/converse", json=question)
    >>> asyncio.run(ask()).json()["output"]["message"]["content"]
    [{'text': 'hi'}]
    """

    def __init__(self, *replies: Responder | Replies, **settings: Unpack[EndpointSettings]) -> None:
        check_settings(settings, "ConverseApp", of=OF_ENDPOINT)
        self.fake: Fake = _AsgiFake(*replies, **settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one HTTP request, or the startup and shutdown of the server (ASGI "lifespan").

        The ASGI server calls this method. Raises TransportError for an ASGI scope of another type.
        """
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        if scope["type"] != "http":
            raise TransportError(_UNKNOWN_SCOPE.format(type=scope["type"]))
        started = monotonic()
        body = await _body(receive)
        if body is None:
            return
        headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"])
        request = Request(scope["method"], _target(scope), headers, body)
        leaving = asyncio.ensure_future(_left(receive))
        exchange: TransportExchange
        try:
            if len(body) > LIMITS.body:
                exchange = PlainExchange(refusal(413, "", LIMITS))
            elif self.fake.core.runs_functions:
                exchange = await asyncio.to_thread(self.fake.core.exchange, request)
            else:
                exchange = self.fake.core.exchange(request)
            await _give(exchange, started, leaving, send)
        finally:
            leaving.cancel()
            with suppress(asyncio.CancelledError):  # `leaving` was cancelled in the line above
                await leaving

    def __repr__(self) -> str:
        return f"<ConverseApp{repr(self.fake).removeprefix('<_AsgiFake')}"


async def _give(exchange: TransportExchange, started: float, leaving: asyncio.Future[None], send: Send) -> None:
    """Send an answer until it ends or the client disconnects. `leaving` is done once the client has disconnected.

    Raises ConnectionAbortedError if the script says that the connection breaks; the ASGI server then closes it.
    """
    reader, response = ResponseReader(exchange, started), exchange.response
    try:
        if response.failure is not None:
            reader.end("cut")
        elif await _sent(reader, leaving, send):
            reader.finish()
        else:
            reader.close()
            return
        ends = response.failure or response.broken
        if ends in ("read timeout", "stalled"):
            await leaving
        elif ends is not None:
            raise ConnectionAbortedError(_BROKEN.format(what=ends))
        else:
            with suppress(OSError):  # the client received everything, and may have disconnected
                await send({"type": "http.response.body", "body": b"", "more_body": False})
    finally:
        reader.end("cut")  # has an effect only if the server cancelled this task


async def _sent(reader: ResponseReader, leaving: asyncio.Future[None], send: Send) -> bool:
    """Send the head and all chunks of the answer that `reader` reads.

    Return False if the client disconnected before the end, otherwise True. The head has no `Date`, because the ASGI
    server adds this header.
    """
    response = reader.exchange.response
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in portable_headers(response)]
    waiting: list[Message] = [{"type": "http.response.start", "status": response.status, "headers": headers}]
    due = reader.started + response.wait
    if response.wait:
        await _pause(leaving, due)
    if leaving.done():
        return False
    with suppress(OSError):  # newer ASGI servers raise OSError if the client has disconnected
        if any(name == "Transfer-Encoding" for name, _ in response.headers):
            await send(waiting.pop())
        batch = 0
        while (chunk := reader.chunk) is not None:
            due += chunk.delay
            if chunk.delay or batch > _BATCH:
                batch = 0
                await _pause(leaving, due)
            if leaving.done():
                return False
            for message in (*waiting, {"type": "http.response.body", "body": chunk.data, "more_body": True}):
                await send(message)
            waiting.clear()
            reader.take(chunk)
            batch += len(chunk.data)
        for message in waiting:
            await send(message)
        return True
    return False


async def _pause(leaving: asyncio.Future[None], due: float) -> None:
    """Sleep until the time `due`, or until `leaving` is done because the client has disconnected."""
    await asyncio.wait({leaving}, timeout=max(0.0, due - monotonic()))


async def _live(receive: Receive, send: Send) -> None:
    """Answer the messages about startup and shutdown of the server; the app has nothing to start or stop."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


async def _body(receive: Receive) -> bytes | None:
    """Return the request's body; None if the client disconnected before the end of the body.

    Reading stops as soon as the part that has arrived is longer than `LIMITS.body`; this part is then returned.
    """
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if not message.get("more_body", False) or len(body) > LIMITS.body:
            return bytes(body)


async def _left(receive: Receive) -> None:
    """Wait until the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _target(scope: Scope) -> str:
    """Return the path and query as the client sent them, without the path at which the app is mounted.

    `scope["path"]` is used only if the server provides no `raw_path`: in it, the `%2F` of an ARN is decoded already.
    """
    raw: bytes | None = scope.get("raw_path")
    path = quote(scope["path"], safe="/") if raw is None else raw.partition(b"?")[0].decode("latin-1")
    root: str = scope.get("root_path", "")  # decoded; any of its characters may be escaped in `path`
    mount = "".join(f"(?:{re.escape(chr(each))}|(?i:%{each:02x}))" for each in root.encode())
    path = re.sub(f"^{mount}", "", path)
    query: bytes = scope.get("query_string", b"")
    return f"{path}?{query.decode('latin-1')}" if query else path
