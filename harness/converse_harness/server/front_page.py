"""The page that a browser shows at the server's own URL: what this server is, and where to read on."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from converse_harness.stream.http import Chunk, HttpResponse, Request

_PAGE: Final = b"""\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>converse-harness</title>
<style>body { font: 1rem/1.5 system-ui; max-width: 42rem; margin: 3rem auto; padding: 0 1rem }</style>
<h1>converse-harness</h1>
<p>This server is a fake Amazon Bedrock for tests. Clients of Bedrock use its URL as their endpoint.</p>
<ul>
<li><a href="/__converse/fakes">The fakes that are open</a>, as JSON
<li><a href="/__converse/openapi.json">The control API</a>, which opens fakes, as OpenAPI
<li>To read on: <code>converse-harness docs control-api</code>, or <code>converse-harness docs javascript</code>
</ul>
</html>
"""


def for_people(request: Request, prefixes: Collection[str] = ()) -> HttpResponse | None:
    """Return the answer to what browsers ask for, and no client of Bedrock; None for every other request.

    That is the page at the server's own URL and at those of its fakes, whose paths are `prefixes`; and the icon of a
    site, which this server has not.
    """
    path = request.target.partition("?")[0].rstrip("/")
    if request.method != "GET":
        return None
    if path == "/favicon.ico":
        return HttpResponse(404, (("Content-Length", "0"), ("Connection", "keep-alive")), ())
    accepts = (value for name, value in request.headers if name.lower() == "accept")
    asks = (not path or path in prefixes) and any("text/html" in value for value in accepts)
    return front_page() if asks else None


def front_page() -> HttpResponse:
    """Return the page."""
    headers = (("Content-Type", "text/html; charset=utf-8"), ("Content-Length", str(len(_PAGE))))
    return HttpResponse(200, (*headers, ("Connection", "keep-alive")), (Chunk(_PAGE),))
