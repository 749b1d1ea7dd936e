"""The order of the events of a ConverseStream, as one literal table, and a checker that uses the table.

A stream is a finite automaton. The states are the keys of ORDER: before the first event, between two blocks, inside a
block of each kind, and so on to the end. The inputs are symbols. A symbol is an event type; if the order depends on the
union member that an event carries, the member is part of the symbol: `contentBlockStart.toolUse`,
`contentBlockDelta.reasoningContent.signature`. For each state, ORDER contains the legal symbols and the state that
follows each of them. A symbol that is not in the table is illegal.

The code below follows four rules:

1. All rules about the order of events are in this file. It also contains other forms of parts of the table (the deltas
   that keep a block in its state, the members that carry text), which a test compares with ORDER. A second definition
   elsewhere would sooner or later differ from the table.
2. The table is complete and literal: no branch of the code adds a transition. Two rules are not in the table because
   they concern all states at once. An exception frame may stand in the place of any event and ends the stream (recorded
   as the first frame; in other places the source is AWS's API model). Blocks are numbered from 0 without gaps and never
   interleave, so `StreamOrder` counts them.
3. The table describes the streams that Bedrock sends, not those that a client should accept. Source: 107 recorded
   streams. In them, a block of text, reasoning or citations has no contentBlockStart and at least one delta. A block
   that has a start may have no delta. A citation comes before the text that it supports, a signature ends its
   reasoning, and metadata is last.
4. The table does not check values. Other code checks whether a stop reason fits, or whether a tool input is JSON.

To add an event or a kind of block: add its row and run the tests. The test that then fails shows the new diagram
for docs/architecture.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from converse_harness.errors import Argument, StreamOrderError
from converse_harness.words import counted

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
"""Maps each state to its legal symbols. Each symbol is mapped to the next state."""

CARRIED: Final[Mapping[str, str]] = {"toolUse": "input", "reasoningContent": "text"}
"""Some members of a delta contain the text one level deeper, as in `{"toolUse": {"input": "..."}}`. Maps such a member
to the inner member that contains the text."""

TEXTS: Final[Mapping[str, str]] = {
    "contentBlockDelta.text": "text",
    "contentBlockDelta.toolUse": "toolUse",
    "contentBlockDelta.reasoningContent.text": "reasoningContent",
}
"""Maps the symbol (event type and union member) of a delta with text to the delta's member that contains the text."""

GOES_ON: Final[Mapping[str, str]] = {
    state: TEXTS[name]
    for state, moves in ORDER.items()
    for name, following in moves.items()
    if following == state and name in TEXTS
}
"""Some states do not change at a delta with text. Maps such a state to the member of this delta that contains the text.

Nearly every event of a stream is such a delta.
"""

BLOCK_EVENTS: Final = ("contentBlockStart", "contentBlockDelta", "contentBlockStop")
"""The events that carry a contentBlockIndex."""

UNIONS: Final = {"contentBlockStart": "start", "contentBlockDelta": "delta"}
"""Maps the type of each event that contains a union to the name of the union. The legal order depends on the member of
the union."""


def kind(event: Mapping[str, Any]) -> str:
    """Return the only key of an event: its type, for example `contentBlockDelta`.

    >>> kind({"contentBlockStop": {"contentBlockIndex": 0}})
    'contentBlockStop'
    """
    names: list[Any] = list(event)
    if len(names) != 1 or not isinstance(names[0], str):
        came = " and ".join(map(repr, names)) or "no key"
        raise StreamOrderError(
            f"{came} in one event; an event has exactly one key, its type (AWS model ConverseStreamOutput)."
        )
    name: str = names[0]
    return name


def symbol(event: Mapping[str, Any]) -> str:
    """Return the event's symbol in ORDER: the event type and, for the start or delta of a block, also the union member.

    >>> symbol({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"reasoningContent": {"signature": "c2ln"}}}})
    'contentBlockDelta.reasoningContent.signature'
    """
    name = kind(event)
    union = UNIONS.get(name)
    if union is None:
        return name
    members = _members(event, name)
    carried = _only_key(members.get(union), f"{name}.{union}")
    if carried == "reasoningContent":
        carried += "." + _only_key(members[union][carried], f"{name}.{union}.{carried}")
    return f"{name}.{carried}"


ERROR_FRAME: Final = ":error"
"""The event key of an unmodelled error frame (`:message-type: error`). No event type of AWS contains a colon."""


