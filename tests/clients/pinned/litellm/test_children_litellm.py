"""A program with litellm finds its fake by the variables of its environment, whatever its user has set."""

from __future__ import annotations

import os

import pytest

from converse_harness import ConverseServer, reply
from tests.clients.surroundings import EVERYTHING, check_no_token, said

LITELLM = """
import asyncio, litellm

question = dict(model="bedrock/amazon.nova-lite-v1:0", messages=[{"role": "user", "content": "hello"}])
print(litellm.completion(**question).choices[0].message.content)
print(asyncio.run(litellm.acompletion(**question)).choices[0].message.content)
"""


@pytest.mark.slow
def test_litellm(converse_server: ConverseServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in EVERYTHING.items():
        monkeypatch.setenv(name, value)
    with converse_server.script(reply.text("one"), reply.text("two")) as fake:
        assert said(LITELLM, {**os.environ, **fake.environ}) == ["one", "two"]
        check_no_token(fake)
