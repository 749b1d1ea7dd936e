"""A program that is started with `env={**os.environ, **fake.environ}` finds its fake, whatever its user has set."""

from __future__ import annotations

import os

import pytest

from converse_harness import ConverseServer, reply
from tests.clients.surroundings import SURROUNDINGS, check_no_token, said

BOTO3 = """
import boto3

question = dict(modelId="m", messages=[{"role": "user", "content": [{"text": "hello"}]}])
client = boto3.client("bedrock-runtime")
print(client.converse(**question)["output"]["message"]["content"][0]["text"])
deltas = [event["contentBlockDelta"]["delta"]["text"] for event in client.converse_stream(**question)["stream"]
          if "contentBlockDelta" in event]
print("".join(deltas))
"""


@pytest.mark.parametrize(
    "surroundings",
    [pytest.param(name, marks=[pytest.mark.slow] * (name != "endpoints")) for name in SURROUNDINGS],
)
def test_boto3(surroundings: str, converse_server: ConverseServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SURROUNDINGS[surroundings].items():
        monkeypatch.setenv(name, value)
    with converse_server.script(reply.text("one"), reply.text("two")) as fake:
        assert said(BOTO3, {**os.environ, **fake.environ}) == ["one", "two"]
        check_no_token(fake)
