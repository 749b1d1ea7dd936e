"""The stop reason of an answer, its token usage and its times.

>>> usage: Usage = {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7}
>>> usage["totalTokens"]
7
"""

from typing import Literal, Required, TypeAlias, TypedDict


class Usage(TypedDict, total=False):
    """Token counts of one answer. The `cache...` members count tokens read from and written to the prompt cache."""

    inputTokens: Required[int]
    outputTokens: Required[int]
    totalTokens: Required[int]
    cacheReadInputTokens: int
    cacheWriteInputTokens: int


class Metrics(TypedDict, total=False):
    """Times of one answer in milliseconds: `latencyMs` until its end, and `timeToFirstByteMs` until its first content.

    Bedrock sends `latencyMs`; Strands measures `timeToFirstByteMs`.
    """

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
"""The reason why an answer, or an agent's loop, ended.

Models stop with `content_filtered`, `end_turn`, `guardrail_intervened`, `max_tokens`, `stop_sequence` and `tool_use`.
An agent also stops with `interrupt` (the agent waits for a person). In strands-agents 1.62, but not in the
documentation that these types follow, an agent also stops with `cancelled`, `checkpoint` and the three limits of its
loop.
"""
