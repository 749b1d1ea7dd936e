"""Give aiohttp a connection in memory where its connector would open one to Bedrock.

Everything above the connection is aiohttp's own: the limits of the connector, timeouts, signals of TraceConfig, the
request writer, the response parser, decompression, cookies.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from converse_harness.intercept.aiohttp.connection import InMemoryTransport
from converse_harness.intercept.exchange import OpenFake
from converse_harness.intercept.guard.host_readers import aiohttp_request
from converse_harness.intercept.http.requests import fake_for


def connect(original: Any) -> Any:
    """Replace aiohttp's `BaseConnector.connect`: a request to Bedrock gets a connection in memory.

    The guard checks all other requests.
    """
    guarded: Callable[..., Any] = aiohttp_request(original)

    @functools.wraps(original)
    async def _connect(self: Any, req: Any, *args: Any, **kwargs: Any) -> Any:
        url = req.url
        fake = fake_for("aiohttp", url.scheme, url.host, url.port, url.raw_path_qs)
        if fake is None:
            return await guarded(self, req, *args, **kwargs)
        return await original(_InMemoryConnector(self, fake), req, *args, **kwargs)

    return _connect


class _InMemoryConnector:
    """Stands in place of a connector while this connects: it shares all state of the connector, but opens no socket.

    So a connection in memory counts for `limit` and `limit_per_host`, and closes with the connector. It never takes an
    idle connection, and its own connection never becomes one: after the fake has closed, nothing of it is used again.
    """

    def __init__(self, connector: Any, fake: OpenFake) -> None:
        vars(self).update(_connector=connector, _fake=fake)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connector, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._connector, name, value)

    def _get(self, *args: Any) -> Any:
        """Find no idle connection. The method is a coroutine function in aiohttp 3.10.11, and was none in 3.10.0."""
        return _no_connection() if inspect.iscoroutinefunction(self._connector._get) else None

    async def _create_connection(self, req: Any, *more: Any) -> Any:
        """Return a new protocol object of aiohttp that is connected to a transport in memory."""
        protocol = self._connector._factory()
        dial = functools.partial(self._connector._create_connection, req, *more)
        protocol.connection_made(InMemoryTransport(protocol, req, self._fake, dial))
        protocol.force_close()  # the connector must not keep the connection for another request
        return protocol


async def _no_connection() -> None: ...
