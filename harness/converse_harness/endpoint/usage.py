"""Estimate the token counts of a request, and the token usage of its answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from converse_harness.bedrock.models import COUNTERS, Caching, Model, cache_counters, standing
from converse_harness.bedrock.request_items import RequestItem, RequestItems, has_cache_point
from converse_harness.bedrock.rules.request import INVOKED, conversation_in, invoke_body
from converse_harness.endpoint.call import Call
from converse_harness.json_values import member_of, object_of, objects_of
from converse_harness.reply.body import MessageBody
from converse_harness.stream.chunk import weigh

Count = Callable[[Call, dict[str, Any]], None]
"""A method `usage` of a stage."""


def usage(call: Call, body: MessageBody, given: Mapping[str, Any] | None, counts: Sequence[Count]) -> dict[str, Any]:
    """Build the TokenUsage of an answer, with the keys that the model of the call sends.

    Values in `given` replace estimates. `counts` change the estimates before.

    Cache tokens are part of the total, as in Bedrock's answers. Tokens that the model caches without a cachePoint count
    as normal input.
    """
    counted: dict[str, Any] = {"inputTokens": 0, "outputTokens": _output_tokens(call, body)}
    if given is None:
        counted["serverToolUsage"] = {}
        always = cache_counters(call.stands_for, call.operation).always
        counted.update(dict.fromkeys(COUNTERS if has_cache_point(call.items) else always, 0))
    for count in counts:
        count(call, counted)
    counted["inputTokens"] = counted["inputTokens"] or request_tokens(call)
    counted.update(given or {})
    parts = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
    counted.setdefault("totalTokens", sum([counted.get(part, 0) for part in parts]))
    return counted


def _output_tokens(call: Call, body: MessageBody) -> int:
    """Return an estimate of the answer's tokens, at most `maxTokens`, and as many if the answer ended there.

    Recordings have it so: never more (345 of 345), as many at the stop reason `max_tokens` (62 of 63).
    """
    most = member_of(call.body, "inferenceConfig", "maxTokens")  # `call.params` would be made for each call
    if not isinstance(most, int):
        return body.tokens
    return most if body.stop_reason == "max_tokens" else min(body.tokens, most)


def request_tokens(call: Call) -> int:
    """Return an estimate of the number of input tokens of the call's conversation, at least 1."""
    known = standing(call.stands_for).model
    return tokens_of(request_weight(call.items, known), known)


def count_tokens(call: Call) -> int:
    """Return the number of tokens for an answer of CountTokens.

    It equals `inputTokens` in the usage of a Converse answer to the same messages.
    """
    body, known = conversation_in(call.operation, call.body), standing(call.stands_for).model
    if INVOKED in body:
        return tokens_of(invoked_weight(invoke_body(body[INVOKED]), known), known)
    return tokens_of(request_weight(RequestItems.of(body), known), known)


def tokens_of(weight: float, known: Model | None) -> int:
    """Return the number of tokens of a text with this weight, at least 1: models cut texts differently."""
    return max(1, round(weight if known is None else weight * known.tokens_ratio))


class PromptBlock(NamedTuple):
    """A block of a request as JSON, with its path in the request.

    `message` is the index of the block's message, -1 for tools and system blocks. `place` is "tools", "system", or the
    role of the message.
    """

    path: str
    message: int
    place: str
    block: Mapping[str, Any]


class BlockWeights(NamedTuple):
    """The numbers of tokens in the blocks of one item of a request: in all of them, and in those with reasoning."""

    all: float
    thoughts: float


def request_weight(items: RequestItems, known: Model | None) -> float:
    """Estimate the input tokens of a request."""
    # All weights are multiples of 1/16, so their sum does not depend on the order.
    weight = tools_weight(items, known)
    for name, find in (("toolConfig", _weights_of_tools), ("system", _weights_of_blocks)):
        if name in items.members:
            weight += items.members[name].once(find).all
    weights = [each.once(_weights_of_message) for each in items.messages]
    weight += sum([each.all for each in weights])
    dropped = thoughts_dropped(items, known.caching if known is not None else None)
    return weight - sum([each.thoughts for each in weights[:dropped]])


def thoughts_dropped(items: RequestItems, caching: Caching | None) -> int:
    """Return the number of messages, from the first one, whose reasoning the service does not pass to the model."""
    if caching is None or not caching.drops_thoughts:
        return 0
    return _turn([each.value for each in items.messages]) if any(map(_has_thoughts, items.messages)) else 0


def _has_thoughts(message: RequestItem) -> bool:
    return bool(message.once(_weights_of_message).thoughts)


def _weights_of_message(message: Mapping[str, Any]) -> BlockWeights:
    return _weights_of_blocks(message.get("content"))


def _weights_of_tools(config: Mapping[str, Any]) -> BlockWeights:
    return _weights_of_blocks(config.get("tools"))


def _weights_of_blocks(blocks: Sequence[Mapping[str, Any]] | None) -> BlockWeights:
    weights = [("reasoningContent" in each, weigh(each)) for each in blocks or () if "cachePoint" not in each]
    return BlockWeights(sum([weight for _, weight in weights]), sum([weight for thought, weight in weights if thought]))


