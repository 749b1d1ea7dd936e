"""The guard: what the transports do not answer never reaches Bedrock, and the test fails even if it swallows that."""

from __future__ import annotations

import asyncio
import gzip
import http.client
import json
import socket
import ssl
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import aiohttp
import aiohttp.resolver
import botocore
import httpx
import pytest
import urllib3

from converse_harness import BlockedConnection, fake_converse
from converse_harness.intercept.clients import ENDPOINTS
from converse_harness.intercept.guard.hosts import is_bedrock_host
from tests.intercept.guard.boto_only import BotoOnlyFake

HOST = "bedrock-runtime.us-east-1.amazonaws.com"
URL = f"https://{HOST}/model/m/converse"
Network = list[tuple[str, Any]]


def with_httpx() -> None:
    httpx.post(URL, json={})


def with_async_httpx() -> None:
    async def post() -> None:
        async with httpx.AsyncClient() as client:
            await client.post(URL, json={})

    asyncio.run(post())


def with_aiohttp() -> None:
    async def post() -> None:
        async with aiohttp.ClientSession() as session, session.post(URL, json={}):
            pass

    asyncio.run(post())


def with_the_resolver_of_aiohttp() -> None:
    async def resolve() -> None:
        # c-ares does not ask Python's own resolver, and may not be installed: what is asked is the class.
        resolver = object.__new__(aiohttp.resolver.AsyncResolver)
        await resolver.resolve(HOST, 443)

    asyncio.run(resolve())


def with_urllib3() -> None:
    urllib3.PoolManager(retries=False).request("POST", URL)


def with_urllib() -> None:
    urlopen(URL)


def with_gethostbyname() -> None:
    socket.gethostbyname(HOST)


def with_getaddrinfo_of_bytes() -> None:
    socket.getaddrinfo(HOST.encode(), 443)


def with_connect() -> None:
    with socket.socket() as plain:
        plain.connect((HOST, 443))


def with_connect_ex() -> None:
    with socket.socket() as plain:
        plain.connect_ex((HOST, 443))


def with_sendto() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as plain:
        plain.sendto(b"x", (HOST, 443))


