"""What doors and Endpoint pass to each other: an HTTP request in, a timed HTTP response out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request as it came in.

    `target` is the raw request target: percent-encoded path with query, never decoded (an ARN in a path has `%2F`).
    Header names keep the case in which they came.
    """

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


class ConnectionFailure(Enum):
    """What happens instead of an HTTP response."""

    REFUSED = "connection refused"
    CONNECT_TIMEOUT = "connect timeout"
    READ_TIMEOUT = "read timeout"


class Chunk(NamedTuple):
    """Bytes that travel in one HTTP chunk: at most one stream event.

    `delay` is the wait in seconds before they are due, `event` the AWS event dict in them (None for a JSON body).
    A named tuple, because one is made for every event and a frozen dataclass takes three times as long to make.
    """

    data: bytes
    delay: float = 0.0
    event: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """A timed HTTP response. `headers` are in wire order and lack `Date`, which doors put first."""

    status: int
    headers: tuple[tuple[str, str], ...]
    chunks: Iterable[Chunk]
    failure: ConnectionFailure | None = None
