"""The AI SDK in the matrix: a plain loop over the parts of `fullStream`, and the content of `generateText`.

Its tool has no `execute`, so tools are handed out; their schema is JSON Schema, which it does not hold inputs to. A
call has no time limit unless it is given one: `timeout`, for the whole of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from converse_harness.contract import Outcome, Target, ToolCall
from tests.clients.matrix.base import because
from tests.clients.matrix.javascript import JavaScriptContract

SERVER_TOOL = because(
    "it drops the type of a tool use: one that the service has run is handed out as any other", "server_tool_nova"
)
STREAM = {
    **SERVER_TOOL,
    **because(
        "a delta that its schema has no member for is an `error` part of validation, and the rest goes on",
        *("image_block", "unknown_delta", "unknown_reasoning"),
    ),
    **because(
        "it skips error frames, and exceptions that its schema has no member for; the finish reason is `other`",
        *("unknown_exception", "error_frame"),
    ),
    **because(
        "a stream that ends too early ends without an error; the finish reason is `other`",
        *("no_message_stop", "cut_off", "cut_in_tool_input", "empty_200"),
        *("again_unfinished", "again_half_text", "again_half_input", "again_after_tool"),
    ),
}
WHOLE = SERVER_TOOL


class _AiSdk(JavaScriptContract):
    client = "ai_sdk"
    asked_with = "ai-sdk"

    def consume(self, target: Target) -> Outcome:
        handed = self.hand_out(target)
        text = reasoning = ""
        calls: list[ToolCall] = []
        stop_reason: str | None = None
        errors: list[str] = []
        for part in handed["parts"]:
            match part:
                case {"type": "text" | "text-delta", "text": said}:
                    text += said
                case {"type": "reasoning" | "reasoning-delta", "text": thought}:
                    reasoning += thought
                case {"type": "tool-call"}:
                    calls.append(_call(part))
                case {"type": "finish", "finishReason": stop_reason}:
                    pass
                case {"type": "error", "name": name}:
                    errors.append(name)
                case {"type": "abort"}:
                    errors.append("abort")
                case _:
                    pass
        error = errors[0] if errors else handed["name"]
        return Outcome(text, calls, stop_reason, error, reasoning)


def _call(part: Mapping[str, Any]) -> ToolCall:
    """One that it calls invalid is not to be run: it is its text."""
    given = part["input"]
    if part.get("invalid"):
        return ToolCall(part["toolName"], given if isinstance(given, str) else json.dumps(given, ensure_ascii=False))
    return ToolCall(part["toolName"], given)


class TestStream(_AiSdk):
    known = STREAM


class TestWhole(_AiSdk):
    operation = "Converse"
    known = WHOLE
