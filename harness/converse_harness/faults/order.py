"""A table of all faults in the order of a stream's events. Each fault turns a legal stream into an illegal one.

The illegal stream has exactly this fault, for which the module `stream.grammar` rejects it. `applicable_at` returns the
positions at which a fault is possible; `apply_at` returns the illegal stream.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from converse_harness.errors import ReplyError
from converse_harness.faults import model
from converse_harness.faults.model import (
    FAILS,
    HANDS_OUT,
    PARSER,
    SKIPS,
    Event,
    Events,
    Fault,
    FaultLevel,
    FaultPlacement,
    Place,
    Where,
)
from converse_harness.stream.grammar import kind

Stream = list[dict[str, Any]]
"""The events of a stream. They are copies, so a fault may change them."""


@dataclass(frozen=True, slots=True, repr=False)
class OrderFault(Fault):
    """One way to break the order of a stream's events.

    `refusal` is a regular expression for the message of the StreamOrderError that the fault causes. `where` is the
    condition that a position must fulfil. `rewrite` takes the events and a position, and returns the events with the
    fault.
    """

    level: FaultLevel = field(default="events", init=False)
    place: Place = field(default="position", init=False)
    botocore: str = field(default=HANDS_OUT, kw_only=True)
    refusal: str
    where: Where
    rewrite: Callable[[Stream, int], Stream]

    def applicable_at(self, events: Events) -> list[int]:
        """Return the positions in a legal stream at which the fault can be applied; empty if there are none."""
        return [place for place in range(len(events)) if self.where(events, place)]

    def apply_at(self, events: Events, position: int) -> Stream:
        """Return a new stream with the fault at this position. Raises ReplyError if the fault is not possible there.

        >>> from converse_harness import chunk
        >>> events = chunk({"role": "assistant", "content": []})
        >>> [next(iter(event)) for event in ORDER_FAULTS["no_message_stop"].apply_at(events, 1)]
        ['messageStart', 'metadata']
        """
        if position not in range(len(events)) or not self.where(events, position):
            places = ", ".join(map(str, self.applicable_at(events))) or "no event of this stream"
            raise ReplyError(f"{self.name} cannot be made at events[{position}]. It can be made at: {places}.")
        return self.rewrite([copy.deepcopy(dict(event)) for event in events], position)

    def refuses(self, message: str) -> bool:
        """Whether this text is the message of a StreamOrderError that this fault causes."""
        return re.search(self.refusal, message) is not None

    def placed(self, after: int | None, events: Events) -> FaultPlacement:
        """Return the placement of the fault at the event with the index `after`.

        The default is the middle one of the possible positions. Raises ReplyError if the position is not possible.
        """
        places = self.applicable_at(events)
        if not places:
            kinds = ", ".join(map(kind, events)) or "none"
            raise ReplyError(
                model.in_broken(self),
                f": no event of this reply can be so broken. Its events: {kinds}. Break a reply that has such an "
                "event, or break this one otherwise.",
            )
        chosen = places[len(places) // 2] if after is None else after
        if type(chosen) is not int or chosen not in places:
            listed = ", ".join(map(str, places))
            raise ReplyError(model.in_broken(self, after), f": in this reply it can be at event {listed}.")
        return FaultPlacement(self, chosen, len(events))


def rearranged(placement: FaultPlacement, events: Iterable[Event]) -> Stream:
    """Return the events with the order fault applied. A fault of another level than "events" changes nothing."""
    listed, fault = [dict(event) for event in events], placement.fault
    return fault.apply_at(listed, placement.after) if isinstance(fault, OrderFault) else listed


def _drop(events: Stream, position: int) -> Stream:
    return events[:position] + events[position + 1 :]


def _repeat(events: Stream, position: int) -> Stream:
    return [*events[: position + 1], copy.deepcopy(events[position]), *events[position + 1 :]]


def _swap(events: Stream, position: int) -> Stream:
    return [*events[:position], events[position + 1], events[position], *events[position + 2 :]]


def _insert(event: dict[str, Any], events: Stream, position: int) -> Stream:
    """Insert a copy of `event` after the position. A delta gets the contentBlockIndex of the event at the position."""
    (name,) = event
    given = copy.deepcopy(event)
    if name == "contentBlockDelta":
        (at,) = events[position].values()
        given[name]["contentBlockIndex"] = at["contentBlockIndex"]
    return [*events[: position + 1], given, *events[position + 1 :]]


def _change(edit: Callable[[dict[str, Any]], None], events: Stream, position: int) -> Stream:
    edit(events[position])
    return events


def _renumber(by: int, events: Stream, position: int) -> Stream:
    """Add `by` to the contentBlockIndex of the event at the position and of each later event."""
    for place in range(position, len(events)):
        if model.OF_BLOCK(events, place):
            (members,) = events[place].values()
            members["contentBlockIndex"] += by
    return events


def _move(name: str, events: Stream, position: int) -> Stream:
    """Move the stream's only event of the type `name` to the place directly after the position."""
    (moved,) = (event for event in events if name in event)
    rest = [event for event in events if event is not moved]
    return [*rest[: position + 1], moved, *rest[position + 1 :]]


