"""What a budget counts is what an agent did: over Converse and ConverseStream, with retries of both kinds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from converse_harness import CallError, Fake, assemble, fake_converse, reply
from converse_harness.features.budgets.counts import BudgetCount
from converse_harness.features.budgets.limits import KEYS
from converse_harness.intercept.clients import create_client
from tests.features.budgets.stages import NEEDS_HISTORY

MODEL: Final = "us.anthropic.claude-opus-4-5-20251101-v1:0"
TOOLS: Final = [{"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}}} for name in ("a", "b")]


class ToolStep(NamedTuple):
    """A tool that the model asks for, whether it fails, and how often its call is throttled before."""

    name: str
    input: dict[str, Any]
    fails: bool
    throttled: int


class AgentPlan(NamedTuple):
    steps: list[ToolStep]
    streams: bool
    retries_itself: bool
    """Whether the agent asks again after an error, and not its client."""


inputs: Final = st.sampled_from([{}, {"x": 1, "y": "ü"}, {"y": "ü", "x": 1}, {"x": True}])
steps: Final = st.builds(ToolStep, st.sampled_from(["a", "b"]), inputs, st.booleans(), st.integers(0, 2))
plans: Final = st.builds(AgentPlan, st.lists(steps, max_size=6), st.booleans(), st.booleans())


def run(plan: AgentPlan, fake: Fake) -> None:
    """An agent that does what the plan says."""
    for step in plan.steps:
        fake.script(*[reply.throttled()] * step.throttled, reply.tool_use(step.name, step.input))
    fake.script(reply.text("Done."))
    client = create_client(config=Config(retries={"total_max_attempts": 1 if plan.retries_itself else 3}))
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"text": "Where to?"}]}]
    for fails in [*[step.fails for step in plan.steps], False]:
        answer = _ask(client, plan, messages)
        uses = [block["toolUse"] for block in answer["content"] if "toolUse" in block]
        status = {"status": "error"} if fails else {}
        results = [{"toolUseId": use["toolUseId"], "content": [{"text": "ok"}], **status} for use in uses]
        messages += [answer, {"role": "user", "content": [{"toolResult": each} for each in results]}]


def _ask(client: Any, plan: AgentPlan, messages: list[dict[str, Any]]) -> dict[str, Any]:
    request = {"modelId": MODEL, "messages": messages, "toolConfig": {"tools": TOOLS}}
    for left in (2, 1, 0):
        try:
            if not plan.streams:
                return dict(client.converse(**request)["output"]["message"])
            return dict(assemble(client.converse_stream(**request)["stream"]).message)
        except ClientError:
            if not plan.retries_itself or not left:
                raise
    raise AssertionError


def texts(value: object) -> Iterator[str]:
    """The texts of a request as botocore wrote it, found in another way than the harness does."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "text":
                yield inner
            elif key == "input":
                yield json.dumps(inner, ensure_ascii=False, separators=(",", ":"))
            else:
                yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)


def again(plan: AgentPlan) -> int:
    """Of each tool and input: all but the first, and without one retry after a first that failed."""
    done: dict[str, list[bool]] = {}
    for step in plan.steps:
        key = json.dumps([step.name, step.input], sort_keys=True)
        done.setdefault(key, []).append(step.fails)
    return sum(max(0, len(fails) - 1 - fails[0]) for fails in done.values())


@NEEDS_HISTORY
@given(plans)
def test_each_key_counts_what_the_agent_did(plan: AgentPlan) -> None:
    count = BudgetCount()
    with fake_converse() as fake:
        fake.endpoint.add(count.stage)
        run(plan, fake)
    spent = {key: sum(each.amount for each in count.spent(key)) for key in KEYS}
    calls, throttled = len(plan.steps) + 1, sum(step.throttled for step in plan.steps)
    whole = [json.loads(call.raw) for call in fake.calls if call.status == 200]
    tools = sum(len(json.dumps(each, ensure_ascii=False, separators=(",", ":"))) for each in TOOLS)
    assert spent == {
        "calls": calls,
        "attempts": calls + throttled,
        "tool_calls": len(plan.steps),
        "same_tool_again": again(plan),
        "characters": calls * tools + sum(len(text) for body in whole for text in texts(body["messages"])),
        "rewrites": 0,
        "waited": 0,
    }
    assert spent["calls"] == len(fake.calls) - throttled
    assert Counter(used for used in fake.calls.tools_used) == Counter(step.name for step in plan.steps)


