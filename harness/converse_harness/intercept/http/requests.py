"""Choose the fake for a request of an HTTP library, and read the request.

While a recording fake is open, a request is forwarded and captured if it goes to a Bedrock host, to an endpoint URL
from the environment, or to the fake's `upstream`. A request to another host is captured only if its client uses a
transport of the recorder.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from converse_harness.endpoint.operations import route
from converse_harness.endpoint.own_answers.unknown_paths import other_api
from converse_harness.errors import ReplyError
from converse_harness.intercept.capture import FORWARDED
from converse_harness.intercept.clients import ENDPOINTS
from converse_harness.intercept.exchange import OpenFake
from converse_harness.intercept.guard.advice import HTTP_LIBRARIES
from converse_harness.intercept.guard.hosts import is_bedrock_host
from converse_harness.intercept.registry import CURRENT_CALL, OPEN_FAKES, HttpAnswers
from converse_harness.stream.http import Request

PORTS: Final = {"http": 80, "https": 443}
"""Maps each URL scheme to its default port."""


def for_all_libraries(fake: OpenFake, upstream: str = "") -> HttpAnswers:
    """Return what makes a fake answer the clients of all HTTP libraries.

    Raises ReplyError if `upstream` is not a URL.
    """
    address = _address_of(upstream)
    if upstream and not address:
        raise ReplyError(
            f"upstream={upstream!r}: the URL of what answers in place of Bedrock, http://127.0.0.1:8080 perhaps."
        )
    return HttpAnswers(fake, frozenset(HTTP_LIBRARIES), address)


def fake_for(library: str, scheme: str, host: str | None, port: int | None, target: str) -> OpenFake | None:
    """Return the fake that must get a request of a library; None if the library must send it to the network.

    `target` is the path with the query, as it will be sent.
    """
    answers = OPEN_FAKES.http_answers(library)
    if answers is None:
        return None
    path = target.partition("?")[0]
    if answers.fake.records:
        # If another transport of ours is forwarding this call, that transport captures the call.
        ours = FORWARDED.get() is None and CURRENT_CALL.get() is None
        ours = ours and (is_bedrock_host(host or "") or _replaces_bedrock(answers, f"{scheme}://{host}:{port}{path}/"))
    elif answers.by_respx and library == "httpx":
        return None
    else:
        ours = is_bedrock_host(host or "") or _begins(f"{scheme}://{host}:{port}{path}/", [answers.upstream])
        # A mock of the user may answer the other APIs of Bedrock. If there is none, the guard refuses.
        ours = ours and other_api(path) is None
    return answers.fake if ours else None


def recording_is_on() -> bool:
    """Whether the newest fake for httpx forwards calls to the real service. If so, older fakes do not answer."""
    answers = OPEN_FAKES.http_answers("httpx")
    return answers is not None and answers.fake.records


def _replaces_bedrock(answers: HttpAnswers, address: str) -> bool:
    """Whether a URL begins with the fake's `upstream`, or with an endpoint URL from the environment."""
    return _begins(address, (answers.upstream, *(_address_of(os.environ.get(name, "")) for name in ENDPOINTS)))


def _begins(address: str, upstreams: Iterable[str]) -> bool:
    return any(address.startswith(each) for each in upstreams if each)  # an unset or invalid URL is ignored


def _address_of(url: str) -> str:
    """Return an HTTP URL with its port and a final slash, so that prefixes can be compared; "" for any other text."""
    with suppress(ValueError):  # urlsplit cannot parse the URL
        parts = urlsplit(url)
        if parts.hostname and parts.scheme in PORTS:
            port = parts.port or PORTS[parts.scheme]
            return f"{parts.scheme}://{parts.hostname}:{port}{parts.path.rstrip('/')}/"
    return ""


def from_operation_on(request: Request) -> Request:
    """Return a request without the path prefix before the path of the Bedrock operation, for example of a gateway."""
    target = request.target
    starts = (at for at, character in enumerate(target.partition("?")[0]) if character == "/")
    below = (replace(request, target=target[at:]) for at in starts)
    return next((each for each in below if route(each) is not None), request)