def is_exception(name: str) -> bool:
    """Whether an event of the type `name` reports a failure and ends the stream.

    Such an event is an unmodelled error frame, or an exception frame, whose type ends in `Exception`.
    """
    return name.endswith("Exception") or name == ERROR_FRAME


_PLACES: Final[Mapping[str, str]] = {
    START: "before any messageStart",
    "message": "where no block is open",
    "stopped": "after messageStop",
    FINISHED: "after metadata, the last event of a stream",
    FAILED: "after an exception frame, which ends a stream",
}
"""Maps each state outside of blocks to its description in error messages."""


class StreamOrder:
    """Checks the order of a stream's events against the table ORDER, event by event.

    `state` is a key of ORDER, `position` the number of events so far, `block` the index of the open or next block.
    """

    def __init__(self) -> None:
        self.state = START
        self.position = 0
        self.block = 0

    def feed(self, event: Mapping[str, Any]) -> None:
        """Check the next event. For an illegal event, raises StreamOrderError, which lists the legal events."""
        name = symbol(event)
        if is_exception(name) and self.state not in (FINISHED, FAILED):
            self.state = FAILED
        elif name in ORDER[self.state]:
            self._check_index(event)
            self.state = ORDER[self.state][name]
            self.block += name == "contentBlockStop"
        else:
            problem = f" is {name} {self._where()}. Legal there: {self._legal()}."
            raise StreamOrderError(Argument(name="events", path=(self.position,)), problem)
        self.position += 1

    def more_text(self, body: object) -> str | None:
        """Return the text of a contentBlockDelta that only adds text to the open block; otherwise None.

        `body` is the value of the event. This is a fast path: if a text is returned, `feed` would accept the event and
        stay in the same state.
        """
        member = GOES_ON.get(self.state)
        if member is None or type(body) is not dict:
            return None
        members = cast("dict[str, Any]", body)
        try:
            delta = members["delta"]
            index = members["contentBlockIndex"]
            text = delta[member]
            inner = CARRIED.get(member)
            if inner is not None:
                if len(text) != 1:
                    return None
                text = text[inner]
            usual = len(members) == 2 and len(delta) == 1 and type(index) is int and index == self.block
        except (LookupError, TypeError):
            return None
        return text if usual and type(text) is str else None

    def finish(self) -> None:
        """Raise StreamOrderError unless the stream is complete or ended by an exception frame."""
        if self.state not in (FINISHED, FAILED):
            raise StreamOrderError(
                f"The stream ends {self._where()} after {counted(self.position, 'event')}. "
                f"Legal there: {self._legal()}."
            )

    def _check_index(self, event: Mapping[str, Any]) -> None:
        name = kind(event)
        if name not in BLOCK_EVENTS:
            return
        index = _members(event, name).get("contentBlockIndex")
        if type(index) is not int or index != self.block:
            which = "the open block" if self.state != "message" else "the next block"
            came = f"{index!r}" if type(index) is int else f"{index!r}, which is no int but a {type(index).__name__}"
            if index is None:
                came = "None, or none"
            raise StreamOrderError(
                Argument(name="events", path=(self.position,)),
                f" {name} has contentBlockIndex {came}; {which} is {self.block}: blocks are numbered from 0 and never "
                "interleave.",
            )

    def _where(self) -> str:
        return _PLACES.get(self.state, f"in block {self.block} ({self.state})")

    def _legal(self) -> str:
        names = list(ORDER[self.state])
        if self.state not in (FINISHED, FAILED):
            names.append("an exception frame")
        return ", ".join(names) or "nothing"


def check_order(events: Iterable[Mapping[str, Any]]) -> None:
    """Raise StreamOrderError unless the events are one ConverseStream, complete or ended by an exception frame."""
    check_beginning(events).finish()


def check_beginning(events: Iterable[Mapping[str, Any]]) -> StreamOrder:
    """Raise StreamOrderError unless a ConverseStream can begin with these events. Return the StreamOrder after them."""
    order = StreamOrder()
    for event in events:
        order.feed(event)
    return order


def _members(event: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    members = event[name]
    if not isinstance(members, Mapping):
        raise StreamOrderError(f"{name} is {members!r}; an event is a mapping of its members.")
    return cast("Mapping[str, Any]", members)


def _only_key(union: object, path: str) -> str:
    members = list(cast("Mapping[str, object]", union)) if isinstance(union, Mapping) else []
    if len(members) != 1:
        raise StreamOrderError(f"{path} is {union!r}; it has exactly one member (AWS model).")
    return members[0]
