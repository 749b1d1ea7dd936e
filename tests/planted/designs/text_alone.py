"""Wants text and nothing else: an event out of order is an error, and an answer that a guardrail wrote is one too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from botocore.exceptions import ClientError

from converse_harness.contract import ConsumerContract, Outcome, Target

KNOWN = {"messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata"}
UNFINISHED = {
    "max_tokens",
    "model_context_window_exceeded",
    "malformed_model_output",
    "malformed_tool_use",
    "content_filtered",
}


class NoText(Exception):
    """The answer is not a text."""


class Refused(Exception):
    """A guardrail stopped the answer."""


class Unfinished(Exception):
    """The answer stops in the middle."""


class ConversationTooLong(Exception):
    """The question does not fit into the window of the model."""


def text_of(client: Any, request: Mapping[str, Any]) -> str:
    """The text of one answer."""
    try:
        events = list(client.converse_stream(**request)["stream"])
    except ClientError as error:
        if "too long" in str(error).lower():
            raise ConversationTooLong(str(error)) from error
        raise
    names = [name for event in events for name in event if name in KNOWN]
    if names.count("messageStop") != 1 or names.count("messageStart") != 1 or names[0] != "messageStart":
        raise NoText(f"no message: {names}")
    if any(name.startswith("content") for name in names[names.index("messageStop") :]):
        raise NoText("content after the end")
    reason = next(event["messageStop"]["stopReason"] for event in events if "messageStop" in event)
    if reason == "guardrail_intervened":
        raise Refused
    if reason in UNFINISHED:
        raise Unfinished(reason)
    return "\n".join(text for text in texts_in(events) if text)


def texts_in(events: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The text of each block."""
    texts: dict[int, list[str]] = {}
    ended: set[int] = set()
    for event in events:
        if "contentBlockDelta" in event:
            delta, index = event["contentBlockDelta"]["delta"], event["contentBlockDelta"].get("contentBlockIndex", -1)
            if index in (-1, *ended) or len(delta) != 1 or "toolUse" in delta:
                raise NoText(str(event))
            texts.setdefault(index, []).append(delta.get("text", ""))
        elif "contentBlockStop" in event:
            ended.add(event["contentBlockStop"].get("contentBlockIndex", -1))
    if set(texts) - ended:
        raise NoText("a block without an end")
    yield from map("".join, texts.values())


class TextAlone(ConsumerContract):
    """A command of a shell."""

    kinds: ClassVar = ["text"]
    stop_reasons: ClassVar = ["end_turn", "max_tokens", "guardrail_intervened", "content_filtered"]
    errors: ClassVar = {
        Refused: "GuardrailIntervened",
        ConversationTooLong: "ContextOverflow",
    }

    def consume(self, target: Target) -> Outcome:
        return Outcome(text_of(target.client, target.request))
