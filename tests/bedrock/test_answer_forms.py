"""A tool use has the type, and a usage the counters, that the model sends; an answer given as a whole is kept."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import pytest
from hypothesis.vendor.pretty import pretty

from converse_harness import Endpoint, Reply, bedrock, reply
from converse_harness.bedrock.models import COUNTERS, READ
from converse_harness.stream.events import decode_event
from converse_harness.stream.frames import Decoder
from converse_harness.stream.http import Request

SONNET_4_5: Final = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
NOVA_2: Final = "us.amazon.nova-2-lite-v1:0"
OPERATIONS: Final = ("Converse", "ConverseStream")
HAS_SYSTEM_TOOLS: Final = bedrock.has_member("Tool", "systemTool")
SYSTEM_TOOL: Final[dict[str, Any]] = {"toolConfig": {"tools": [{"systemTool": {"name": "nova_code_interpreter"}}]}}
USE: Final[dict[str, Any]] = {"toolUseId": "t", "name": "look", "input": {}}
USAGE: Final = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}


def answered(answer: Reply, operation: str, model: str, **more: object) -> list[dict[str, Any]]:
    """What is on the wire: one body, or events."""
    body = {"messages": [{"role": "user", "content": [{"text": "?"}]}], **more}
    action = "converse" if operation == "Converse" else "converse-stream"
    request = Request("POST", f"/model/{model}/{action}", (), json.dumps(body).encode())
    data = b"".join(chunk.data for chunk in Endpoint(answer).exchange(request).response.chunks)
    return [json.loads(data)] if operation == "Converse" else [decode_event(each)[0] for each in Decoder().feed(data)]


def uses(answer: Reply, operation: str, model: str, **more: object) -> list[dict[str, Any]]:
    """The tool uses on the wire, as they stand there."""
    wire = answered(answer, operation, model, **more)
    if operation == "Converse":
        return [block["toolUse"] for block in wire[0]["output"]["message"]["content"] if "toolUse" in block]
    starts = [event["contentBlockStart"]["start"] for event in wire if "contentBlockStart" in event]
    return [start["toolUse"] for start in starts]


@pytest.mark.parametrize(
    ("model", "operation", "more", "sent"),
    [
        ("anthropic.claude-3-haiku-20240307-v1:0", "Converse", {}, False),
        ("us.anthropic.claude-3-5-haiku-20241022-v1:0", "Converse", {}, False),
        ("us.anthropic.claude-3-7-sonnet-20250219-v1:0", "Converse", {}, True),
        ("us.anthropic.claude-3-7-sonnet-20250219-v1:0", "ConverseStream", {}, False),
        (SONNET_4_5, "Converse", {}, True),
        (SONNET_4_5, "ConverseStream", {}, False),
        ("us.anthropic.claude-opus-5-5", "Converse", {}, True),
        ("us.anthropic.claude-opus-5-5", "ConverseStream", {}, False),
        ("us.anthropic.claude-sonnet-5", "Converse", {}, True),
        ("us.anthropic.claude-sonnet-5", "ConverseStream", {}, True),
        ("us.anthropic.claude-sonnet-5-5", "ConverseStream", {}, False),
        (NOVA_2, "Converse", {}, False),
        *((NOVA_2, operation, SYSTEM_TOOL, True) for operation in OPERATIONS if HAS_SYSTEM_TOOLS),
        ("us.amazon.nova-pro-v1:0", "Converse", {}, False),
        ("openai.gpt-5.6-sol", "Converse", {}, False),
        ("my-model", "Converse", {}, False),
    ],
)
def test_a_tool_use_has_the_type_that_the_model_sends(
    model: str, operation: str, more: dict[str, Any], sent: bool
) -> None:
    answers = [
        reply.tool_use("look"),
        reply.tool_use("look", id="t"),
        reply.tool_uses("look", "look", text="Both."),
        reply.message({"text": "So."}, {"toolUse": USE}),
        reply.reasoning("Hm.", reply.tool_use("look")),
    ]
    for answer in answers:
        found = uses(answer, operation, model, **more)
        assert {use.get("type") for use in found} == {"tool_use" if sent else None}
        assert all(list(use) == sorted(use) for use in found)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("type_", ["tool_use", *(["server_tool_use"] if HAS_SYSTEM_TOOLS else [])])
def test_a_type_that_a_reply_gives_is_kept(operation: str, type_: str) -> None:
    for model in (SONNET_4_5, NOVA_2):
        (use,) = uses(reply.message({"toolUse": {**USE, "type": type_}}), operation, model)
        assert use["type"] == type_


def test_an_answer_that_is_given_as_a_whole_gets_no_type() -> None:
    """Also when it is printed and run again, with its ids and without."""
    message = {"role": "assistant", "content": [{"toolUse": USE}]}
    pasted = reply.response({"output": {"message": message}, "stopReason": "tool_use", "usage": USAGE})
    again = eval(pretty(pasted), {"reply": reply})
    for answer in (pasted, again):
        for model in (SONNET_4_5, "us.anthropic.claude-sonnet-5"):
            for operation in OPERATIONS:
                assert [use.keys() & {"type"} for use in uses(answer, operation, model)] == [set()]
    message = {"role": "assistant", "content": [{"toolUse": {**USE, "type": "tool_use"}}]}
    typed = reply.response({"output": {"message": message}, "stopReason": "tool_use"})
    assert uses(typed, "ConverseStream", NOVA_2)[0]["type"] == "tool_use"
    assert pretty(typed).startswith("reply.message(")


@pytest.mark.parametrize(
    ("model", "counters"),
    [
        ("us.anthropic.claude-3-5-haiku-20241022-v1:0", COUNTERS),
        ("us.anthropic.claude-3-5-sonnet-20241022-v2:0", ()),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", READ),
        (SONNET_4_5, COUNTERS),
        ("us.anthropic.claude-opus-4-6-v1", COUNTERS),
        ("us.anthropic.claude-opus-4-7", READ),
        ("us.anthropic.claude-opus-4-8", READ),
        ("us.anthropic.claude-opus-5", COUNTERS),
        ("us.anthropic.claude-opus-5-5", COUNTERS),
        ("us.anthropic.claude-sonnet-5", READ),
        ("openai.gpt-5.6-sol", COUNTERS),
        (NOVA_2, ()),
    ],
)
def test_the_usage_of_a_body_has_the_counters_of_the_model(model: str, counters: tuple[str, ...]) -> None:
    """A stream has none without a cachePoint; with one each answer has all."""
    answer = reply.text("a")
    (body,) = answered(answer, "Converse", model)
    assert body["usage"].keys() & COUNTERS == set(counters)
    assert answered(answer, "ConverseStream", model)[-1]["metadata"]["usage"].keys() & COUNTERS == set()
    point = {"system": [{"text": "Be brief."}, {"cachePoint": {"type": "default"}}]}
    for operation in OPERATIONS:
        last = answered(answer, operation, model, **point)[-1]
        assert last.get("metadata", last)["usage"].keys() >= set(COUNTERS)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_opus_4_8_counts_more_tokens_for_the_same_text(operation: str) -> None:
    """As recorded: 1.23 times as many, in all that is counted."""
    system = [{"text": "word " * 8000}, {"cachePoint": {"type": "default"}}]
    counted: list[dict[str, int]] = []
    for model in ("us.anthropic.claude-sonnet-4-6", "us.anthropic.claude-opus-4-8"):
        wire = answered(reply.text("hi"), operation, model, system=system)
        counted.append(next(each["usage"] for each in (wire[0], wire[-1].get("metadata", {})) if "usage" in each))
    one, more = (usage["inputTokens"] + usage["cacheWriteInputTokens"] for usage in counted)
    assert one > 4096
    assert more == pytest.approx(one * 1.23, abs=1)


IDS: Final = {
    SONNET_4_5: [r"tooluse_[A-Za-z0-9_-]{22}"] * 2,
    "us.openai.gpt-5.6-sol": ["call_[0-9a-f]{32}"] * 2,
    "my-model": [r"tooluse_[A-Za-z0-9_-]{22}"] * 2,
}
if re.fullmatch(bedrock.shape("ToolUseId").metadata["pattern"], "functions.look:0"):  # not in botocore 1.40
    IDS["moonshot.kimi-k2-thinking"] = ["functions.look:1", "functions.see:2"]


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("model", IDS)
def test_the_ids_of_tool_uses_have_the_form_of_the_model(model: str, operation: str) -> None:
    """Those of Kimi count over the conversation, which has had one here."""
    asked = [
        {"role": "user", "content": [{"text": "?"}]},
        {"role": "assistant", "content": [{"text": "Hm."}, {"toolUse": {**USE, "toolUseId": "look-0"}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "look-0", "content": [{"text": "1"}]}}]},
    ]
    schema = {"inputSchema": {"json": {"type": "object"}}}
    tools = {"tools": [{"toolSpec": {"name": name, **schema}} for name in ("look", "see")]}
    answer = reply.tool_uses("look", "see", text="Wait.")
    sent = uses(answer, operation, model, messages=asked, toolConfig=tools)
    assert len({use["toolUseId"] for use in sent}) == 2
    for use, form in zip(sent, IDS[model], strict=True):
        assert re.fullmatch(form, use["toolUseId"])
