"""A server that tells of every call that ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from converse_harness.calls import Call, Outcome
from converse_harness.doors.server.fake import Mount, ServerFake
from converse_harness.doors.server.listener import ConverseServer
from converse_harness.endpoint import Exchange
from converse_harness.script import Responder
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

    def __init__(self, told: Told, mount: Mount, *replies: Responder, **settings: Any) -> None:
        super().__init__(mount, *replies, **settings)
        self._told_of = told

    def exchange(self, request: Request, *, service: str = "bedrock-runtime", operation: str = "") -> Exchange:
        """Answer one request; from any thread."""
        exchange = super().exchange(request, service=service, operation=operation)
        return WatchedExchange(exchange.call, exchange.response, lambda call: self._told_of(self, call))


class WatchedServer(ConverseServer):
    """A server whose fakes tell of every call that ends."""

    def __init__(self, told: Told, *, host: str, port: int) -> None:
        super().__init__(host=host, port=port)
        self._told_of = told

    def script(self, *replies: Responder, **settings: Any) -> ServerFake:
        """Open a fake with a URL of its own."""
        return WatchedFake(self._told_of, self._mounted, *replies, **settings)

    def answer_all(self, *replies: Responder, **settings: Any) -> ServerFake:
        """Open a fake with the server's own URL."""
        return WatchedFake(self._told_of, lambda fake: self._mounted(fake, ""), *replies, **settings)
