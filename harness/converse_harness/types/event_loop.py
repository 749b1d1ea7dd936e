"""The stop reason of an answer, its token usage and its times."""

from typing import Literal, Required, TypeAlias, TypedDict


class Usage(TypedDict, total=False):
    """Tokens of one answer: input, output and total, and, if a cache took part, those read from and written to it."""

    inputTokens: Required[int]
    outputTokens: Required[int]
    totalTokens: Required[int]
    cacheReadInputTokens: int
    cacheWriteInputTokens: int


class Metrics(TypedDict, total=False):
    """Times of one answer in milliseconds: the whole answer, and up to its first content, which Strands measures."""

    latencyMs: Required[int]
    timeToFirstByteMs: int


StopReason: TypeAlias = Literal[
    "cancelled",
    "checkpoint",
    "content_filtered",
    "end_turn",
    "guardrail_intervened",
    "interrupt",
    "limit_output_tokens",
    "limit_total_tokens",
    "limit_turns",
    "max_tokens",
    "stop_sequence",
    "tool_use",
]
"""Why an answer, or an agent's loop, ended.

Models stop with `content_filtered`, `end_turn`, `guardrail_intervened`, `max_tokens`, `stop_sequence` and `tool_use`;
an agent as well with `interrupt` (it waits for a person). In strands-agents 1.62, newer than the pages these types
follow, also with `cancelled`, `checkpoint` and the three limits of its loop.
"""
