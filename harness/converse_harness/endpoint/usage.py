"""Estimate the token usage of an answer from its request. The keys in the usage depend on the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from converse_harness.bedrock.answer_members import COUNTERS, READ, cache_counters
from converse_harness.bedrock.models import standing
from converse_harness.bedrock.rules.request import INVOKED, conversation_in, invoke_body
from converse_harness.endpoint.call import Call
from converse_harness.endpoint.prompt_cache.blocks import has_cache_point, invoked_weight, request_weight
from converse_harness.endpoint.prompt_cache.cache import use_of
from converse_harness.reply.body import MessageBody


def usage(call: Call, body: MessageBody, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Build the TokenUsage of an answer, with the keys that the model of the call sends.

    Values in `given` replace estimates.

    Cache tokens are part of the total, as in Bedrock's answers. Tokens that the model caches without a cachePoint count
    as normal input.
    """
    prompt = use_of(call)
    use = None if prompt is None or prompt.implicit else prompt
    rest = request_tokens(call) if use is None else use.rest
    counted: dict[str, Any] = {"inputTokens": rest, "outputTokens": body.tokens, **(given or {})}
    if given is None:
        counted["serverToolUsage"] = {}
        known = cache_counters(call.stands_for, call.operation)
        read, written = (use.read, use.written) if use is not None else (0, 0)
        for key in COUNTERS if has_cache_point(call) else known.always:
            counted[key] = read if key in READ else written
        if use is not None and known.details and written:
            counted["cacheDetails"] = [{"inputTokens": tokens, "ttl": ttl} for ttl, tokens in use.details]
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
