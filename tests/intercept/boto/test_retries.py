"""Retries: as many as the client makes by itself, in no time, and as many at the last of many calls as at the first."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import botocore.endpoint
import botocore.exceptions
import pytest
import strands.event_loop._retry as strands_retry
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from strands import Agent
from strands.models import BedrockModel

from converse_harness import fake_converse, reply

Client = Callable[..., Any]
MODES = ("legacy", "standard", "adaptive")
TOO_MANY = 100
"""Calls after which a client's quota of retries is used up."""
KEYS = {"region_name": "us-east-1", "aws_access_key_id": "a", "aws_secret_access_key": "b"}


class Body:
    def stream(self) -> list[bytes]:
        return [b'{"message": "slow down"}']


def attempts_without_harness(
    client: Any, question: dict[str, Any], status: int = 429, error: str = "ThrottlingException"
) -> int:
    """How often a client asks that gets only errors, from a hook, with no fake open and its waits cut short."""
    attempts = 0

    def answer(request: Any, **_: Any) -> AWSResponse:
        nonlocal attempts
        attempts += 1
        return AWSResponse(request.url, status, {"x-amzn-ErrorType": error}, Body())

    client.meta.events.register("before-send", answer)
    with pytest.MonkeyPatch.context() as impatient:
        impatient.setattr("time.sleep", lambda seconds: None)
        impatient.setattr("botocore.retries.bucket.TokenBucket.acquire", lambda *_: True)
        with pytest.raises(botocore.exceptions.ClientError):
            client.converse(**question)
    return attempts


@pytest.mark.parametrize("how", ["Config", "AWS_RETRY_MODE"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("error", "status"), [("ThrottlingException", 429), ("ValidationException", 400)])
def test_attempts_are_the_clients_own_and_take_no_time(
    make_client: Client,
    question: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
    how: str,
    error: str,
    status: int,
) -> None:
    config: dict[str, Any] = {"config": Config(retries={"mode": mode})} if how == "Config" else {}
    if how == "AWS_RETRY_MODE":
        monkeypatch.setenv("AWS_RETRY_MODE", mode)
    expected = attempts_without_harness(make_client(**KEYS, **config), question, status, error)
    with fake_converse() as fake:
        fake.always(reply.error(error, status=None))
        waits: list[Any] = []
        monkeypatch.setattr("time.sleep", waits.append)
        monkeypatch.setattr("threading.Condition.wait", lambda self, timeout=None: waits.append(timeout))
        with pytest.raises(botocore.exceptions.ClientError):
            make_client(**config).converse(**question)
        assert len(fake.calls) == expected
        assert waits == []
        assert (sum(call.answered.waited for call in fake.calls) > 0) is (expected > 1)


@pytest.mark.parametrize("mode", ["standard", "adaptive"])
def test_the_last_of_many_calls_is_retried_as_often_as_the_first(
    make_client: Client, question: dict[str, Any], mode: str
) -> None:
    config = Config(retries={"mode": mode})
    expected = attempts_without_harness(make_client(**KEYS, config=config), question)
    counts: set[int] = set()
    with fake_converse() as fake:
        fake.always(reply.error("ThrottlingException"))
        client = make_client(config=config)
        for _ in range(TOO_MANY):
            before = len(fake.calls)
            with pytest.raises(botocore.exceptions.ClientError):
                client.converse(**question)
            counts.add(len(fake.calls) - before)
    assert counts == {expected}


def test_a_client_that_failed_under_a_fake_has_its_whole_quota_after_it(
    make_client: Client, question: dict[str, Any]
) -> None:
    config = Config(retries={"mode": "standard"})
    client = make_client(**KEYS, config=config)
    with fake_converse() as fake:
        fake.always(reply.error("ThrottlingException"))
        for _ in range(TOO_MANY):
            with pytest.raises(botocore.exceptions.ClientError):
                client.converse(**question)
    expected = attempts_without_harness(make_client(**KEYS, config=config), question)
    assert attempts_without_harness(client, question) == expected


def test_waits_can_be_real(make_client: Client, question: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    with fake_converse(reply.throttled(), reply.text("hi"), sleeps=True):
        make_client(config=Config(retries={"mode": "standard"})).converse(**question)
    assert len(slept) == 1


def test_other_services_wait_for_real(make_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    with fake_converse():
        client = make_client(
            "secretsmanager", **KEYS, config=Config(retries={"mode": "standard", "total_max_attempts": 2})
        )
        client.meta.events.register("before-send", lambda request, **_: AWSResponse(request.url, 503, {}, Body()))
        with pytest.raises(botocore.exceptions.ClientError):
            client.list_secrets()
    assert len(slept) == 1


def test_the_reference_to_time_is_the_real_module_in_all_else(unkept: None) -> None:
    with fake_converse():
        module: Any = vars(botocore.endpoint)["time"]
        assert module.monotonic is time.monotonic
        assert module is not time
    assert vars(botocore.endpoint)["time"] is time


def test_strands_retries_in_no_time(question: dict[str, Any], unkept: None) -> None:
    """Six attempts of strands, each with the attempts of botocore: 124 seconds of strands' own waits."""
    with fake_converse() as fake:
        fake.always(reply.throttled())
        model = BedrockModel(boto_client_config=Config(retries={"total_max_attempts": 2, "mode": "standard"}))
        agent = Agent(model=model, callback_handler=None)
        started = time.monotonic()
        with pytest.raises(Exception, match=r"(?i)throttl|too many requests"):
            agent("hello")
        assert time.monotonic() - started < 60
        assert len(fake.calls) == 6 * 2
        assert sum(call.answered.waited for call in fake.calls) >= 124
    assert vars(strands_retry)["asyncio"] is asyncio


def test_a_skipped_wait_is_booked_on_its_call(make_client: Client, question: dict[str, Any]) -> None:
    """Another client is answered between an attempt and the wait after it."""
    other = make_client(**KEYS)

    def ask_with_another(attempts: int, **_: Any) -> None:
        if attempts == 1:
            other.converse(**question)

    with fake_converse(reply.throttled(), reply.text("in between"), reply.text("hi")) as fake:
        client = make_client(**KEYS)
        client.meta.events.register_first("needs-retry.bedrock-runtime.Converse", ask_with_another)
        client.converse(**question)
    assert [call.status for call in fake.calls] == [429, 200, 200]
    assert [call.answered.waited > 0 for call in fake.calls] == [True, False, False]
