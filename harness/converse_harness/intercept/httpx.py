"""The httpx transport: transports for single clients, and a respx route for clients that the tested code creates.

httpx2 has the same classes as httpx under another name, but respx does not patch it. The same code makes transports for
single httpx2 clients; all other httpx2 clients are answered by a patch of httpx2's transports (`patch_points`).
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from importlib.metadata import version
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

from converse_harness.errors import TransportError
from converse_harness.intercept import registry
from converse_harness.intercept.exchange import RefusingFake
from converse_harness.intercept.fake import Fake
from converse_harness.intercept.hosts import is_bedrock_host
from converse_harness.intercept.httpx_transports import (
    ask,
    ask_async,
    capturing,
    recording_async_transport,
    recording_is_on,
    recording_transport,
)

if TYPE_CHECKING:
    import httpx

_NOT_BOTO: Final = (
    "a boto client called Bedrock while only a fake of the httpx transport is open, which does not answer boto "
    "clients. Use "
    "the fixture `converse` (beside converse_httpx, if the agent uses both)"
)

_UNHOOKED: Final = (
    "cannot open a fake of the httpx transport: respx {respx} with httpcore {httpcore} is not as expected: {found}. "
    "Nothing "
    "was patched. Install releases of respx and httpcore that know each other, or a newer converse-harness"
)


class HttpxFake(Fake):
    """A fake Bedrock for httpx: it answers every client while it is open; `.httpx_transport` and
    `.httpx_async_transport` are for single clients.

    Clients that the code under test builds are answered if they request a Bedrock host; other hosts, and the test's own
    respx mocks, are not affected.

    >>> import httpx
    >>> from converse_harness import reply
    >>> body = {"messages": [{"role": "user", "content": [{"text": "hello"}]}]}
    >>> with HttpxFake(reply.text("hi")) as fake:
    ...     answer = httpx.post("https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse", json=body)
    >>> answer.json()["output"]["message"]["content"]
    [{'text': 'hi'}]
    """

    where = " (httpx)"
    transport = "httpx"

    def _warn_if_not_open(self) -> None:
        """Do not warn: while the fake is closed, a client with its transport gets a BlockedConnection."""

    @property
    def httpx_transport(self) -> httpx.BaseTransport:
        """A transport for a client: `httpx.Client(transport=fake.httpx_transport)`. It answers requests to any host."""
        import httpx

        return cast("httpx.BaseTransport", self.transport_for(httpx))

    @property
    def httpx_async_transport(self) -> httpx.AsyncBaseTransport:
        """A transport for one `httpx.AsyncClient`, on asyncio or trio; it answers requests to any host."""
        import httpx

        return cast("httpx.AsyncBaseTransport", self.async_transport_for(httpx))

    def transport_for(self, library: ModuleType) -> Any:
        """Return a transport for a client of httpx2: `httpx2.Client(transport=fake.transport_for(httpx2))`."""
        return recording_transport(library, self)

    def async_transport_for(self, library: ModuleType) -> Any:
        """Return a transport for an asynchronous client of httpx2."""
        return recording_async_transport(library, self)

    @contextmanager
    def _transport(self) -> Generator[None, None, None]:
        routes: list[_Route] = []
        try:
            with registry.opened(RefusingFake(_NOT_BOTO, self), boto=False):
                try:
                    registry.locked(lambda: _enter(self, routes))
                    with capturing(self, respx=True):
                        yield
                finally:
                    registry.locked(lambda: _leave(routes))
        finally:
            # Called again in case an interrupt stopped the first call; calling it twice does nothing.
            registry.locked(lambda: _leave(routes))


def _enter(fake: HttpxFake, routes: list[_Route]) -> None:
    """Add one route per respx mocker to `routes`, and start respx. Raises TransportError if respx is unfit."""
    try:
        from httpcore import AsyncConnectionPool, ConnectionPool
        from respx.mocks import HTTPCoreMocker, Mocker

        routes.extend(_Route(fake, mocker) for mocker in Mocker.registry.values())
    except (AttributeError, ImportError) as error:
        raise _unhooked(str(error)) from error
    before = {ConnectionPool.handle_request, AsyncConnectionPool.handle_async_request}
    runs_already = bool(HTTPCoreMocker.routers)
    for route in routes:
        # Our route comes before the test's own mocks: it takes requests to Bedrock and leaves all others to the mocks.
        route.mocker.routers.insert(0, route)
    HTTPCoreMocker.start()
    # If respx did not replace these methods of httpcore's pools, requests would reach the real network.
    if not runs_already and before & {ConnectionPool.handle_request, AsyncConnectionPool.handle_async_request}:
        raise _unhooked("it does not replace the connection pools of httpcore")


def _leave(routes: list[_Route]) -> None:
    """Undo `_enter`, even if that was interrupted."""
    for route in routes:
        route.mocker.unregister(route)
        route.mocker.stop()


def _unhooked(found: str) -> TransportError:
    return TransportError(_UNHOOKED.format(respx=version("respx"), httpcore=version("httpcore"), found=found))


class _Route:
    """Our router in a respx mocker: answers requests to Bedrock hosts, and leaves all others to the other routers.

    A real respx router with a pass-through route at its end would hide the mocks of the other routers.
    """

    transport = "httpx"

    def __init__(self, fake: HttpxFake, mocker: Any) -> None:
        self.mocker = mocker
        self._fake = fake

    def handler(self, request: httpx.Request) -> httpx.Response:
        """Answer a synchronous client. Raises respx's exceptions as `_to_the_others` does."""
        import httpx

        return cast("httpx.Response", ask(httpx, self._fake_for(request), request, self._to_the_others))

    async def async_handler(self, request: httpx.Request) -> httpx.Response:
        """Answer an asynchronous client. Raises respx's exceptions as `_to_the_others` does."""
        import httpx

        return cast("httpx.Response", await ask_async(httpx, self._fake_for(request), request, self._to_the_others))

    def _fake_for(self, request: httpx.Request) -> Fake:
        """Return this route's fake.

        Raises as `_to_the_others` does if the host is not Bedrock's, or while the newest fake forwards calls.
        """
        if not is_bedrock_host(request.url.host) or recording_is_on():
            self._to_the_others(request)
        return self._fake

    def _to_the_others(self, request: httpx.Request) -> NoReturn:
        """Raise respx's exception that passes the request to the test's own routers, or without any to the network."""
        from respx.models import AllMockedAssertionError, PassThrough

        if all(isinstance(router, _Route) for router in self.mocker.routers):
            raise PassThrough("not for Bedrock", request=request, origin=cast("Any", self))
        raise AllMockedAssertionError(f"{request!r} is not for Bedrock")
