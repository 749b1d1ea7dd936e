"""What a user's type checker must accept of the transports."""

import httpx
import pytest

from converse_harness import (
    Call,
    Calls,
    ConverseApp,
    ConverseServer,
    Endpoint,
    Fake,
    HttpxFake,
    NotRefused,
    RefusedRequest,
    fake_converse,
    faults,
    record,
    recording,
    reply,
)
from converse_harness.server.mounts import ServerFake


def test_recordings(converse: Fake) -> None:
    converse.script(recording("x.jsonl", match=lambda recorded, asked: recorded["messages"] == asked["messages"]))
    converse.script(recording("x.jsonl", match="exact", ignore=["system"], pace="recorded"))
    with record("x.jsonl", mode="new_episodes", match=lambda recorded, asked: True, ignore=("modelId",)):
        pass


def test_server(converse_server: ConverseServer) -> None:
    with converse_server.script(
        reply.text("hi"), lambda call: reply.text(call.model_id), seed=1, unused="allow"
    ) as fake:
        url: str = fake.url
        environ: dict[str, str] = fake.environ
        fake.when(turn=2).script(reply.text(url + environ["AWS_REGION"]))
        fakes: list[Fake] = [fake, *converse_server.fakes]
        assert fakes


@pytest.fixture
def server_fake(converse_server: ConverseServer) -> ServerFake:
    return converse_server.script()


def test_without_pytest() -> None:
    with ConverseServer(host="127.0.0.1", port=0) as server, server.script() as fake:
        fake.script(reply.text("hi").broken(faults.reset, after=1).times(2))


def test_rules(converse_server: ConverseServer) -> None:
    with fake_converse(reply.text("hi"), rules="warn", history="fail") as fake, converse_server.script(rules="strict"):
        refusal = fake.calls[0].refusal
        assert refusal is not None
        named: list[str] = [refusal.rule.name, refusal.rule.source, refusal.path, refusal.message]
        assert named
    with pytest.raises(RefusedRequest):
        fake.check()


def test_httpx(converse_httpx: HttpxFake) -> None:
    broken = reply.text("hi").broken(faults.truncated_frame).broken(faults.stall.lasting(0.5), after=1)
    converse_httpx.script(broken.broken(faults.one_chunk))
    client = httpx.Client(transport=converse_httpx.httpx_transport)
    asynchronous = httpx.AsyncClient(transport=converse_httpx.httpx_async_transport)
    assert client
    assert asynchronous


def test_calls(converse: Fake) -> None:
    calls: Calls = converse.calls.of("CountTokens")
    some: Calls = calls.all[1:]
    last: Call = some.last
    names: list[str] = [*converse.calls.tools_used]
    first = converse.calls.tools_used[0]
    content: list[dict[str, object]] = first.content
    assert first.call is not None
    assert first.failed or first.input or content or names == [first] or first.call is last
    assert converse.calls.tools_used == ["get_weather"]
    assert [call.operation for call in reversed(calls)] == [calls[0].operation]
    with converse.script(reply.text("hi").times(2).optional(), reply.json({}).optional()) as scripted:
        more: Calls = scripted.calls
        assert more == calls


def test_refuses(converse: Fake, converse_server: ConverseServer) -> None:
    with converse.refuses("conversation_is_not_empty", match="must start") as expected:
        pass
    said: list[str] = [expected.refusal.message, *(each.path for each in expected.refusals), expected.rule.name]
    refused: list[Call] = [expected.call, *expected.calls]
    assert len(said) == len(refused)
    with pytest.raises(NotRefused), converse_server.script(attempts=1).refuses("conversation_is_not_empty"):
        pass


def test_environ(monkeypatch: pytest.MonkeyPatch, converse: Fake) -> None:
    for name, value in converse.environ.items():
        monkeypatch.setenv(name, value)
    with fake_converse(attempts=1), fake_converse(attempts=None):
        pass


def test_settings() -> None:
    Endpoint(reply.text("hi"), transport="asgi", seed=3, models={"m": "us.amazon.nova-lite-v1:0"}, cache_minimum=None)
    ConverseApp(reply.text("hi"), rules="off", history="fail", keep_calls=10)
    Fake(unused="allow", unexpected="allow", sleeps=True, rules="warn", answers="rules", keep_calls=None)
    Fake(answers={"tool_is_offered": "off", "*": "strict"})
