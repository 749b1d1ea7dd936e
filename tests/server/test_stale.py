"""faults.stale_connection: the answer comes whole; the next request on its connection is reset, and is no call."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import boto3
import botocore.exceptions
import httpx
import pytest
from botocore.config import Config

from converse_harness import ConverseServer, ReplyError, fake_converse, faults, reply
from converse_harness.server.mounts import ServerFake
from tests.server.peers import Raw, question

STALE = reply.text("one").broken(faults.stale_connection)
SECOND = reply.text("two")
ASKED: dict[str, Any] = {"messages": [{"role": "user", "content": [{"text": "hello"}]}]}
MODEL = "us.amazon.nova-lite-v1:0"


@pytest.fixture
def opened(server: ConverseServer) -> Iterator[ServerFake]:
    """A fake that is closed without a check."""
    fake = server.script(unused="allow")
    yield fake
    fake.close()


def text_of(message: dict[str, Any]) -> str:
    """The text of an answer."""
    return "".join(block["text"] for block in message["output"]["message"]["content"])


def client(fake: ServerFake, attempts: int) -> Any:
    retries = {"mode": "standard", "total_max_attempts": attempts}
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
    return boto3.client("bedrock-runtime", endpoint_url=fake.url, config=Config(retries=retries), **keys)


def outcomes(fake: ServerFake) -> list[str]:
    return [call.outcome for call in fake.calls]


@pytest.mark.parametrize("operation", ["converse", "converse-stream"])
def test_the_next_request_on_the_connection_is_reset_without_a_word(opened: ServerFake, operation: str) -> None:
    opened.script(STALE, SECOND)
    with Raw(opened.url) as peer:
        first = peer.ask(opened.url, operation)
        assert (first.status, first.headers["connection"]) == (200, "keep-alive")
        peer.send(question(opened.url))
        with pytest.raises(ConnectionResetError):
            peer.rest()
    assert outcomes(opened) == ["complete"]
    with Raw(opened.url) as peer:
        assert text_of(peer.ask(opened.url).json) == "two"


def test_what_was_asked_ahead_gets_the_first_answer_alone(opened: ServerFake) -> None:
    opened.script(STALE, SECOND)
    with Raw(opened.url) as peer:
        peer.send(question(opened.url, "converse") * 2)
        assert text_of(peer.answer().json) == "one"
        with pytest.raises(ConnectionResetError):
            peer.rest()
    assert outcomes(opened) == ["complete"]


def test_other_connections_are_as_good_as_before(opened: ServerFake) -> None:
    opened.script(SECOND, STALE, SECOND.times(2))
    with Raw(opened.url) as other, Raw(opened.url) as peer:
        assert [text_of(each.ask(opened.url).json) for each in (other, peer)] == ["two", "one"]
        assert text_of(other.ask(opened.url).json) == "two"
        assert text_of(other.ask(opened.url).json) == "two"


def test_boto3_meets_it_on_its_pooled_connection_and_asks_again(opened: ServerFake) -> None:
    opened.script(STALE, SECOND)
    asking = client(opened, attempts=2)
    assert [text_of(asking.converse(modelId=MODEL, **ASKED)) for _ in range(2)] == ["one", "two"]
    assert outcomes(opened) == ["complete"] * 2
    asking.close()


def test_boto3_after_a_stream(opened: ServerFake) -> None:
    opened.script(STALE, SECOND)
    asking = client(opened, attempts=2)
    events = list(asking.converse_stream(modelId=MODEL, **ASKED)["stream"])
    assert "metadata" in events[-1]
    assert text_of(asking.converse(modelId=MODEL, **ASKED)) == "two"
    asking.close()


def test_boto3_that_asks_once_raises(opened: ServerFake) -> None:
    opened.script(STALE, SECOND)
    asking = client(opened, attempts=1)
    asking.converse(modelId=MODEL, **ASKED)
    with pytest.raises(botocore.exceptions.ConnectionClosedError):
        asking.converse(modelId=MODEL, **ASKED)
    assert text_of(asking.converse(modelId=MODEL, **ASKED)) == "two"
    asking.close()


@pytest.mark.parametrize("http2", [False, True], ids=["HTTP/1.1", "HTTP/2"])
def test_httpx_meets_it_on_its_pooled_connection(opened: ServerFake, http2: bool) -> None:
    opened.script(STALE, SECOND)
    url = f"{opened.url}/model/{MODEL.replace(':', '%3A')}/converse"
    with httpx.Client(trust_env=False, http1=not http2, http2=http2) as asking:
        assert text_of(asking.post(url, content=json.dumps(ASKED)).json()) == "one"
        with pytest.raises((httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError)):
            asking.post(url, content=json.dumps(ASKED))
        assert text_of(asking.post(url, content=json.dumps(ASKED)).json()) == "two"
    assert outcomes(opened) == ["complete"] * 2


def test_an_error_can_be_the_last_word(opened: ServerFake) -> None:
    opened.script(reply.throttled().broken(faults.stale_connection), SECOND)
    with Raw(opened.url) as peer:
        assert peer.ask(opened.url).status == 429
        peer.send(question(opened.url))
        with pytest.raises(ConnectionResetError):
            peer.rest()


def test_in_process_there_is_no_connection_to_use_again() -> None:
    with fake_converse(unused="allow") as fake, pytest.raises(ReplyError) as raised:
        fake.script(STALE)
    assert str(raised.value).endswith(
        "the boto transport cannot express the fault stale_connection. Transports that can: server."
    )
