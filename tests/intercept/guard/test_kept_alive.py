"""A connection to Bedrock that was open before the fake carries no request while it is open.

The service is a server of the standard library on the loopback, with a certificate for a host of Bedrock; that name is
looked up as 127.0.0.1.
"""

from __future__ import annotations

import asyncio
import gc
import http.client
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import httpx2
import pytest
import requests
import trio
import urllib3

from converse_harness import BlockedConnection, ConverseServer, Fake, record
from tests.certificates import certificate
from tests.intercept.guard.boto_only import BotoOnlyFake

HOST = "bedrock-runtime.us-east-1.amazonaws.com"
PATH = "/model/m/converse"
BODY = b'{"messages": []}'
RAW = b"POST %b HTTP/1.1\r\nHost: b\r\nContent-Length: 2\r\n\r\n{}" % PATH.encode()
Ask = Callable[[], object]


@dataclass
class Service:
    """What stands for Bedrock: where it is, and the targets of the requests that it got, one for each."""

    port: int
    trusted: ssl.SSLContext
    scheme: str
    certificate: Path
    got: list[str]

    @property
    def url(self) -> str:
        return f"{self.scheme}://{HOST}:{self.port}{PATH}"


@contextmanager
def serving(folder: Path, scheme: str) -> Iterator[Service]:
    file, key = certificate(folder, HOST)
    got: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            got.append(self.path)
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        if scheme == "https":
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(file, key)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield Service(server.server_address[1], ssl.create_default_context(cafile=str(file)), scheme, file, got)
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Service]:
    look_up = socket.getaddrinfo

    def on_loopback(host: Any, *args: Any, **kwargs: Any) -> Any:
        return look_up("127.0.0.1" if host in (HOST, HOST.encode()) else host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", on_loopback)
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with serving(tmp_path, getattr(request, "param", "https")) as service:
        yield service


# Clients that keep their connection: each is opened once, and what it gives asks once more over it


def with_httpx(service: Service, stack: ExitStack) -> Ask:
    client = stack.enter_context(httpx.Client(verify=service.trusted))
    return lambda: client.post(service.url, content=BODY).raise_for_status()


def with_httpx2(service: Service, stack: ExitStack) -> Ask:
    client = stack.enter_context(httpx2.Client(verify=service.trusted))
    return lambda: client.post(service.url, content=BODY).raise_for_status()


def with_requests(service: Service, stack: ExitStack) -> Ask:
    class Adapter(requests.adapters.HTTPAdapter):
        def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
            super().init_poolmanager(*args, ssl_context=service.trusted, **kwargs)

    session = stack.enter_context(requests.Session())
    session.mount("https://", Adapter())
    return lambda: session.post(service.url, data=BODY).raise_for_status()


def with_urllib3(service: Service, stack: ExitStack) -> Ask:
    pool = stack.enter_context(urllib3.PoolManager(ssl_context=service.trusted, retries=False))
    return lambda: pool.request("POST", service.url, body=BODY)


def with_http_client(service: Service, stack: ExitStack) -> Ask:
    connection: http.client.HTTPConnection = (
        http.client.HTTPSConnection(HOST, service.port, context=service.trusted)
        if service.scheme == "https"
        else http.client.HTTPConnection(HOST, service.port)
    )
    stack.callback(connection.close)

    def ask() -> object:
        connection.request("POST", PATH, BODY)
        return connection.getresponse().read()

    return ask


def with_a_tls_socket(service: Service, stack: ExitStack, method: str = "sendall") -> Ask:
    plain = stack.enter_context(socket.create_connection((HOST, service.port)))
    secure = stack.enter_context(service.trusted.wrap_socket(plain, server_hostname=HOST))

    def ask() -> object:
        getattr(secure, method)(RAW)
        return secure.recv(1000)

    return ask


def with_write_of_a_tls_socket(service: Service, stack: ExitStack) -> Ask:
    return with_a_tls_socket(service, stack, "write")


KEEPING = [
    with_httpx,
    with_httpx2,
    with_requests,
    with_urllib3,
    with_http_client,
    with_a_tls_socket,
    with_write_of_a_tls_socket,
]
CLEAR = [with_httpx, with_httpx2, with_requests, with_urllib3, with_http_client]


@contextmanager
def failing() -> Iterator[Fake]:
    """An open fake that must have heard of an attempt when it closes."""
    with pytest.raises(BlockedConnection, match=f"tried to reach {HOST}"), BotoOnlyFake() as fake:
        yield fake


@pytest.mark.parametrize(
    ("open_client", "service"),
    [*((each, "https") for each in KEEPING), *((each, "http") for each in CLEAR)],
    indirect=["service"],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_connection_that_was_open_carries_nothing(
    service: Service, open_client: Callable[[Service, ExitStack], Ask]
) -> None:
    with ExitStack() as stack:
        ask = open_client(service, stack)
        ask()
        assert len(service.got) == 1
        with failing(), pytest.raises(BlockedConnection, match=f"tried to reach {HOST}"):
            ask()
        with failing(), suppress(BlockedConnection):
            ask()  # a client that swallows it hides nothing
        assert len(service.got) == 1
    with ExitStack() as stack:
        open_client(service, stack)()
    assert len(service.got) == 2  # without a fake the way is free


# Recording is on its way to the service


def test_a_fake_that_records_stops_nobody(service: Service, tmp_path: Path) -> None:
    with ExitStack() as stack:
        asks = [open_client(service, stack) for open_client in KEEPING]
        with record(tmp_path / "session.jsonl"):
            for ask in asks:
                ask()
        assert len(service.got) == len(KEEPING)


def test_the_proxy_reaches_the_service_while_others_are_stopped(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", str(service.certificate))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    upstream, model = service.url.removesuffix(PATH), "us.amazon.nova-lite-v1%3A0"
    body = {"messages": [{"role": "user", "content": [{"text": "hello"}]}]}
    with (
        ConverseServer() as server,
        server.record(tmp_path / "session.jsonl", upstream=upstream, region="us-east-1") as proxy,
        BotoOnlyFake(),
    ):
        for number in (1, 2):  # the second goes over a connection that is open
            answer = httpx.post(f"{proxy.url}/model/{model}/converse", json=body, trust_env=False)
            assert (answer.status_code, len(service.got)) == (200, number)


# asyncio


@asynccontextmanager
async def over_async_httpx(service: Service) -> AsyncIterator[Callable[[], Any]]:
    async with httpx.AsyncClient(verify=service.trusted) as client:
        yield lambda: client.post(service.url, content=BODY)


@asynccontextmanager
async def over_async_httpx2(service: Service) -> AsyncIterator[Callable[[], Any]]:
    async with httpx2.AsyncClient(verify=service.trusted) as client:
        yield lambda: client.post(service.url, content=BODY)


@asynccontextmanager
async def over_aiohttp(service: Service) -> AsyncIterator[Callable[[], Any]]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=service.trusted)) as session:

        async def ask() -> object:
            async with session.post(service.url, data=BODY) as response:
                return await response.read()

        yield ask


@asynccontextmanager
async def over_streams(service: Service) -> AsyncIterator[Callable[[], Any]]:
    reader, writer = await asyncio.open_connection(HOST, service.port, ssl=service.trusted, server_hostname=HOST)

    async def ask() -> object:
        writer.write(RAW)
        await writer.drain()
        return await reader.read(1000)

    yield ask
    writer.close()
    with suppress(BlockedConnection, OSError):  # that of the write before
        await writer.wait_closed()


async def asks_twice(over: Any, service: Service) -> None:
    async with AsyncExitStack() as stack:
        ask = await stack.enter_async_context(over(service))
        await ask()
        assert len(service.got) == 1
        with failing(), suppress(BlockedConnection, aiohttp.ClientError, OSError):  # `failing` sees what matters
            await ask()
        assert len(service.got) == 1


@pytest.mark.parametrize(
    ("over", "service"),
    [
        (over_async_httpx, "https"),
        (over_async_httpx, "http"),
        (over_async_httpx2, "https"),
        (over_async_httpx2, "http"),
        (over_aiohttp, "https"),
        (over_streams, "https"),
    ],
    indirect=["service"],
)
@pytest.mark.filterwarnings("ignore:unclosed transport:ResourceWarning")
def test_on_asyncio(service: Service, over: Any) -> None:
    asyncio.run(asks_twice(over, service))
    gc.collect()  # a transport whose last bytes the guard has stopped stays open; otherwise another test would be told


@pytest.mark.parametrize("over", [over_async_httpx, over_async_httpx2])
def test_on_trio(service: Service, over: Any) -> None:
    trio.run(asks_twice, over, service)


# Through a proxy the connection leads to another host


def through_httpx(proxy: str, url: str) -> None:
    with httpx.Client(proxy=proxy) as client:
        client.post(url)


def through_urllib3(proxy: str, url: str) -> None:
    with urllib3.ProxyManager(proxy, retries=False) as pool:
        pool.request("POST", url)


def through_http_client(proxy: str, url: str) -> None:
    with closing(http.client.HTTPConnection(proxy.removeprefix("http://"))) as connection:
        if url.startswith("https"):
            connection.set_tunnel(HOST)
        connection.request("POST", url, BODY)


@pytest.mark.parametrize("service", ["http"], indirect=True)
@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("ask", [through_httpx, through_urllib3, through_http_client])
def test_a_proxy_is_asked_for_nothing(service: Service, ask: Callable[[str, str], None], scheme: str) -> None:
    with failing(), pytest.raises(BlockedConnection, match=f"tried to reach {HOST}"):
        ask(f"http://127.0.0.1:{service.port}", f"{scheme}://{HOST}{PATH}")
    assert service.got == []


def test_other_hosts_are_asked_as_before(service: Service) -> None:
    with ExitStack() as stack:
        connection = http.client.HTTPSConnection("127.0.0.1", service.port, context=unverified())
        stack.callback(connection.close)
        client = stack.enter_context(httpx.Client(verify=unverified()))
        for _ in range(2):
            with BotoOnlyFake():
                connection.request("POST", PATH, BODY)
                connection.getresponse().read()
                client.post(f"https://127.0.0.1:{service.port}{PATH}", content=BODY).raise_for_status()
    assert len(service.got) == 4


def unverified() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
