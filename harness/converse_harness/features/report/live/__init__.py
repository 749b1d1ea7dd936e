"""The live page, which shows calls while they happen: at the server's own URL, with a secret token in the query.

`feed` finds the changes and gives them to the browsers that read; `fragments` makes the HTML; `live.js` is the page's
script. This module checks that a request may see the page, and makes the responses.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from converse_harness.errors import ReplyError
from converse_harness.features.report.live.feed import MOST_READERS, Feed, LiveFake, Shown
from converse_harness.intercept.exchange import TransportExchange
from converse_harness.secrets.process import remember
from converse_harness.server.front_page import ServerPages, front_page, html_response
from converse_harness.server.mounts import PlainExchange, ServerFake
from converse_harness.stream.delivery import SentChunks
from converse_harness.stream.http import Chunk, HttpResponse, Request
from converse_harness.stream.http_protocol import no_call

STREAM: Final = "/__converse/live"
"""The path at which the page reads its events."""

_WITH_TOKEN: Final = """<li>The calls, while they happen: open the address with <code>/?token=...</code>, which
<code>converse-harness serve</code> prints at its start, and which is <code>server.page_url</code> in Python
"""

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
"""Headers of the page and its events. They keep the address of the page, with its token, from other sites."""


class _NothingSent(SentChunks):
    """A record of sent chunks that keeps none of them, because the events of the page have no end."""

    def add(self, chunk: Chunk, at: float) -> None:
        """Keep nothing of the chunk."""


class LivePage(ServerPages):
    """The page that shows the calls of a server's fakes while they happen.

    Until `url` is called, nobody has the token, so fakes that close are not kept for the page.
    """

    def __init__(self, fakes: Callable[[], Iterable[ServerFake]], hosts: Collection[str]) -> None:
        super().__init__(fakes, hosts)
        self._token = secrets.token_urlsafe(16)
        self._is_used = False
        """Whether `url` was called, so that somebody may have the token."""
        self._feed = Feed(fakes, _rendered)

    def url(self, server: str) -> str:
        """Return the address of the page. From now on, its token is masked like the other secrets of this process."""
        remember(self._token)
        self._is_used = True
        return f"{server}/?token={self._token}"

    def page(self, request: Request) -> HttpResponse:
        """Return the page. Without a token in the address, return the page that describes the server.

        If the token is wrong or the header `Host` is not accepted, that page shows the reason, with status 403.
        """
        if "token" not in _query(request):
            return front_page(more=_WITH_TOKEN)
        try:
            self._check(request)
        except ReplyError as error:
            return front_page(str(error), _WITH_TOKEN)
        from converse_harness.features.report.live.fragments import page, policy

        return html_response(page(), (("Content-Security-Policy", policy()), *_SAFE))

    def answer(self, request: Request) -> TransportExchange | None:
        """Answer one browser with the events of the page. The response does not end until the browser disconnects."""
        if request.method != "GET" or request.target.partition("?")[0] != STREAM:
            return None
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
        return PlainExchange(response, partial(self._feed.leave, reader), _NothingSent())

    def closed(self, fake: ServerFake) -> None:
        """If somebody may have the address of the page, keep a closed fake for some time, so that the page shows it."""
        if self._is_used:
            self._feed.closed(fake)

    def stop(self) -> None:
        """Forget all fakes and all browsers that read, and wait for the end of the page's thread."""
        self._feed.stop()

    def _check(self, request: Request) -> None:
        """Raise ReplyError if the request may not use the control API, or does not have the token."""
        from converse_harness.server.control.reading import check_caller  # this import takes 50 ms

        check_caller(request, self._hosts)
        given = _query(request).get("token", "")
        if not secrets.compare_digest(given.encode("utf-8", "replace"), self._token.encode()):
            raise ReplyError(_NO_TOKEN)


def _query(request: Request) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(request.target).query))


def _rendered(shown: Shown, fake: LiveFake) -> Mapping[str, object]:
    from converse_harness.features.report.live.fragments import (
        rendered,  # imported here, because most servers show no page
    )

    return rendered(shown, fake)
