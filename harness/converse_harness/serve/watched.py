"""A server that tells of every call that ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from converse_harness.calls import Call, Outcome
from converse_harness.doors.server.fake import Mount, ServerFake
from converse_harness.doors.server.listener import ConverseServer
from converse_harness.endpoint import Exchange
from converse_harness.script import Replies, Responder
from converse_harness.wire.http import Request

Told = Callable[[ServerFake, Call], None]
"""Is called when a call ends, in the server's own thread: it must not wait."""


@dataclass(frozen=True, slots=True)
class WatchedExchange(Exchange):
    """An exchange that tells of its end."""

    tell: Callable[[Call], None]

    def ended(self, outcome: str) -> None:
        """The answer ended; only the first report counts."""
        running = self.call.answered.outcome is Outcome.RUNNING
        Exchange.ended(self, outcome)  # super() does not know a class with slots
        if running:
            self.tell(self.call)


class WatchedFake(ServerFake):
    """A fake that tells of every call that ends."""

    def __init__(self, told: Told, url: str, mount: Mount, *replies: Responder | Replies, **settings: Any) -> None:
        self._told_of = told
        super().__init__(url, mount, *replies, **settings)

    def exchange(self, request: Request, *, service: str = "bedrock-runtime", operation: str = "") -> Exchange:
        """Answer one request; from any thread."""
        exchange = super().exchange(request, service=service, operation=operation)
        return WatchedExchange(exchange.call, exchange.response, lambda call: self._told_of(self, call))


class WatchedServer(ConverseServer):
    """A server whose fakes tell of every call that ends."""

    def __init__(self, told: Told, *, host: str, port: int) -> None:
        super().__init__(host=host, port=port)
        self._told_of = told

    def _opened(self, url: str, mount: Mount, *replies: Responder | Replies, **settings: Any) -> ServerFake:
        return WatchedFake(self._told_of, url, mount, *replies, **settings)
