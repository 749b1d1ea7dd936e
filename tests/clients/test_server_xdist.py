"""Servers and processes: one server for each worker of pytest-xdist; one that is killed in the middle of a stream."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final

import boto3
import httpx
import pytest
import urllib3.exceptions

from tests.clients.mortal import mortal_server
from tests.clients.scenarios import REQUEST

WORKERS: Final = 4

TEST: Final = """
import os
from urllib.parse import urlsplit

import httpx
import pytest
from converse_harness import reply

QUESTION = {"messages": [{"role": "user", "content": [{"text": "hello"}]}]}


@pytest.mark.parametrize("number", range(40))
def test_each_worker_has_its_own(number, converse_server, worker_id):
    with converse_server.script(reply.text(f"answer {number}")) as fake:
        answer = httpx.post(f"{fake.url}/model/m/converse", json=QUESTION).json()
    assert answer["output"]["message"]["content"] == [{"text": f"answer {number}"}]
    with open(os.environ["SEEN"], "a") as seen:
        print(worker_id, urlsplit(fake.url).netloc, file=seen)
"""


@pytest.mark.slow
def test_every_worker_has_its_server(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = pytester.path / "seen.txt"
    monkeypatch.setenv("SEEN", str(seen))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # five processes start: only with what they need
    pytester.makepyfile(TEST)
    pytester.runpytest_subprocess(
        "-pxdist", "-pconverse_harness.plugin", f"-n{WORKERS}", "--dist=load"
    ).assert_outcomes(passed=40)
    pairs = {tuple(line.split()) for line in seen.read_text().splitlines()}
    workers, addresses = zip(*pairs, strict=True)
    assert len(pairs) == len(set(workers)) == len(set(addresses)) == WORKERS


def read_with_boto3(url: str, kill: Callable[[], None]) -> None:
    client = boto3.client(
        "bedrock-runtime",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="a",
        aws_secret_access_key="b",
    )
    with closing(client.converse_stream(**REQUEST)["stream"]) as stream:
        for event in stream:
            if "contentBlockDelta" in event:
                kill()


def read_with_httpx(url: str, kill: Callable[[], None], **options: Any) -> None:
    body = {"messages": REQUEST["messages"]}
    with (
        httpx.Client(**options) as client,
        client.stream("POST", f"{url}/model/m/converse-stream", json=body) as answer,
    ):
        for _ in answer.iter_raw():
            kill()


READERS: Final[dict[str, tuple[Callable[[str, Callable[[], None]], None], type[Exception]]]] = {
    "boto3": (read_with_boto3, urllib3.exceptions.ProtocolError),
    "httpx with HTTP/1.1": (read_with_httpx, httpx.TransportError),
    "httpx with HTTP/2": (partial(read_with_httpx, http1=False, http2=True), httpx.TransportError),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_server_that_is_killed_is_an_error_to_its_client_and_leaves_nothing_behind(
    reader: str, tmp_path: Path
) -> None:
    read, error = READERS[reader]
    with mortal_server(tmp_path) as (url, server):
        with pytest.raises(error):
            read(url, server.kill)
        assert server.wait() == -signal.SIGKILL
    assert list(tmp_path.rglob("*")) == []
