"""Estimate the token usage of an answer from its request. The keys in the usage depend on the model."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from converse_harness.bedrock.models import standing
from converse_harness.bedrock.rules.rule import Claude
from converse_harness.endpoint.cache import use_of
from converse_harness.endpoint.call import Call
from converse_harness.endpoint.prompt import has_cache_point, request_weight
from converse_harness.reply.body import MessageBody
from converse_harness.stream.chunk import estimate_tokens


class UsageKeys(NamedTuple):
    """The members that count cache tokens in the usage of a model's JSON answers.

    `always` contains those members that are there even if the request has no cachePoint. `details` is whether the usage
    may also have cacheDetails, which lists the written tokens by ttl.
    """

    always: tuple[str, ...] = ()
    details: bool = False


_NO_KEYS: Final = UsageKeys()
_READ: Final = ("cacheReadInputTokens", "cacheReadInputTokenCount")
_WRITTEN: Final = ("cacheWriteInputTokens", "cacheWriteInputTokenCount")
_COUNTS: Final = (*_READ, *_WRITTEN)

_IN_JSON: Final = (
    (Claude(before=(3, 7)), _NO_KEYS),
    (Claude(before=(4,)), UsageKeys(_COUNTS)),
    (Claude(before=(5,)), UsageKeys(_COUNTS, details=True)),
    (Claude(), UsageKeys(_READ, details=True)),
)
"""The cache counters in JSON answers, by model; the first row that contains the model applies.

Source: recorded answers; their numbers are in parentheses. Claude up to 3.5 has no counters (24 of 24). Claude 3.7 and
4 have both pairs, _READ and _WRITTEN (95). Sonnet 5 has the pair _READ (13, all without a cachePoint). Nova has both
pairs only with a cachePoint (9 with, 139 without). Some answers that wrote to the cache contain cacheDetails: 4 of 6
from Sonnet 4.5, all from newer models, none from 3.7 or Nova. Streams of every model have the four counters only if the
request has a cachePoint, and never cacheDetails.
"""


def usage(call: Call, body: MessageBody, given: Mapping[str, Any] | None, model_id: str) -> dict[str, Any]:
    """Build the TokenUsage of an answer, with the keys that the model `model_id` sends.

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
        known = _in_json(model_id) if call.operation == "Converse" else _NO_KEYS
        read, written = (use.read, use.written) if use is not None else (0, 0)
        for key in _COUNTS if has_cache_point(call) else known.always:
            counted[key] = read if key in _READ else written
        if use is not None and known.details and written:
            counted["cacheDetails"] = [{"inputTokens": tokens, "ttl": ttl} for ttl, tokens in use.details]
    parts = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
    counted.setdefault("totalTokens", sum([counted.get(part, 0) for part in parts]))
    return counted


@lru_cache
def _in_json(model_id: str) -> UsageKeys:
    name = standing(model_id).id
    return next((keys for models, keys in _IN_JSON if name in models), _NO_KEYS)


def request_tokens(call: Call) -> int:
    """Return an estimate of the number of input tokens of the call's conversation, at least 1."""
    body = call.body
    if call.operation == "CountTokens":
        body = body.get("input", {}).get("converse", {})
    return max(1, round(request_weight(body, standing(call.stands_for).model)))


def count_tokens(call: Call) -> int:
    """Return the number of tokens for an answer of CountTokens.

    It equals `inputTokens` in the usage of a Converse answer to the same messages.
    """
    return request_tokens(call) if call.messages else estimate_tokens(call.params)
