"""What a Reply is made of: a message, exact events, an HTTP error or bare bytes; a failure in the stream; pauses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from typing import Any, Final

from converse_harness.grammar import ERROR_FRAME, kind
from converse_harness.wire.http import Response

UNNAMED_TOOL_USE: Final = "tooluse_0000000000000000000000"
"""Stands for the toolUseId of a block that was written without one, until the Endpoint gives it its own."""


METADATA: Final = ("usage", "metrics", "trace", "performanceConfig", "serviceTier")
"""The members that ConverseStream sends in its metadata event."""


@dataclass(frozen=True, slots=True, eq=False)
class MessageBody:
    """An answer as a message; how it is cut into events follows the model family of the request.

    `content` holds ContentBlocks, `pieces` the exact deltas of blocks by index, `options` further members of
    ConverseResponse: usage, metrics, trace, additionalModelResponseFields, performanceConfig, serviceTier. Not
    `strict`, it may have members and values that are not in AWS's model.
    """

    content: tuple[Mapping[str, Any], ...]
    stop_reason: str
    role: str = "assistant"
    pieces: Mapping[int, Sequence[str]] | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    strict: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class EventsBody:
    """An answer as the exact sequence of stream events; `strict` if they were held to AWS's model and order."""

    events: tuple[Mapping[str, Any], ...]
    strict: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class ErrorBody:
    """An HTTP error before any stream: the name of the error shape, its status, members and further headers."""

    name: str
    status: int
    members: Mapping[str, Any]
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class BareBody:
    """An answer of which only the bytes are known: of another operation than Converse and ConverseStream, or damaged.

    `summary` says it in a few words.
    """

    summary: str


WrittenBody = MessageBody | EventsBody | ErrorBody
"""What people write with `reply`."""

Body = WrittenBody | BareBody


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """What a service really sent, to be sent again byte for byte where the same operation asks for it.

    The chunks of `response` have the recorded pauses, or none. `partial`: the client that was recorded left before the
    end, so that what came after is not known.
    """

    operation: str
    response: Response
    partial: bool = False

    def paced(self, first: float, each: float) -> Recorded:
        """The same with these pauses, in seconds."""
        delays = chain((first,), repeat(each))
        chunks = tuple(chunk._replace(delay=delay) for chunk, delay in zip(self.response.chunks, delays, strict=False))
        return replace(self, response=replace(self.response, chunks=chunks, wait=0.0))


@dataclass(frozen=True, slots=True)
class StreamFailure:
    """An exception frame, or an unmodelled error frame, in the place of event number `after`, counted from 0."""

    after: int
    event: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The exception's type, or the code of an error frame."""
        name = kind(self.event)
        return str(self.event[name]["code"]) if name == ERROR_FRAME else name


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds before the first event and before each later one."""

    first: float = 0.0
    each: float = 0.0


UNPACED: Final = Pace()
