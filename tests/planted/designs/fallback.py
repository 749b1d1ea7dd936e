"""Streams first; if the stream breaks, it asks for the whole answer by Converse, and forgets what it has read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from botocore.exceptions import BotoCoreError, EventStreamError
from urllib3.exceptions import HTTPError

from converse_harness.contract import ConsumerContract, Outcome, Target, ToolCall


class NoAnswer(Exception):
    """Neither the stream nor the whole answer came."""


class Read(NamedTuple):
    """What an answer says."""

    texts: list[str]
    calls: list[ToolCall]
    thoughts: list[str]
    reason: str


def streamed(client: Any, request: Mapping[str, Any]) -> Read:
    """Sort the events by their blocks, then read one block after the other."""
    blocks: dict[int, list[dict[str, Any]]] = {}
    reason = ""
    for event in client.converse_stream(**request)["stream"]:
        ((name, member),) = event.items()
        if name == "messageStop":
            reason = member["stopReason"]
        elif name.startswith("contentBlock"):
            if reason or "contentBlockIndex" not in member:
                raise NoAnswer(name)
            blocks.setdefault(member["contentBlockIndex"], []).append(event)
    if not reason:
        raise NoAnswer("no end")
    read = Read([], [], [], reason)
    for events in blocks.values():
        *deltas, last = events
        first = deltas.pop(0)["contentBlockStart"]["start"] if deltas and "contentBlockStart" in deltas[0] else {}
        if "contentBlockStop" not in last or any("contentBlockDelta" not in event for event in deltas):
            raise NoAnswer("a block out of order")
        pieces = [event["contentBlockDelta"]["delta"] for event in deltas]
        if any(("toolUse" in piece) != ("toolUse" in first) for piece in pieces):
            raise NoAnswer("a delta of another block")
        if "toolUse" in first:
            if first["toolUse"].get("type") != "server_tool_use":
                written = "".join(piece["toolUse"]["input"] for piece in pieces)
                read.calls.append(ToolCall(first["toolUse"]["name"], given(written)))
        else:
            read.texts.append("".join(piece.get("text", "") for piece in pieces))
            read.thoughts.append("".join(piece.get("reasoningContent", {}).get("text", "") for piece in pieces))
    return read


def given(written: str) -> dict[str, Any]:
    """The input of a tool."""
    try:
        value = json.loads(written or "{}")
    except ValueError as error:
        raise NoAnswer("an input that is no JSON") from error
    if not isinstance(value, dict):
        raise NoAnswer("an input that is no object")
    return value


def whole(client: Any, request: Mapping[str, Any]) -> Read:
    """The whole answer."""
    try:
        answer = client.converse(**request)
    except UnicodeDecodeError as error:
        raise NoAnswer("half a character") from error
    if "output" not in answer:
        raise NoAnswer("no output")
    read = Read([], [], [], answer["stopReason"])
    for block in answer["output"]["message"]["content"]:
        match block:
            case {"text": text}:
                read.texts.append(text)
            case {"citationsContent": {"content": parts}}:
                read.texts.extend(part["text"] for part in parts)
            case {"reasoningContent": {"reasoningText": {"text": text}}}:
                read.thoughts.append(text)
            case {"toolUse": {"name": name, "input": value, **rest}} if rest.get("type") != "server_tool_use":
                if not isinstance(value, dict):
                    raise NoAnswer("an input that is no object")
                read.calls.append(ToolCall(name, value))
            case _:
                pass
    return read


class Fallback(ConsumerContract):
    """A service that prefers to stream."""

    def consume(self, target: Target) -> Outcome:
        try:
            read = streamed(target.client, target.request)
        except (NoAnswer, EventStreamError, BotoCoreError, HTTPError):
            read = whole(target.client, target.request)
        return Outcome("".join(read.texts), read.calls, read.reason, reasoning="".join(read.thoughts))
