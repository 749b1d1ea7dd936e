"""The class Prompt: the blocks of a request in the order in which a model caches them, and the request's cache points.

Tools come first, then the system prompt, then the messages. A prefix is the first n blocks of a request. Two requests
have the same prefix if the digests of their first n blocks are equal.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from converse_harness.bedrock.models import Caching, Model
from converse_harness.endpoint.usage import blocks_of, cached_blocks, tools_of, tools_weight
from converse_harness.json_values import member_of
from converse_harness.stream.chunk import weigh

IMAGES: Final = "images"
"""The only key in the result of `settings_of` that is not a path. Its value is whether the request has an image."""

_THINKING: Final = ("thinking", "reasoning_config", "reasoningConfig")
"""Names of request fields that turn a model's thinking on or off and limit its length."""


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


def settings_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a request, by path, whose change makes a model forget the cached messages."""
    fields: Mapping[str, Any] = body.get("additionalModelRequestFields") or {}
    choice: object = member_of(body, "toolConfig", "toolChoice") or ({"auto": {}} if tools_of(body) else None)
    thinking = {f"additionalModelRequestFields.{name}": fields[name] for name in _THINKING if name in fields}
    return {"toolConfig.toolChoice": choice, IMAGES: image_path(body) is not None, **thinking}


def image_path(body: Mapping[str, Any]) -> str | None:
    """Return the path of the first block that is an image or a tool result with an image; None if there is none."""
    return next((each.path for each in blocks_of(body) if _shows(each.block)), None)


def _shows(block: Mapping[str, Any]) -> bool:
    return "image" in block or any("image" in each for each in block.get("toolResult", {}).get("content", ()))


def _spelled(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()
