"""An adapter that does not come to an end is stopped, and asks nothing any more."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from subprocess import run as run_in_a_process
from typing import Any

import pytest

from converse_harness import ConverseServer, Fake, HttpxFake, Reply, faults, reply
from converse_harness.contract import Outcome, SetUpFailed, Target, ToolCall
from converse_harness.contract.running import run
from converse_harness.contract.trying import opened
from converse_harness.errors import BlockedConnection, ReplyError
from converse_harness.intercept.in_process import InProcessFake


def asked(target: Target) -> Any:
    # An interruption within the tracer of coverage would break it.
    sys.settrace(None)
    return target.client.converse_stream(**target.request)["stream"]


def reads(target: Target) -> Outcome:
    for _ in asked(target):
        pass
    return Outcome()


def computes(target: Target) -> Outcome:
    asked(target)
    while True:
        pass


def asks_again(target: Target) -> Outcome:
    while True:
        try:
            list(asked(target))
        except Exception:  # noqa: BLE001 - the subject is code that swallows everything
            continue


async def awaits(target: Target) -> Outcome:
    asked(target)
    await asyncio.Event().wait()
    return Outcome()


async def awaits_whatever_comes(target: Target) -> Outcome:
    asked(target)
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue


async def computes_in_a_loop(target: Target) -> Outcome:
    asked(target)
    while True:
        await asyncio.gather(asyncio.sleep(0))


def finalizes(target: Target) -> Outcome:
    """Half of its time is spent where an interruption is dropped."""
    asked(target)
    while True:
        count()
        Finalized()


def count() -> None:
    for _ in range(100_000):
        pass


class Finalized:
    def __del__(self) -> None:
        count()


NEVER_ENDING: list[Callable[[Target], Any]] = [
    computes,
    finalizes,
    asks_again,
    awaits,
    awaits_whatever_comes,
    computes_in_a_loop,
]


@pytest.fixture(autouse=True, scope="module")
def _warm() -> None:
    """What the first client costs is nothing of the time limits here."""
    assert put(reads) == Outcome()


@pytest.fixture
def _no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes on computes for all of the time in which it could end by itself."""
    monkeypatch.setattr("converse_harness.contract.running._GRACE", 0.1)


def is_stopped(adapter: Callable[[Target], Any], fake: Fake, *, time_limit: float, most_calls: int) -> int:
    """Put an adapter that does not come to an end; how many requests it made."""
    assert run(adapter, Target(fake, "ConverseStream", 600.0), time_limit=time_limit, most_calls=most_calls) is None
    assert [thread for thread in threading.enumerate() if thread.name == "converse-contract"] == []
    calls = len(fake.calls)
    with InProcessFake() as other:  # a thread that goes on would ask this one
        assert (len(fake.calls), len(other.calls)) == (calls, 0)
    return calls


def always(answer: Reply) -> Fake:
    """A fake that is open; it is closed by what is tested."""
    fake = InProcessFake().open()
    fake.always(answer)
    return fake


@pytest.mark.usefixtures("_no_grace")
@pytest.mark.parametrize("adapter", NEVER_ENDING)
def test_it_is_stopped(adapter: Callable[[Target], Any], caplog: pytest.LogCaptureFixture) -> None:
    assert is_stopped(adapter, always(reply.text("OK.")), time_limit=0.1, most_calls=10**9) >= 1
    gc.collect()
    assert caplog.messages == []  # asyncio tells of a task that was pending when it was collected


@pytest.mark.slow
@pytest.mark.parametrize("adapter", [computes, awaits_whatever_comes])
def test_it_is_stopped_under_a_tracer(adapter: Callable[[Target], Any]) -> None:
    code = (
        f"import sys; from {__name__} import *; sys.settrace(lambda *event: None); "
        f'is_stopped({adapter.__name__}, always(reply.text("OK.")), time_limit=3, most_calls=10**9) or sys.exit(1)'
    )
    run_in_a_process([sys.executable, "-c", code], timeout=60, check=True)


def test_what_waits_for_an_answer_is_freed() -> None:
    with ConverseServer() as server:
        fake = server.script(reply.text("OK.").broken(faults.stall))
        assert is_stopped(reads, fake, time_limit=0.5, most_calls=50) == 1


def test_what_cannot_be_stopped_gets_no_reply_of_the_next_case() -> None:
    goes_on, refused = threading.Event(), threading.Event()

    def adapter(target: Target) -> Outcome:
        asked(target)
        while not goes_on.is_set():
            with suppress(BaseException):
                goes_on.wait(0.01)
        with suppress(BaseException):
            try:
                asked(target)
            except BlockedConnection:
                refused.set()
        return Outcome()

    late = opened("boto", (), ConverseServer)
    late.always(reply.text("OK."))
    assert run(adapter, Target(late, "ConverseStream", 600.0), time_limit=0.3, most_calls=50) is None
    following = opened("boto", (), ConverseServer)
    following.always(reply.text("of the next case"))
    goes_on.set()
    try:
        assert refused.wait(10)
        assert len(following.calls.all) == 0
    finally:
        following.close()


