"""Writes each event as a letter, checks the order of all by one pattern, and reads the blocks afterwards, in a thread.

The answer is read by a thread of its own, and handed over whole: nobody sees a part of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from typing import Any, ClassVar

from converse_harness.contract import ConsumerContract, Outcome, Target, ToolCall

LETTERS = {
    "messageStart": "m",
    "contentBlockStart": "s",
    "contentBlockDelta": "d",
    "contentBlockStop": "e",
    "messageStop": "M",
    "metadata": "u",
}
ORDER = re.compile("m(s?d*e)*Mu?")


class Disorder(Exception):
    """The events are in no order of a whole answer."""


class ModelStopped(Exception):
    """The answer ends early."""


class Filtered(Exception):
    """A guardrail spoke."""


def ordered(client: Any, request: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """All events of a whole answer, without those that this code does not know."""
    events = [item for event in client.converse_stream(**request)["stream"] for item in event.items()]
    events = [(LETTERS[name], member) for name, member in events if name in LETTERS]
    if not ORDER.fullmatch("".join(letter for letter, _ in events)):
        raise Disorder("".join(letter for letter, _ in events))
    return events


def blocks(events: list[tuple[str, dict[str, Any]]]) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The start of each block, and its deltas."""
    number = 0
    indices: set[Any] = set()
    numbered: list[tuple[int, str, dict[str, Any]]] = []
    for letter, member in events:
        if letter in "sde":
            numbered.append((number, letter, member))
            number += letter == "e"
    for _, group in groupby(numbered, key=lambda each: each[0]):
        members = list(group)
        found = {member.get("contentBlockIndex") for _, _, member in members}
        if len(found) > 1 or None in found or found & indices:
            raise Disorder(f"the indices of a block are {found}")
        indices |= found
        start: dict[str, Any] = next((member["start"] for _, letter, member in members if letter == "s"), {})
        deltas = [member["delta"] for _, letter, member in members if letter == "d"]
        if any(("toolUse" in delta) != ("toolUse" in start) for delta in deltas):
            raise Disorder("a delta of another block")
        yield start, deltas


def read(client: Any, request: Mapping[str, Any]) -> Outcome:
    """One answer."""
    events = ordered(client, request)
    texts: list[str] = []
    calls: list[ToolCall] = []
    signatures: list[str] = []
    citations: list[dict[str, Any]] = []
    for start, deltas in blocks(events):
        use = start.get("toolUse", {"type": "server_tool_use"})
        if use.get("type") != "server_tool_use":
            try:
                value = json.loads("".join(delta["toolUse"]["input"] for delta in deltas) or "{}")
                calls.append(ToolCall(use["name"], dict(value)))
            except (ValueError, TypeError) as error:
                raise Disorder("an input that is no object") from error
        texts.append("".join(delta.get("text", "") for delta in deltas))
        signatures += [signed for delta in deltas if (signed := delta.get("reasoningContent", {}).get("signature"))]
        citations += [delta["citation"] for delta in deltas if "citation" in delta]
    reason = next(member["stopReason"] for letter, member in events if letter == "M")
    if reason in ("max_tokens", "model_context_window_exceeded", "malformed_model_output", "malformed_tool_use"):
        raise ModelStopped(reason)
    if reason in ("guardrail_intervened", "content_filtered"):
        raise Filtered(reason)
    return Outcome(" ".join(text for text in texts if text), calls, None, signatures=signatures, citations=citations)


class ByPattern(ConsumerContract):
    """A thread that hands over whole answers."""

    errors: ClassVar = {
        ModelStopped: ["MaxTokens", "ModelContextWindowExceeded", "MalformedModelOutput", "MalformedToolUse"],
        Filtered: ["GuardrailIntervened", "ContentFiltered"],
    }
    seconds: ClassVar = 8

    def consume(self, target: Target) -> Outcome:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(read, target.client, target.request).result(timeout=self.seconds)
