"""The httpx door: transports for one client, and a respx route for code that builds its own.

httpx2 has the same classes under another name, and respx does not see it: its transports are made by the same code, and
its own clients are answered by a patch (`points`) at the transport.
"""

from __future__ import annotations

import functools
from collections.abc import Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, cast

from converse_harness.doors import registry
from converse_harness.doors.fake import Fake
from converse_harness.doors.guard import is_bedrock_host
from converse_harness.doors.httpx_bodies import answer, answer_async, classes
from converse_harness.doors.registry import RefusingFake

if TYPE_CHECKING:
    import httpx

NOT_BOTO: Final = (
    "a boto client called Bedrock while only a fake of the httpx door is open, which does not answer boto clients. Use "
    "the fixture `converse` (beside converse_httpx, if the agent uses both)"
)

_open: tuple[HttpxFake, ...] = ()
"""Newest first."""


class HttpxFake(Fake):
    """A fake Bedrock for httpx: `.transport` and `.async_transport` for one client, and every client while it is open.

    Clients that code under test builds itself are answered when they ask a host of Bedrock; all other hosts, and a
    respx mock of the test's own, are left alone.

    >>> import httpx
    >>> from converse_harness import reply
    >>> body = {"messages": [{"role": "user", "content": [{"text": "hello"}]}]}
    >>> with HttpxFake(reply.text("hi")) as fake:
    ...     answer = httpx.post("https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse", json=body)
    >>> answer.json()["output"]["message"]["content"]
    [{'text': 'hi'}]
    """

    @property
    def transport(self) -> httpx.BaseTransport:
        """For one client of your own: `httpx.Client(transport=fake.transport)`; it answers whatever host is asked."""
        import httpx

        return cast("httpx.BaseTransport", self.transport_for(httpx))

    @property
    def async_transport(self) -> httpx.AsyncBaseTransport:
        """The same for `httpx.AsyncClient`, on asyncio or trio."""
        import httpx

        return cast("httpx.AsyncBaseTransport", self.async_transport_for(httpx))

    def transport_for(self, library: ModuleType) -> Any:
        """A transport of httpx2: `httpx2.Client(transport=fake.transport_for(httpx2))`."""
        return classes(library).transport(library, self)

    def async_transport_for(self, library: ModuleType) -> Any:
        """An asynchronous transport of httpx2."""
        return classes(library).async_transport(library, self)

    def _door(self) -> AbstractContextManager[object]:
        stack = ExitStack()
        stack.enter_context(registry.opened(RefusingFake(NOT_BOTO, self), boto=False))
        stack.enter_context(_routed(self))
        return stack


@contextmanager
def _routed(fake: HttpxFake) -> Generator[None, None, None]:
    """Answer httpx's own clients through respx, and those of httpx2 through the patched transports."""
    global _open
    from respx.mocks import HTTPCoreMocker, Mocker

    routes = [_Route(fake, mocker) for mocker in Mocker.registry.values()]
    try:
        _open = (fake, *_open)
        for route in routes:
            # First, whatever a test has mocked: what is for Bedrock is ours, all else goes on to the others.
            route.mocker.routers.insert(0, route)
        HTTPCoreMocker.start()
        yield
    finally:
        _open = tuple(each for each in _open if each is not fake)
        for route in routes:
            route.mocker.unregister(route)
            route.mocker.stop()


class _Route:
    """Stands among the routers of one of respx's mockers: answers hosts of Bedrock, and leaves all else to the others.

    A router of respx with a last route that passes through would take from the others what they have mocked.
    """

    def __init__(self, fake: HttpxFake, mocker: Any) -> None:
        self.mocker = mocker
        self._fake = fake

    def handler(self, request: httpx.Request) -> httpx.Response:
        """Answer a synchronous client. Raises what respx knows as "not mine"."""
        import httpx

        if not is_bedrock_host(request.url.host):
            raise self._not_mine(request)
        return cast("httpx.Response", answer(httpx, self._fake, request))

    async def async_handler(self, request: httpx.Request) -> httpx.Response:
        """Answer an asynchronous client. Raises what respx knows as "not mine"."""
        import httpx

        if not is_bedrock_host(request.url.host):
            raise self._not_mine(request)
        return cast("httpx.Response", await answer_async(httpx, self._fake, request))

    def _not_mine(self, request: httpx.Request) -> Exception:
        """Where a router of the test's own may know the request, let it; else to the network."""
        from respx.models import AllMockedAssertionError, PassThrough

        if all(isinstance(router, _Route) for router in self.mocker.routers):
            return PassThrough("not for Bedrock", request=request, origin=cast("Any", self))
        return AllMockedAssertionError(f"{request!r} is not for Bedrock")


def answer_httpx2(original: Any) -> Any:
    """`HTTPTransport.handle_request` of httpx2."""

    @functools.wraps(original)
    def handle_request(self: Any, request: Any) -> Any:
        if not _open or not is_bedrock_host(request.url.host):
            return original(self, request)
        request.read()
        return answer(_library(), _open[0], request)

    return handle_request


def answer_httpx2_async(original: Any) -> Any:
    """`AsyncHTTPTransport.handle_async_request` of httpx2."""

    @functools.wraps(original)
    async def handle_async_request(self: Any, request: Any) -> Any:
        if not _open or not is_bedrock_host(request.url.host):
            return await original(self, request)
        await request.aread()
        return await answer_async(_library(), _open[0], request)

    return handle_async_request


def _library() -> Any:
    import httpx2

    return httpx2
