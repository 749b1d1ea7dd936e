"""The page that a browser shows at the server's own URL: a description of the server, with links."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Final

from converse_harness.stream.http import Chunk, HttpResponse, Request

if TYPE_CHECKING:
    from converse_harness.intercept.exchange import TransportExchange
    from converse_harness.server.mounts import ServerFake

_PAGE: Final = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>converse-harness</title>
<style>body { font: 1rem/1.5 system-ui; max-width: 42rem; margin: 3rem auto; padding: 0 1rem }</style>
<h1>converse-harness</h1>
<p>This server is a fake Amazon Bedrock for tests. Clients of Bedrock use its URL as their endpoint.</p>
NOTE<ul>
MORE<li><a href="/__converse/fakes">The fakes that are open</a>, as JSON
<li><a href="/__converse/openapi.json">The control API</a>, which opens fakes, as OpenAPI
<li>To read on: <code>converse-harness docs control-api</code>, or <code>converse-harness docs javascript</code>
</ul>
</html>
"""


def for_people(
    request: Request, prefixes: Collection[str], page: Callable[[Request], HttpResponse]
) -> Callable[[], HttpResponse] | None:
    """Return a function that answers a browser's request; None if the request may come from a client of Bedrock.

    `page` answers at the server's own URL and at the URLs of its fakes, whose paths are `prefixes`. A browser that asks
    for an icon gets 404.
    """
    path = request.target.partition("?")[0].rstrip("/")
    if request.method != "GET":
        return None
    if path == "/favicon.ico":
        return lambda: HttpResponse(404, (("Content-Length", "0"), ("Connection", "keep-alive")), ())
    accepts = (value for name, value in request.headers if name.lower() == "accept")
    asks = (not path or path in prefixes) and any("text/html" in value for value in accepts)
    return partial(page, request) if asks else None


class ServerPages:
    """What a server answers to browsers: the page that describes the server. A feature may put its own in this place.

    `fakes` returns the fakes that are open. `hosts` are the names that the control API accepts in the header `Host`.
    Any thread may call the methods.
    """

    def __init__(self, fakes: Callable[[], Iterable[ServerFake]], hosts: Collection[str]) -> None:
        self._fakes = fakes
        self._hosts = hosts

    def url(self, server: str) -> str:
        """Return the address of the first page, given the URL of the server."""
        return server

    def page(self, request: Request) -> HttpResponse:
        """Return the page for a request to the server's own URL."""
        return front_page()

    def answer(self, request: Request) -> TransportExchange | None:
        """Answer a request to a path of the control API if it is for the pages; otherwise return None."""
        return None

    def closed(self, fake: ServerFake) -> None:
        """Note that a fake was closed."""

    def stop(self) -> None:
        """Release what the pages hold, because the server stops."""


def front_page(problem: str = "", more: str = "") -> HttpResponse:
    """Return the page that describes the server. `more` are the first items of its list, as HTML.

    If there is a `problem`, the page shows it, and the status is 403.
    """
    note = f"<p><strong>{escape(problem)}</strong></p>\n" if problem else ""
    page = _PAGE.replace("MORE", more).replace("NOTE", note).encode("utf-8", "backslashreplace")
    return html_response(page, status=403 if problem else 200)


def html_response(page: bytes, headers: tuple[tuple[str, str], ...] = (), status: int = 200) -> HttpResponse:
    """Return a response with a page of HTML. `headers` follow the headers that describe the body."""
    about = (("Content-Type", "text/html; charset=utf-8"), ("Content-Length", str(len(page))))
    return HttpResponse(status, (*about, *headers, ("Connection", "keep-alive")), (Chunk(page),))
