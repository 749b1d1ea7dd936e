"""What a user's type checker must accept of written replies: names of closed lists, and the TypedDicts of `types`."""

from collections.abc import Mapping

from converse_harness import Call, Fake, Reply, Response, assemble, chunk, citing, reply
from converse_harness.literals import (
    BlockingPolicy,
    ErrorName,
    FamilyName,
    GuardrailPolicy,
    GuardrailSide,
    MaskingPolicy,
    OverflowWording,
    StopReason,
    StreamException,
    ThrottleWording,
)
from converse_harness.types.citations import Citation
from converse_harness.types.content import ContentBlock, Message
from converse_harness.types.event_loop import Metrics, Usage
from converse_harness.types.streaming import StreamEvent
from converse_harness.types.tools import Tool, ToolConfig
from converse_strategies import chunkings, conversations, messages, stream_events, tool_choices


def names(
    error: ErrorName,
    exception: StreamException,
    reason: StopReason,
    wording: OverflowWording,
    throttle: ThrottleWording,
    blocking: BlockingPolicy,
    masking: MaskingPolicy,
    policy: GuardrailPolicy,
    side: GuardrailSide,
    family: FamilyName,
    message: Message,
) -> list[Reply]:
    chunk(message, family=family)
    stream_events(family=family)
    return [
        reply.error(error),
        reply.text("a", stop_reason=reason).fails_after(1, exception),
        reply.context_overflow(wording),
        reply.throttled(wording=throttle),
        reply.guardrail_blocked(policy=blocking, side=side),
        reply.guardrail_masked("{EMAIL}", policy=masking),
        reply.guardrail_passed("a", policy=policy),
    ]


def any_name(name: str, lax: bool) -> list[Reply]:
    return [
        reply.error(name, status=418),
        reply.text("a").fails_after(1, name, strict=False),
        reply.message({"text": "a"}, stop_reason=name, strict=False),
        reply.tool_use(name, {}, stop_reason=name, strict=False),
        reply.tool_use("now", strict=lax),
        reply.tool_uses(name, strict=lax),
        reply.message({"text": "a"}, strict=lax),
    ]


usage: Usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
metrics: Metrics = {"latencyMs": 5}
block: ContentBlock = {"text": "a"}
blocks: list[ContentBlock] = [block, {"toolUse": {"name": "now", "input": {}, "toolUseId": "t"}}]
message: Message = {"role": "assistant", "content": blocks}
event: StreamEvent = {"messageStart": {"role": "assistant"}}
events: list[StreamEvent] = [event, {"throttlingException": {"message": "Slow down"}}]
citation: Citation = {"title": "a", "sourceContent": [{"text": "b"}]}
plain: dict[str, object] = {"text": "a"}
read_only: Mapping[str, object] = plain


def mappings(converse: Fake, call: Call) -> None:
    converse.script(
        reply.message(block, *blocks, plain, read_only, usage=usage, metrics=metrics),
        reply.message({"text": "a"}, {"futureThing": {"a": 1}}, usage={"inputTokens": 3}, strict=False),
        reply.message({"toolUse": {"name": "now", "input": {}}}, usage={"serverToolUsage": {}, "inputTokens": 1}),
        reply.text("a", usage=usage),
        reply.tool_use("now", {"a": 1}, text="Let me look.", usage={"inputTokens": 3}),
        reply.tool_uses(("now", {"a": 1}), "later", ("now", {}), text="Let me look.", usage=usage),
        reply.json([1], usage=usage),
        reply.reasoning("Hm.", reply.tool_use("now"), signature="c2ln", usage=usage),
        reply.reasoning(b"\xff", "18 °C"),
        reply.reasoning("Hm.", signature=False),
        reply.cited("a", citation, citing({"name": "a", "source": {"text": "b"}}, "b"), usage=usage),
        reply.events(events),
        reply.events([event, {"futureEvent": {}}], strict=False),
        reply.events([event]).fails_after(1, "throttlingException"),
        reply.response({"output": {"message": message}, "stopReason": "end_turn", "usage": usage}),
        reply.response(events),
        reply.response({"stream": events}),
        reply.guardrail_blocked(usage=usage, metrics=metrics),
    )
    answered: Response = assemble(events)
    reply.response(answered)
    reply.message(*answered.message["content"], stop_reason=answered.stop_reason)
    if call.response is not None:
        reply.response(call.response)
    chunk(message, usage=usage, metrics=metrics, family="claude", stop_reason=answered.stop_reason)
    chunk({"role": "assistant", "content": [{"text": "a"}]}, family="nova")


def strategies(message: Message, tools: list[Tool], config: ToolConfig) -> None:
    chunkings(message)
    messages()
    conversations(tools=tools)
    tool_choices(config)
