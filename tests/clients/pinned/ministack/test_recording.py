"""A service that the project did not write is recorded and replayed: MiniStack's Bedrock, over a real socket."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import botocore.config
import pytest

from converse_harness import ConverseServer, fake_converse, record, recording

STARTS_WITHIN = 60.0
"""Seconds."""

CONFIG = botocore.config.Config(retries={"total_max_attempts": 1})
KEYS = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}
ASKED: dict[str, Any] = {
    "modelId": "anthropic.claude-3-haiku-20240307-v1:0",
    "system": [{"text": "You are kind."}],
    "messages": [{"role": "user", "content": [{"text": "Grüezi?"}]}],
}


def free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])


@pytest.fixture(scope="module")
def ministack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a MiniStack of our own."""
    folder, port = tmp_path_factory.mktemp("ministack"), free_port()
    settings = {"GATEWAY_PORT": str(port), "HOME": str(folder), "DOCKER_HOST": "unix:///nowhere", "LOG_LEVEL": "ERROR"}
    command = [sys.executable, "-m", "ministack"]
    with subprocess.Popen(
        command, cwd=folder, env={**os.environ, **settings}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            wait_for(f"http://127.0.0.1:{port}/_ministack/health", process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < end:
        assert process.poll() is None, "MiniStack has ended"
        try:
            urllib.request.urlopen(url, timeout=1).close()
        except OSError:
            time.sleep(0.1)  # another process: there is nothing to wait for but its answer
        else:
            return
    pytest.fail(f"MiniStack does not answer at {url}")


def outcome(client: Any, operation: str, **asked: Any) -> Any:
    """What a client sees: the answer without what differs each time, or the error."""
    try:
        answer = getattr(client, operation)(**{**ASKED, **asked})
        if "stream" in answer:
            return list(answer["stream"])
    except client.exceptions.ClientError as error:
        return error.response["Error"], error.response["ResponseMetadata"]["HTTPStatusCode"]
    return {name: value for name, value in answer.items() if name != "ResponseMetadata"}


def session(url: str | None) -> list[Any]:
    """A stream, a whole answer and a refusal."""
    client = boto3.client("bedrock-runtime", endpoint_url=url, config=CONFIG, **KEYS)
    return [
        outcome(client, "converse_stream"),
        outcome(client, "converse"),
        outcome(client, "converse", messages=[{"role": "user", "content": []}]),
    ]


def test_what_it_says_is_replayed(ministack: str, tmp_path: Path) -> None:
    file = tmp_path / "ministack.jsonl"
    with record(file) as recorder:
        seen = session(ministack)
    assert [call.status for call in recorder.calls] == [200, 200, 400]
    assert len(seen[0]) > 3
    with fake_converse(recording(file, match="exact")):
        assert session(None) == seen
    with ConverseServer() as server, server.script(recording(file, match="exact")) as fake:
        assert session(fake.url) == seen


def test_the_proxy_records_the_same(ministack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    file = tmp_path / "proxied.jsonl"
    with ConverseServer() as server, server.record(file, upstream=ministack, region="us-east-1") as proxy:
        seen = session(proxy.url)
    with fake_converse(recording(file, match="exact")):
        assert session(None) == seen
