"""A refused call does not harm the client: no connection of its pool is lost."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Any

import aiohttp
import httpcore
import httpcore2
import httpx
import httpx2
import pytest
import requests
import respx
import urllib3
from anyio.from_thread import start_blocking_portal

from converse_harness import BlockedConnection
from tests.intercept.guard import pools
from tests.intercept.guard.boto_only import BotoOnlyFake
from tests.intercept.guard.pools import BODY, HOST, PATH, SOON, WAYS, Ask, Make, check_the_law, refusing


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with pools.serving() as port:
        yield port


@pytest.fixture(autouse=True)
def without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    pools.without_proxies(monkeypatch)


# Clients with a pool of `size` connections, perhaps through a proxy


def content(method: str) -> bytes | None:
    return BODY if method == "POST" else None


def of_httpx(library: Any, size: int, proxy: str | None, stack: ExitStack, **options: Any) -> Ask:
    limits = library.Limits(max_connections=size)
    client = stack.enter_context(library.Client(limits=limits, timeout=SOON, proxy=proxy, **options))
    return lambda method, url, headers: str(client.request(method, url, headers=headers, content=content(method)).text)


def of_transport(library: Any, size: int, proxy: str | None, stack: ExitStack) -> Ask:
    class Own(library.BaseTransport):  # type: ignore[misc] # the class is that of a parameter
        def __init__(self) -> None:
            self.inner = library.HTTPTransport(limits=library.Limits(max_connections=size), proxy=proxy)

        def handle_request(self, request: Any) -> Any:
            return self.inner.handle_request(request)

        def close(self) -> None:
            self.inner.close()

    client = stack.enter_context(library.Client(timeout=SOON, mounts={"all://": Own()}))
    return lambda method, url, headers: str(client.request(method, url, headers=headers, content=content(method)).text)


def of_httpcore(library: Any, size: int, proxy: str | None, stack: ExitStack) -> Ask:
    pool: Any = (
        library.HTTPProxy(proxy, max_connections=size) if proxy else library.ConnectionPool(max_connections=size)
    )
    stack.enter_context(pool)
    timeouts = {"timeout": {"pool": SOON, "connect": SOON}}
    return lambda method, url, headers: str(
        pool.request(method, url, headers=headers, content=content(method), extensions=timeouts).content.decode()
    )


def of_async_httpx(library: Any, backend: str, size: int, proxy: str | None, stack: ExitStack) -> Ask:
    portal = stack.enter_context(start_blocking_portal(backend))
    limits = library.Limits(max_connections=size)
    client = stack.enter_context(
        portal.wrap_async_context_manager(library.AsyncClient(limits=limits, timeout=SOON, proxy=proxy))
    )
    return lambda method, url, headers: str(
        portal.call(partial(client.request, method, url, headers=headers, content=content(method))).text
    )


def of_aiohttp(size: int, proxy: str | None, stack: ExitStack) -> Ask:
    portal = stack.enter_context(start_blocking_portal("asyncio"))

    async def made() -> aiohttp.ClientSession:
        timeout = aiohttp.ClientTimeout(SOON)
        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=size), timeout=timeout)

    async def ask(method: str, url: str, headers: dict[str, str]) -> str:
        async with session.request(method, url, headers=headers, data=content(method), proxy=proxy) as response:
            return await response.text()

    session = portal.call(made)
    stack.callback(portal.call, session.close)
    return partial(portal.call, ask)


def of_requests(size: int, proxy: str | None, stack: ExitStack) -> Ask:
    session = stack.enter_context(requests.Session())
    session.mount("http://", requests.adapters.HTTPAdapter(pool_maxsize=size, pool_block=True))
    session.mount("https://", requests.adapters.HTTPAdapter(pool_maxsize=size, pool_block=True))
    proxies = {"http": proxy, "https": proxy} if proxy else {}
    return lambda method, url, headers: (
        session.request(method, url, headers=headers, data=content(method), proxies=proxies, timeout=SOON).text
    )


def of_urllib3(size: int, proxy: str | None, stack: ExitStack) -> Ask:
    options: dict[str, Any] = {"maxsize": size, "block": True, "retries": False, "timeout": SOON}
    pool = stack.enter_context(urllib3.ProxyManager(proxy, **options) if proxy else urllib3.PoolManager(**options))
    return lambda method, url, headers: pool.request(
        method, url, headers=headers, body=content(method), pool_timeout=SOON
    ).data.decode()


CLIENTS: dict[str, Make] = {
    "httpx": partial(of_httpx, httpx),
    "httpx2": partial(of_httpx, httpx2),
    "httpx over HTTP/2": partial(of_httpx, httpx, http2=True),
    "httpx2 over HTTP/2": partial(of_httpx, httpx2, http2=True),
    "transport of httpx": partial(of_transport, httpx),
    "transport of httpx2": partial(of_transport, httpx2),
    "httpcore": partial(of_httpcore, httpcore),
    "httpcore2": partial(of_httpcore, httpcore2),
    "async httpx": partial(of_async_httpx, httpx, "asyncio"),
    "async httpx2": partial(of_async_httpx, httpx2, "asyncio"),
    "httpx on trio": partial(of_async_httpx, httpx, "trio"),
    "httpx2 on trio": partial(of_async_httpx, httpx2, "trio"),
    "aiohttp": of_aiohttp,
    "requests": of_requests,
    "urllib3": of_urllib3,
}


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("client", CLIENTS)
def test_refused_calls_leave_the_pool_whole(
    client: str, way: str, size: int, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_the_law(CLIENTS[client], way, size, port, monkeypatch)


URL = f"https://{HOST}{PATH}"
LIBRARIES = pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])


@LIBRARIES
def test_threads_are_refused_at_once(library: Any, port: int) -> None:
    def post(_: int) -> str:
        with pytest.raises(BlockedConnection) as error:
            client.post(URL)
        return str(error.value)

    limits = library.Limits(max_connections=2)
    with library.Client(limits=limits, timeout=SOON) as client, ThreadPoolExecutor(8) as threads:
        with refusing():
            assert all(HOST in said for said in threads.map(post, range(24)))
        assert client.get(f"http://127.0.0.1:{port}/").text == "GET"


@LIBRARIES
def test_a_refused_call_needs_no_free_connection(library: Any, port: int) -> None:
    """Nor does it close an idle one to make room, or wake the call that waits for one."""
    local = f"http://127.0.0.1:{port}/"
    limits = library.Limits(max_connections=1)
    with library.Client(limits=limits, timeout=SOON) as client, ThreadPoolExecutor(1) as thread:
        with client.stream("GET", local) as held:
            with refusing(), pytest.raises(BlockedConnection):
                client.post(URL)
            waits = thread.submit(client.get, local)
            with refusing(), pytest.raises(BlockedConnection):
                client.post(URL)
            held.read()
        assert waits.result().text == "GET"
        pool = client._transport._pool
        idle = pool.connections
        with refusing(), pytest.raises(BlockedConnection):
            client.post(URL)
        assert pool.connections == idle
        assert len(idle) == 1


def test_respx_that_began_before_the_fake_is_asked_first(port: int) -> None:
    limits = httpx.Limits(max_connections=1)
    with respx.mock(assert_all_mocked=False) as mocked, httpx.Client(limits=limits, timeout=SOON) as client:
        mocked.route(host="127.0.0.1").pass_through()
        # A fake that has refused nothing does not fail: the mock has answered.
        route = mocked.post(URL).respond(text="mocked")
        with BotoOnlyFake():
            assert client.post(URL).text == "mocked"
        route.pass_through()
        with refusing():
            for _ in range(2):
                with pytest.raises(BlockedConnection, match=f"tried to reach {HOST}"):
                    client.post(URL)
            assert client.get(f"http://127.0.0.1:{port}/").text == "GET"


@pytest.mark.parametrize("library", [httpcore, httpcore2], ids=["httpcore", "httpcore2"])
@pytest.mark.parametrize("is_open", [False, True], ids=["new", "open"])
def test_a_connection_without_a_pool_is_refused_and_works_after_the_fake(
    library: Any, is_open: bool, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools.as_bedrock(monkeypatch)

    def ask() -> str:
        request = library.Request("POST", f"http://{HOST}:{port}{PATH}", headers={"Host": HOST, "Content-Length": "0"})
        response = connection.handle_request(request)
        try:
            return str(response.read().decode())
        finally:
            response.close()

    with library.HTTPConnection(library.Origin(b"http", HOST.encode(), port)) as connection:
        if is_open:
            assert ask() == "POST"
        with refusing(), pytest.raises(BlockedConnection, match=f"tried to reach {HOST}"):
            ask()
        assert ask() == "POST"
