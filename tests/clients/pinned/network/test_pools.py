"""A refused call does not harm clients that are not in `[test]`: what follows in the same session is what was asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

from tests.intercept.guard import pools
from tests.intercept.guard.pools import BODY, SOON, WAYS, Ask, Make, check_the_law


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with pools.serving() as port:
        yield port


@pytest.fixture
def _no_network() -> None:
    """In place of the fixture of all clients, which also fails for a look-up that the guard refuses."""


@pytest.fixture(autouse=True)
def without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    pools.without_proxies(monkeypatch)


def options_of(method: str, headers: dict[str, str], proxy: str | None) -> dict[str, Any]:
    proxies = {"http": proxy, "https": proxy} if proxy else None
    return {"headers": headers, "data": BODY if method == "POST" else None, "timeout": SOON, "proxies": proxies}


def of_session(module: str, size: int, proxy: str | None, stack: ExitStack) -> Ask:
    library: Any = import_module(module)
    options = {"pool_maxsize": size} if module == "niquests" else {}
    session = stack.enter_context(library.Session(**options))
    return lambda method, url, headers: str(
        session.request(method, url, **options_of(method, headers, proxy)).content.decode()
    )


def of_async_session(module: str, size: int, proxy: str | None, stack: ExitStack) -> Ask:
    library: Any = import_module(module)
    portal = stack.enter_context(start_blocking_portal("asyncio"))
    options = {"pool_maxsize": size} if module == "niquests" else {"max_clients": size}

    async def made() -> Any:
        return library.AsyncSession(**options)

    session = stack.enter_context(portal.wrap_async_context_manager(portal.call(made)))

    async def ask(method: str, url: str, headers: dict[str, str]) -> str:
        response = await session.request(method, url, **options_of(method, headers, proxy))
        return str(response.content.decode())

    return partial(portal.call, ask)


def of_stream(size: int, proxy: str | None, stack: ExitStack) -> Ask:
    library: Any = import_module("curl_cffi.requests")
    session = stack.enter_context(library.Session())

    def ask(method: str, url: str, headers: dict[str, str]) -> str:
        with session.stream(method, url, **options_of(method, headers, proxy)) as response:
            return b"".join(response.iter_content()).decode()

    return ask


CLIENTS: dict[str, Make] = {
    "niquests": partial(of_session, "niquests"),
    "async niquests": partial(of_async_session, "niquests"),
    "curl_cffi": partial(of_session, "curl_cffi.requests"),
    "async curl_cffi": partial(of_async_session, "curl_cffi.requests"),
    "stream of curl_cffi": of_stream,
}


PAIRS = [
    (client, way)
    for client in CLIENTS
    for way in WAYS
    if way != "kept alive" or "curl_cffi" not in client  # libcurl looks up names itself; ways.py has this way
]


@pytest.mark.parametrize(("client", "way"), PAIRS)
def test_refused_calls_leave_the_session_whole(
    client: str, way: str, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_the_law(CLIENTS[client], way, 2, port, monkeypatch)
