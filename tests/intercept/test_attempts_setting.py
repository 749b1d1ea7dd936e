"""The setting `attempts`: a client gives up as one does whose own configuration has this number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, EndpointConnectionError
from strands import Agent
from strands.models import BedrockModel

from converse_harness import ConverseServer, HttpxFake, Reply, fake_converse, reply

Client = Callable[..., Any]
MODES = ("legacy", "standard", "adaptive")
KEYS = {"region_name": "us-east-1", "aws_access_key_id": "a", "aws_secret_access_key": "b"}


def tried(client: Any, question: dict[str, Any], answer: Reply, **settings: Any) -> tuple[int, str, dict[str, Any]]:
    """How often a client asks that gets only this answer, and what it raises."""
    with fake_converse(**settings) as fake:
        fake.always(answer)
        with pytest.raises((ClientError, EndpointConnectionError)) as raised:
            client.converse(**question)
    metadata = getattr(raised.value, "response", {}).get("ResponseMetadata", {})
    return (
        len(fake.calls),
        str(raised.value),
        {name: metadata.get(name) for name in ("RetryAttempts", "MaxAttemptsReached")},
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("attempts", [1, 2])
@pytest.mark.parametrize(
    "answer",
    [reply.throttled(), reply.validation_error("No."), reply.connection_refused()],
    ids=["429", "400", "refused"],
)
def test_it_is_as_if_the_client_were_set_so(
    make_client: Client, question: dict[str, Any], mode: str, attempts: int, answer: Reply
) -> None:
    set_so = make_client(config=Config(retries={"mode": mode, "total_max_attempts": attempts}), **KEYS)
    usual = make_client(config=Config(retries={"mode": mode, "total_max_attempts": 5}), **KEYS)
    expected = tried(set_so, question, answer)
    assert tried(usual, question, answer, attempts=attempts) == expected
    assert expected[0] == (1 if "No." in expected[1] else attempts)
    more = tried(usual, question, answer)[0]
    assert more == (1 if "No." in expected[1] else 5)


def test_a_client_that_tries_less_often_is_left_alone(make_client: Client, question: dict[str, Any]) -> None:
    client = make_client(config=Config(retries={"mode": "standard", "total_max_attempts": 2}), **KEYS)
    assert tried(client, question, reply.throttled(), attempts=7)[0] == 2


def test_the_newest_fake_decides(make_client: Client, question: dict[str, Any]) -> None:
    client = make_client(config=Config(retries={"mode": "standard", "total_max_attempts": 4}), **KEYS)
    with fake_converse(attempts=1):
        assert tried(client, question, reply.throttled(), attempts=2)[0] == 2
        assert tried(client, question, reply.throttled())[0] == 4


def test_clients_on_the_server(make_client: Client, question: dict[str, Any]) -> None:
    with ConverseServer() as server, server.script(attempts=1, unexpected="allow") as fake:
        fake.always(reply.throttled())
        client = make_client(endpoint_url=fake.url, config=Config(retries={"mode": "standard"}), **KEYS)
        with pytest.raises(ClientError):
            client.converse(**question)
        assert len(fake.calls) == 1
        assert fake.environ["AWS_MAX_ATTEMPTS"] == "1"
        assert "AWS_MAX_ATTEMPTS" not in server.script().environ


def test_strands_tries_as_often_as_it_does() -> None:
    """Its own retries are around the client's, and no setting of botocore's."""
    with fake_converse(reply.throttled(), reply.text("hi"), attempts=1) as fake:
        agent = Agent(BedrockModel(model_id="us.amazon.nova-lite-v1:0"), callback_handler=None)
        assert str(agent("hello")).strip() == "hi"
    assert [call.attempt for call in fake.calls] == [1, 1]


# The environment of clients of this process


@pytest.mark.parametrize("make", [fake_converse, HttpxFake])
def test_environ_has_keys_and_a_region_and_no_endpoint(make: Callable[[], Any]) -> None:
    environ = make().environ
    assert {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_REGION_NAME"} <= set(
        environ
    )
    assert not [name for name, value in environ.items() if "ENDPOINT" in name or "://" in value]
    assert all(isinstance(value, str) for value in environ.values())


def test_nothing_sets_environ_by_itself(monkeypatch: pytest.MonkeyPatch, question: dict[str, Any]) -> None:
    """A client that looks for keys before it calls, as some libraries do."""
    import os

    import boto3

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    def ask() -> str:
        session = boto3.Session()
        if session.get_credentials() is None:
            return "no keys"
        answer = session.client("bedrock-runtime").converse(**question)
        return str(answer["output"]["message"]["content"][0]["text"])

    with fake_converse(reply.text("hi")) as fake:
        assert ask() == "no keys"
        for name, value in fake.environ.items():
            monkeypatch.setenv(name, value)
        assert ask() == "hi"
