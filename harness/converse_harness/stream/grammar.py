"""The order of the events of a ConverseStream, as one literal table, and a checker that reads it.

A symbol is an event type, with the union member that it carries where the order depends on it:
`contentBlockStart.toolUse`, `contentBlockDelta.reasoningContent.signature`. Source: 107 recorded streams. In them a
block of text, reasoning or citations has no contentBlockStart and at least one delta, a block that has one may have no
delta, blocks are numbered from 0 without gaps and never interleave, a citation comes before the text that it supports,
a signature ends its reasoning, and metadata is last. An exception frame may stand in the place of any event (recorded
as the first frame; elsewhere from the model) and ends the stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from converse_harness.errors import StreamOrderError

START: Final = "start"
FINISHED: Final = "finished"
FAILED: Final = "failed"

ORDER: Final[Mapping[str, Mapping[str, str]]] = {
    START: {"messageStart": "message"},
    "message": {
        "contentBlockStart.toolUse": "toolUse",
        "contentBlockStart.toolResult": "toolResult",
        "contentBlockStart.image": "image",
        "contentBlockDelta.text": "text",
        "contentBlockDelta.reasoningContent.text": "reasoning",
        "contentBlockDelta.reasoningContent.signature": "signed",
        "contentBlockDelta.reasoningContent.redactedContent": "redacted",
        "contentBlockDelta.citation": "citation",
        "messageStop": "stopped",
    },
    "toolUse": {"contentBlockDelta.toolUse": "toolUse", "contentBlockStop": "message"},
    "toolResult": {"contentBlockDelta.toolResult": "toolResult", "contentBlockStop": "message"},
    "image": {"contentBlockDelta.image": "image", "contentBlockStop": "message"},
    "text": {"contentBlockDelta.text": "text", "contentBlockStop": "message"},
    "reasoning": {
        "contentBlockDelta.reasoningContent.text": "reasoning",
        "contentBlockDelta.reasoningContent.signature": "signed",
        "contentBlockStop": "message",
    },
    "signed": {"contentBlockStop": "message"},
    "redacted": {"contentBlockStop": "message"},
    "citation": {
        "contentBlockDelta.citation": "citation",
        "contentBlockDelta.text": "cited",
        "contentBlockStop": "message",
    },
    "cited": {"contentBlockDelta.text": "cited", "contentBlockStop": "message"},
    "stopped": {"metadata": FINISHED},
    FINISHED: {},
    FAILED: {},
}
"""State -> symbol -> next state."""

BLOCK_EVENTS: Final = ("contentBlockStart", "contentBlockDelta", "contentBlockStop")
"""The events that carry a contentBlockIndex."""

UNIONS: Final = {"contentBlockStart": "start", "contentBlockDelta": "delta"}
"""The events that carry a union, on whose member the order depends, and its name in them."""


def kind(event: Mapping[str, Any]) -> str:
    """The one key of an event: its type, `contentBlockDelta` for instance.

    >>> kind({"contentBlockStop": {"contentBlockIndex": 0}})
    'contentBlockStop'
    """
    names = list(event)
    if len(names) != 1:
        came = " and ".join(map(repr, names)) or "no key"
        raise StreamOrderError(
            f"{came} in one event; an event has exactly one key, its type (AWS model ConverseStreamOutput)."
        )
    return names[0]


def symbol(event: Mapping[str, Any]) -> str:
    """What the order depends on: the event's type and, for a block's start and delta, the member that it carries.

    >>> symbol({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"reasoningContent": {"signature": "c2ln"}}}})
    'contentBlockDelta.reasoningContent.signature'
    """
    name = kind(event)
    union = UNIONS.get(name)
    if union is None:
        return name
    carried = _only_key(event[name].get(union), f"{name}.{union}")
    if carried == "reasoningContent":
        carried += "." + _only_key(event[name][union][carried], f"{name}.{union}.{carried}")
    return f"{name}.{carried}"


ERROR_FRAME: Final = ":error"
"""The key of an unmodelled error frame (`:message-type: error`), with its code and message; no event has a colon."""


def is_exception(name: str) -> bool:
    """Whether an event ends its stream as a failure.

    That is an exception frame, as those travel whose type ends in `Exception` (in AWS's model just the exceptions), or
    an unmodelled error frame.
    """
    return name.endswith("Exception") or name == ERROR_FRAME


class StreamOrder:
    """Walks the table, event by event.

    `feed` raises StreamOrderError with the event, its position and what is legal there; `state` is a key of ORDER.
    """

    def __init__(self) -> None:
        self.state = START
        self.position = 0
        self.block = 0

    def feed(self, event: Mapping[str, Any]) -> None:
        """Advance by one event, or raise StreamOrderError."""
        name = symbol(event)
        if is_exception(name) and self.state not in (FINISHED, FAILED):
            self.state = FAILED
        elif name in ORDER[self.state]:
            self._check_index(event)
            self.state = ORDER[self.state][name]
            self.block += name == "contentBlockStop"
        else:
            raise StreamOrderError(f"events[{self.position}] is {name} {self._where()}. Legal there: {self._legal()}.")
        self.position += 1

    def finish(self) -> None:
        """Raise StreamOrderError unless the stream is complete or ended by an exception frame."""
        if self.state not in (FINISHED, FAILED):
            raise StreamOrderError(
                f"The stream ends {self._where()} after {self.position} events. Legal there: {self._legal()}."
            )

    def _check_index(self, event: Mapping[str, Any]) -> None:
        name = kind(event)
        if name not in BLOCK_EVENTS:
            return
        index = event[name].get("contentBlockIndex")
        if type(index) is not int or index != self.block:
            which = "the open block" if self.state != "message" else "the next block"
            raise StreamOrderError(
                f"events[{self.position}] {name} has contentBlockIndex {index!r}; {which} is {self.block}: blocks are "
                "numbered from 0 and never interleave."
            )

    def _where(self) -> str:
        match self.state:
            case "start":
                return "before any messageStart"
            case "message":
                return "where no block is open"
            case "stopped":
                return "after messageStop"
            case "finished":
                return "after metadata, the last event of a stream"
            case "failed":
                return "after an exception frame, which ends a stream"
            case block:
                return f"in block {self.block} ({block})"

    def _legal(self) -> str:
        names = list(ORDER[self.state])
        if self.state not in (FINISHED, FAILED):
            names.append("an exception frame")
        return ", ".join(names) or "nothing"


def check_order(events: Iterable[Mapping[str, Any]]) -> None:
    """Raise StreamOrderError unless the events are one complete ConverseStream."""
    order = StreamOrder()
    for event in events:
        order.feed(event)
    order.finish()


def diagram() -> str:
    """ORDER as a Mermaid state diagram, for the docs."""
    lines = ["stateDiagram-v2", f"    [*] --> {START}"]
    for state, moves in ORDER.items():
        for target in dict.fromkeys(moves.values()):
            label = ", ".join(name for name, to in moves.items() if to == target)
            lines.append(f"    {state} --> {target}: {label}")
    lines += [f"    any --> {FAILED}: an exception frame", f"    {FINISHED} --> [*]", f"    {FAILED} --> [*]"]
    return "\n".join(lines)


def _only_key(union: object, path: str) -> str:
    members = list(cast("Mapping[str, object]", union)) if isinstance(union, Mapping) else []
    if len(members) != 1:
        raise StreamOrderError(f"{path} is {union!r}; it has exactly one member (AWS model).")
    return members[0]
