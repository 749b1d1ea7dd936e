"""What a user's type checker must accept."""

import re
from collections.abc import Iterator

import pytest

from converse_harness import (
    Call,
    Endpoint,
    Fake,
    HttpxFake,
    Reply,
    Response,
    assemble,
    chunk,
    citing,
    fake_converse,
    faults,
    reply,
)
from converse_harness.cases import Case
from converse_harness.faults import FAULTS, Fault


@pytest.fixture(scope="module")
def model() -> Iterator[Fake]:
    with fake_converse(reply.text("hi"), unused="allow", sleeps=True, seed=1) as fake:
        yield fake


def respond(call: Call) -> Reply:
    return reply.text(call.last_user_text).times(2).paced(first=0.1)


def test_scripting(converse: Fake) -> None:
    converse.script(reply.tool_use("now"), respond, lambda call: reply.json({"model": call.model_id}))
    converse.when(lambda call: len(call.messages) > 20).script(reply.context_overflow())
    converse.when(model="*haiku*", tool=re.compile("get_"), turn=1).always(reply.throttled())
    converse.always(reply.text("a").fails_after(1, "throttlingException", "Slow down"))
    converse.when(operation="CountTokens").script(reply.throttled(wording="tokens").retry_after(2, ms=5))
    converse.script(reply.model_error(original_status_code=500), reply.context_overflow("prompt_too_long"))
    document = {"name": "policy", "source": {"text": "Twenty days."}}
    converse.script(reply.cited("You have ", "20 days", citing(document, "Twenty days"), citing(document, pages=6)))
    converse.on_operation("InvokeModel", lambda call: {"body": call.raw})
    output = {"body": b"[1]", "contentType": "application/json"}
    with converse.on_operation("InvokeModel", output, reply.throttled(), reply.output(output).times(2)) as answered:
        assert answered.unused == 4
    converse.on_operation("InvokeModel", lambda call: reply.output({"body": call.raw}).optional())
    converse.on_operation("Retrieve", {"retrievalResults": []}, service="bedrock-agent-runtime")
    piece = reply.output({"completion": [{"chunk": {"bytes": b"hi"}}]}, strict=False).paced(first=0.1)
    failing = piece.fails_after(1, "throttlingException"), piece.broken(faults.reset), piece.error_frame_after(0)
    converse.when(operation="InvokeAgent", service="bedrock-agent-runtime").script(*failing)
    converse.on_operation("Retrieve", reply.error("DependencyFailedException"))
    assert converse.calls.of("Retrieve", service="bedrock-agent-runtime")[0].service
    converse.when(operation="InvokeModel", model="*titan*").script(output, reply.throttled(), lambda call: output)
    converse.when(lambda call: not call.body, operation="CountTokens").always({"inputTokens": 42})
    converse.when(operation="Converse", turn=1).script(reply.text("a"), respond)
    with converse.script(reply.message({"text": "a"}, {"toolUse": {"name": "n", "input": {}}})) as scripted:
        numbers: list[int] = [call.number for call in scripted.calls]
        assert numbers
    status: list[int] = [call.status for call in converse.calls]
    assert status


@fake_converse(reply.text("hi"))
def decorated(number: int) -> str:
    return str(number)


@fake_converse(reply.text("hi"))
async def decorated_async(number: int) -> str:
    return str(number)


async def use() -> None:
    async with fake_converse() as fake:
        text: str = await decorated_async(1)
        fake.script(reply.text(decorated(2) + text))
    events = chunk({"role": "assistant", "content": [{"text": "a"}]}, stop_reason="end_turn")
    response: Response = assemble(events)
    reply.events(events)
    Endpoint(reply.text("a"), respond, seed=3)
    print(response.message["content"])


def of_level(level: str) -> list[Fault]:
    return [fault for fault in FAULTS.values() if fault.level == level]


def names_the_fault(converse_httpx: HttpxFake, fault: Fault, case: Case) -> None:
    converse_httpx.script(reply.text("a").broken(fault), *case.replies)
