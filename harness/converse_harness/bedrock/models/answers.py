"""Forms of answers that depend on the model: the type of a tool use, and the cache counters in the usage.

Bedrock changes these forms from time to time. A row of the table of models describes the newest recorded form, with the
month as of which it holds, and lists other recorded forms of the same model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from converse_harness.literals import ScriptedOperation

READ: Final = ("cacheReadInputTokens", "cacheReadInputTokenCount")
COUNTERS: Final = (*READ, "cacheWriteInputTokens", "cacheWriteInputTokenCount")
"""The members of a usage that count tokens which were read from the prompt cache, or written to it."""


ToolIdForm = Literal["tooluse_", "call_", "functions."]
"""How the ids of tool uses begin: `tooluse_` and 22 characters, `call_` and 32 hexadecimal digits, or `functions.`, the
name of the tool, a colon and the number of the tool use in the conversation, from 0.
"""


class OtherForm(NamedTuple):
    """Recorded answers that do not have the form of their row, most of them older.

    `month` is the last month in which they were recorded, or "" if the day is not known; `of` is the model's name.
    """

    month: str
    of: str


@dataclass(frozen=True, slots=True)
class ToolUseType:
    """When models send `"type": "tool_use"` in the tool uses of the answers to some operations.

    `as_of` is the month of the newest recording, "" if unknown. `seen` counts the recorded tool uses. `others` lists
    recordings of these models that differ.
    """

    operations: tuple[ScriptedOperation, ...]
    sent: Literal["always", "never", "beside a system tool"]
    as_of: str
    seen: str
    others: tuple[OtherForm, ...] = ()


@dataclass(frozen=True, slots=True)
class CacheCounters:
    """The members that count cache tokens in the usage of models' JSON answers.

    `always` contains those members that are there even if the request has no cachePoint. `details` is whether the usage
    may also have cacheDetails, which lists the written tokens by ttl. The other fields are as in ToolUseType.
    """

    always: tuple[str, ...] = ()
    details: bool = False
    as_of: str = ""
    seen: str = ""
    others: tuple[OtherForm, ...] = ()
