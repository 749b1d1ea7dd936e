"""Two tables of what depends on the model in an answer: the type of a tool use, and the cache counters in the usage.

Bedrock changes these forms from time to time. A row describes the newest recorded form, with the month as of which it
holds, and lists other recorded forms of the same models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

from converse_harness.bedrock.models import standing
from converse_harness.bedrock.rules.rule import Claude, Models
from converse_harness.literals import ScriptedOperation


class OtherForm(NamedTuple):
    """Recorded answers that do not have the form of their row, most of them older.

    `month` is the last month in which they were recorded, or "" if the day is not known; `of` is the model's name.
    """

    month: str
    of: str


@dataclass(frozen=True, slots=True)
class ToolUseType:
    """A row of TOOL_USE_TYPES: when these models send `"type": "tool_use"` in the tool uses of an operation's answers.

    `as_of` is the month of the newest recording, "" if unknown. `seen` counts the recorded tool uses. `others` lists
    recordings of these models that differ.
    """

    models: Models
    operations: tuple[ScriptedOperation, ...]
    sent: Literal["always", "never", "beside a system tool"]
    as_of: str
    seen: str
    others: tuple[OtherForm, ...] = ()


_BOTH: Final[tuple[ScriptedOperation, ...]] = ("Converse", "ConverseStream")

TOOL_USE_TYPES: Final = (
    ToolUseType(
        Models((Claude(before=(3, 7)),)), _BOTH, "never", "2026-04", "none of 28, of Claude 3, 3.5 and 3.5 Haiku"
    ),
    ToolUseType(
        Models((Claude(),)),
        ("Converse",),
        "always",
        "2026-08",
        "all of 150 since November 2025: 3.7, Sonnet 4 to 5, Haiku 4.5, Opus 4.1, 4.7, 4.8",
        others=(OtherForm("2025-09", "Claude Sonnet 4"), OtherForm("", "Claude 3.7 Sonnet")),
    ),
    ToolUseType(
        Models(("anthropic.claude-sonnet-5*",), but={"anthropic.claude-sonnet-5-5*": "not recorded"}),
        ("ConverseStream",),
        "always",
        "",
        "2 of 2, after the model's release at the end of June 2026",
    ),
    ToolUseType(
        Models((Claude(),)),
        ("ConverseStream",),
        "never",
        "2025-11",
        "none of 3: Haiku 4.5, Sonnet 4.5, Opus 4.1; later streams, and those of other models, are not known",
        others=(OtherForm("2025-09", "Claude Sonnet 4"),),
    ),
    ToolUseType(
        Models(("amazon.nova-2*",)),
        _BOTH,
        "beside a system tool",
        "2026-02",
        "all of 21 of Nova 2 Lite beside its code interpreter; none of 122 without a system tool",
    ),
)
"""When a tool use that a client must run has the type "tool_use". The first row with the model and the operation
applies; without a row, there is no type: none of 103 of other makers had it.
"""


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
    name = standing(model_id).id
    rows = (row for row in TOOL_USE_TYPES if operation in row.operations and name in row.models)
    return next((row.sent for row in rows), "never")


READ: Final = ("cacheReadInputTokens", "cacheReadInputTokenCount")
WRITTEN: Final = ("cacheWriteInputTokens", "cacheWriteInputTokenCount")
COUNTERS: Final = (*READ, *WRITTEN)
"""The members of a usage that count tokens which were read from the prompt cache, or written to it."""


@dataclass(frozen=True, slots=True)
class CacheCounters:
    """A row of CACHE_COUNTERS: the members that count cache tokens in the usage of these models' JSON answers.

    `always` contains those members that are there even if the request has no cachePoint. `details` is whether the usage
    may also have cacheDetails, which lists the written tokens by ttl. The other fields are as in ToolUseType.
    """

    models: Models
    always: tuple[str, ...] = ()
    details: bool = False
    as_of: str = ""
    seen: str = ""
    others: tuple[OtherForm, ...] = ()


CACHE_COUNTERS: Final = (
    CacheCounters(Models(("anthropic.claude-3-5-haiku*",)), COUNTERS, as_of="2025-09", seen="both pairs in 48 of 48"),
    CacheCounters(
        Models((Claude(before=(3, 7)),)),
        as_of="2026-07",
        seen="none, but of 3.5 Sonnet v2, where 3 of 12 of September 2025 have both pairs",
        others=(OtherForm("2025-09", "Claude 3.5 Sonnet v2"),),
    ),
    CacheCounters(Models((Claude(before=(4,)),)), COUNTERS, as_of="2026-02", seen="both pairs in all of 3.7"),
    CacheCounters(
        Models(("anthropic.claude-haiku-4-5*",)),
        READ,
        details=True,
        as_of="2026-09",
        seen="the read pair in 6 of 6; before, both pairs in all",
        others=(OtherForm("2026-08", "Claude Haiku 4.5"),),
    ),
    CacheCounters(
        Models(("anthropic.claude-opus-4-7*", "anthropic.claude-opus-4-8*")),
        READ,
        details=True,
        as_of="2026-07",
        seen="the read pair in 6 of 6; with a cachePoint, everything in 22 of 22 of Opus 4.8",
    ),
    CacheCounters(
        Models((Claude(before=(5,)),)), COUNTERS, details=True, as_of="2026-08", seen="both pairs in all of 484"
    ),
    CacheCounters(
        Models(("anthropic.claude-opus-5*",)),
        COUNTERS,
        details=True,
        as_of="2026-09",
        seen="both pairs in 2 of 2, of Opus 5 and 5.5",
    ),
    CacheCounters(
        Models((Claude(),)),
        READ,
        details=True,
        seen="the read pair in 13 of 13 of Sonnet 5; other models from 5 on are not recorded",
    ),
    CacheCounters(
        Models(("openai.gpt-5.6*",)),
        COUNTERS,
        as_of="2026-09",
        seen="both pairs in 1 of 1; before, the read pair in 4 of 4",
        others=(OtherForm("2026-08", "GPT 5.6"),),
    ),
)
"""The cache counters in JSON answers; the first row with the model applies. Models without a row have no counters.

Source: recorded answers. Nova has both pairs only with a cachePoint (9 with, 135 without). Of the answers that wrote to
the cache, 4 of 6 from Sonnet 4.5 and all from newer Claude models contain cacheDetails, none from 3.7 or Nova. Streams
of every model have the four counters only if the request has a cachePoint, and never cacheDetails.
"""

_NO_COUNTERS: Final = CacheCounters(Models())


@lru_cache(512)
def cache_counters(model_id: str, operation: str) -> CacheCounters:
    """Return the row of CACHE_COUNTERS for a model's answers to an operation.

    >>> cache_counters("us.anthropic.claude-opus-4-8", "Converse").always
    ('cacheReadInputTokens', 'cacheReadInputTokenCount')
    >>> cache_counters("us.anthropic.claude-opus-4-8", "ConverseStream").always
    ()
    """
    if operation != "Converse":
        return _NO_COUNTERS
    name = standing(model_id).id
    return next((row for row in CACHE_COUNTERS if name in row.models), _NO_COUNTERS)