def invoked_weight(body: object, known: Model | None) -> float:
    """Estimate the input tokens of an InvokeModel body: of its messages, system and tools, as Claude takes them.

    Other JSON is estimated with all its members, and a body that is not JSON as text.
    """
    members = object_of(body)
    if "messages" not in members:
        return weigh(body)
    turns = [{**each, "content": _plain_blocks(each.get("content"))} for each in objects_of(members["messages"])]
    system, tools = _plain_blocks(members.get("system")), objects_of(members.get("tools"))
    body = {"messages": turns, "system": system, "toolConfig": {"tools": tools}}
    return request_weight(RequestItems.of(body), known)


def invoked_headers(call: Call, answer: bytes) -> dict[str, str]:
    """Return the headers with the tokens and the latency of an answer of InvokeModel.

    The numbers are those that models write into their answers, and otherwise estimates. Of 140 recorded answers, 139
    have the latency and 138 the input tokens. Vectors and ranks have no output tokens.
    """
    known = standing(call.stands_for).model
    asked, body = _read(call.raw), _read(answer)
    told = {"Input-Token-Count": _count_in(body, _INPUT_COUNTS) or tokens_of(invoked_weight(asked, known), known)}
    produced = 0
    if not {"embedding", "embeddings"} & object_of(body).keys() and b"relevance_score" not in answer:
        produced = told["Output-Token-Count"] = _count_in(body, _OUTPUT_COUNTS) or tokens_of(weigh(body), known)
    told["Invocation-Latency"] = 250 + 12 * produced
    return {f"X-Amzn-Bedrock-{name}": str(value) for name, value in told.items()}


_INPUT_COUNTS: Final = (
    ("usage", "input_tokens"),
    ("usage", "inputTokens"),
    ("usage", "prompt_tokens"),
    ("prompt_token_count",),
    ("inputTextTokenCount",),
)
_OUTPUT_COUNTS: Final = (
    ("usage", "output_tokens"),
    ("usage", "outputTokens"),
    ("usage", "completion_tokens"),
    ("generation_token_count",),
)
"""The paths at which answers of models contain their numbers of tokens, as recorded."""


def _count_in(body: object, paths: Sequence[Sequence[str]]) -> int:
    return next((found for path in paths if type(found := member_of(body, *path)) is int), 0)


def _read(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body.decode("utf-8", "replace")


def _plain_blocks(content: object) -> Sequence[Mapping[str, Any]]:
    """Return Claude's content as blocks without their `type`, so that they weigh as much as blocks of Converse."""
    blocks = [{"text": content}] if isinstance(content, str) else objects_of(content)
    return [{name: value for name, value in block.items() if name != "type"} for block in blocks]


def tools_weight(items: RequestItems, known: Model | None) -> float:
    """Return the number of tokens of the instructions that the service adds to a request with tools."""
    config = items.members.get("toolConfig")
    return known.tools_tokens if known is not None and config is not None and config.once(_has_tools) else 0


def _has_tools(config: Mapping[str, Any]) -> bool:
    return any("cachePoint" not in tool for tool in config.get("tools") or ())


def cached_blocks(body: Mapping[str, Any], caching: Caching | None) -> list[PromptBlock]:
    """Return the blocks of a request, with its cachePoints, without the blocks that the model does not receive.

    For some models, the service drops the reasoning of earlier turns.
    """
    blocks = blocks_of(body)
    if caching is not None and caching.drops_thoughts and any("reasoningContent" in each.block for each in blocks):
        first = _turn(body.get("messages", ()))
        return [each for each in blocks if "reasoningContent" not in each.block or each.message >= first]
    return blocks


def blocks_of(body: Mapping[str, Any]) -> list[PromptBlock]:
    """Return the blocks of a request, with its cachePoints, in the order in which a model caches them."""
    found = [PromptBlock(f"toolConfig.tools[{k}]", -1, "tools", tool) for k, tool in enumerate(tools_of(body))]
    found += [PromptBlock(f"system[{k}]", -1, "system", block) for k, block in enumerate(body.get("system") or ())]
    messages: Sequence[Mapping[str, Any]] = body.get("messages") or ()
    for n, message in enumerate(messages):
        role = str(message.get("role"))
        for m, block in enumerate(message.get("content") or ()):
            found.append(PromptBlock(f"messages[{n}].content[{m}]", n, role, block))
    return found


def tools_of(body: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the tools of a request, with the cachePoints between them."""
    config: Mapping[str, Any] = body.get("toolConfig") or {}
    return config.get("tools") or ()


def _turn(messages: Sequence[Mapping[str, Any]]) -> int:
    """Return the index of the last user message that contains more than tool results; the last turn begins there."""
    for number in reversed(range(len(messages))):
        blocks: Sequence[Mapping[str, Any]] = messages[number].get("content") or ()
        has_more = any("toolResult" not in block and "cachePoint" not in block for block in blocks)
        if messages[number].get("role") == "user" and has_more:
            return number
    return 0
