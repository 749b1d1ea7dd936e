"""The form of an answer by model: the functions that replies and usage ask."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

from converse_harness.bedrock.models.answers import CacheCounters, ToolIdForm
from converse_harness.bedrock.models.row import NO_COUNTERS
from converse_harness.bedrock.models.table import standing


def tool_use_type(model_id: str, operation: str | None, tool_config: Mapping[str, Any]) -> Literal["tool_use"] | None:
    """Return the type of a client's tool uses in an answer of this model, or None if Bedrock sends no type.

    `tool_config` is the toolConfig of the request.

    >>> tool_use_type("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "Converse", {})
    'tool_use'
    >>> tool_use_type("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "ConverseStream", {})
    >>> tool_use_type("us.amazon.nova-2-lite-v1:0", "Converse", {"tools": [{"systemTool": {"name": "nova_grounding"}}]})
    'tool_use'
    """
    sent = _tool_use_type_sent(model_id, operation)
    if sent == "beside a system tool":
        sent = "always" if any("systemTool" in tool for tool in tool_config.get("tools") or ()) else "never"
    return "tool_use" if sent == "always" else None


@lru_cache(512)
def _tool_use_type_sent(model_id: str, operation: str | None) -> str:
    model = standing(model_id).model
    forms = () if model is None else model.tool_types
    return next((form.sent for form in forms if operation in form.operations), "never")


@lru_cache(512)
def tool_id_form(model_id: str) -> ToolIdForm:
    """Return how the ids of tool uses begin in a model's answers.

    >>> tool_id_form("us.openai.gpt-5.6-sol"), tool_id_form("my-model")
    ('call_', 'tooluse_')
    """
    model = standing(model_id).model
    return "tooluse_" if model is None else model.tool_ids


@lru_cache(512)
def cache_counters(model_id: str, operation: str) -> CacheCounters:
    """Return the cache counters in a model's answers to an operation.

    Streams of every model have the four counters only if the request has a cachePoint, and never cacheDetails.

    >>> cache_counters("us.anthropic.claude-opus-4-8", "Converse").always
    ('cacheReadInputTokens', 'cacheReadInputTokenCount')
    >>> cache_counters("us.anthropic.claude-opus-4-8", "ConverseStream").always
    ()
    """
    model = standing(model_id).model
    return NO_COUNTERS if model is None or operation != "Converse" else model.counters
