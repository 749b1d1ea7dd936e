"""The boto transport for aiobotocore, with each of its back ends and event loops, and when it is imported late.

Runs in an environment of its own: aiobotocore pins a botocore that clashes with the newest boto3.
"""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import aiobotocore.endpoint
import aiobotocore.retries.bucket
import aiobotocore.session
import aiobotocore.signers
import aiohttp
import botocore.exceptions
import pytest
import trio
from aiobotocore.awsrequest import AioAWSResponse
from aiobotocore.config import AioConfig
from aiobotocore.httpxsession import HttpxSession

from converse_harness import BlockedConnection, Reply, TransportError, fake_converse, faults, refusals, reply
from converse_harness.faults.model import Fault
from converse_harness.intercept.clients import ACCESS_KEY, BEARER_TOKEN

QUESTION: dict[str, Any] = {
    "modelId": "anthropic.claude-3-haiku-20240307-v1:0",
    "messages": [{"role": "user", "content": [{"text": "hello"}]}],
}
KEYS = {"region_name": "us-east-1", "aws_access_key_id": "a", "aws_secret_access_key": "b"}

Run = Callable[[Callable[[], Awaitable[Any]]], Any]


def run_in_asyncio(act: Callable[[], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        return await act()

    return asyncio.run(run())


BACK_ENDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "aiohttp": (run_in_asyncio, {}),
    "httpx in asyncio": (run_in_asyncio, {"http_session_cls": HttpxSession}),
    "httpx in trio": (trio.run, {"http_session_cls": HttpxSession}),
}


@pytest.fixture(params=sorted(BACK_ENDS))
def back_end(request: pytest.FixtureRequest) -> tuple[Run, dict[str, Any]]:
    """How to run, and what the client's Config gets."""
    return BACK_ENDS[request.param]


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every look-up and connection of this process."""
    seen: list[Any] = []
    monkeypatch.setattr("socket.getaddrinfo", lambda *args, **kwargs: seen.append(args))
    return seen


def connect(config: dict[str, Any], **kwargs: Any) -> Any:
    return aiobotocore.session.get_session().create_client("bedrock-runtime", config=AioConfig(**config), **kwargs)


def text_of(answer: Any) -> str:
    return str(answer["output"]["message"]["content"][0]["text"])


def test_asks_no_machine_for_its_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aiobotocore.utils.AioInstanceMetadataRegionFetcher.retrieve_region", None)

    async def act() -> None:
        async with connect({"defaults_mode": "auto"}) as client:
            assert text_of(await client.converse(**QUESTION)) == "hi"

    with fake_converse(reply.text("hi")):
        run_in_asyncio(act)


def test_answers_without_credentials_and_region(back_end: tuple[Run, dict[str, Any]], network: list[Any]) -> None:
    run, config = back_end

    async def act() -> None:
        async with connect(config) as client:
            assert client.meta.region_name == "us-east-1"
            assert text_of(await client.converse(**QUESTION)) == "hi"
            events = [event async for event in (await client.converse_stream(**QUESTION))["stream"]]
            assert "metadata" in events[-1]
            with pytest.raises(botocore.exceptions.ClientError, match="Throttling"):
                await client.converse(**QUESTION)

    with fake_converse(reply.text("hi").times(2)) as fake:
        fake.always(reply.throttled())
        run(act)
        assert {call.outcome for call in fake.calls} == {"complete"}
        assert len(fake.calls) > 3
    assert network == []


@pytest.mark.filterwarnings("ignore:.*Async generator 'aiobotocore:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore:Async generator 'aiobotocore:ResourceWarning")
def test_a_stream_is_lazy_paced_and_may_be_closed_early(back_end: tuple[Run, dict[str, Any]]) -> None:
    run, config = back_end

    async def act() -> None:
        async with connect(config) as client:
            started = time.monotonic()
            stream = (await client.converse_stream(**QUESTION))["stream"]
            count = len([event async for event in stream])
            assert time.monotonic() - started >= 0.03 + 0.01 * (count - 1)
            stream = (await client.converse_stream(**QUESTION))["stream"]
            async for _ in stream:
                assert len(fake.calls[1].events) == 1
                break
            stream.close()
            with pytest.raises(Exception, match=r"Connection closed|Bad file descriptor"):
                await anext(aiter(stream))
            answer = await client.converse_stream(**QUESTION)
            del answer
            gc.collect()
            await client.converse(**QUESTION)

    with fake_converse(reply.text("hi").paced(first=0.03, each=0.01).times(4)) as fake:
        run(act)
        outcomes = [call.outcome for call in fake.calls]
    assert outcomes == ["complete", "closed by client", "closed by client", "complete"]


def test_a_client_that_gives_up_waiting_may_ask_again() -> None:
    async def act() -> None:
        async with connect({}) as client:
            stream = (await client.converse_stream(**QUESTION))["stream"]._raw_stream.content
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(stream.read(1), 0.01)
            assert len(await stream.read(1)) == 1
            assert len(await stream.read()) > 100
            assert await stream.read() == b""
            assert stream.at_eof()

    with fake_converse(reply.text("hi").paced(first=0.1)) as fake:
        run_in_asyncio(act)
        assert fake.calls[0].outcome == "complete"


def test_reads_bodies_piece_by_piece(back_end: tuple[Run, dict[str, Any]]) -> None:
    run, config = back_end

    async def act() -> None:
        async with connect(config) as client:
            body = (await client.invoke_model(modelId="m", body=b"{}"))["body"]
            assert [await body.read(4), await body.read(), await body.read()] == [b"0123", b"456789", b""]

    with fake_converse() as fake:
        fake.on_operation("InvokeModel", lambda call: {"body": b"0123456789", "contentType": "text/plain"})
        run(act)


@pytest.mark.parametrize(
    ("failure", "raised"),
    [
        (reply.connection_refused(), botocore.exceptions.EndpointConnectionError),
        (reply.connect_timeout(), botocore.exceptions.ConnectTimeoutError),
        (reply.read_timeout(), botocore.exceptions.ReadTimeoutError),
    ],
)
def test_connection_failures_are_botocores_own(failure: Any, raised: type[Exception]) -> None:
    async def act() -> None:
        async with connect({"retries": {"total_max_attempts": 2, "mode": "standard"}}) as client:
            with pytest.raises(raised):
                await client.converse(**QUESTION)

    with fake_converse() as fake:
        fake.always(failure)
        run_in_asyncio(act)
        assert len(fake.calls) == 2


# A pause that is longer than the client's patience


PAUSED = reply.text("one two")
TOO_LATE: dict[str, Reply] = {
    "paced": PAUSED.paced(each=500),
    "stall": PAUSED.broken(faults.stall.lasting(500), after=1),
    "error": reply.throttled().broken(faults.stall.lasting(500)),
    "slow": PAUSED.broken(faults.slow_first_byte.lasting(500)),
}
IMPATIENT = {"read_timeout": 20, "retries": {"total_max_attempts": 2, "mode": "standard"}}


@pytest.mark.parametrize("late", TOO_LATE)
def test_a_whole_body_that_comes_too_late_is_asked_for_again(back_end: tuple[Run, dict[str, Any]], late: str) -> None:
    run, config = back_end

    async def act() -> None:
        async with connect({**config, **IMPATIENT}) as client:
            assert text_of(await client.converse(**QUESTION)) == "ok"
            with pytest.raises(botocore.exceptions.ReadTimeoutError):
                await client.converse(**QUESTION)

    with fake_converse(TOO_LATE[late], reply.text("ok"), TOO_LATE[late].times(2)) as fake:
        run(act)
        outcomes = [call.outcome for call in fake.calls]
    assert outcomes == ["closed by client", "complete", "closed by client", "closed by client"]


async def until_it_fails(stream: Any, events: list[Any]) -> str:
    """The name of what a stream raises, after the events."""
    try:
        async for event in stream:
            events.append(event)  # noqa: PERF401 - those that come before it
    except Exception as error:  # noqa: BLE001 - it is the library's
        return type(error).__name__
    return ""


@pytest.mark.parametrize("late", ["paced", "stall"])
def test_a_stream_that_pauses_for_too_long_is_a_timeout(back_end: tuple[Run, dict[str, Any]], late: str) -> None:
    run, config = back_end
    events: list[Any] = []

    async def act() -> None:
        async with connect({**config, **IMPATIENT}) as client:
            stream = (await client.converse_stream(**QUESTION))["stream"]
            assert await until_it_fails(stream, events) == ("ReadTimeout" if config else "SocketTimeoutError")
            assert await until_it_fails(stream, events) == ""

    with fake_converse(TOO_LATE[late]) as fake:
        run(act)
        assert [list(event) for event in events] == [["messageStart"]]
        assert fake.calls[0].outcome == "closed by client"


BREAKS: dict[Fault, tuple[str, str]] = {
    faults.reset: ("ClientPayloadError", "ReadError"),
    faults.closed: ("ClientPayloadError", "RemoteProtocolError"),
    faults.wrong_content_length: ("ClientPayloadError", "RemoteProtocolError"),
    faults.stall: ("SocketTimeoutError", "ReadTimeout"),
}
"""What aiohttp and httpx raise."""


@pytest.mark.parametrize("fault", BREAKS, ids=lambda fault: fault.name)
def test_a_stream_that_breaks_is_an_error_of_the_library(back_end: tuple[Run, dict[str, Any]], fault: Fault) -> None:
    run, config = back_end

    async def act() -> None:
        async with connect({**config, **IMPATIENT}) as client:
            stream = (await client.converse_stream(**QUESTION))["stream"]
            assert await until_it_fails(stream, []) == BREAKS[fault][bool(config)]

    with fake_converse(PAUSED.broken(fault)) as fake:
        run(act)
        assert fake.calls[0].outcome == "cut"


def test_what_lasts_for_less_than_that_is_waited_for(back_end: tuple[Run, dict[str, Any]]) -> None:
    run, config = back_end

    async def act() -> None:
        async with connect({**config, **IMPATIENT}) as client:
            for seconds in (0.02, 0.03):
                started = time.monotonic()
                async for _ in (await client.converse_stream(**QUESTION))["stream"]:
                    pass
                assert time.monotonic() - started >= seconds

    with fake_converse(
        PAUSED.broken(faults.stall.lasting(0.02)), PAUSED.broken(faults.slow_first_byte.lasting(0.03))
    ) as fake:
        run(act)
        assert [call.outcome for call in fake.calls] == ["complete"] * 2


# Keys


def signatures(client: Any) -> list[str]:
    seen: list[str] = []

    async def look(request: Any, **_: Any) -> None:
        value = request.headers["Authorization"]
        seen.append(value.decode() if isinstance(value, bytes) else value)

    client.meta.events.register_first("before-send", look)
    return seen


async def canned(request: Any, **_: Any) -> Any:
    class Body:
        async def read(self) -> bytes:
            return b'{"output": {"message": {"role": "assistant", "content": [{"text": "from a hook"}]}}}'

    return AioAWSResponse(request.url, 200, {}, Body())


def test_never_uses_real_keys_and_finds_them_once_it_needs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDREAL")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "real")

    async def act() -> list[str]:
        fake = fake_converse(reply.text("hi"))
        async with fake:
            client = await connect({}).__aenter__()
            seen = signatures(client)
            await client.converse(**QUESTION)
        client.meta.events.register_last("before-send", canned)
        assert text_of(await client.converse(**QUESTION)) == "from a hook"
        await client.close()
        return seen

    under, after = run_in_asyncio(act)
    assert f"Credential={ACCESS_KEY}/" in under
    assert "Credential=AKIDREAL/" in after


def test_never_sends_a_real_bearer_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "real-token")

    async def act() -> list[str]:
        async with connect({}) as client:
            seen = signatures(client)
            await client.converse(**QUESTION)
            return seen

    with fake_converse(reply.text("hi")):
        assert run_in_asyncio(act) == [f"Bearer {BEARER_TOKEN}"]


def test_has_no_keys_after_the_fake_where_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    async def act() -> None:
        async with fake_converse():
            client = await connect({}).__aenter__()
        with pytest.raises(botocore.exceptions.NoCredentialsError):
            await client.converse(**QUESTION)
        await client.close()

    run_in_asyncio(act)


# Retries


async def attempts_without_harness(config: dict[str, Any]) -> int:
    """How often a fresh client asks that gets only errors, from a hook, with no fake open and its waits cut short."""
    attempts = 0

    async def answer(request: Any, **_: Any) -> Any:
        nonlocal attempts
        attempts += 1

        class Body:
            async def read(self) -> bytes:
                return b"{}"

        return AioAWSResponse(request.url, 429, {"x-amzn-ErrorType": "ThrottlingException"}, Body())

    async def at_once(*args: Any, **kwargs: Any) -> bool:
        return True

    with pytest.MonkeyPatch.context() as impatient:
        impatient.setattr(aiobotocore.endpoint.AioEndpoint, "_sleep", at_once)
        impatient.setattr(aiobotocore.endpoint.AnyioEndpoint, "_sleep", at_once)
        impatient.setattr(aiobotocore.retries.bucket.AsyncTokenBucket, "acquire", at_once)
        async with connect(config, **KEYS) as client:
            client.meta.events.register("before-send", answer)
            with pytest.raises(botocore.exceptions.ClientError):
                await client.converse(**QUESTION)
    return attempts


@pytest.mark.parametrize("mode", ["legacy", "standard", "adaptive"])
def test_every_call_is_retried_as_often_as_the_first_in_no_time(
    back_end: tuple[Run, dict[str, Any]], mode: str
) -> None:
    run, config = back_end
    config = {**config, "retries": {"mode": mode}}
    rounds = 250

    async def act() -> set[int]:
        counts: set[int] = set()
        async with connect(config) as client:
            for _ in range(rounds):
                before = len(fake.calls)
                with pytest.raises(botocore.exceptions.ClientError):
                    await client.converse(**QUESTION)
                counts.add(len(fake.calls) - before)
        return counts

    expected = run(partial(attempts_without_harness, config))
    with fake_converse() as fake:
        fake.always(reply.throttled())
        started = time.monotonic()
        assert run(act) == {expected}
        # Each of these waits would be some tenths of a second, or whole seconds.
        assert time.monotonic() - started < rounds * (expected - 1) * 0.05
        assert sum(call.answered.waited for call in fake.calls) > rounds * (expected - 1) * 0.05


# Leaving


def test_a_retry_after_its_fake_closed_is_refused(network: list[Any]) -> None:
    async def act() -> None:
        fake = fake_converse().open()
        fake.always(reply.throttled())
        async with connect({"retries": {"mode": "standard"}}) as client:
            client.meta.events.register("needs-retry.bedrock-runtime.Converse", lambda **_: fake.close())
            with pytest.raises(BlockedConnection, match="began while"):
                await client.converse(**QUESTION)
        assert len(fake.calls) == 1

    with refusals.of_a_run():  # it fails this test no more
        run_in_asyncio(act)
    assert network == []


def test_a_thread_with_a_loop_that_outlives_its_fake_is_refused(network: list[Any]) -> None:
    results: list[Any] = []
    go_on = threading.Event()

    async def act() -> None:
        async with connect({}) as client:
            assert go_on.wait(10)
            await client.converse(**QUESTION)

    def live() -> None:
        try:
            asyncio.run(act())
        except BaseException as error:  # noqa: BLE001 - the test asks for it
            results.append(error)

    with fake_converse():
        thread = threading.Thread(target=live)
        thread.start()
    with refusals.of_a_run():
        go_on.set()
        thread.join()
    assert [type(result) for result in results] == [BlockedConnection]
    assert network == []


GIVES_BACK = """
import sys
import aiobotocore.session, aiobotocore.retries.bucket
from converse_harness import fake_converse
from converse_harness.intercept.patch_points import POINTS

def attributes():
    found = {}
    for point in POINTS:
        if point.module.startswith("aiobotocore.") and point.replace is not None:
            holder = sys.modules[point.module]
            *path, name = point.attribute.split(".")
            for step in path:
                holder = getattr(holder, step)
            found[str(point)] = vars(holder)[name]
    return found

before = attributes()
with fake_converse():
    print(len(before), [name for name, now in attributes().items() if now is before[name]])
print(attributes() == before)
"""


def test_gives_everything_back() -> None:
    done = subprocess.run([sys.executable, "-c", GIVES_BACK], check=False, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["10 []", "True"], done.stderr


def test_a_changed_aiobotocore_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aiobotocore.signers.AioRequestSigner, "get_auth_instance", lambda self, changed: None)
    with pytest.raises(TransportError, match=r"aiobotocore \d+\.\d+.*get_auth_instance.*found \(self, changed\)"):
        fake_converse().open()


LATE = """
import asyncio, socket, sys
from converse_harness import fake_converse
from converse_harness import reply

def closed(*args, **kwargs):
    raise SystemExit(f"the network was asked: {args}")

socket.getaddrinfo = closed
question = dict(modelId="m", messages=[{"role": "user", "content": [{"text": "x"}]}])

with fake_converse(reply.text("hi").times(2)):
    assert "aiobotocore" not in sys.modules
    from aiobotocore.session import get_session
    import aiobotocore.endpoint as late

    async def main():
        async with get_session().create_client("bedrock-runtime") as client:
            print((await client.converse(**question))["stopReason"])
            print(len([event async for event in (await client.converse_stream(**question))["stream"]]) > 3)

    asyncio.run(main())
assert not hasattr(late.AioEndpoint._send, "__wrapped__")
assert type(late.__spec__.loader).__module__ == "_frozen_importlib_external"
"""


def test_aiobotocore_may_be_imported_late() -> None:
    done = subprocess.run([sys.executable, "-c", LATE], check=False, capture_output=True, text=True)
    assert done.stdout.split() == ["end_turn", "True"], done.stderr


@pytest.mark.parametrize("mode", ["legacy", "standard", "adaptive"])
@pytest.mark.parametrize(("attempts", "expected"), [(1, 1), (2, 2), (7, 4), (None, 4)])
def test_attempts_are_at_most_those_of_the_setting(mode: str, attempts: int | None, expected: int) -> None:
    async def ask() -> None:
        config = AioConfig(retries={"mode": mode, "total_max_attempts": 4})
        async with aiobotocore.session.get_session().create_client("bedrock-runtime", config=config, **KEYS) as client:
            await client.converse(**QUESTION)

    with fake_converse(attempts=attempts) as fake:
        fake.always(reply.throttled())
        with pytest.raises(botocore.exceptions.ClientError):
            asyncio.run(ask())
    assert len(fake.calls) == expected


def test_one_script_answers_aiobotocore_and_aiohttp_once_each() -> None:
    """Aiobotocore stands on aiohttp or httpx, which the fake answers too."""
    url = f"https://bedrock-runtime.us-east-1.amazonaws.com/model/{QUESTION['modelId']}/converse"

    async def ask() -> list[Any]:
        async with connect({}) as client, connect({"http_session_cls": HttpxSession}) as other:
            answers = [await each.converse(**QUESTION) for each in (client, other)]
        async with (
            aiohttp.ClientSession() as plain,
            plain.post(url, json={"messages": QUESTION["messages"]}) as response,
        ):
            return [*answers, await response.json()]

    with fake_converse(*map(reply.text, "123")) as fake:
        answers = asyncio.run(ask())
    assert [answer["output"]["message"]["content"][0]["text"] for answer in answers] == ["1", "2", "3"]
    assert len(fake.calls) == 3
