"""What a plain loop over the events of an SDK amounts to: an SDK hands out events, and no answer."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from converse_harness.contract import Outcome, ToolCall

SERVER_TOOL = "server_tool_use"
"""The type of a tool use that is not to be run: the service has done that."""


@dataclass(slots=True)
class Fold:
    """Puts an Outcome together from events, as dicts.

    Blocks are told apart by their contentBlockIndex; the input of a tool that nothing said the name of is left out.
    """

    text: str = ""
    reasoning: str = ""
    stop_reason: str | None = None
    tools: dict[object, list[str]] = field(default_factory=dict[object, list[str]])

    def take(self, event: Mapping[str, Any]) -> None:
        """Add an event of a stream."""
        match event:
            case {"contentBlockStart": {"start": {"toolUse": {"name": name, **rest}}, **block}}:
                if rest.get("type") != SERVER_TOOL:
                    self.tools[block.get("contentBlockIndex")] = [name, ""]
            case {"contentBlockDelta": {"delta": {"toolUse": {"input": part}}, **block}}:
                if use := self.tools.get(block.get("contentBlockIndex")):
                    use[1] += part
            case {"contentBlockDelta": {"delta": {"text": text}}}:
                self.text += text
            case {"contentBlockDelta": {"delta": {"reasoningContent": {"text": text}}}}:
                self.reasoning += text
            case {"messageStop": {"stopReason": reason}}:
                self.stop_reason = reason
            case _:
                pass

    def outcome(self, error: BaseException | str | None = None) -> Outcome:
        """Everything so far, and what ended it."""
        # An SDK hands out no delta of a tool without input, so it is this loop that makes an object of nothing.
        calls = [ToolCall(name, given or {}) for name, given in self.tools.values()]
        return Outcome(self.text, calls, self.stop_reason, error, self.reasoning)


def folded(events: Iterable[Mapping[str, Any]]) -> Outcome:
    """What a loop over the events gives; an error ends it."""
    fold = Fold()
    try:
        for event in events:
            fold.take(event)
    except Exception as error:  # noqa: BLE001 - every error is the client's answer
        return fold.outcome(error)
    return fold.outcome()


async def folded_async(events: AsyncIterable[Mapping[str, Any]]) -> Outcome:
    """The same of a loop with `async for`."""
    fold = Fold()
    try:
        async for event in events:
            fold.take(event)
    except Exception as error:  # noqa: BLE001 - every error is the client's answer
        return fold.outcome(error)
    return fold.outcome()


def whole(answer: Mapping[str, Any]) -> Outcome:
    """What is in a whole answer."""
    blocks = answer.get("output", {}).get("message", {}).get("content", ())
    text = reasoning = ""
    calls: list[ToolCall] = []
    for block in blocks:
        match block:
            case {"text": said}:
                text += said
            case {"citationsContent": {"content": parts}}:
                text += "".join(part.get("text", "") for part in parts)
            case {"reasoningContent": {"reasoningText": {"text": thought}}}:
                reasoning += thought
            case {"toolUse": use} if use.get("type") != SERVER_TOOL:
                calls.append(ToolCall(use["name"], use["input"]))
            case _:
                pass
    return Outcome(text, calls, answer.get("stopReason"), None, reasoning)
