"""What the proxy for children does with one exchange: all of it goes to its own host, none of it anywhere else."""

from __future__ import annotations

import gc
import http.client
import os
import socket
import ssl
import struct
import subprocess
import sys
import threading
import urllib.request
import warnings
from base64 import b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import aiohttp
import anyio
import httpx
import pytest
import requests
from botocore.awsrequest import AWSRequest
from botocore.httpsession import URLLib3Session
from hypothesis import given, settings
from hypothesis import strategies as st

from converse_harness import BlockedConnection, fake_converse, refusals
from converse_harness.intercept.guard import children
from converse_harness.intercept.guard.children import away_from_bedrock
from converse_harness.intercept.registry import forwarding
from tests.certificates import certificate
from tests.intercept.guard.boto_only import BotoOnlyFake
from tests.profiles import examples

HOST = "bedrock-runtime.us-east-1.amazonaws.com"

# Hosts


class Asked(NamedTuple):
    """One request, as a host read it."""

    line: str
    headers: list[tuple[str, str]]
    body: bytes = b""
    trailers: tuple[tuple[str, str], ...] = ()

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name), None)


def read_headers(reading: BufferedReader) -> list[tuple[str, str]]:
    lines = iter(lambda: reading.readline().decode("latin-1").rstrip("\r\n"), "")
    pairs = (line.partition(":") for line in lines)
    return [(name, value.strip()) for name, _, value in pairs]


def read_chunks(reading: BufferedReader) -> Iterator[bytes]:
    while size := int(reading.readline(), 16):
        yield reading.read(size)
        reading.readline()


def read_request(reading: BufferedReader) -> Asked | None:
    """The next request on a connection; None at its end."""
    line = reading.readline().decode("latin-1").rstrip("\r\n")
    if not line:
        return None
    head = Asked(line, read_headers(reading))
    if head.header("transfer-encoding") == "chunked":
        return head._replace(body=b"".join(read_chunks(reading)), trailers=(*read_headers(reading),))
    return head._replace(body=reading.read(int(head.header("content-length") or 0)))


class Host:
    """A host that notes what it is asked, and does with a connection what a test wants."""

    def __init__(
        self, serve: Callable[[Host, socket.socket, BufferedReader], None], tls: ssl.SSLContext | None = None
    ) -> None:
        self.asked: list[Asked] = []
        self._serve = serve
        self._tls = tls
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self._open: set[socket.socket] = set()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        with suppress(OSError):  # the test is over
            while True:
                connection = self._listening.accept()[0]
                self._open.add(connection)
                self._threads.append(threading.Thread(target=self._handle, args=(connection,)))
                self._threads[-1].start()

    def _handle(self, connection: socket.socket) -> None:
        with suppress(OSError, ValueError), connection:
            talk = self._tls.wrap_socket(connection, server_side=True) if self._tls else connection
            self._open.add(talk)
            with talk, talk.makefile("rb") as reading:
                self._serve(self, talk, reading)
                with suppress(OSError):
                    talk.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        for each in (self._listening, *self._open):
            with suppress(OSError):
                socket.socket.shutdown(each, socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listening.close()


@contextmanager
def host(
    serve: Callable[[Host, socket.socket, BufferedReader], None], *, tls: ssl.SSLContext | None = None
) -> Iterator[Host]:
    opened = Host(serve, tls)
    try:
        yield opened
    finally:
        opened.close()


def answers(body: bytes, *, keeps: bool = True) -> Callable[[Host, socket.socket, BufferedReader], None]:
    """Answer each request in the same way. A host that keeps its connection open does not obey `Connection: close`."""

    def act(self: Host, talk: socket.socket, reading: BufferedReader) -> None:
        while (asked := read_request(reading)) is not None:
            self.asked.append(asked)
            talk.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
            if not keeps:
                break

    return act


def sends(answer: bytes) -> Callable[[Host, socket.socket, BufferedReader], None]:
    """Answer one request with these bytes, and close."""

    def act(self: Host, talk: socket.socket, reading: BufferedReader) -> None:
        asked = read_request(reading)
        assert asked is not None
        self.asked.append(asked)
        talk.sendall(answer)

    return act


def users_proxy(self: Host, talk: socket.socket, reading: BufferedReader) -> None:
    """Pass requests on, and keep the connections of clients open."""
    while (asked := read_request(reading)) is not None:
        self.asked.append(asked)
        method, target, _ = asked.line.split()
        place, _, path = target.removeprefix("http://").partition("/")
        if place.endswith(".example"):
            body = place.encode()
        elif method == "CONNECT":
            with socket.create_connection(tuple(place.split(":"))) as onward:  # type: ignore[arg-type]
                talk.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                copying = threading.Thread(target=copy, args=(onward, talk))
                copying.start()
                copy(talk, onward)
                copying.join()
            return
        else:
            onward_http = http.client.HTTPConnection(place)
            onward_http.request(method, f"/{path}", asked.body, dict(asked.headers))
            with onward_http.getresponse() as response:
                body = response.read()
            onward_http.close()
        talk.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))


