"""What the consumers of this folder make of a stream, and what is right."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from converse_harness import assemble

Event = dict[str, Any]


class Unreadable(Exception):
    """The stream broke off, or is in an order that ConverseStream never sends."""


@dataclass(frozen=True)
class Answer:
    """A whole answer: an AWS Message, and the other members of a ConverseResponse; None where they were not sent."""

    message: dict[str, Any]
    stop_reason: str
    usage: dict[str, Any] | None = None
    trace: dict[str, Any] | None = None
    additional: Any = None


def right(events: Iterable[Event]) -> Answer:
    """The answer of a complete stream, as the reference reads it."""
    response = assemble(events)
    return Answer(response.message, response.stop_reason, response.usage, response.trace, response.additional)
