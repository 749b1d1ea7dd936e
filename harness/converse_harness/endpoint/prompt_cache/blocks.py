"""The class Prompt: the blocks of a request in the order in which a model caches them, and the request's cache points.

Tools come first, then the system prompt, then the messages. A prefix is the first n blocks of a request. Two requests
have the same prefix if the digests of their first n blocks are equal.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from converse_harness.bedrock.models import Caching, Model
from converse_harness.endpoint.call import Call
from converse_harness.json_values import member_of, object_of, objects_of
from converse_harness.stream.chunk import weigh

IMAGES: Final = "images"
"""The only key in the result of `settings_of` that is not a path. Its value is whether the request has an image."""

_THINKING: Final = ("thinking", "reasoning_config", "reasoningConfig")
"""Names of request fields that turn a model's thinking on or off and limit its length."""


class PromptBlock(NamedTuple):
    """A block of a request as JSON, with its path in the request.

    `message` is the index of the block's message, -1 for tools and system blocks. `place` is "tools", "system", or the
    role of the message.
    """

    path: str
    message: int
    place: str
    block: Mapping[str, Any]


class Prompt(NamedTuple):
    """The prefixes of a request: its first n blocks, for each n from 0.

    `ends[n]` is a digest of the first n blocks, `tokens[n]` is the number of tokens in these blocks. `points` maps the
    number of blocks before each cachePoint to the ttl of the cachePoint. `static` is the number of tools and system
    blocks.
    """

    ends: tuple[bytes, ...]
    tokens: tuple[int, ...]
    points: Mapping[int, str]
    static: int

    def common(self, other: Prompt) -> int:
        """Return the number of blocks at the beginning that are equal in both prompts."""
        shorter = range(min(len(self.ends), len(other.ends)))
        return bisect_left(shorter, 1, key=lambda n: self.ends[n] != other.ends[n]) - 1


def prompt_of(body: Mapping[str, Any], model_id: str, known: Model, caching: Caching) -> Prompt:
    """Build the Prompt of a request from its JSON, for a model that caches prompts."""
    digest = blake2b(model_id.encode(), digest_size=16)
    if caching.forgets == "everything":
        digest.update(_spelled(settings_of(body)))
    ends, tokens, points = [digest.digest()], [0], dict[int, str]()
    weight, static = tools_weight(body, known), 0
    before = -1
    for _, message, place, block in cached_blocks(body, caching):
        if before < 0 <= message and caching.forgets == "messages":
            digest.update(_spelled(settings_of(body)))
        before = message
        if "cachePoint" in block:
            points[len(ends) - 1] = block["cachePoint"].get("ttl", "5m")
            continue
        digest.update(_spelled((message, place, block)))
        weight += weigh(block)
        ends.append(digest.digest())
        tokens.append(max(1, round(weight)))
        static += message < 0
    return Prompt(tuple(ends), tuple(tokens), points, static)


def request_weight(body: Mapping[str, Any], known: Model | None) -> float:
    """Estimate the input tokens of a request's JSON."""
    blocks = cached_blocks(body, known.caching if known is not None else None)
    return tools_weight(body, known) + sum([weigh(each.block) for each in blocks if "cachePoint" not in each.block])


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
    return known.tools_tokens if any("cachePoint" not in tool for tool in _tools(body)) else 0


def has_cache_point(call: Call) -> bool:
    """Whether the request has a cachePoint."""
    # Most requests have no cachePoint, and a search in the raw body is fast. It would miss a "cachePoint" that contains
    # an escape sequence, so the JSON is searched if the body contains an escape sequence.
    raw = call.request.body
    return (b"cachePoint" in raw or b"\\u" in raw) and any("cachePoint" in each.block for each in _blocks(call.body))


def cached_blocks(body: Mapping[str, Any], caching: Caching | None) -> list[PromptBlock]:
    """Return the blocks of a request, with its cachePoints, without the blocks that the model does not receive.

    For some models, the service drops the reasoning of earlier turns.
    """
    blocks = _blocks(body)
    if caching is not None and caching.drops_thoughts and any("reasoningContent" in each.block for each in blocks):
        first = _turn(body.get("messages", ()))
        return [each for each in blocks if "reasoningContent" not in each.block or each.message >= first]
    return blocks


def _blocks(body: Mapping[str, Any]) -> list[PromptBlock]:
    found = [PromptBlock(f"toolConfig.tools[{k}]", -1, "tools", tool) for k, tool in enumerate(_tools(body))]
    found += [PromptBlock(f"system[{k}]", -1, "system", block) for k, block in enumerate(body.get("system") or ())]
    messages: Sequence[Mapping[str, Any]] = body.get("messages") or ()
    for n, message in enumerate(messages):
        role = str(message.get("role"))
        for m, block in enumerate(message.get("content") or ()):
            found.append(PromptBlock(f"messages[{n}].content[{m}]", n, role, block))
    return found


def _tools(body: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
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


def settings_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a request, by path, whose change makes a model forget the cached messages."""
    fields: Mapping[str, Any] = body.get("additionalModelRequestFields") or {}
    choice: object = member_of(body, "toolConfig", "toolChoice") or ({"auto": {}} if _tools(body) else None)
    thinking = {f"additionalModelRequestFields.{name}": fields[name] for name in _THINKING if name in fields}
    return {"toolConfig.toolChoice": choice, IMAGES: image_path(body) is not None, **thinking}


def image_path(body: Mapping[str, Any]) -> str | None:
    """Return the path of the first block that is an image or a tool result with an image; None if there is none."""
    return next((each.path for each in _blocks(body) if _shows(each.block)), None)


def _shows(block: Mapping[str, Any]) -> bool:
    return "image" in block or any("image" in each for each in block.get("toolResult", {}).get("content", ()))


def _spelled(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()
