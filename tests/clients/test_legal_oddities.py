"""What is legal, or will be one day, and what consumers get wrong: it can be written, and boto3 gets it.

One table: how it is written, what arrives on plain Converse, and the deltas and starts of the stream. `None`: only a
stream can carry it, which the failure says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import boto3
import pytest

from converse_harness import Fake, Reply, ReplyError, bedrock, fake_converse, reply

pytestmark = pytest.mark.any_answer

ASKED: dict[str, Any] = {
    "modelId": "anthropic.claude-3-haiku-20240307-v1:0",
    "messages": [{"role": "user", "content": [{"text": "hi"}]}],
}
USAGE = {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}
METRICS = {"latencyMs": 4}
METADATA = {"metadata": {"usage": USAGE, "metrics": METRICS}}
HI = {"text": "hi"}
HI_DELTA = {"delta": HI, "contentBlockIndex": 0}
UNKNOWN = {"SDK_UNKNOWN_MEMBER": {"name": "futureThing"}}
ROUTED = {"promptRouter": {"invokedModelId": "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0"}}
CACHED = {
    "inputTokens": 10,
    "outputTokens": 5,
    "totalTokens": 115,
    "cacheReadInputTokens": 60,
    "cacheWriteInputTokens": 40,
}
DETAILS: dict[str, Any] = {"cacheDetails": [{"ttl": "5m", "inputTokens": 30}, {"ttl": "1h", "inputTokens": 10}]}


@dataclass(frozen=True)
class Oddity:
    """One thing: how to write it, what comes of it; `needs` is a member that botocore's model must have for it.

    `content` and `others` are members of ConverseResponse as boto3 gives them, `stream` what it gives of the blocks.
    """

    write: Callable[[], Reply]
    content: list[dict[str, Any]] | None
    stream: list[dict[str, Any]]
    others: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, str] = ("ConverseResponse", "output")


def start(index: int, **tool: Any) -> dict[str, Any]:
    return {"start": {"toolUse": tool}, "contentBlockIndex": index}


def delta(index: int, **member: Any) -> dict[str, Any]:
    return {"delta": member, "contentBlockIndex": index}


def tool_delta(index: int, piece: str) -> dict[str, Any]:
    return delta(index, toolUse={"input": piece})


def block(*inside: dict[str, Any], **stop: Any) -> list[dict[str, Any]]:
    """The events of an answer of one block."""
    return [
        {"messageStart": {"role": "assistant"}},
        *({"contentBlockStart" if "start" in each else "contentBlockDelta": each} for each in inside),
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "end_turn", **stop}},
        METADATA,
    ]


def tool(number: int, name: str = "look_up", **value: Any) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": f"tooluse_{number}", "name": name, "input": value}}


ODDITIES: dict[str, Oddity] = {
    # Tools
    "tools in parallel": Oddity(
        lambda: reply.message(
            tool(1, city="Bern"), tool(2, city="Chur"), pieces={0: ['{"city": "Bern"}'], 1: ['{"city": "Chur"}']}
        ),
        [tool(1, city="Bern"), tool(2, city="Chur")],
        [
            start(0, toolUseId="tooluse_1", name="look_up"),
            tool_delta(0, '{"city": "Bern"}'),
            start(1, toolUseId="tooluse_2", name="look_up"),
            tool_delta(1, '{"city": "Chur"}'),
        ],
        {"stopReason": "tool_use"},
    ),
    "a tool without input": Oddity(
        lambda: reply.tool_use("now", id="tooluse_1", pieces=["{}"]),
        [tool(1, "now")],
        [start(0, toolUseId="tooluse_1", name="now"), tool_delta(0, "{}")],
    ),
    "a tool without a delta": Oddity(
        lambda: reply.events(block(start(0, toolUseId="tooluse_1", name="now"), stopReason="tool_use")),
        [tool(1, "now")],
        [start(0, toolUseId="tooluse_1", name="now")],
    ),
    "a tool with an empty delta only": Oddity(
        lambda: reply.events(block(start(0, toolUseId="tooluse_1", name="now"), tool_delta(0, ""))),
        [tool(1, "now")],
        [start(0, toolUseId="tooluse_1", name="now"), tool_delta(0, "")],
    ),
    "tool input cut inside an escape": Oddity(
        lambda: reply.tool_use(
            "look_up", {"city": "Zürich"}, id="tooluse_1", pieces=["", '{"city": "Z\\u00', 'fcrich"}']
        ),
        [tool(1, city="Zürich")],
        [
            start(0, toolUseId="tooluse_1", name="look_up"),
            tool_delta(0, ""),
            tool_delta(0, '{"city": "Z\\u00'),
            tool_delta(0, 'fcrich"}'),
        ],
    ),
    "tool input cut off by max_tokens": Oddity(
        lambda: reply.tool_use(
            "look_up", {"city": "Zürich"}, id="tooluse_1", pieces=['{"city": ', '"Zür'], stop_reason="max_tokens"
        ),
        [tool(1, city="Zürich")],
        [start(0, toolUseId="tooluse_1", name="look_up"), tool_delta(0, '{"city": '), tool_delta(0, '"Zür')],
        {"stopReason": "max_tokens"},
    ),
    "tool input that is no JSON": Oddity(
        lambda: reply.events(
            block(start(0, toolUseId="tooluse_1", name="now"), tool_delta(0, "{city"), stopReason="malformed_tool_use"),
            strict=False,
        ),
        None,
        [start(0, toolUseId="tooluse_1", name="now"), tool_delta(0, "{city")],
    ),
    "a tool and end_turn": Oddity(
        lambda: reply.tool_use("now", id="tooluse_1", pieces=["{}"], stop_reason="end_turn"),
        [tool(1, "now")],
        [start(0, toolUseId="tooluse_1", name="now"), tool_delta(0, "{}")],
        {"stopReason": "end_turn"},
    ),
    "a tool of the server, with its result": Oddity(
        lambda: reply.message(
            {"toolUse": {"toolUseId": "t1", "name": "nova_grounding", "input": {}, "type": "server_tool_use"}},
            {"toolResult": {"toolUseId": "t1", "status": "success", "type": "nova_grounding_result", "content": [HI]}},
            pieces={0: ["{}"]},
        ),
        [
            {"toolUse": {"toolUseId": "t1", "name": "nova_grounding", "input": {}, "type": "server_tool_use"}},
            {"toolResult": {"toolUseId": "t1", "status": "success", "type": "nova_grounding_result", "content": [HI]}},
        ],
        [
            start(0, toolUseId="t1", name="nova_grounding", type="server_tool_use"),
            tool_delta(0, "{}"),
            {
                "start": {"toolResult": {"toolUseId": "t1", "status": "success", "type": "nova_grounding_result"}},
                "contentBlockIndex": 1,
            },
            delta(1, toolResult=[HI]),
        ],
        {"stopReason": "end_turn"},
        needs=("ContentBlockStart", "toolResult"),
    ),
    # Text and reasoning
    "empty text deltas": Oddity(
        lambda: reply.text("hi", pieces=["", "hi", ""]),
        [HI],
        [delta(0, text=""), HI_DELTA, delta(0, text="")],
    ),
    "an empty text": Oddity(lambda: reply.text("", pieces=[""]), [{"text": ""}], [delta(0, text="")]),
    "no content": Oddity(reply.message, [], []),
    "redacted reasoning": Oddity(
        lambda: reply.message(
            {"reasoningContent": {"redactedContent": b"\xff\xfe"}},
            {"reasoningContent": {"redactedContent": b"utf-8"}},
            HI,
            pieces={2: ["hi"]},
        ),
        [
            {"reasoningContent": {"redactedContent": b"\xff\xfe"}},
            {"reasoningContent": {"redactedContent": b"utf-8"}},
            HI,
        ],
        [
            delta(0, reasoningContent={"redactedContent": b"\xff\xfe"}),
            delta(1, reasoningContent={"redactedContent": b"utf-8"}),
            delta(2, text="hi"),
        ],
    ),
    "a signature without reasoning": Oddity(
        lambda: reply.message({"reasoningContent": {"reasoningText": {"text": "", "signature": "c2ln"}}}),
        [{"reasoningContent": {"reasoningText": {"text": "", "signature": "c2ln"}}}],
        [delta(0, reasoningContent={"signature": "c2ln"})],
    ),
    "an image": Oddity(
        lambda: reply.message({"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}}),
        [{"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}}],
        [
            {"start": {"image": {"format": "png"}}, "contentBlockIndex": 0},
            delta(0, image={"source": {"bytes": b"\x89PNG"}}),
        ],
        needs=("ContentBlockDelta", "image"),
    ),
    # Beside the message
    "cache usage": Oddity(lambda: reply.message(usage=CACHED), [], [], {"usage": CACHED}),
    "cache usage that adds itself up": Oddity(
        lambda: reply.message(usage={name: value for name, value in CACHED.items() if name != "totalTokens"}),
        [],
        [],
        {"usage": CACHED},
    ),
    "cache usage with details": Oddity(
        lambda: reply.message(usage=CACHED | DETAILS),
        [],
        [],
        {"usage": CACHED | DETAILS},
        needs=("TokenUsage", "cacheDetails"),
    ),
    "performance": Oddity(
        lambda: reply.message(performance_config={"latency": "optimized"}),
        [],
        [],
        {"performanceConfig": {"latency": "optimized"}},
    ),
    "service tier": Oddity(
        lambda: reply.message(service_tier={"type": "priority"}),
        [],
        [],
        {"serviceTier": {"type": "priority"}},
        needs=("ConverseResponse", "serviceTier"),
    ),
    "a prompt router": Oddity(lambda: reply.message(trace=ROUTED), [], [], {"trace": ROUTED}),
    "additional fields": Oddity(
        lambda: reply.message(additional={"stop_sequence": None, "list": [1, 2.5]}),
        [],
        [],
        {"additionalModelResponseFields": {"stop_sequence": None, "list": [1, 2.5]}},
    ),
    # Of the future
    "a stop reason of the future": Oddity(
        lambda: reply.message(HI, stop_reason="somethingNew", pieces={0: ["hi"]}, strict=False),
        [HI],
        [HI_DELTA],
        {"stopReason": "somethingNew"},
    ),
    "a stop reason of the future, as events": Oddity(
        lambda: reply.events(block(HI_DELTA, stopReason="somethingNew"), strict=False),
        [HI],
        [HI_DELTA],
        {"stopReason": "somethingNew"},
    ),
    "usage of the future": Oddity(
        lambda: reply.message(usage={**USAGE, "dreamTokens": 7}, strict=False), [], [], {"usage": USAGE}
    ),
    "metadata of the future": Oddity(
        lambda: reply.events(
            [
                *block(HI_DELTA)[:-1],
                {"metadata": {"usage": USAGE | {"dreamTokens": 7}, "metrics": METRICS, "mood": "good"}},
            ],
            strict=False,
        ),
        [HI],
        [HI_DELTA],
        {"usage": USAGE},
    ),
    "a block of the future": Oddity(
        lambda: reply.message({"futureThing": {"a": [1]}}, HI, pieces={1: ["hi"]}, strict=False),
        [UNKNOWN, HI],
        [delta(0, **UNKNOWN), delta(1, text="hi")],
    ),
    "a delta of the future": Oddity(
        lambda: reply.events(block(delta(0, futureThing={"a": 1})), strict=False), None, [delta(0, **UNKNOWN)]
    ),
    "a start of the future": Oddity(
        lambda: reply.events(block({"start": {"futureThing": {}}, "contentBlockIndex": 0}, HI_DELTA), strict=False),
        None,
        [{"start": UNKNOWN, "contentBlockIndex": 0}, HI_DELTA],
    ),
    "an event of the future": Oddity(
        lambda: reply.events([{"futureThing": {"a": 1}}, *block(HI_DELTA)], strict=False), None, [HI_DELTA]
    ),
    "members of the future in every event": Oddity(
        lambda: reply.events(
            [{name: {**members, "futureThing": 1} for name, members in event.items()} for event in block(HI_DELTA)],
            strict=False,
        ),
        [HI],
        [HI_DELTA],
    ),
}
ODDITIES |= {
    f"stop reason {reason}": Oddity(
        partial(reply.message, {"text": "hi"}, stop_reason=reason, pieces={0: ["hi"]}, strict=True),
        [HI],
        [HI_DELTA],
        {"stopReason": reason},
    )
    for reason in bedrock.enum("StopReason")
}

KNOWN = {name: oddity for name, oddity in ODDITIES.items() if bedrock.has_member(*oddity.needs)}
LACKING = {name: oddity for name, oddity in ODDITIES.items() if name not in KNOWN}


@pytest.mark.parametrize("oddity", KNOWN.values(), ids=KNOWN)
def test_it_arrives_on_plain_converse(oddity: Oddity) -> None:
    if oddity.content is None:
        with pytest.raises(ReplyError, match="only a stream can carry these events"):
            ask(oddity.write())
        return
    answer = ask(oddity.write())
    assert answer["output"]["message"] == {"role": "assistant", "content": oddity.content}
    assert {name: answer[name] for name in oddity.others} == oddity.others


def ask(answer: Reply) -> Any:
    """What boto3 gets of an answer on plain Converse."""
    with fake_converse(answer):
        return boto3.client("bedrock-runtime", region_name="us-east-1").converse(**ASKED)


@pytest.mark.parametrize("oddity", KNOWN.values(), ids=KNOWN)
def test_it_arrives_in_a_stream(converse: Fake, oddity: Oddity) -> None:
    converse.script(oddity.write())
    events = list(boto3.client("bedrock-runtime").converse_stream(**ASKED)["stream"])
    inside = ("contentBlockStart", "contentBlockDelta")
    of_blocks = [members for event in events for name, members in event.items() if name in inside]
    assert of_blocks == oddity.stream
    stop, metadata = events[-2]["messageStop"], events[-1]["metadata"]
    ending = {**stop, **metadata}
    assert {name: ending[name] for name in oddity.others} == oddity.others


if LACKING:

    @pytest.mark.parametrize("oddity", LACKING.values(), ids=LACKING)
    def test_what_botocore_lacks_is_refused_by_name(oddity: Oddity) -> None:
        with pytest.raises(ReplyError, match=f"botocore {bedrock.botocore_version()}"):
            oddity.write()
