"""Record through one transport, replay through another: what a client gets is what the service sent.

A ConverseServer is the service. Every reply that the strategies draw is asked for through each way to record, and what
is written is replayed through each transport.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
import botocore.config
import botocore.exceptions
import httpx
import pytest
import urllib3.exceptions
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from converse_harness import ConverseServer, HttpxFake, Reply, fake_converse, record, recording
from converse_harness.intercept.clients import create_client
from converse_strategies import faulty_replies, replies
from tests.profiles import examples

pytestmark = pytest.mark.any_answer

BODY: Final = json.dumps({"messages": [{"role": "user", "content": [{"text": "Grüezi?"}]}]})
TARGETS: Final = {
    "Converse": "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse",
    "ConverseStream": "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream",
}


@dataclass(frozen=True)
class Got:
    """What a client gets: the head, the bytes up to the end, and whether that came as it should."""

    status: int
    named: Mapping[str, str]
    body: bytes
    whole: bool


NAMED: Final = ("content-type", "x-amzn-requestid", "x-amzn-errortype", "retry-after", "retry-after-ms")


def named(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that say something."""
    lower = {name.lower(): value for name, value in headers.items()}
    return {name: lower[name] for name in NAMED if name in lower}


def over_http(url: str, operation: str) -> Got:
    """What a plain HTTP client gets of a server."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=30)
    try:
        connection.request("POST", parts.path + TARGETS[operation], BODY.encode())
        answer = connection.getresponse()
        try:
            body, whole = answer.read(), True
        except http.client.IncompleteRead as error:
            body, whole = error.partial, False
        except OSError:
            body, whole = b"", False
        return Got(answer.status, named(dict(answer.getheaders())), body, whole)
    finally:
        connection.close()


def over_httpx(client: httpx.Client, url: str, operation: str) -> Got:
    """What httpx gets."""
    with client.stream("POST", url + TARGETS[operation], content=BODY) as answer:
        pieces: list[bytes] = []
        try:
            pieces.extend(answer.iter_raw())
            whole = True
        except httpx.ReadError:
            pieces, whole = [], False  # of what comes before a reset a client may see any part
        except httpx.TransportError:
            whole = False
        return Got(answer.status_code, named(dict(answer.headers)), b"".join(pieces), whole)


def over_aiohttp(url: str, operation: str) -> Got:
    """What aiohttp gets."""

    async def ask() -> Got:
        async with aiohttp.ClientSession() as client, client.post(url + TARGETS[operation], data=BODY) as answer:
            pieces: list[bytes] = []
            try:
                async for piece in answer.content.iter_any():
                    pieces += [piece]
                whole = True
            except aiohttp.ClientPayloadError as error:
                whole = False
                if "reset" in str(error):
                    pieces = []  # of what comes before a reset a client may see any part
            return Got(answer.status, named(dict(answer.headers)), b"".join(pieces), whole)

    return asyncio.run(ask())


def through_boto(client: Any, operation: str) -> None:
    """One call of a boto client, to its end."""
    asked = {"modelId": "us.anthropic.claude-sonnet-4-5-20250929-v1:0", **json.loads(BODY)}
    try:
        if operation == "Converse":
            client.converse(**asked)
        else:
            for _ in client.converse_stream(**asked)["stream"]._raw_stream.stream():
                pass
    except (botocore.exceptions.BotoCoreError, client.exceptions.ClientError, urllib3.exceptions.HTTPError):
        pass  # what was recorded is looked at, not what the client makes of it


def record_by_boto(upstream: str, file: Path, operation: str) -> None:
    config = botocore.config.Config(retries={"total_max_attempts": 1})
    with record(file):
        through_boto(create_client(endpoint_url=upstream, config=config), operation)


def record_by_httpx(upstream: str, file: Path, operation: str) -> None:
    with record(file) as recorder, httpx.Client(transport=recorder.httpx_transport(httpx.HTTPTransport())) as client:
        over_httpx(client, upstream, operation)


def record_by_aiohttp(upstream: str, file: Path, operation: str) -> None:
    with record(file, upstream=upstream):
        over_aiohttp(upstream, operation)


def record_by_proxy(upstream: str, file: Path, operation: str) -> None:
    with ConverseServer() as server, server.record(file, upstream=upstream, region="us-east-1") as proxy:
        over_http(proxy.url, operation)


WAYS: Final[Mapping[str, Callable[[str, Path, str], None]]] = {
    "boto": record_by_boto,
    "httpx": record_by_httpx,
    "aiohttp": record_by_aiohttp,
    "proxy": record_by_proxy,
}


def replay_over_server(file: Path, operation: str) -> Got:
    with ConverseServer() as server, server.script(recording(file)) as fake:
        return over_http(fake.url, operation)


def replay_over_httpx(file: Path, operation: str) -> Got:
    with HttpxFake(recording(file)) as fake, httpx.Client(transport=fake.httpx_transport) as client:
        return over_httpx(client, "https://bedrock-runtime.us-east-1.amazonaws.com", operation)


def replay_over_aiohttp(file: Path, operation: str) -> Got:
    with fake_converse(recording(file)):
        return over_aiohttp("https://bedrock-runtime.us-east-1.amazonaws.com", operation)


def can_be_sent(reply: Reply) -> bool:
    """Whether the server can, and does not wait: silence is recorded elsewhere."""
    faults = [placement.fault for placement in reply.plan.placements]
    return all("server" in fault.transports and fault.seconds is None and not fault.no_answer for fault in faults)


drawn = st.one_of(replies(), faulty_replies().map(lambda faulty: faulty.reply)).filter(can_be_sent)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that the proxy signs with."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "fake")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "fake")


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=examples(0.3), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(reply=drawn, operation=st.sampled_from(list(TARGETS)))
def test_what_one_transport_records_every_transport_replays(
    way: str, converse_server: ConverseServer, reply: Reply, operation: str
) -> None:
    on_body = all(placement.fault.on_body is not None for placement in reply.plan.placements)
    assume(operation == "ConverseStream" or on_body)  # what only a stream can be
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "made.jsonl")
        with converse_server.script() as upstream:
            upstream.always(reply)
            sent = over_http(upstream.url, operation)
            assume(b"arn:" not in sent.body)  # account ids are masked
            WAYS[way](upstream.url, file, operation)
        assert replay_over_server(file, operation) == sent
        assert replay_over_httpx(file, operation) == sent
        assert replay_over_aiohttp(file, operation) == sent
        with fake_converse(recording(file)) as fake:
            through_boto(create_client(config=botocore.config.Config(retries={"total_max_attempts": 1})), operation)
    taken = b"".join(fake.calls[0].answered.taken.data)
    assert (fake.calls[0].status, taken if sent.whole else b"") == (sent.status, sent.body if sent.whole else b"")
