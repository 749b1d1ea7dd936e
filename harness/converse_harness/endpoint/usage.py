"""Estimate the token counts of a request, and the token usage of its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from converse_harness.bedrock.answer_members import COUNTERS, cache_counters
from converse_harness.bedrock.models import Caching, Model, standing
from converse_harness.bedrock.rules.request import INVOKED, conversation_in, invoke_body
from converse_harness.endpoint.call import Call
from converse_harness.json_values import object_of, objects_of
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
    counted: dict[str, Any] = {"inputTokens": 0, "outputTokens": body.tokens}
    if given is None:
        counted["serverToolUsage"] = {}
        always = cache_counters(call.stands_for, call.operation).always
        counted.update(dict.fromkeys(COUNTERS if has_cache_point(call) else always, 0))
    for count in counts:
        count(call, counted)
    counted["inputTokens"] = counted["inputTokens"] or request_tokens(call)
    counted.update(given or {})
    parts = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
    counted.setdefault("totalTokens", sum([counted.get(part, 0) for part in parts]))
    return counted


def request_tokens(call: Call) -> int:
    """Return an estimate of the number of input tokens of the call's conversation, at least 1."""
    return max(1, round(request_weight(call.body, standing(call.stands_for).model)))


def count_tokens(call: Call) -> int:
    """Return the number of tokens for an answer of CountTokens.

    It equals `inputTokens` in the usage of a Converse answer to the same messages.
    """
    body, known = conversation_in(call.operation, call.body), standing(call.stands_for).model
    if INVOKED in body:
        return max(1, round(invoked_weight(invoke_body(body[INVOKED]), known)))
    return max(1, round(request_weight(body, known)))


class PromptBlock(NamedTuple):
    """A block of a request as JSON, with its path in the request.

    `message` is the index of the block's message, -1 for tools and system blocks. `place` is "tools", "system", or the
    role of the message.
    """

    path: str
    message: int
    place: str
    block: Mapping[str, Any]


def request_weight(body: Mapping[str, Any], known: Model | None) -> float:
    """Estimate the input tokens of a request's JSON."""
    weight = tools_weight(body, known)
    # Added one by one, as for the prefixes of a prompt: since Python 3.12, `sum` rounds in another way.
    for each in cached_blocks(body, known.caching if known is not None else None):
        if "cachePoint" not in each.block:
            weight += weigh(each.block)
    return weight


def invoked_weight(body: object, known: Model | None) -> float:
    """Estimate the input tokens of an InvokeModel body: of its messages, system and tools, as Claude takes them.

    Other JSON is estimated with all its members, and a body that is not JSON as text.
    """
    members = object_of(body)
    if "messages" not in members:
        return weigh(body)
    turns = [{**each, "content": _plain_blocks(each.get("content"))} for each in objects_of(members["messages"])]
    system, tools = _plain_blocks(members.get("system")), objects_of(members.get("tools"))
    return request_weight({"messages": turns, "system": system, "toolConfig": {"tools": tools}}, known)


def _plain_blocks(content: object) -> Sequence[Mapping[str, Any]]:
    """Return Claude's content as blocks without their `type`, so that they weigh as much as blocks of Converse."""
    blocks = [{"text": content}] if isinstance(content, str) else objects_of(content)
    return [{name: value for name, value in block.items() if name != "type"} for block in blocks]


def tools_weight(body: Mapping[str, Any], known: Model | None) -> float:
    """Return the number of tokens of the instructions that the service adds to a request with tools."""
    if known is None or "toolConfig" not in body:
        return 0
    return known.tools_tokens if any("cachePoint" not in tool for tool in tools_of(body)) else 0


def has_cache_point(call: Call) -> bool:
    """Whether the request has a cachePoint."""
    # Most requests have no cachePoint, and a search in the raw body is fast. It would miss a "cachePoint" that contains
    # an escape sequence, so the JSON is searched if the body contains an escape sequence.
    raw = call.raw
    return (b"cachePoint" in raw or b"\\u" in raw) and any("cachePoint" in each.block for each in blocks_of(call.body))


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
