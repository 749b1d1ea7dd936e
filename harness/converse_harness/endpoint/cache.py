"""The prompt cache: which tokens of a request were read from it, which were written to it, and which were neither.

The model of it: a prefix of the request is cached where a cachePoint stands behind it and it has enough tokens; it is
read by a later request of the same model that begins with the same blocks (tools, system, messages, in this order) and
has a cachePoint not far behind them. Nothing expires yet. Token counts are estimates, so a prefix that is about as long
as the minimum may be taken for one that is too short, or the other way round.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

from converse_harness.bedrock.models import Caching, standing
from converse_harness.endpoint.call import Call
from converse_harness.stream.chunk import estimate_tokens


class PromptUse(NamedTuple):
    """The input tokens of a request: `read` from the cache, `written` to it, and the `rest`.

    `entries` are the prefixes that are cached once the answer has begun; `details` is what is written, by how long it
    is kept.
    """

    read: int
    written: int
    rest: int
    entries: tuple[bytes, ...] = ()
    details: tuple[tuple[str, int], ...] = ()


class PromptCache:
    """The prefixes that one fake has cached."""

    def __init__(self) -> None:
        self._entries: set[bytes] = set()

    def use(self, call: Call) -> PromptUse:
        """What a call reads and writes; what it writes is there for others only after `keep`."""
        content, points = _content(call)
        whole = estimate_tokens(content)
        caching = _caching(call.stands_for)
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
        entries = tuple(ends[point] for point in cached)
        kept = _kept({point: tokens[point] for point in cached}, points, tokens_read)
        return PromptUse(tokens_read, used - tokens_read, max(1, whole - used), entries, kept)

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


def _kept(cached: Mapping[int, int], points: Mapping[int, str], read: int) -> tuple[tuple[str, int], ...]:
    """How many tokens are written for how long: those from one cachePoint to the next, as the latter says."""
    found: dict[str, int] = {}
    before = read
    for point, tokens in sorted(cached.items()):
        if tokens > before:
            found[points[point]] = found.get(points[point], 0) + tokens - before
            before = tokens
    return tuple(found.items())


def _content(call: Call) -> tuple[list[Mapping[str, Any]], dict[int, str]]:
    """The blocks of a conversation, blobs as bytes; the number of blocks before each cachePoint, and its ttl."""
    content: list[Mapping[str, Any]] = []
    points: dict[int, str] = {}
    messages = (block for message in call.messages for block in message.get("content", ()))
    for block in (*call.tools, *call.system, *messages):
        if "cachePoint" in block:
            points[len(content)] = block["cachePoint"].get("ttl", "5m")
        else:
            content.append(block)
    return content, points


def _ends(call: Call) -> Iterator[bytes]:
    """A digest of the model and of the first n blocks, for each n from 0."""
    digest = blake2b(call.stands_for.encode(), digest_size=16)
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


def _caching(model_id: str) -> Caching | None:
    """How the model caches; None where that is not known."""
    known = standing(model_id)
    return None if known.model is None else known.model.caching
