"""Each way to record can keep the files of requests; otherwise they go to the service, and nowhere else."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from botocore.exceptions import ClientError

from converse_harness import (
    ConverseServer,
    HttpxFake,
    ReplyError,
    UnexpectedCall,
    fake_converse,
    record,
    recording,
    reply,
)
from converse_harness.endpoint.call import Call
from tests.recordings.asking import NOVA

PNG = b"\x89PNG\r\n" + hashlib.shake_256(b"a picture").digest(5000)
KEYS = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}


@pytest.fixture(scope="module")
def server() -> Iterator[ConverseServer]:
    with ConverseServer() as server:
        yield server


def file_in(call: Call) -> bytes:
    return base64.b64decode(call.body["messages"][0]["content"][0]["image"]["source"]["bytes"])


def answer(call: Call) -> Any:
    """An answer that tells which file arrived."""
    return reply.text(hashlib.sha256(file_in(call)).hexdigest())


def by_boto(url: str | None, data: bytes) -> str:
    client = boto3.client("bedrock-runtime", endpoint_url=url, **KEYS)
    content = [{"image": {"format": "png", "source": {"bytes": data}}}, {"text": "What is it?"}]
    return str(client.converse(modelId=NOVA, messages=[{"role": "user", "content": content}]))


def by_httpx(url: str | None, data: bytes) -> str:
    host = url or "https://bedrock-runtime.us-east-1.amazonaws.com"
    source = {"bytes": base64.b64encode(data).decode()}
    content = [{"image": {"format": "png", "source": source}}, {"text": "What is it?"}]
    asked = {"messages": [{"role": "user", "content": content}]}
    return httpx.post(f"{host}/model/{NOVA}/converse", json=asked).text


@pytest.mark.parametrize("kept", [False, True], ids=["by digest", "kept"])
@pytest.mark.parametrize("proxy", [False, True], ids=["record", "server"])
@pytest.mark.parametrize("ask", [by_boto, by_httpx])
def test_a_file_goes_to_the_service_and_is_played_by_its_bytes(
    ask: Callable[[str | None, bytes], str],
    proxy: bool,
    kept: bool,
    server: ConverseServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    path = tmp_path / "trip.jsonl"
    with server.script(answer) as service:
        if proxy:
            with server.record(path, upstream=service.url, region="us-east-1", keep_files=kept) as fake:
                ask(fake.url, PNG)
        else:
            with record(path, upstream=service.url, keep_files=kept):
                ask(service.url, PNG)
        arrived = file_in(service.calls[0])
    assert arrived == PNG
    text = path.read_text()
    digest = {"bytes": len(PNG), "sha256": hashlib.sha256(PNG).hexdigest()}
    assert (f'{{"$file": {json.dumps(digest)}}}' in text) == (not kept)
    assert [each.read_bytes() for each in tmp_path.glob("*/*")] == ([PNG] if kept else [])
    opened = fake_converse if ask is by_boto else HttpxFake
    with opened(recording(path, match="exact")):
        assert hashlib.sha256(PNG).hexdigest() in ask(None, PNG)
    with (
        pytest.raises(UnexpectedCall, match="matches no exchange"),
        opened(recording(path, match="exact"), unused="allow"),
        suppress(ClientError),
    ):
        ask(None, PNG[:-1])


@pytest.mark.parametrize("given", ["yes", 1, None])
def test_anything_but_true_and_false_is_refused(given: Any, tmp_path: Path) -> None:
    with (
        pytest.raises(ReplyError, match=rf"keep_files={given!r}\): True or False"),
        record(tmp_path / "a.jsonl", keep_files=given),
    ):
        pass