def copy(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(65536):
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)


# The proxy


def proxy_of(**env: str) -> str:
    with BotoOnlyFake():
        return away_from_bedrock(env)["https_proxy"]


def place(proxy: str) -> tuple[str, int]:
    parts = urlsplit(proxy)
    return parts.hostname or "", parts.port or 0


@contextmanager
def talking(proxy: str, data: bytes) -> Iterator[tuple[socket.socket, BufferedReader]]:
    """A connection to a proxy on which these bytes were sent."""
    with socket.create_connection(place(proxy), 10) as talk, talk.makefile("rb") as reading:
        talk.sendall(data)
        yield talk, reading


def said(proxy: str, data: bytes) -> bytes:
    """All that a proxy says until it closes the connection."""
    with talking(proxy, data) as (_, reading):
        everything: bytes = reading.read()
    return everything


# Clients


def with_requests(proxy: str, asked: list[tuple[str, dict[str, str]]]) -> list[str]:
    with requests.Session() as session:
        session.trust_env = False
        session.proxies = {"http": proxy, "https": proxy}
        return [session.get(url, headers=headers, verify=False).text for url, headers in asked]


def with_httpx(proxy: str, asked: list[tuple[str, dict[str, str]]]) -> list[str]:
    with httpx.Client(proxy=proxy, trust_env=False, verify=False) as client:
        return [client.get(url, headers=headers).text for url, headers in asked]


def with_aiohttp(proxy: str, asked: list[tuple[str, dict[str, str]]]) -> list[str]:
    async def ask() -> list[str]:
        found: list[str] = []
        async with aiohttp.ClientSession() as session:
            for url, headers in asked:
                async with session.get(url, headers=headers, proxy=proxy, ssl=False) as response:
                    found.append(await response.text())
        return found

    found = anyio.run(ask)
    if tuple(map(int, aiohttp.__version__.split(".")[:2])) < (3, 12):
        # It leaves the end of a TLS connection to the loop, which ends first; the connection is collected here.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
    return found


def with_urllib(proxy: str, asked: list[tuple[str, dict[str, str]]]) -> list[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({"http": proxy, "https": proxy}), urllib.request.HTTPSHandler(context=context)
    )
    found: list[str] = []
    for url, headers in asked:
        with opener.open(urllib.request.Request(url, headers=headers)) as response:
            found.append(response.read().decode())
    return found


def get(site: Host, headers: dict[str, str] | None = None) -> httpx.Response:
    with httpx.Client(proxy=proxy_of(), trust_env=False) as client:
        return client.get(f"http://{site.address}/", headers=headers)


@contextmanager
def streamed(site: Host) -> Iterator[Iterator[bytes]]:
    """The pieces of an answer's body."""
    with (
        httpx.Client(proxy=proxy_of(), trust_env=False) as client,
        client.stream("GET", f"http://{site.address}") as got,
    ):
        yield got.iter_raw()


def with_botocore(proxy: str, asked: list[tuple[str, dict[str, str]]]) -> list[str]:
    session = URLLib3Session(verify=False, proxies={"http": proxy, "https": proxy})
    try:
        return [session.send(AWSRequest("GET", url, headers=headers).prepare()).text for url, headers in asked]
    finally:
        session.close()


CLIENTS = [with_requests, with_httpx, with_aiohttp, with_urllib, with_botocore]


@pytest.fixture(autouse=True)
def _told_to_nobody() -> Iterator[None]:
    """What the proxy refuses a test that talks to it by hand fails neither another test nor the run."""
    yield
    refusals.of_others()


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate(tmp_path_factory.mktemp("tls"), "127.0.0.1"))
    return context


@pytest.fixture(scope="module")
def one_for_all() -> Iterator[Host]:
    with host(users_proxy) as opened:
        yield opened


@pytest.fixture
def users(one_for_all: Host) -> Host:
    """The proxy of the user's. It is the same for all tests, so that ours is started for a few of them only."""
    one_for_all.asked.clear()
    return one_for_all


def through(users: Host) -> dict[str, str]:
    return {"HTTP_PROXY": f"http://{users.address}", "HTTPS_PROXY": f"http://{users.address}"}


