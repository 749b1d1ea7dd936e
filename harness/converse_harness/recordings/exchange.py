"""One exchange of a recording: a request and its answer, as the lines of the file have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from converse_harness.recordings.lines import Line


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer.

    `at` is the number of its first line in the file, counted from 1; `head` the line of the answer's head, or of what
    failed in its place; `events` the lines of its stream; `end` the line of an end that was none.
    """

    at: int
    call: Line
    head: Line
    events: tuple[Line, ...] = ()
    end: Line | None = None

    @property
    def operation(self) -> str:
        """The AWS operation, or method and path where it is none of Bedrock's."""
        return str(self.call.get("operation") or f"{self.call.get('method')} {self.call.get('path')}")

    @property
    def model_id(self) -> str:
        """The model id, empty where the operation has none."""
        return str(self.call.get("modelId", ""))

    @property
    def request(self) -> Mapping[str, Any]:
        """The request's JSON object, empty where it was something else."""
        request = self.call.get("request")
        return cast("dict[str, Any]", request) if isinstance(request, dict) else {}

    @property
    def faults(self) -> list[str]:
        """What is known to be wrong in its answer, and meant."""
        return list(self.call.get("faults", ()))

    def lines(self) -> Iterator[Line]:
        """Its lines in the order of the file."""
        yield self.call
        yield self.head
        yield from self.events
        if self.end is not None:
            yield self.end


@dataclass(frozen=True, slots=True)
class Session:
    """What a file holds: its header line and its exchanges."""

    header: Line
    exchanges: tuple[Exchange, ...]
