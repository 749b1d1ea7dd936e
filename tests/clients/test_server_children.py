"""A program that is started with `env={**os.environ, **fake.environ}` finds its fake, whatever its user has set."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from converse_harness import ConverseServer, reply
from tests.clients.surroundings import EVERYTHING, SURROUNDINGS, check_no_token

BOTO3 = """
import boto3

question = dict(modelId="m", messages=[{"role": "user", "content": [{"text": "hello"}]}])
client = boto3.client("bedrock-runtime")
print(client.converse(**question)["output"]["message"]["content"][0]["text"])
deltas = [event["contentBlockDelta"]["delta"]["text"] for event in client.converse_stream(**question)["stream"]
          if "contentBlockDelta" in event]
print("".join(deltas))
"""

LITELLM = """
import asyncio, litellm

question = dict(model="bedrock/amazon.nova-lite-v1:0", messages=[{"role": "user", "content": "hello"}])
print(litellm.completion(**question).choices[0].message.content)
print(asyncio.run(litellm.acompletion(**question)).choices[0].message.content)
"""


def said(program: str, environ: dict[str, str]) -> list[str]:
    done = subprocess.run([sys.executable, "-c", program], env=environ, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("surroundings", SURROUNDINGS)
def test_boto3(surroundings: str, converse_server: ConverseServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SURROUNDINGS[surroundings].items():
        monkeypatch.setenv(name, value)
    with converse_server.script(reply.text("one"), reply.text("two")) as fake:
        assert said(BOTO3, {**os.environ, **fake.environ}) == ["one", "two"]
        check_no_token(fake)


def test_litellm(converse_server: ConverseServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in EVERYTHING.items():
        monkeypatch.setenv(name, value)
    with converse_server.script(reply.text("one"), reply.text("two")) as fake:
        assert said(LITELLM, {**os.environ, **fake.environ}) == ["one", "two"]
        check_no_token(fake)
