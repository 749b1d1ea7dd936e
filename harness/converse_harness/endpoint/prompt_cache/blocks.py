"""The class Prompt: the blocks of a request in the order in which a model caches them, and the request's cache points.

Tools come first, then the system prompt, then the messages. A prefix is the first n blocks of a request. Two requests
have the same prefix if the digests of their first n blocks are equal.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from converse_harness.bedrock.models import Caching, Model
from converse_harness.bedrock.request_items import RequestItems
from converse_harness.endpoint.usage import blocks_of, thoughts_dropped, tokens_of, tools_weight
from converse_harness.json_values import object_of
from converse_harness.stream.chunk import weigh

IMAGES: Final = "images"
"""The only key in the result of `settings_of` that is not a path. Its value is whether the request has an image."""

_THINKING: Final = ("thinking", "reasoning_config", "reasoningConfig")
"""Names of request fields that turn a model's thinking on or off and limit its length."""


class Prompt(NamedTuple):
    """The prefixes of a request: its first n blocks, for each n from 0.

    `ends[n]` is a digest of the first n blocks, made from `ends[n - 1]` and the last block. `tokens[n]` is the number
    of tokens in these blocks. `points` maps the number of blocks before each cachePoint to the ttl of the cachePoint.
    `static` is the number of tools and system blocks.
    """

    ends: tuple[bytes, ...]
    tokens: tuple[int, ...]
    points: Mapping[int, str]
    static: int

    def common(self, other: Prompt) -> int:
        """Return the number of blocks at the beginning that are equal in both prompts."""
        shorter = range(min(len(self.ends), len(other.ends)))
        return bisect_left(shorter, 1, key=lambda n: self.ends[n] != other.ends[n]) - 1


class _KnownPrompt(NamedTuple):
    """The Prompt of a request, for later requests that begin with the same messages.

    `start` is a digest of all that precedes the messages, and of the settings. `dropped` is the number of messages
    whose reasoning the model does not receive. `weight` is the unrounded number of tokens before the messages.
    """

    start: bytes
    dropped: int
    weight: float
    prompt: Prompt


class _CachedBlock(NamedTuple):
    """A block of a message, of the tools or of the system prompt: its digest and its number of tokens.

    `ttl` is that of a cachePoint; it is None for all other blocks. `thought` is whether the block is reasoning.
    """

    digest: bytes
    tokens: float
    ttl: str | None
    thought: bool


class _PromptInTheMaking:
    """The prefixes of a request up to a block. `end` is the digest and `weight` the unrounded tokens of the last."""

    def __init__(self, known: Model, end: bytes, weight: float) -> None:
        self._known = known
        self.end = end
        self.weight = weight
        self.ends = [end]
        self.tokens = [0]
        self.points: dict[int, str] = {}

    def add(self, message: int, blocks: Iterable[_CachedBlock], earlier: Prompt | None = None) -> None:
        """Add the blocks of one message; -1 stands for tools and system. `earlier` is a Prompt that has them too."""
        for block in blocks:
            index = len(self.ends)
            if block.ttl is not None:
                self.points[index - 1] = block.ttl
                continue
            self.weight += block.tokens
            if earlier is None:
                self.end = _digest(self.end, message.to_bytes(4, signed=True), block.digest)
                self.tokens.append(tokens_of(self.weight, self._known))
            else:
                self.end = earlier.ends[index]
                self.tokens.append(earlier.tokens[index])
            self.ends.append(self.end)


def prompt_of(items: RequestItems, model_id: str, known: Model, caching: Caching) -> Prompt:
    """Build the Prompt of a request, for a model that caches prompts."""
    settings = _spelled(settings_of(items))
    begins = _digest(model_id.encode(), settings if caching.forgets == "everything" else b"")
    prompt = _PromptInTheMaking(known, begins, tools_weight(items, known))
    for name, find in (("toolConfig", _tools), ("system", _system)):
        if name in items.members:
            prompt.add(-1, items.members[name].once(find))
    static = len(prompt.ends) - 1
    prompt.end = start = _digest(prompt.end, settings if caching.forgets == "messages" else b"")
    dropped, weight = thoughts_dropped(items, caching), prompt.weight
    earlier, same = _earlier(items, start, weight, dropped)
    for message, item in enumerate(items.messages):
        blocks = item.once(_blocks_of_message)
        if message < dropped:
            blocks = [each for each in blocks if not each.thought]
        prompt.add(message, blocks, earlier if message < same else None)
    found = Prompt(tuple(prompt.ends), tuple(prompt.tokens), prompt.points, static)
    items.keep(_KnownPrompt(start, dropped, weight, found))
    return found


def _earlier(items: RequestItems, start: bytes, weight: float, dropped: int) -> tuple[Prompt | None, int]:
    """Return the Prompt of an earlier request, and the number of messages whose blocks begin both prompts."""
    known = None if items.before is None else items.before.of_kind(_KnownPrompt)
    if known is None or known.start != start or known.weight != weight:
        return None, 0
    return known.prompt, items.repeated if known.dropped == dropped else min(items.repeated, known.dropped, dropped)


def settings_of(items: RequestItems) -> dict[str, Any]:
    """Return the settings of a request, by path, whose change makes a model forget the cached messages."""
    fields = object_of(items.body.get("additionalModelRequestFields"))  # free-form JSON
    config: Mapping[str, Any] = items.body.get("toolConfig") or {}
    choice: object = config.get("toolChoice") or ({"auto": {}} if config.get("tools") else None)
    thinking = {f"additionalModelRequestFields.{name}": fields[name] for name in _THINKING if name in fields}
    shows = any(each.once(_shows_in_message) for each in items.messages)
    return {"toolConfig.toolChoice": choice, IMAGES: shows, **thinking}


def image_path(body: Mapping[str, Any]) -> str | None:
    """Return the path of the first block that is an image or a tool result with an image; None if there is none."""
    return next((each.path for each in blocks_of(body) if _shows(each.block)), None)


def _shows(block: Mapping[str, Any]) -> bool:
    return "image" in block or any("image" in each for each in block.get("toolResult", {}).get("content", ()))


def _shows_in_message(message: Mapping[str, Any]) -> bool:
    return any(map(_shows, message.get("content") or ()))


def _blocks_of_message(message: Mapping[str, Any]) -> list[_CachedBlock]:
    return _cached(str(message.get("role")), message.get("content"))


def _tools(config: Mapping[str, Any]) -> list[_CachedBlock]:
    return _cached("tools", config.get("tools"))


def _system(blocks: Sequence[Mapping[str, Any]]) -> list[_CachedBlock]:
    return _cached("system", blocks)


def _cached(place: str, blocks: Sequence[Mapping[str, Any]] | None) -> list[_CachedBlock]:
    return [
        _CachedBlock(b"", 0.0, block["cachePoint"].get("ttl", "5m"), thought=False)
        if "cachePoint" in block
        else _CachedBlock(_digest(_spelled((place, block))), weigh(block), None, "reasoningContent" in block)
        for block in blocks or ()
    ]


def _spelled(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _digest(*parts: bytes) -> bytes:
    return blake2b(b"".join(parts), digest_size=16).digest()