# Two hosts


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("has_proxy", [False, True], ids=["direct", "through a proxy of the user's"])
@pytest.mark.parametrize("keeps", [True, False], ids=["kept open", "closed"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_each_of_two_hosts_gets_its_own_requests(
    client: Callable[[str, list[tuple[str, dict[str, str]]]], list[str]],
    has_proxy: bool,
    keeps: bool,
    scheme: str,
    tls: ssl.SSLContext,
    users: Host,
) -> None:
    context = tls if scheme == "https" else None
    with (
        host(answers(b"A", keeps=keeps), tls=context) as one,
        host(answers(b"B", keeps=keeps), tls=context) as other,
    ):
        proxy = proxy_of(**through(users)) if has_proxy else proxy_of()
        a, b = f"{scheme}://{one.address}", f"{scheme}://{other.address}"
        login = {"Authorization": "for-B-only"}
        found = client(proxy, [(f"{a}/1", {}), (f"{b}/2", login), (f"{a}/3", {}), (f"{b}/4", login)])
    assert found == ["A", "B", "A", "B"]
    seen = [[(each.line.split()[1], each.header("authorization")) for each in every.asked] for every in (one, other)]
    assert seen == [[("/1", None), ("/3", None)], [("/2", "for-B-only"), ("/4", "for-B-only")]]
    assert bool(users.asked) == has_proxy


@pytest.mark.parametrize("client", CLIENTS)
def test_a_proxy_of_the_users_that_keeps_connections_is_never_asked_for_bedrock(
    client: Callable[[str, list[tuple[str, dict[str, str]]]], list[str]], users: Host
) -> None:
    urls = ["http://shop.example/a", f"http://{HOST}/model/m/converse"]
    blocked = pytest.raises(BlockedConnection, match=f"{HOST} was asked by a process")
    with blocked, fake_converse(), forwarding():  # as from a child
        proxy = away_from_bedrock(through(users))["http_proxy"]
        with suppress(OSError):  # urllib raises a 403
            client(proxy, [(url, {}) for url in urls])
    assert [each.line.split()[1] for each in users.asked] == urls[:1]


@pytest.mark.parametrize(
    ("target", "header"),
    [
        (f"http://{HOST}/", "shop.example"),
        (f"http://{HOST}:8080/", "shop.example"),
        (f"http://user@{HOST}/", "shop.example"),
        (f"http://{HOST.replace('.', '%2E')}/", "shop.example"),
        ("http://shop.example/", HOST),
        ("http://shop.example/", f"{HOST}:80"),
        ("/model/m/converse", "shop.example"),
        ("//shop.example/model/m/converse", "shop.example"),
    ],
)
def test_target_and_host_are_judged(target: str, header: str, users: Host) -> None:
    blocked = pytest.raises(BlockedConnection, match="was asked by a process")
    with blocked, fake_converse(), forwarding():
        proxy = away_from_bedrock(through(users))["http_proxy"]
        answer = said(proxy, f"GET {target} HTTP/1.1\r\nHost: {header}\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert users.asked == []


class Plain(BaseHTTPRequestHandler):
    """Closes after each answer to `Connection: close`, as it should, and does not say so."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 256


@pytest.mark.parametrize("count", [60, pytest.param(400, marks=pytest.mark.slow)])
def test_parallel_requests_all_get_through(count: int) -> None:
    proxy = proxy_of()
    with Server(("127.0.0.1", 0), Plain) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        url = f"http://127.0.0.1:{server.server_address[1]}/"
        with httpx.Client(proxy=proxy, trust_env=False) as client, ThreadPoolExecutor(20) as pool:
            found = list(pool.map(lambda _: client.get(url), range(count)))
        server.shutdown()
        serving.join()
    assert {(each.status_code, each.text, each.headers.get("connection")) for each in found} == {(200, "ok", "close")}


# Bodies


def test_a_second_request_on_the_connection_is_not_passed_on() -> None:
    """It is dropped: the answer says that the connection ends. And no reset destroys the answer, however long."""
    body = b"x" * 4_000_000
    with host(answers(body)) as site:
        one = f"POST http://{site.address}/1 HTTP/1.1\r\nHost: {site.address}\r\nContent-Length: 2\r\n\r\nab"
        answer = said(proxy_of(), (one + one.replace("/1", "/2") * 2000).encode())
    head, _, rest = answer.partition(b"\r\n\r\n")
    assert b"Connection: close" in head.split(b"\r\n")
    assert rest == body
    assert [(each.line, each.body) for each in site.asked] == [("POST /1 HTTP/1.1", b"ab")]


@pytest.mark.parametrize(("interim", "final"), [(True, "200 OK"), (False, "417 Expectation Failed")])
def test_a_host_decides_whether_it_wants_the_body(interim: bool, final: str) -> None:
    def act(self: Host, talk: socket.socket, reading: BufferedReader) -> None:
        assert reading.readline()
        headers = dict(read_headers(reading))
        assert headers["expect"] == "100-continue"
        if interim:
            talk.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            assert reading.read(4) == b"body"
        talk.sendall(f"HTTP/1.1 {final}\r\nContent-Length: 0\r\n\r\n".encode())

    with host(act) as site:
        head = f"PUT http://{site.address}/ HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nexpect: 100-continue\r\n\r\n"
        with talking(proxy_of(), head.encode()) as (talk, reading):
            if interim:
                assert (reading.readline(), reading.readline()) == (b"HTTP/1.1 100 Continue\r\n", b"\r\n")
                talk.sendall(b"body")
            assert reading.readline().decode().strip() == f"HTTP/1.1 {final}"
            assert ("Connection", "close") in read_headers(reading)
            assert reading.read() == b""


@pytest.mark.parametrize("framing", ["chunked", "until it closes", "Content-Length: 12"])
def test_events_come_as_they_are_sent(framing: str) -> None:
    goes_on = threading.Event()

    def act(self: Host, talk: socket.socket, reading: BufferedReader) -> None:
        read_request(reading)
        header = {"chunked": "Transfer-Encoding: chunked\r\n", "until it closes": ""}.get(framing, f"{framing}\r\n")
        talk.sendall(f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{header}\r\n".encode())
        for event in (b"one\n\n", b"two!!\n\n"):
            talk.sendall(b"%x\r\n%b\r\n" % (len(event), event) if framing == "chunked" else event)
            assert goes_on.wait(10)
        if framing == "chunked":
            talk.sendall(b"0\r\n\r\n")

    with host(act) as site, streamed(site) as pieces:
        first = next(pieces)  # the host sends nothing more until this has come
        goes_on.set()
        assert (first, b"".join(pieces)) == (b"one\n\n", b"two!!\n\n")


def test_a_program_that_leaves_is_noticed_by_a_host_that_is_silent() -> None:
    left = threading.Event()

    def act(self: Host, talk: socket.socket, reading: BufferedReader) -> None:
        read_request(reading)
        talk.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n:\n")
        assert talk.recv(1) == b""
        left.set()

    with host(act) as site:
        with streamed(site) as pieces:
            assert next(pieces) == b":\n"
        assert left.wait(10)


@pytest.mark.parametrize("framing", ["chunked", "length"])
def test_large_bodies_pass_in_both_directions_at_once(framing: str) -> None:
    def echo(self: Host, talk: socket.socket, reading: BufferedReader) -> None:
        assert reading.readline()
        headers = {name.lower(): value for name, value in read_headers(reading)}
        assert ("content-length" in headers) == (framing == "length")
        talk.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        if framing == "length":
            left = int(headers["content-length"])
            while left:
                piece = reading.read1(min(left, 65536))
                talk.sendall(piece)
                left -= len(piece)
        else:
            for piece in read_chunks(reading):
                talk.sendall(piece)

    pieces = [bytes([number]) * 50_000 for number in range(100)]
    with host(echo) as site, httpx.Client(proxy=proxy_of(), trust_env=False) as client:
        content = iter(pieces) if framing == "chunked" else b"".join(pieces)
        assert client.post(f"http://{site.address}/", content=content).content == b"".join(pieces)


def test_a_host_may_answer_before_it_has_read_all() -> None:
    whole = threading.Event()

    def act(self: Host, talk: socket.socket, reading: BufferedReader) -> None:
        assert reading.readline()
        read_headers(reading)
        talk.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        assert reading.read(4) == b"late"
        whole.set()

    with host(act) as site:
        head = f"POST http://{site.address}/ HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n"
        with talking(proxy_of(), head.encode()) as (talk, reading):
            assert reading.read().startswith(b"HTTP/1.1 200 OK\r\n")
            talk.sendall(b"late")
            assert whole.wait(10)


# What is not whole


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\nno size\r\n",
        b"",
    ],
    ids=["length", "chunked", "no chunk", "nothing"],
)
def test_an_answer_that_is_cut_off_is_an_error_for_the_program_too(answer: bytes) -> None:
    with host(sends(answer)) as site, pytest.raises(httpx.RemoteProtocolError):
        get(site)
    assert len(site.asked) == 1


def test_a_reset_is_passed_on_because_a_body_without_a_length_would_look_whole() -> None:
    came = threading.Event()

    def act(self: Host, talk: socket.socket, reading: BufferedReader) -> None:
        read_request(reading)
        talk.sendall(b"HTTP/1.1 200 OK\r\n\r\nshort")
        assert came.wait(10)
        talk.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        reading.close()
        talk.close()

    with host(act) as site, streamed(site) as pieces:
        assert next(pieces) == b"short"
        came.set()
        with pytest.raises(httpx.ReadError):
            next(pieces)


@pytest.mark.parametrize(
    "answer", [b"SSH-2.0-OpenSSH_9.2\r\n\r\n", b"HTTP/1.1 200 OK\r\nno header\r\n\r\n", b"HTTP/1.1 200 OK\r\nHalf: a"]
)
def test_an_answer_that_is_not_http_is_a_502_that_says_so(answer: bytes) -> None:
    with host(sends(answer)) as site:
        response = get(site)
    assert response.status_code == 502
    assert response.json()["message"].startswith("converse-harness cannot read the answer of 127.0.0.1: ")


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET http://a.example/ HTTP/1.1\r\n\r\n", 400),
        (b"GET http://a.example/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET http://a.example:x/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET http://a.example/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"GET http://a.example/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        (b"GET https://a.example/ HTTP/1.1\r\nHost: a\r\n\r\n", 501),
        (b"GET http://a.example/ HTTP/1.1\r\nHost: a\r\nBig: " + b"x" * 200_000, 431),
        (b"hello\r\n\r\n", 400),
    ],
)
def test_a_request_that_cannot_be_passed_on_is_answered(data: bytes, status: int) -> None:
    head, _, body = said(proxy_of(), data).partition(b"\r\n\r\n")
    first, *headers = head.decode().split("\r\n")
    assert first.startswith(f"HTTP/1.1 {status} ")
    assert "Connection: close" in headers
    assert b"Refused" not in body


def test_long_heads_pass() -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + b"Set-Cookie: %b\r\n" % (b"y" * 60_000) + b"\r\n"
    with host(sends(answer)) as site:
        response = get(site, {"X-Long": "x" * 60_000})
    assert len(response.headers["set-cookie"]) == 60_000
    assert len(site.asked[0].header("x-long") or "") == 60_000


def test_a_program_with_http_1_0_gets_neither_chunks_nor_interim_answers() -> None:
    answer = (
        b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
    )
    with host(sends(answer)) as site:
        found = said(proxy_of(), f"GET http://{site.address}/ HTTP/1.0\r\n\r\n".encode())
    assert found == b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok"
    assert (site.asked[0].line, site.asked[0].header("host")) == ("GET / HTTP/1.1", site.address)


def test_a_path_of_other_letters_passes() -> None:
    """So curl sends it."""
    with host(answers(b"ok")) as site:
        assert said(proxy_of(), f"GET http://{site.address}/ä HTTP/1.1\r\nHost: h\r\n\r\n".encode()).endswith(b"ok")
    assert site.asked[0].line == "GET /%C3%A4 HTTP/1.1"


def test_a_length_beside_chunks_is_not_passed_on() -> None:
    """It is how requests are smuggled (RFC 9112, 6.1)."""
    with host(answers(b"ok")) as site:
        both = "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        said(proxy_of(), f"POST http://{site.address}/ HTTP/1.1\r\nHost: h\r\n{both}".encode() * 2)
    assert [(each.header("content-length"), each.body) for each in site.asked] == [(None, b"")]


# Other protocols


def test_a_connection_that_is_upgraded_becomes_a_tunnel() -> None:
    upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\n"

    def act(self: Host, talk: socket.socket, reading: BufferedReader) -> None:
        asked = read_request(reading)
        assert asked is not None
        self.asked.append(asked)
        talk.sendall(f"HTTP/1.1 101 Switching Protocols\r\n{upgrade}\r\nhello".encode())
        assert reading.read(8) == b"firstone"
        talk.sendall(b"last")

    with host(act) as site:
        head = f"GET http://{site.address}/ HTTP/1.1\r\nHost: h\r\n{upgrade}\r\n"
        with talking(proxy_of(), head.encode() + b"first") as (talk, reading):
            assert reading.readline() == b"HTTP/1.1 101 Switching Protocols\r\n"
            assert read_headers(reading) == [("Upgrade", "websocket"), ("Connection", "Upgrade")]
            assert reading.read(5) == b"hello"
            talk.sendall(b"one")
            assert reading.read() == b"last"
    assert (site.asked[0].header("upgrade"), site.asked[0].header("connection")) == ("websocket", "Upgrade")


@pytest.mark.parametrize("protocol", ["h2c", "TLS/1.0", "HTTP/2.0", "websocket, h2c"])
def test_a_protocol_that_carries_requests_is_not_upgraded_to(protocol: str) -> None:
    with host(answers(b"ok")) as site:
        head = f"GET http://{site.address}/ HTTP/1.1\r\nHost: h\r\nUpgrade: {protocol}\r\n"
        wanted = "Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk\r\n\r\n"
        assert said(proxy_of(), f"{head}{wanted}".encode()).endswith(b"ok")
    assert {name.lower() for name, _ in site.asked[0].headers} == {"host", "connection"}


def test_an_upgrade_that_is_declined_is_an_ordinary_answer() -> None:
    with host(answers(b"no")) as site:
        head = f"GET http://{site.address}/ HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n"
        answer = said(proxy_of(), head.encode() + b"GET http://x/ HTTP/1.1")
    assert answer == b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno"


@pytest.mark.parametrize("has_proxy", [False, True])
def test_what_a_program_sends_with_the_head_of_a_tunnel_is_passed_on(has_proxy: bool, users: Host) -> None:
    with host(answers(b"ok", keeps=False)) as site:
        proxy = proxy_of(**through(users)) if has_proxy else proxy_of()
        head = f"CONNECT {site.address} HTTP/1.1\r\nHost: {site.address}\r\n\r\n"
        answer = said(proxy, f"{head}GET /inside HTTP/1.1\r\nHost: h\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b"\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    assert [each.line for each in site.asked] == ["GET /inside HTTP/1.1"]


def test_a_tunnel_that_the_users_proxy_refuses_is_an_answer_with_a_body() -> None:
    with host(sends(b"HTTP/1.1 403 Not here\r\nContent-Length: 4\r\n\r\nwhy?")) as users:
        answer = said(proxy_of(HTTPS_PROXY=users.address), b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n")
    assert answer == b"HTTP/1.1 403 Not here\r\nContent-Length: 4\r\nConnection: close\r\n\r\nwhy?"


def test_a_proxy_of_the_users_may_speak_tls(
    tls: ssl.SSLContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And large bodies pass in both directions at once."""
    file, key = certificate(tmp_path, "127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, key)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))  # the proxy looks for it when it connects

    def echo(self: Host, talk: socket.socket, reading: BufferedReader) -> None:
        asked = read_request(reading)
        assert asked is not None
        self.asked.append(asked)
        talk.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while piece := reading.read1(65536):
            talk.sendall(piece)

    sent = os.urandom(2_000_000)
    with host(echo, tls=context) as users:
        proxy = proxy_of(HTTPS_PROXY=f"https://{users.address}")
        with talking(proxy, b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n") as (talk, reading):
            assert reading.readline() == b"HTTP/1.1 200 OK\r\n"
            read_headers(reading)
            sending = threading.Thread(target=talk.sendall, args=(sent,))
            sending.start()
            assert reading.read(len(sent)) == sent
            sending.join()
    assert [each.line for each in users.asked] == ["CONNECT a.example:443 HTTP/1.1"]


# Passwords


@pytest.fixture
def hidden(users: Host) -> Iterator[dict[str, str]]:
    """The environment of a program of a user whose proxy has a password."""
    own = f"http://me:pass-of-the-user@{users.address}"
    with fake_converse():
        yield away_from_bedrock({"HTTP_PROXY": own, "HTTPS_PROXY": own})


def test_the_password_of_the_users_proxy_is_on_no_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    popen = subprocess.Popen

    def noted(command: list[str], **options: Any) -> Any:
        started.extend(command)
        return popen(command, **options)

    monkeypatch.setattr(subprocess, "Popen", noted)
    running = children._started(("http://me:pass-of-the-user@127.0.0.1:1", "", ""))
    shown: list[bytes] = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):  # where there is no such folder, the arguments are all there is
        with suppress(OSError):  # the process has ended
            shown.append(file.read_bytes())
    running.held.close()
    assert any("child_proxy" in each for each in started)
    assert any(b"child_proxy" in each for each in shown) or not shown
    secrets = ("pass-of-the-user", urlsplit(running.url).password or "pass-of-the-user")
    assert [each for each in started if any(secret in each for secret in secrets)] == []
    assert [each for each in shown if any(secret.encode() in each for secret in secrets)] == []


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_programs_have_the_password_of_our_proxy_and_it_adds_that_of_the_users(
    client: Callable[[str, list[tuple[str, dict[str, str]]]], list[str]],
    scheme: str,
    hidden: dict[str, str],
    users: Host,
    tls: ssl.SSLContext,
) -> None:
    with host(answers(b"ok"), tls=tls if scheme == "https" else None) as site, forwarding():
        assert client(hidden["http_proxy"], [(f"{scheme}://{site.address}/", {})] * 2) == ["ok"] * 2
    login = f"Basic {b64encode(b'me:pass-of-the-user').decode()}"
    assert {each.header("proxy-authorization") for each in users.asked} == {login}


IN_A_PROGRAM = """
import asyncio, urllib.request
import aiohttp, httpx, requests
from botocore.session import get_session

async def ask(url):
    async with aiohttp.ClientSession(trust_env=True) as session, session.get(url) as response:
        return await response.text()

url = "http://shop.example/"
print(httpx.get(url).text, requests.get(url).text, urllib.request.urlopen(url).read().decode(), asyncio.run(ask(url)))
storage = get_session().create_client(
    "s3", "us-east-1", aws_access_key_id="a", aws_secret_access_key="b", endpoint_url="http://store.example"
)
print(storage.get_object(Bucket="bucket", Key="key")["Body"].read().decode())
"""


def test_the_clients_of_a_program_find_it_in_their_environment(hidden: dict[str, str], users: Host) -> None:
    command = [sys.executable, "-c", IN_A_PROGRAM]
    with forwarding():
        done = subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, **hidden})
    assert done.stdout.split() == ["shop.example"] * 4 + ["store.example"], done.stderr
    login = f"Basic {b64encode(b'me:pass-of-the-user').decode()}"
    assert {each.header("proxy-authorization") for each in users.asked} == {login}


@pytest.mark.parametrize(
    "login", ["", "Proxy-Authorization: Basic Y29udmVyc2U6\r\n", "Proxy-Authorization: Bearer\r\n"]
)
@pytest.mark.parametrize("line", ["GET http://shop.example/", "CONNECT shop.example:443"])
def test_others_do_not_use_the_password_of_the_users_proxy(
    login: str, line: str, hidden: dict[str, str], users: Host
) -> None:
    answer = said(hidden["http_proxy"], f"{line} HTTP/1.1\r\nHost: shop.example\r\n{login}\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 407 ")
    assert b'\r\nProxy-Authenticate: Basic realm="converse-harness"\r\n' in answer
    assert users.asked == []


def test_a_request_for_bedrock_is_refused_without_the_password() -> None:
    """SDKs send it to the endpoint's URL, which has none. No text about it has the password."""
    with fake_converse():
        env = away_from_bedrock({"HTTP_PROXY": "http://me:pass-of-the-user@127.0.0.1:1"})
    url, endpoint = env["http_proxy"], env["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"]
    token = urlsplit(url).password or ""
    assert (place(endpoint), urlsplit(endpoint).password, len(token)) == (place(url), None, 32)
    blocked = pytest.raises(BlockedConnection, match="was asked by a process")
    with blocked as raised, fake_converse(), forwarding():
        for target in ("/model/m/converse", f"http://{HOST}/model/m/converse"):
            answer = said(url, f"POST {target} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n".encode())
            assert answer.startswith(b"HTTP/1.1 403 Forbidden\r\n")
            assert token.encode() not in answer
    assert token not in str(raised.value)


def test_a_child_of_a_child_has_the_same_proxy_and_password(hidden: dict[str, str], users: Host) -> None:
    assert away_from_bedrock(hidden) == hidden
    with_its_own = {**hidden, "HTTPS_PROXY": f"http://{users.address}", "https_proxy": f"http://{users.address}"}
    again = away_from_bedrock(with_its_own)  # its own proxy does not get past ours
    assert again["https_proxy"] == again["http_proxy"] not in (hidden["https_proxy"], with_its_own["https_proxy"])
    with forwarding():
        for client in CLIENTS:
            assert client(again["http_proxy"], [("http://shop.example/", {})]) == ["shop.example"]


def test_a_proxy_without_a_password_asks_for_none_and_passes_on_that_of_the_program(users: Host) -> None:
    proxy = proxy_of(**through(users))
    assert urlsplit(proxy).password is None
    login = "Proxy-Authorization: Basic bWU6cHc="
    said(proxy, f"GET http://shop.example/ HTTP/1.1\r\nHost: shop.example\r\n{login}\r\n\r\n".encode())
    assert users.asked[0].header("proxy-authorization") == "Basic bWU6cHc="


def test_a_password_for_a_proxy_does_not_reach_a_host() -> None:
    with host(answers(b"ok")) as site:
        login = "Proxy-Authorization: Basic bWU6cHc="
        said(proxy_of(), f"GET http://{site.address}/ HTTP/1.1\r\nHost: h\r\n{login}\r\n\r\n".encode())
    assert site.asked[0].header("proxy-authorization") is None


# Its life


def test_it_ends_when_no_process_holds_its_pipe_any_more() -> None:
    running = children._started(("", "", ""))
    with talking(running.url, b"") as (_, reading), open(os.dup(running.held.fileno()), "wb") as held_by_a_fork:
        running.held.close()
        assert said(running.url, b"GET /still-here HTTP/1.1\r\nHost: x\r\n\r\n").startswith(b"HTTP/1.1 403 ")
        held_by_a_fork.close()
        with suppress(ConnectionResetError):
            assert reading.read() == b""


# Every shape of an exchange

TOKENS = st.text("abcXYZ019-_", min_size=1, max_size=8).map(lambda name: f"X{name}")
HEADERS = st.lists(st.tuples(TOKENS, st.text('aä ;=",:', max_size=6).map(str.strip)), max_size=4)
PATHS = st.text("/a?&=%;@:.-", max_size=10).map(lambda path: f"/{path.replace('%', '%25')}")
SMALL = st.binary(min_size=1, max_size=40)
PIECES = st.lists(SMALL | SMALL.map(lambda piece: piece * 9_000), max_size=3)
SILENT = (204, 304)


class Message(NamedTuple):
    """A request or an answer. Its body ends with its length or last chunk, or when the connection is closed."""

    headers: list[tuple[str, str]]
    body: list[bytes]
    trailers: list[tuple[str, str]]
    ends: str

    def written(self, line: str, hops: list[tuple[str, str]], *, silent: bool = False) -> bytes:
        length = [("content-Length", str(len(b"".join(self.body))))]
        framing = {"length": length, "chunked": [("Transfer-encoding", "chunked")]}.get(self.ends, [])
        head = f"{line}\r\n{lines([*hops[:1], *self.headers, *framing, *hops[1:]])}\r\n".encode("latin-1")
        if silent:
            return head
        if self.ends != "chunked":
            return head + b"".join(self.body)
        chunks = b"".join([b"%x\r\n%b\r\n" % (len(piece), piece) for piece in self.body])
        return b"%b%b0\r\n%b\r\n" % (head, chunks, lines(self.trailers).encode("latin-1"))


def lines(headers: list[tuple[str, str]]) -> str:
    return "".join([f"{name}: {value}\r\n" for name, value in headers])


class Shape(NamedTuple):
    """One exchange."""

    method: str
    path: str
    request: Message
    version: str
    interim: list[int]
    status: int
    response: Message
    keeps: bool

    @property
    def silent(self) -> bool:
        return self.method == "HEAD" or self.status in SILENT

    def asked(self, target: str, address: str) -> bytes:
        hops = [("Proxy-Connection", "keep-alive"), ("TE", "trailers"), ("Connection", "x-hop, TE"), ("X-Hop", "1")]
        return self.request.written(f"{self.method} {target} HTTP/1.1", [("Host", address), *hops])

    def answered(self) -> bytes:
        interim = "".join([f"HTTP/1.1 {status} Wait\r\nLink: <a>\r\n\r\n" for status in self.interim])
        hops = [("Keep-Alive", "timeout=9"), ("Connection", "x-hop"), ("X-Hop", "1"), ("Upgrade", "h2c")]
        line = f"{interim}{self.version} {self.status} As it is"
        return self.response.written(line, hops, silent=self.silent)


MESSAGES = {
    ends: st.builds(Message, headers=HEADERS, body=PIECES, trailers=HEADERS, ends=st.just(ends))
    for ends in ("length", "chunked", "close")
}
NOTHING = st.builds(Message, headers=HEADERS, body=st.just([]), trailers=st.just([]), ends=st.just("close"))
SHAPES = st.builds(
    Shape,
    method=st.sampled_from(["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PROPFIND"]),
    path=PATHS,
    request=NOTHING | MESSAGES["length"] | MESSAGES["chunked"],
    version=st.sampled_from(["HTTP/1.1", "HTTP/1.1", "HTTP/1.0"]),
    interim=st.lists(st.sampled_from([100, 102, 103]), max_size=2),
    status=st.sampled_from([200, 201, 206, 302, 404, 500, *SILENT]),
    response=st.one_of(*MESSAGES.values()),
    keeps=st.booleans(),
)


class Stage:
    """A host that answers with the shape of the moment."""

    def __init__(self) -> None:
        self.shape: Shape | None = None

    def __call__(self, host: Host, talk: socket.socket, reading: BufferedReader) -> None:
        asked = read_request(reading)
        assert asked is not None
        assert self.shape is not None
        host.asked.append(asked)
        talk.sendall(self.shape.answered())
        if self.shape.keeps and self.shape.response.ends != "close":
            reading.read()  # the other side has to close


HOPS = {"connection", "keep-alive", "proxy-connection", "te", "upgrade", "x-hop"}


def end_to_end(asked: Asked) -> Asked:
    return asked._replace(headers=[each for each in asked.headers if each[0].lower() not in HOPS])


def exchanged(shape: Shape, where: tuple[str, int], target: str, address: str) -> tuple[list[Asked], Asked, bytes]:
    """What a client gets: interim answers, the answer; and what is left to read."""
    with socket.create_connection(where, 10) as talk, talk.makefile("rb") as reading:
        talk.sendall(shape.asked(target, address))
        found: list[Asked] = []
        while not found or found[-1].line[:1] == "1":
            found.append(Asked(reading.readline().decode().rstrip().partition(" ")[2], read_headers(reading)))
        *interim, last = found
        if not shape.silent and shape.response.ends == "chunked":
            last = last._replace(body=b"".join(read_chunks(reading)), trailers=(*read_headers(reading),))
        elif not shape.silent and shape.response.ends == "length":
            last = last._replace(body=reading.read(int(last.header("content-length") or 0)))
        elif not shape.silent:
            last = last._replace(body=reading.read())
        return interim, last, reading.read() if last.header("connection") == "close" else b"kept"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stage, Host, str]]:
    """The proxy runs in this process, where coverage sees its lines."""
    from converse_harness.intercept.guard.child_exchange import ProxySettings, serve

    stage = Stage()
    listening = socket.create_server(("127.0.0.1", 0), backlog=64)
    reports = str(tmp_path_factory.mktemp("proxy") / "reports")
    serving = threading.Thread(target=serve, args=(listening, ProxySettings("", "", "", reports, "", "")))
    with listening, host(stage) as site:
        serving.start()
        yield stage, site, f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
    serving.join()


@settings(max_examples=examples(2))
@given(shape=SHAPES)
def test_an_exchange_through_the_proxy_is_that_without_it(stage: tuple[Stage, Host, str], shape: Shape) -> None:
    acting, site, proxy = stage
    acting.shape = shape
    site.asked.clear()
    name, _, port = site.address.partition(":")
    interim, answer, _ = exchanged(shape, (name, int(port)), shape.path, site.address)
    passed, last, rest = exchanged(shape, place(proxy), f"http://{site.address}{shape.path}", site.address)
    assert rest == b""  # it said that it would close the connection, and did
    assert (passed, end_to_end(last)) == (interim, end_to_end(answer))
    first, second = site.asked
    assert second.header("connection") == "close"
    assert end_to_end(second) == end_to_end(first)
    hops = {name.lower() for name, _ in [*second.headers, *last.headers]} & HOPS
    assert hops == {"connection"}