def _index_of_next(event: dict[str, Any]) -> None:
    (members,) = event.values()
    members["contentBlockIndex"] += 1


def _no_index(event: dict[str, Any]) -> None:
    (members,) = event.values()
    del members["contentBlockIndex"]


def _two_deltas(event: dict[str, Any]) -> None:
    delta = event["contentBlockDelta"]["delta"]
    delta.update({"toolUse": {"input": ""}} if "text" in delta else {"text": ""})


_TEXT: Final = {"contentBlockDelta": {"delta": {"text": "x"}}}
_TOOL_INPUT: Final = {"contentBlockDelta": {"delta": {"toolUse": {"input": ""}}}}
_REASONING: Final = {"contentBlockDelta": {"delta": {"reasoningContent": {"text": "x"}}}}
_CITATION: Final = {"contentBlockDelta": {"delta": {"citation": {"title": "x"}}}}
_STILL_OPEN: Final = r" in block \d+ \(|the open block is"

_TABLE: Final = (
    OrderFault("no_events", "There is no event at all.", "ends before any messageStart", model.first, lambda _, __: []),
    OrderFault("no_message_start", "The messageStart is missing.", "before any messageStart", model.first, _drop),
    OrderFault(
        "second_message_start",
        "A second messageStart comes.",
        "is messageStart ",
        model.anywhere,
        partial(_insert, {"messageStart": {"role": "assistant"}}),
    ),
    OrderFault(
        "no_message_stop",
        "The messageStop is missing.",
        "is metadata where no block",
        model.is_a("messageStop"),
        _drop,
        reaction="fail",
    ),
    OrderFault(
        "second_message_stop",
        "The messageStop comes twice.",
        "is messageStop after",
        model.is_a("messageStop"),
        _repeat,
    ),
    OrderFault(
        "message_stop_in_block",
        "The messageStop comes in a block.",
        "is messageStop in",
        model.before_the_one("messageStop", model.IN_BLOCK),
        partial(_move, "messageStop"),
    ),
    OrderFault(
        "no_metadata",
        "The metadata is missing.",
        "The stream ends after messageStop",
        model.is_a("metadata"),
        _drop,
        reaction="ignore",
    ),
    OrderFault(
        "second_metadata",
        "The metadata comes twice.",
        "is metadata after metadata",
        model.is_a("metadata"),
        _repeat,
    ),
    OrderFault(
        "metadata_early",
        "The metadata comes before messageStop.",
        "is metadata (where|in)",
        model.before_the_one("metadata", model.before_the_end),
        partial(_move, "metadata"),
    ),
    OrderFault(
        "cut_off",
        "The stream ends before its messageStop.",
        "The stream ends",
        model.before_the_end,
        lambda e, at: e[: at + 1],
        reaction="fail",
    ),
    OrderFault(
        "cut_in_tool_input",
        "The stream ends in the middle of a tool's input.",
        "The stream ends",
        model.inside_tool_input,
        lambda e, at: e[: at + 1],
        reaction="fail",
    ),
    OrderFault(
        "no_block_start",
        "A contentBlockStart is missing.",
        "where no block is open",
        model.START,
        _drop,
        reaction="either_without_tools",
    ),
    OrderFault(
        "second_block_start",
        "A contentBlockStart comes twice.",
        r"is contentBlockStart\.\w+ in block",
        model.START,
        _repeat,
        reaction="either_without_tools",
    ),
    OrderFault("no_block_stop", "A contentBlockStop is missing.", _STILL_OPEN, model.CLOSE, _drop),
    OrderFault(
        "second_block_stop",
        "A contentBlockStop comes twice.",
        "is contentBlockStop where no block is open",
        model.CLOSE,
        _repeat,
    ),
    OrderFault(
        "block_without_delta",
        "A block that has no contentBlockStart has no delta either.",
        "is contentBlockStop where no block is open",
        model.only_delta,
        _drop,
    ),
    OrderFault(
        "blocks_interleaved", "A block begins before the last one ended.", _STILL_OPEN, model.between_blocks, _swap
    ),
    OrderFault(
        "index_skipped",
        "A contentBlockIndex is left out.",
        "the next block is",
        model.opening,
        partial(_renumber, 1),
    ),
    OrderFault(
        "index_repeated",
        "A block has the contentBlockIndex of the block before it.",
        "the next block is",
        model.opening_later,
        partial(_renumber, -1),
        reaction="either_without_tools",
    ),
    OrderFault(
        "index_of_another_block",
        "An event has the contentBlockIndex of a block that is not the open one.",
        "the open block is",
        model.in_open_block,
        partial(_change, _index_of_next),
        reaction="either_without_tools",
    ),
    OrderFault(
        "no_index",
        "A contentBlockIndex is missing.",
        "has contentBlockIndex None",
        model.OF_BLOCK,
        partial(_change, _no_index),
        reaction="either_without_tools",
    ),
    OrderFault(
        "delta_after_block",
        "A delta comes after its block.",
        "the next block is",
        model.CLOSE,
        partial(_insert, _TEXT),
    ),
    OrderFault(
        "text_in_tool_use",
        "A text delta comes in a toolUse block.",
        r"is contentBlockDelta\.text in block \d+ \(toolUse\)",
        model.is_a("contentBlockStart.toolUse", "contentBlockDelta.toolUse"),
        partial(_insert, _TEXT),
        reaction="either_without_tools",
    ),
    OrderFault(
        "tool_input_in_text",
        "A toolUse delta comes in a block of text.",
        r"is contentBlockDelta\.toolUse in block \d+ \((text|cited)\)",
        model.is_a("contentBlockDelta.text"),
        partial(_insert, _TOOL_INPUT),
        reaction="either_without_tools",
    ),
    OrderFault(
        "citation_after_text",
        "A citation comes after the text that it supports.",
        r"is contentBlockDelta\.citation in block \d+ \((text|cited)\)",
        model.is_a("contentBlockDelta.text"),
        partial(_insert, _CITATION),
    ),
    OrderFault(
        "reasoning_after_signature",
        "Reasoning goes on after its signature.",
        r"is contentBlockDelta\.reasoningContent\.text in block \d+ \(signed\)",
        model.is_a("contentBlockDelta.reasoningContent.signature"),
        partial(_insert, _REASONING),
    ),
    OrderFault(
        "reasoning_after_redacted",
        "Reasoning text comes in a block that is redacted.",
        r"is contentBlockDelta\.reasoningContent\.text in block \d+ \(redacted\)",
        model.is_a("contentBlockDelta.reasoningContent.redactedContent"),
        partial(_insert, _REASONING),
    ),
    OrderFault(
        "event_after_exception",
        "Events follow an exception frame.",
        "after an exception frame, which ends a stream",
        model.not_last,
        partial(_insert, {"throttlingException": {"message": "Too many requests, please wait before trying again."}}),
        botocore=FAILS,
        reaction="fail",
    ),
    OrderFault(
        "unknown_event",
        "An event has a type that is not in the model.",
        "is ping ",
        model.anywhere,
        partial(_insert, {"ping": {}}),
        botocore=SKIPS,
        reaction="ignore",
    ),
    OrderFault(
        "event_without_type",
        "An event has no key.",
        "^no key in one event",
        model.one_type,
        partial(_change, lambda event: event.clear()),
    ),
    OrderFault(
        "event_of_two_types",
        "An event has two keys.",
        "^'.*' and '.*' in one event",
        model.one_type,
        partial(_change, lambda event: event.update({"messageStart" if "metadata" in event else "metadata": {}})),
    ),
    OrderFault(
        "start_without_member",
        "The start of a block is an empty union.",
        "contentBlockStart.start is {}; it has exactly one",
        model.START,
        partial(_change, lambda event: event["contentBlockStart"].update(start={})),
        botocore=PARSER,
        reaction="either_without_tools",
    ),
    OrderFault(
        "delta_without_member",
        "A delta is an empty union.",
        "contentBlockDelta.delta is {}; it has exactly one",
        model.DELTA,
        partial(_change, lambda event: event["contentBlockDelta"].update(delta={})),
        botocore=PARSER,
        reaction="either_without_tools",
    ),
    OrderFault(
        "delta_of_two_members",
        "A delta is a union of two members.",
        r"(?s)contentBlockDelta\.delta is \{.+\}; it has exactly one",
        model.DELTA,
        partial(_change, _two_deltas),
        botocore=PARSER,
    ),
    OrderFault(
        "reasoning_without_member",
        "A delta's reasoningContent is an empty union.",
        r"contentBlockDelta\.delta\.reasoningContent is {}; it has exactly one",
        model.is_a("contentBlockDelta.reasoningContent"),
        partial(_change, lambda event: event["contentBlockDelta"]["delta"].update(reasoningContent={})),
        botocore=PARSER,
    ),
)

ORDER_FAULTS: Final[Mapping[str, OrderFault]] = {placement.name: placement for placement in _TABLE}
"""All faults in the order of events, by name."""