@pytest.mark.usefixtures("_no_grace")
def test_what_asks_too_often_is_not_waited_for() -> None:
    assert is_stopped(asks_again, always(reply.text("OK.")), time_limit=600, most_calls=3) > 3


def returned(made: object) -> Callable[[Target], Any]:
    def adapter(target: Target) -> object:
        asked(target)
        return made

    return adapter


def put(adapter: Callable[[Target], Any]) -> Outcome | None:
    with InProcessFake(reply.text("OK."), unused="allow") as fake:
        return run(adapter, Target(fake, "ConverseStream"), time_limit=10, most_calls=50)


def test_what_is_no_outcome() -> None:
    with pytest.raises(SetUpFailed) as raised:
        put(returned(None))
    assert str(raised.value) == (
        "The adapter returned None. Return an Outcome(text=..., tool_calls=..., stop_reason=..., error=...)."
    )


def test_what_fails_before_it_asks() -> None:
    def adapter(target: Target) -> Outcome:
        raise LookupError("no key")

    with pytest.raises(SetUpFailed) as raised:
        put(adapter)
    assert str(raised.value) == (
        "The adapter failed before the consumer asked anything, with LookupError: no key. That is no verdict on the "
        "consumer; mend the adapter, or what it needs."
    )


def test_a_python_without_threads_gives_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", start)
    with pytest.raises(SetUpFailed, match="starts none: can't start new thread"):
        put(returned(None))


@pytest.mark.parametrize("way", ["boto", "httpx"])
def test_a_consumer_that_asks_nothing_gets_no_verdict(way: str) -> None:
    with pytest.raises(SetUpFailed) as raised, closing(opened(way, (), ConverseServer)) as fake:
        run(lambda target: Outcome("x"), Target(fake, "ConverseStream"), time_limit=10, most_calls=50)
    assert "Outcome(text='x'" in str(raised.value)
    assert "the consumer asked nothing" in str(raised.value)


def test_another_operation_than_that_of_the_contract() -> None:
    def adapter(target: Target) -> Outcome:
        target.client.converse(**target.request)
        return Outcome("OK.")

    with pytest.raises(SetUpFailed) as raised:
        put(adapter)
    assert str(raised.value) == (
        'The consumer called Converse, and the contract has `operation = "ConverseStream"`. Let the adapter ask so, or '
        'say `operation = "Converse"`.'
    )


def test_a_question_that_bedrock_refuses() -> None:
    def adapter(target: Target) -> Outcome:
        target.client.converse_stream(modelId="us.amazon.nova-lite-v1:0", messages=[])
        return Outcome()

    with pytest.raises(SetUpFailed) as raised, InProcessFake(unused="allow", unexpected="allow") as fake:
        run(adapter, Target(fake, "ConverseStream"), time_limit=10, most_calls=50)
    assert str(raised.value) == (
        "Bedrock refuses the consumer's question, by the rule conversation_is_not_empty: A conversation must start "
        "with a user message. Try again with a conversation that starts with a user message. That is no verdict on "
        "what it makes of answers; let the adapter ask what Bedrock answers."
    )


def test_what_fails_after_it_asked_is_the_error_of_the_consumer() -> None:
    def adapter(target: Target) -> Outcome:
        asked(target)
        raise LookupError("no text")

    outcome = put(adapter)
    assert outcome is not None
    assert isinstance(outcome.error, LookupError)


def test_an_outcome_that_is_wrong_is_no_error_of_the_consumer() -> None:
    def adapter(target: Target) -> Outcome:
        asked(target)
        return Outcome(tool_calls=[ToolCall("get_weather", None)])  # type: ignore[arg-type]

    with pytest.raises(ReplyError, match=r"ToolCall\('get_weather', input=None\)") as raised:
        put(adapter)
    assert "adapter" in [entry.name for entry in raised.traceback]


def test_url_and_environ_are_those_of_the_server() -> None:
    with InProcessFake() as fake, pytest.raises(ReplyError) as raised:
        Target(fake, "Converse").url  # noqa: B018 - to read it raises
    assert str(raised.value) == (
        'target.url: a fake behind the transport "boto" has none. Say `transport = "server"` in the contract; the '
        "consumer is "
        "then asked over a socket."
    )


def test_over_httpx_the_url_is_that_of_bedrock() -> None:
    with HttpxFake() as fake, pytest.raises(ReplyError) as raised:
        Target(fake, "Converse").url  # noqa: B018 - to read it raises
    assert str(raised.value) == (
        'target.url: with the transport "httpx", your client is answered in process, under Bedrock\'s own URLs. Aim it '
        'at https://bedrock-runtime.us-east-1.amazonaws.com; target.url is for `transport = "server"`.'
    )