BLOCKS: Final[tuple[tuple[dict[str, Any], int], ...]] = (
    ({"text": "six 中文"}, 6),
    ({"guardContent": {"text": {"text": "guard"}}}, 5),
    ({"document": {"name": "d", "format": "txt", "source": {"text": "not counted"}}}, 0),
    ({"image": {"format": "png", "source": {"bytes": b"not counted"}}}, 0),
    ({"cachePoint": {"type": "default"}}, 0),
    ({"searchResult": {"source": "s", "title": "t", "content": [{"text": "found"}]}}, 5),
)


def test_text_of_every_kind_counts_and_files_do_not() -> None:
    count = BudgetCount()
    result = {"toolUseId": "tooluse_1", "content": [{"text": "four"}, {"json": {"a": "ü"}}]}
    messages = [
        {"role": "user", "content": [block for block, _ in BLOCKS]},
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}},
                {"citationsContent": {"content": [{"text": "cited"}], "citations": []}},
                {"toolUse": {"toolUseId": "tooluse_1", "name": "a", "input": {"q": [1]}}},
            ],
        },
        {"role": "user", "content": [{"toolResult": result}]},
    ]
    with fake_converse(reply.text("ok"), rules="off") as fake:
        fake.endpoint.add(count.stage)
        create_client().converse(
            modelId=MODEL, messages=messages, system=[{"text": "Be brief."}, {"cachePoint": {"type": "default"}}]
        )
    (spent,) = count.spent("characters")
    inner = len("Hm.") + len("cited") + len('{"q":[1]}') + len("four") + len('{"a":"ü"}')
    assert spent.amount == len("Be brief.") + sum(size for _, size in BLOCKS) + inner


def test_pauses_count_as_they_are_scripted_and_only_if_they_were_received() -> None:
    count = BudgetCount()
    client = create_client()
    messages = [{"role": "user", "content": [{"text": "?"}]}]
    paced = reply.text("one two three").paced(first=0.003, each=0.001)
    with fake_converse(paced.times(3)) as fake:
        fake.endpoint.add(count.stage)
        client.converse(modelId=MODEL, messages=messages)
        events = [*client.converse_stream(modelId=MODEL, messages=messages)["stream"]]
        stream = client.converse_stream(modelId=MODEL, messages=messages)["stream"]
        next(iter(stream))
        stream.close()
    whole = 0.003 + 0.001 * (len(events) - 1)
    amounts = [round(each.amount, 6) for each in count.spent("waited")]
    assert amounts == [pytest.approx(whole), pytest.approx(whole), 0.003]


def test_a_sum_of_pauses_is_not_over_by_the_error_of_its_last_digit() -> None:
    paced, limit = 0.0001, 0.0003
    assert paced + paced + paced > limit
    wait_thrice(paced, limit)
    with pytest.raises(CallError, match=r"^budget: 0.0003 s waited of 0.0002\. "):
        wait_thrice(paced, 0.0002)


def wait_thrice(paced: float, limit: float) -> None:
    with fake_converse(reply.text("a").paced(first=paced).times(3)) as fake, fake.budget(waited=limit):
        for _ in range(3):
            create_client().converse(modelId=MODEL, messages=[{"role": "user", "content": [{"text": "?"}]}])


def test_a_request_that_succeeded_and_comes_again_is_a_call() -> None:
    client = create_client()
    messages = [{"role": "user", "content": [{"text": "?"}]}]
    with fake_converse() as fake:
        fake.script(reply.text("a"), reply.throttled(), reply.text("b"), reply.text("c"))
        with fake.budget(calls=3, attempts=4):
            for _ in range(3):
                client.converse(modelId=MODEL, messages=messages)
        assert len(fake.calls) == 4


def test_tools_of_two_conversations_are_not_the_same_tool_again() -> None:
    client = create_client()
    with fake_converse() as fake, fake.budget(same_tool_again=0, tool_calls=2):
        for question in ("To Chur?", "To Bern?"):
            fake.script(reply.tool_use("a", {"x": 1}), reply.text("ok"))
            run_once(client, question)


def run_once(client: Any, question: str) -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"text": question}]}]
    answer = client.converse(modelId=MODEL, messages=messages, toolConfig={"tools": TOOLS})["output"]["message"]
    use = answer["content"][0]["toolUse"]
    result = {"toolUseId": use["toolUseId"], "content": [{"text": "ok"}]}
    messages += [answer, {"role": "user", "content": [{"toolResult": result}]}]
    client.converse(modelId=MODEL, messages=messages, toolConfig={"tools": TOOLS})
