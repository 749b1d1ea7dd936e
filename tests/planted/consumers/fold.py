"""A consumer that folds deltas into a dict of blocks, by their index."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tests.planted.answers import Answer, Event, Unreadable


def read(events: Iterable[Event]) -> Answer:
    """Fold all events, then put the blocks in order."""
    blocks: dict[int, dict[str, Any]] = {}
    closed: set[int] = set()
    role: str | None = None
    stop: dict[str, Any] | None = None
    end: dict[str, Any] = {}
    for event in events:
        for name, members in event.items():
            if name == "messageStart":
                role = members["role"]
            elif name == "contentBlockStart":
                _start(blocks, members["contentBlockIndex"], members["start"])
            elif name == "contentBlockDelta":
                index = members["contentBlockIndex"]
                if index in closed:
                    raise Unreadable(f"block {index} goes on after its end")
                _fold(blocks.setdefault(index, {}), members["delta"])
            elif name == "contentBlockStop":
                closed.add(members["contentBlockIndex"])
            elif name == "messageStop":
                stop = members
            elif name == "metadata":
                end = members
            elif name.endswith("Exception"):
                raise Unreadable(name)
    if role is None or stop is None or closed != set(blocks):
        raise Unreadable("the stream is not whole")
    content = [_finished(block) for _, block in sorted(blocks.items())]
    return Answer(
        {"role": role, "content": content},
        stop["stopReason"],
        end.get("usage"),
        end.get("trace"),
        stop.get("additionalModelResponseFields"),
    )


def _start(blocks: dict[int, dict[str, Any]], index: int, start: dict[str, Any]) -> None:
    if index in blocks:
        raise Unreadable(f"block {index} begins twice")
    if "toolUse" in start:
        blocks[index] = {"toolUse": {**start["toolUse"], "input": ""}}
    elif "toolResult" in start:
        blocks[index] = {"toolResult": {**start["toolResult"], "content": []}}
    elif "image" in start:
        blocks[index] = {"image": dict(start["image"])}


def _fold(block: dict[str, Any], delta: dict[str, Any]) -> None:
    if "text" in delta:
        block["text"] = block.get("text", "") + delta["text"]
    elif "toolUse" in delta:
        if "toolUse" not in block:
            raise Unreadable("input for no tool")
        block["toolUse"]["input"] += delta["toolUse"]["input"]
    elif "toolResult" in delta:
        block["toolResult"]["content"] += delta["toolResult"]
    elif "image" in delta:
        block["image"].update(delta["image"])
    elif "citation" in delta:
        block.setdefault("citations", []).append(delta["citation"])
    elif "reasoningContent" in delta:
        reasoning = delta["reasoningContent"]
        into = block.setdefault("reasoningContent", {})
        if "text" in reasoning:
            into["text"] = into.get("text", "") + reasoning["text"]
        if "signature" in reasoning:
            into["signature"] = reasoning["signature"]
        if "redactedContent" in reasoning:
            into["redactedContent"] = reasoning["redactedContent"]


def _finished(block: dict[str, Any]) -> dict[str, Any]:
    if "toolUse" in block:
        text = block["toolUse"]["input"]
        try:
            value: Any = json.loads(text) if text else {}
        except ValueError:
            raise Unreadable("the input of a tool is not whole") from None
        return {"toolUse": {**block["toolUse"], "input": value}}
    if "citations" in block:
        said = {"content": [{"text": block["text"]}]} if "text" in block else {}
        return {"citationsContent": {**said, "citations": block["citations"]}}
    if "reasoningContent" in block:
        reasoning = block["reasoningContent"]
        if "redactedContent" in reasoning:
            return {"reasoningContent": reasoning}
        return {"reasoningContent": {"reasoningText": {"text": "", **reasoning}}}
    return block
