"""The ASGI app under granian with two workers."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import urllib3.exceptions
from botocore.config import Config

from converse_harness.intercept.clients import create_client

LIMIT = 10.0
"""Seconds after which whatever is waited for has failed."""
QUIET = Config(read_timeout=LIMIT, retries={"total_max_attempts": 1})
DECODED = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude"

APP = """
import os

from converse_harness import faults
from converse_harness import reply
from converse_harness import ConverseApp

app = ConverseApp()
app.fake.when(last_user_text="who are you?").always(lambda call: reply.text(str(os.getpid())))
app.fake.when(last_user_text="break").always(reply.text("one two three").broken(faults.closed, after=3))
app.fake.when(model="arn:aws:bedrock:*/us.anthropic.claude").always(reply.text("by its ARN"))
app.fake.when(turn=1).always(reply.tool_use("get_weather", {"city": "Zürich"}))
app.fake.when(turn=2).always(reply.text("12 degrees"))
"""


@pytest.fixture
def granian(tmp_path: Path) -> Iterator[str]:
    """Two workers of granian with the app above."""
    (tmp_path / "fake_bedrock.py").write_text(APP, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--interface", "asgi", "--workers", "2", "--port", str(port), "--no-ws", "--workers-kill-timeout", "1"]
    command = [sys.executable, "-m", "granian", *options, "fake_bedrock:app"]
    log = tmp_path / "granian.txt"
    with log.open("w", encoding="utf-8") as written:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=written, stderr=written, start_new_session=True)
    url = f"http://127.0.0.1:{port}"
    try:
        transport = httpx.HTTPTransport(retries=8)  # waits in between, 30 s in all
        with httpx.Client(transport=transport, trust_env=False, timeout=LIMIT) as client:
            assert client.get(url).status_code == 404, log.read_text(encoding="utf-8")
        yield url
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):  # then it is killed
            process.wait(LIMIT)
        with suppress(ProcessLookupError):  # nobody is left of the group
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(LIMIT)


WEATHER: dict[str, Any] = {
    "tools": [{"toolSpec": {"name": "get_weather", "inputSchema": {"json": {"type": "object"}}}}]
}


def said(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"text": text}]}


def test_workers_that_know_nothing_of_each_other(granian: str) -> None:
    text = said("how warm is it?")
    workers: set[str] = set()
    for _ in range(64):
        client = create_client(endpoint_url=granian, config=QUIET)
        # A connection of its own each time: any worker may take it.
        answer = client.converse(modelId="m", messages=[said("who are you?")])
        workers.add(answer["output"]["message"]["content"][0]["text"])
        first = client.converse(modelId="m", messages=[text])
        assert first["stopReason"] == "tool_use"
        turn = [text, first["output"]["message"]]
        used = first["output"]["message"]["content"][0]["toolUse"]["toolUseId"]
        turn.append({"role": "user", "content": [{"toolResult": {"toolUseId": used, "content": [{"text": "12"}]}}]})
        events = list(client.converse_stream(modelId="m", messages=turn, toolConfig=WEATHER)["stream"])
        deltas = [event["contentBlockDelta"]["delta"]["text"] for event in events if "contentBlockDelta" in event]
        assert "".join(deltas) == "12 degrees"
        client.close()
        if len(workers) == 2:
            break
    assert len(workers) == 2


def test_granian_leaves_the_path_as_it_is(granian: str) -> None:
    answer = create_client(endpoint_url=granian, config=QUIET).converse(modelId=DECODED, messages=[said("hello")])
    assert answer["output"]["message"]["content"] == [{"text": "by its ARN"}]


def test_a_break_is_an_error_through_granian(granian: str) -> None:
    client = create_client(endpoint_url=granian, config=QUIET)
    stream = client.converse_stream(modelId="m", messages=[said("break")])["stream"]
    events: list[Any] = []
    with pytest.raises(urllib3.exceptions.ProtocolError):
        events.extend(stream)
    assert len(events) == 3
