"""The class Plan: what a reply sends. The Endpoint and the transports read it; tests use the methods of Reply."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from converse_harness.bedrock.families import NEUTRAL, Family
from converse_harness.errors import Advice, ReplyError, StreamOrderError
from converse_harness.faults.model import TRANSPORTS, FaultPlacement, Transport
from converse_harness.faults.order import OrderFault, rearranged
from converse_harness.reply.body import (
    METADATA,
    UNPACED,
    BareBody,
    Body,
    ErrorBody,
    EventsBody,
    MessageBody,
    OutputBody,
    Pace,
    Recorded,
    StreamFailure,
    summarize_body,
)
from converse_harness.stream.chunk import Run, events_of, message_runs
from converse_harness.words import counted


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What a reply sends for one call: a body, and how the answer fails, breaks the protocol and pauses.

    `recorded` are the bytes of a recording, which are sent instead of the body's own. `misfits` are the rows of the
    table `bedrock.fit.FITS` by which the answer is meant not to fit its request, as in the case `tool_unknown`.
    """

    body: Body
    failure: StreamFailure | None = None
    placements: tuple[FaultPlacement, ...] = ()
    pace: Pace = UNPACED
    recorded: Recorded | None = None
    misfits: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """A description in one line, such as `tool_use get_weather {"city": "Zürich"}`."""
        if self.no_answer:
            parts = [self.placements[-1].summary]
        else:
            parts = [summarize_body(self.body)]
            if self.failure is not None:
                after = self.failure.after
                parts.append(f"{self.failure.name} after {counted(after, 'event')}")
            parts += [placement.summary for placement in self.placements]
        return ", ".join(parts)

    @property
    def order_breach(self) -> FaultPlacement | None:
        """The order fault of this reply, with its position; None if the reply has no order fault."""
        return next((each for each in self.placements if isinstance(each.fault, OrderFault)), None)

    @property
    def no_answer(self) -> bool:
        """Whether the reply has a fault that makes the connection fail, so that no answer is sent at all."""
        return bool(self.placements) and self.placements[-1].fault.no_answer

    @property
    def has_events(self) -> bool:
        """Whether the body can be sent as a stream of events."""
        body = self.body
        return isinstance(body, MessageBody | EventsBody) or (isinstance(body, OutputBody) and body.stream is not None)

    @property
    def is_plain(self) -> bool:
        """Whether the plan is only a body: not recorded, without fault, failure and pauses."""
        return (self.failure, self.placements, self.recorded, self.pace) == (None, (), None, UNPACED)

    def check_sendable(self, transport: Transport | None) -> None:
        """Raise ReplyError for a fault that `transport` cannot express, StreamOrderError for events that end early."""
        if isinstance(self.body, EventsBody) and self.body.unfinished and self.failure is None:
            count = len(self.body.events)
            raise StreamOrderError(
                f"{self.body.unfinished} Add them, or write ",
                Advice(
                    f'.fails_after({count}, "throttlingException") to let the stream fail there, or '
                    "reply.events(..., strict=False) to end it there.",
                    f'"fails_after": {{"events": {count}, "exception": "throttlingException"}} to let the stream fail '
                    'there, or "strict": false to end it there.',
                ),
            )
        for placement in self.placements:
            able = placement.fault.transports
            if transport is not None and transport not in able:
                raise ReplyError(
                    f"{self.summary}: the {transport} transport cannot express the fault {placement.fault.name}. "
                    f"Transports that can: {', '.join(each for each in TRANSPORTS if each in able)}."
                )

    def events(self, family: Family | None = None) -> Iterator[dict[str, Any]]:
        """Return the events of `Reply.events`."""
        placement = self.order_breach
        if placement is None:
            return self.unbroken_events(family)
        return iter(rearranged(placement, self.unbroken_events()))

    def unbroken_events(self, family: Family | None = None) -> Iterator[dict[str, Any]]:
        """Return the events as they are before an order fault is applied."""
        return events_of(self.runs(family))

    def later_events(self, family: Family) -> int:
        """Return the number of events after the first."""
        return max(0, sum(1 for _ in self.events(family)) - 1)

    def runs(self, family: Family | None = None) -> Iterator[Run]:
        """Yield the events of `unbroken_events`, but one Deltas in place of successive deltas that differ only in text.

        This saves time where the single events are not needed.
        """
        match self.body:
            case EventsBody(events):
                yield from map(dict[str, Any], events)
            case OutputBody() as body if body.stream is not None:
                yield from map(dict[str, Any], body.events)
            case MessageBody() as body:
                counted = any(placement.fault.place != "whole answer" for placement in self.placements)
                neutral = counted or self.failure is not None or body.pieces is not None
                cut_by = NEUTRAL if neutral or family is None else family
                signs = NEUTRAL if counted or self.failure is not None or family is None else family
                message = {"role": body.role, "content": body.said_by(signs)}
                yield from message_runs(
                    message, pieces=body.pieces, family=cut_by, stop_reason=body.stop_reason, strict=body.strict
                )
                extra = body.options.get("additionalModelResponseFields")
                stop = {"stopReason": body.stop_reason}
                yield {"messageStop": stop if extra is None else {**stop, "additionalModelResponseFields": extra}}
                yield {"metadata": {name: body.options[name] for name in METADATA if name in body.options}}
            case ErrorBody():
                raise ReplyError(f"{self.summary}: it comes before any stream and has no events.")
            case BareBody() | OutputBody():
                raise ReplyError(f"{self.summary}: it has no events.")