def with_a_proxy() -> None:
    """A proxy resolves the name itself; the TLS handshake still says it."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ssl.create_default_context().wrap_socket(ours, server_hostname=HOST)


def with_tls_in_memory() -> None:
    ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname=HOST)


@pytest.mark.parametrize(
    ("reach", "library", "transport"),
    [
        (with_httpx, "httpx", "converse"),
        (with_async_httpx, "httpx", "converse"),
        (with_aiohttp, "aiohttp", "converse"),
        (with_the_resolver_of_aiohttp, "socket", "converse_server"),
        (with_urllib3, "urllib3", "converse_server"),
        (with_urllib, "socket", "converse_server"),
        (with_gethostbyname, "socket", "converse_server"),
        (with_getaddrinfo_of_bytes, "socket", "converse_server"),
        (with_connect, "socket", "converse_server"),
        (with_connect_ex, "socket", "converse_server"),
        (with_sendto, "socket", "converse_server"),
        (with_a_proxy, "socket", "converse_server"),
        (with_tls_in_memory, "socket", "converse_server"),
    ],
)
def test_another_way_is_stopped_and_fails_the_test(
    reach: Callable[[], None], library: str, transport: str, network: Network
) -> None:
    fake = BotoOnlyFake()
    fake.open()
    try:
        with pytest.raises(BlockedConnection, match=rf"^{library} tried to reach {HOST}.*`{transport}`"):
            reach()
        # A client that swallows it hides nothing.
        with pytest.raises(BlockedConnection, match=HOST):
            fake.check()
    finally:
        fake.close()
    assert not isinstance(BlockedConnection("x"), OSError)
    assert [event for event, _ in network if event != "socket.getaddrinfo"] == []


@pytest.mark.parametrize(
    ("host", "ours"),
    [
        (HOST, True),
        (HOST.upper(), True),
        (f"{HOST}.", True),
        (f"{HOST}..", True),
        (HOST.replace("b", "\uff42").replace(".", "\u3002"), True),
        (HOST.replace("d", "d\u00ad"), True),
        (HOST.replace("d", "\u24d3").encode(), True),
        (HOST.encode(), True),
        ("bedrock.eu-central-1.amazonaws.com", True),
        ("bedrock-runtime-fips.us-east-1.amazonaws.com", True),
        ("bedrock-agent-runtime.cn-north-1.amazonaws.com.cn", True),
        ("bedrock-runtime.us-east-1.api.aws", True),
        ("bedrock-mantle.us-east-1.api.aws", True),
        ("vpce-0a1b2c-xyz.bedrock-runtime.us-east-1.vpce.amazonaws.com", True),
        ("gateway-1.gateway.bedrock-agentcore.us-west-2.amazonaws.com", True),
        ("s3.us-east-1.amazonaws.com", False),
        ("bedrock-runtime.us-east-1.amazonaws.com.example.org", False),
        ("notbedrock-runtime.us-east-1.amazonaws.com", False),
        ("my-bedrock-proxy.example.org", False),
        ("localhost", False),
        (None, False),
        (7, False),
    ],
)
def test_knows_the_hosts_of_bedrock(host: object, ours: bool) -> None:
    assert is_bedrock_host(host) is ours


def test_knows_every_domain_that_botocore_knows() -> None:
    partitions = json.loads((Path(botocore.__file__).parent / "data" / "partitions.json").read_text())["partitions"]
    outputs = [partition["outputs"] for partition in partitions]
    domains = {output[key] for output in outputs for key in ("dnsSuffix", "dualStackDnsSuffix")}
    assert [
        domain for domain in sorted(domains) if not is_bedrock_host(f"bedrock-runtime.some-region-1.{domain}")
    ] == []


def test_children_are_told_of_every_service_of_bedrock() -> None:
    """Botocore makes the name of a variable from the id of its service."""
    folder = Path(botocore.__file__).parent / "data"
    ids = set()
    for service in folder.glob("bedrock*"):
        file = max(service.glob("*/service-2.json*"))
        text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        ids.add(json.loads(text)["metadata"]["serviceId"])
    assert {f"AWS_ENDPOINT_URL_{each.upper().replace(' ', '_')}" for each in ids} <= set(ENDPOINTS)


def test_a_request_in_clear_names_its_host_on_a_way_off_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    def is_blocked(peer: str, head: bytes) -> bool:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            monkeypatch.setattr("converse_harness.intercept.guard.host_readers._peer", lambda _: peer)
            try:
                ours.sendall(head)
            except BlockedConnection as error:
                return HOST in str(error)
            return False

    path = b"POST /model/m/converse HTTP/1.1\r\nX: y\r\nhost:  " + HOST.encode()
    free = (
        ("127.0.0.1", path + b":80\r\n\r\n"),  # a request to a server of this machine may have any Host header
        ("10.0.0.1", b"text, not a request, of Host: " + HOST.encode()),
        ("10.0.0.1", b"POST / HTTP/1.1\r\nHost: example.com\r\n\r\nHost: " + HOST.encode()),
    )
    blocked = (
        ("10.0.0.1", path + b":80\r\n\r\n"),
        ("127.0.0.1", b"CONNECT " + HOST.encode() + b":443 HTTP/1.1\r\n\r\n"),
        ("127.0.0.1", b"GET http://" + HOST.encode() + b"/x HTTP/1.1\r\n\r\n"),
    )
    found: list[bool] = []
    with pytest.raises(BlockedConnection), BotoOnlyFake(unexpected="allow"):
        found += [is_blocked(*each) for each in (*free, *blocked)]
    assert found == [False] * len(free) + [True] * len(blocked)


def test_other_hosts_and_the_loopback_are_free() -> None:
    with BotoOnlyFake(), socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("localhost", port)):
            connection, _ = server.accept()
            connection.close()
        with pytest.raises(OSError, match=r"."):
            http.client.HTTPConnection("no-such-host.invalid", timeout=1).connect()


def test_is_off_without_a_fake(monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_converse():
        pass
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: sys.exit("asked"))
    with pytest.raises(SystemExit, match="asked"):
        with_connect_by_name()
    context = ssl.create_default_context()
    assert context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname=HOST).server_hostname == HOST


def with_connect_by_name() -> None:
    socket.create_connection((HOST, 443))
