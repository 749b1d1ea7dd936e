"""The live page: what a browser sees at the server's own URL if the address has the page's token.

`feed` finds out what has changed and gives it to the browsers that read; `fragments` makes the HTML; `live.js` is the
page's script. This module checks who asks, and makes the answers.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlsplit

from converse_harness.errors import ReplyError
from converse_harness.secrets import remember
from converse_harness.server.front_page import front_page, html_response
from converse_harness.server.live.feed import MOST_READERS, Feed, Shown, Snapshot
from converse_harness.server.mounts import PlainExchange
from converse_harness.server.protocol import no_call
from converse_harness.stream.delivery import SentChunks
from converse_harness.stream.http import Chunk, HttpResponse, Request

if TYPE_CHECKING:
    from converse_harness.endpoint.call import CallOutcome
    from converse_harness.intercept.exchange import TransportExchange
    from converse_harness.server.mounts import ServerFake

STREAM: Final = "/__converse/live"
"""The path of the events that the page reads."""

_NO_TOKEN: Final = (
    "token in the query is missing or wrong: the page of the calls needs the token of this server. Open the address "
    "that `converse-harness serve` printed at its start, or `server.page_url` in Python."
)
_TOO_MANY: Final = "{count} pages read the calls of this server already. Close one of them, and load this one again."

_SAFE: Final = (
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
)
"""Headers of the page and of its events. Its address has the token, so no other page may get it as a referrer."""


class _Unkept(SentChunks):
    """Keeps none of the chunks, because the events of a page have no end."""

    def add(self, chunk: Chunk, at: float) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """The exchange of one browser that reads events."""

    response: HttpResponse
    leave: Callable[[], None]
    taken: SentChunks = field(default_factory=_Unkept)
    captured: None = field(default=None, init=False)
    """Always None, because the request is not forwarded."""

    def ended(self, outcome: CallOutcome) -> None:
        """Forget the reader."""
        self.leave()


class LivePage:
    """The page with the calls of a server's fakes, while they happen. Any thread may call its methods.

    `hosts` are the names that the control API accepts as `Host`. Until `url` was called, nobody has the token, and
    nothing is kept for the page.
    """

    def __init__(self, fakes: Callable[[], Iterable[ServerFake]], hosts: Collection[str]) -> None:
        self._hosts = hosts
        self._token = secrets.token_urlsafe(16)
        self._given_out = False
        self._feed = Feed(fakes, _rendered)

    def url(self, server: str) -> str:
        """Return the address of the page. From now on, its token is masked like the other secrets of this process."""
        if not self._given_out:
            remember(self._token)
            self._given_out = True
        return f"{server}/?token={self._token}"

    def page(self, request: Request) -> HttpResponse:
        """Answer a browser that asks for the page: without the token, with the page that describes the server."""
        if "token" not in _query(request):
            return front_page()
        try:
            self._check(request)
        except ReplyError as error:
            return front_page(str(error))
        from converse_harness.server.live.fragments import page, policy

        headers = (("Content-Security-Policy", policy()), *_SAFE)
        return html_response(page(), headers)

    def events(self, request: Request) -> TransportExchange:
        """Answer a browser that reads the events of the page, which have no end."""
        try:
            self._check(request)
        except ReplyError as error:
            return PlainExchange(no_call("AccessDeniedException", 403, str(error)))
        last_id = next((value for name, value in request.headers if name.lower() == "last-event-id"), "")
        reader = self._feed.join(last_id)
        if reader is None:
            return PlainExchange(no_call("ThrottlingException", 429, _TOO_MANY.format(count=MOST_READERS)))
        head = (("Content-Type", "text/event-stream"), *_SAFE, ("Transfer-Encoding", "chunked"))
        response = HttpResponse(200, (*head, ("Connection", "keep-alive")), reader)
        return _Reading(response, lambda: self._feed.leave(reader))

    def closed(self, fake: ServerFake) -> None:
        """Keep a fake that was closed for a while, if somebody may look at the page."""
        if self._given_out:
            self._feed.closed(fake)

    def stop(self) -> None:
        """Forget all fakes and all readers."""
        self._feed.stop()

    def _check(self, request: Request) -> None:
        """Raise ReplyError unless the request may use the control API and has the token."""
        from converse_harness.server.control.reading import check_caller  # this import takes 50 ms

        check_caller(request, self._hosts)
        given = _query(request).get("token", "")
        if not secrets.compare_digest(given.encode("utf-8", "replace"), self._token.encode()):
            raise ReplyError(_NO_TOKEN)


def _query(request: Request) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(request.target).query))


def _rendered(shown: Shown, fake: Snapshot) -> Mapping[str, object]:
    from converse_harness.server.live.fragments import rendered  # most servers have no page open

    return rendered(shown, fake)
