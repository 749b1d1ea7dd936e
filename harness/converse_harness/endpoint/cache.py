"""The prompt cache: which tokens of a request were read from it, which were written to it, and which were neither.

The model of it: a prefix of the request is cached where a cachePoint stands behind it and it has enough tokens; it is
read by a later request of the same model that begins with the same blocks (tools, system, messages, in this order) and
has a cachePoint not far behind them. Nothing expires yet. Token counts are estimates, so a prefix that is about as long
as the minimum may be taken for one that is too short, or the other way round.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from converse_harness.endpoint.call import Call
from converse_harness.stream.chunk import estimate_tokens

_LOOK_BACK: Final = 20
"""How many ends of blocks Claude compares from a cachePoint backwards, its own among them (AWS: approximately 20)."""


@dataclass(frozen=True, slots=True)
class Caching:
    """How a model caches: the least tokens of a prefix, and how many ends of blocks it compares from a cachePoint."""

    minimum: int
    look_back: int = _LOOK_BACK


MODELS: Final[Mapping[str, Caching]] = {
    "*anthropic.claude-3-5-haiku*": Caching(2048),
    "*anthropic.claude-3-5-sonnet-20241022*": Caching(1024),
    "*anthropic.claude-3-7-sonnet*": Caching(1024),
    "*anthropic.claude-haiku-4-5*": Caching(4096),
    "*anthropic.claude-sonnet-4*": Caching(1024),
    "*anthropic.claude-sonnet-5-5*": Caching(512),
    "*anthropic.claude-sonnet-5": Caching(1024),
    "*anthropic.claude-opus-4-5*": Caching(4096),
    "*anthropic.claude-opus-4-6*": Caching(4096),
    "*anthropic.claude-opus-4-7*": Caching(4096),
    "*anthropic.claude-opus-4*": Caching(1024),
    "*anthropic.claude-opus-5": Caching(512),
    "*anthropic.claude-fable-5*": Caching(512),
    "*anthropic.claude-mythos-5*": Caching(512),
    "*anthropic.claude-mythos-preview*": Caching(4096),
    "*amazon.nova-micro-v1*": Caching(1000, look_back=1),
    "*amazon.nova-lite-v1*": Caching(1000, look_back=1),
    "*amazon.nova-pro-v1*": Caching(1000, look_back=1),
    "*amazon.nova-premier-v1*": Caching(1000, look_back=1),
}
"""The models that cache, by the first glob that their id matches; of any other it is not known, and nothing is cached.

Source: AWS's user guide, "Prompt caching", in the edition of autumn 2026; Claude 3.5 Haiku, Sonnet 4, Opus 4 and 4.1
and Nova in earlier ones. Some editions have 4,096 for Sonnet 4.5, which recorded writes of 1,322 tokens refute. Nova
and Claude also cache prefixes without a cachePoint; that is not modelled."""


class PromptUse(NamedTuple):
    """The input tokens of a request: `read` from the cache, `written` to it, and the `rest`.

    `entries` are the prefixes that are cached once the answer has begun.
    """

    read: int
    written: int
    rest: int
    entries: tuple[bytes, ...] = ()


class PromptCache:
    """The prefixes that one fake has cached."""

    def __init__(self) -> None:
        self._entries: set[bytes] = set()

    def use(self, call: Call) -> PromptUse:
        """What a call reads and writes; what it writes is there for others only after `keep`."""
        content, points = _content(call)
        whole = estimate_tokens(content)
        caching = _caching(call.model_id)
        if not points or caching is None:
            return PromptUse(0, 0, whole)
        tokens = {point: estimate_tokens(content[:point]) for point in points}
        cached = [point for point in points if tokens[point] >= caching.minimum]
        if not cached:
            return PromptUse(0, 0, whole)
        ends = tuple(_ends(call))
        read = max(self._longest_read(ends, point, caching.look_back) for point in cached)
        tokens_read = estimate_tokens(content[:read]) if read else 0
        used = tokens[cached[-1]]
        return PromptUse(tokens_read, used - tokens_read, max(1, whole - used), tuple(ends[point] for point in cached))

    def keep(self, use: PromptUse) -> None:
        """Cache what a call has written."""
        self._entries.update(use.entries)

    def _longest_read(self, ends: tuple[bytes, ...], point: int, look_back: int) -> int:
        """The number of blocks that are read because of a cachePoint."""
        compared = range(point, max(point - look_back, 0), -1)
        return next((end for end in compared if ends[end] in self._entries), 0)


def has_cache_point(call: Call) -> bool:
    """Whether the request has a cachePoint."""
    return any("cachePoint" in block for _, block in _blocks(call.body))


def request_tokens(call: Call) -> int:
    """An estimate of the input tokens of a conversation."""
    return estimate_tokens(_content(call)[0])


def _content(call: Call) -> tuple[list[Mapping[str, Any]], list[int]]:
    """The blocks of a conversation, blobs as bytes; and for each cachePoint the number of blocks before it."""
    content: list[Mapping[str, Any]] = []
    points: list[int] = []
    messages = (block for message in call.messages for block in message.get("content", ()))
    for block in (*call.tools, *call.system, *messages):
        if "cachePoint" in block:
            points.append(len(content))
        else:
            content.append(block)
    return content, points


def _ends(call: Call) -> Iterator[bytes]:
    """A digest of the model and of the first n blocks, for each n from 0."""
    digest = blake2b(call.model_id.encode(), digest_size=16)
    yield digest.digest()
    for place, block in _blocks(call.body):
        if "cachePoint" not in block:
            digest.update(json.dumps((place, block), sort_keys=True).encode())
            yield digest.digest()


def _blocks(body: Mapping[str, Any]) -> Iterator[tuple[object, Mapping[str, Any]]]:
    """The blocks of a conversation as JSON, in the order in which they are cached, each with its place."""
    for tool in body.get("toolConfig", {}).get("tools", ()):
        yield "tools", tool
    for block in body.get("system", ()):
        yield "system", block
    for number, message in enumerate(body.get("messages", ())):
        for block in message.get("content", ()):
            yield (number, message.get("role")), block


@lru_cache(256)
def _caching(model_id: str) -> Caching | None:
    return next((caching for glob, caching in MODELS.items() if fnmatchcase(model_id, glob)), None)
