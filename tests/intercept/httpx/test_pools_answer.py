"""The pools of httpcore answer what another tool passes on below the transports of httpx, and httpcore alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import httpcore
import httpcore2
import httpx
import httpx2
import pytest
import vcr

from converse_harness import BlockedConnection, Fake, fake_converse, faults, reply

URL = "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.amazon.nova-lite-v1%3A0/converse"
BODY = json.dumps({"messages": [{"role": "user", "content": [{"text": "hello"}]}]}).encode()
SEVERAL = pytest.mark.parametrize("library", [httpcore, httpcore2], ids=["httpcore", "httpcore2"])


def said(body: bytes) -> str:
    return str(json.loads(body)["output"]["message"]["content"][0]["text"])


async def post(library: Any) -> bytes:
    async with library.AsyncConnectionPool() as pool:
        return bytes((await pool.request("POST", URL, content=BODY)).content)


@SEVERAL
def test_a_pool_is_answered(library: Any, converse: Fake, network: list[Any]) -> None:
    converse.script(reply.text("one"), reply.text("two"))
    answer = library.request("POST", URL, content=BODY)
    assert (answer.status, said(answer.content), said(asyncio.run(post(library)))) == (200, "one", "two")
    assert network == []


@SEVERAL
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (faults.connection_refused, "ConnectError"),
        (faults.read_timeout, "ReadTimeout"),
        (faults.reset, "ReadError"),
        (faults.closed, "RemoteProtocolError"),
    ],
    ids=lambda each: getattr(each, "name", each),
)
def test_a_fault_raises_the_error_of_the_library(library: Any, fault: Any, error: str, converse: Fake) -> None:
    converse.script(reply.text("one two").broken(fault))
    with pytest.raises(getattr(library, error)):
        library.request("POST", URL, content=BODY)


def test_another_api_is_refused() -> None:
    url = "https://bedrock-mantle.us-east-1.api.aws/v1/chat/completions"
    with pytest.raises(BlockedConnection, match="Chat Completions API"), fake_converse():
        httpcore.request("POST", url)


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
@pytest.mark.parametrize("inside", ["cassette", "fake"])
def test_beside_a_cassette_of_vcrpy_what_is_inside_answers_first(library: Any, inside: str, tmp_path: Path) -> None:
    recorder = vcr.VCR(record_mode="once")

    def asked() -> tuple[str, int]:
        fake = fake_converse(reply.text("hi").optional())
        makes: list[Callable[[], AbstractContextManager[Any]]] = [
            lambda: fake,
            lambda: recorder.use_cassette(str(tmp_path / "cassette.yaml")),
        ]
        with ExitStack() as stack:
            for make in makes if inside == "cassette" else makes[::-1]:
                stack.enter_context(make())
            return said(library.post(URL, content=BODY).content), len(fake.calls)

    assert [asked(), asked()] == [("hi", 1), ("hi", 0 if inside == "cassette" else 1)]


def test_a_cassette_leaves_ignored_hosts_to_the_fake(converse: Fake, tmp_path: Path) -> None:
    converse.script(reply.text("hi"))
    recorder = vcr.VCR(record_mode="none", ignore_hosts=["bedrock-runtime.us-east-1.amazonaws.com"])
    with recorder.use_cassette(str(tmp_path / "cassette.yaml")):
        assert said(httpx.post(URL, content=BODY).content) == "hi"
