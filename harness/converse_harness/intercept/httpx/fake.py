"""The fake for httpx: it answers a client through a transport of its own, and all other clients through a respx router.

The package httpx2 has the same classes as httpx, but respx does not patch it. This module also makes transports for
single httpx2 clients. All other httpx2 clients are intercepted by the patches of httpx2 in `patch_points`.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from importlib.metadata import version
from types import ModuleType
from typing import Any, Final, NoReturn, cast

import httpx

from converse_harness.endpoint.own_answers.unknown_paths import other_api
from converse_harness.errors import TransportError
from converse_harness.intercept.exchange import OpenFake, RefusingFake
from converse_harness.intercept.fake import Fake
from converse_harness.intercept.guard.hosts import is_bedrock_host
from converse_harness.intercept.http.requests import recording_is_on
from converse_harness.intercept.httpx.transports import LIBRARIES, ask, ask_async, recording_transport, responder
from converse_harness.intercept.registry import OPEN_FAKES, HttpAnswers

_NOT_BOTO: Final = (
    "a boto client called Bedrock while only a fake of the httpx transport is open, which does not answer boto "
    "clients. Use the fixture `converse`, which answers both"
)

_UNHOOKED: Final = (
    "cannot open a fake of the httpx transport: respx {respx} with httpcore {httpcore} is not as expected: {found}. "
    "Nothing "
    "was patched. Install releases of respx and httpcore that know each other, or a newer converse-harness"
)


class HttpxFake(Fake):
    """A fake Bedrock that answers every httpx client while it is open.

    The fake answers all requests to Bedrock hosts, also from clients that the code under test creates. Requests to
    other hosts, and the test's own respx mocks, are not affected. The properties `httpx_transport` and
    `httpx_async_transport` are transports for single clients.

    >>> import httpx
    >>> from converse_harness import reply
    >>> body = {"messages": [{"role": "user", "content": [{"text": "hello"}]}]}
    >>> with HttpxFake(reply.text("hi")) as fake:
    ...     answer = httpx.post("https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse", json=body)
    >>> answer.json()["output"]["message"]["content"]
    [{'text': 'hi'}]
    """

    _where = " (httpx)"
    transport = "httpx"
    _made_by = "HttpxFake"

    def _warn_if_not_open(self) -> None:
        """Do nothing. No warning is needed: a client with the transport of a closed fake gets a BlockedConnection."""

    @property
    def httpx_transport(self) -> httpx.BaseTransport:
        """A transport for one client: `httpx.Client(transport=fake.httpx_transport)`.

        The fake answers all requests over this transport, whatever their host is.
        """
        return cast("httpx.BaseTransport", self.transport_for(httpx))

    @property
    def httpx_async_transport(self) -> httpx.AsyncBaseTransport:
        """A transport for one `httpx.AsyncClient`, on asyncio or trio.

        The fake answers all requests over this transport, whatever their host is.
        """
        return cast("httpx.AsyncBaseTransport", self.async_transport_for(httpx))

    def transport_for(self, library: ModuleType) -> Any:
        """Return a transport for a client of `library`: `httpx2.Client(transport=fake.transport_for(httpx2))`."""
        return recording_transport(library, self.core)

    def async_transport_for(self, library: ModuleType) -> Any:
        """Return a transport for an asynchronous client of `library`, which is httpx or httpx2."""
        return recording_transport(library, self.core)

    @contextmanager
    def _transport(self) -> Generator[None, None, None]:
        routes: list[_Route] = []
        try:
            http = HttpAnswers(self.core, LIBRARIES, by_respx=True)
            with OPEN_FAKES.opened(RefusingFake(_NOT_BOTO, self.core), boto=False, http=http):
                try:
                    OPEN_FAKES.locked(lambda: _enter(self, routes))
                    yield
                finally:
                    OPEN_FAKES.locked(lambda: _leave(routes))
        finally:
            # A KeyboardInterrupt may have stopped the first call of `_leave`. A second call does no harm. If only the
            # second one stops respx, respx has put back what the guard had set there, which is then removed.
            OPEN_FAKES.locked(lambda: _leave(routes))
            OPEN_FAKES.unpatch_if_idle()


def _enter(fake: HttpxFake, routes: list[_Route]) -> None:
    """Add one router for each respx mocker to `routes`, and start respx.

    Raises TransportError if the installed respx is not compatible.
    """
    try:
        from httpcore import AsyncConnectionPool, ConnectionPool
        from respx.mocks import HTTPCoreMocker, Mocker

        routes.extend(_Route(fake, mocker) for mocker in Mocker.registry.values())
    except (AttributeError, ImportError) as error:
        raise _unhooked(str(error)) from error
    before = {ConnectionPool.handle_request, AsyncConnectionPool.handle_async_request}
    runs_already = bool(HTTPCoreMocker.routers)
    for route in routes:
        # Our router precedes the test's own routers. It answers requests to Bedrock and leaves all others to them.
        route.mocker.routers.insert(0, route)
    HTTPCoreMocker.start()
    # If respx did not replace these methods of httpcore's pools, requests would reach the real network.
    if not runs_already and before & {ConnectionPool.handle_request, AsyncConnectionPool.handle_async_request}:
        raise _unhooked("it does not replace the connection pools of httpcore")


def _leave(routes: list[_Route]) -> None:
    """Undo `_enter`, even if a KeyboardInterrupt stopped `_enter` before its end."""
    for route in routes:
        route.mocker.unregister(route)
        route.mocker.stop()


def _unhooked(found: str) -> TransportError:
    return TransportError(_UNHOOKED.format(respx=version("respx"), httpcore=version("httpcore"), found=found))


class _Route:
    """Our router in a respx mocker: it answers requests to Bedrock hosts, and leaves all others to the other routers.

    It is no real respx router: that would need a pass-through route at its end, which would hide the other routers.
    """

    transport = "httpx"

    def __init__(self, fake: HttpxFake, mocker: Any) -> None:
        self.mocker = mocker
        self._fake = fake

    def handler(self, request: httpx.Request) -> httpx.Response:
        """Answer a synchronous client. If other routers must answer, raise the exception of `_to_the_others`."""
        return cast("httpx.Response", ask(httpx, self._fake_for(request), request, self._to_the_others))

    async def async_handler(self, request: httpx.Request) -> httpx.Response:
        """Answer an asynchronous client. If other routers must answer, raise the exception of `_to_the_others`."""
        return cast("httpx.Response", await ask_async(httpx, self._fake_for(request), request, self._to_the_others))

    def _fake_for(self, request: httpx.Request) -> OpenFake:
        """Return the fake of this router, if this router must answer the request.

        The router must not answer if the host is not a Bedrock host, if the path belongs to another API of Bedrock, or
        if the newest open fake for httpx forwards its calls. Then `_to_the_others` raises an exception.
        """
        if not is_bedrock_host(request.url.host) or other_api(request.url.path) is not None or recording_is_on():
            self._to_the_others(request)
        return responder(self._fake.core)

    def _to_the_others(self, request: httpx.Request) -> NoReturn:
        """Raise an exception, so that respx asks the test's own routers next, or the network if there are none."""
        from respx.models import AllMockedAssertionError, PassThrough

        if all(isinstance(router, _Route) for router in self.mocker.routers):
            raise PassThrough("not for Bedrock", request=request, origin=cast("Any", self))
        raise AllMockedAssertionError(f"{request!r} is not for Bedrock")
