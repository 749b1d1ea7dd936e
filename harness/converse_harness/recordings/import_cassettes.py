"""Import of vcrpy's cassettes: what Bedrock was asked and answered becomes a recording, the rest is left alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from converse_harness.endpoint.operations import Route, control_route, route
from converse_harness.errors import DamagedData
from converse_harness.recordings.capture import CapturedExchange, exchange_lines
from converse_harness.recordings.cassettes import (
    CannotImport,
    Interaction,
    Unreadable,
    body_of,
    check_tool,
    decoded,
    headers_of,
    kept_headers,
    kind_of,
    pieces_of,
    read_cassette,
    status_of,
)
from converse_harness.recordings.read import read
from converse_harness.recordings.redaction import Redaction
from converse_harness.recordings.replies import reply_of
from converse_harness.recordings.safe import said_of_masked
from converse_harness.recordings.unpacking import MAX_BODY, MAX_FILE
from converse_harness.recordings.write import SessionWriter
from converse_harness.stream.http import Request

ImportVerdict = Literal["equal byte for byte", "re-serialised", "equal but for what was masked", "not equal"]
"""What a replayed answer is, compared with the one in the cassette."""


@dataclass(frozen=True, slots=True)
class Hosts:
    """Which hosts are Bedrock: those that `is_bedrock` knows, and the `others`, as `authority_of` tells them."""

    is_bedrock: Callable[[str], bool]
    others: frozenset[str] = frozenset()

    def find(self, method: str, uri: str) -> tuple[str, Route | None]:
        """The raw target that Bedrock was asked for, and its route; None for a host or path of another kind."""
        _, path, query = _parts(uri)
        authority = authority_of(uri)
        host = _PORT.sub("", authority)
        if self.is_bedrock(host.strip("[]")):
            return path + query, _route(method, path)
        if {host, authority} & self.others:
            # What passes on to Bedrock may do so below a path of its own.
            for start in (found.start() for found in re.finditer("/", path)):
                known = _route(method, path[start:])
                if known is not None:
                    return path[start:] + query, known
        return path + query, None


NO_HOST: Final = "no host"
"""What the host of a URI without one is called."""

_URI: Final = re.compile(r"(?:[a-z][a-z0-9+.-]*://|//)?([^/?#]*)([^?#]*)(\?[^#]*)?", re.IGNORECASE)
_PORT: Final = re.compile(r":\d+\Z")


def authority_of(uri: str) -> str:
    """The host of a URI and its port, if it has one, in small letters; whatever a recorder put in its place."""
    return _parts(uri)[0].rpartition("@")[2].lower() or NO_HOST


def _parts(uri: str) -> tuple[str, str, str]:
    """The authority, path and query of a URI. A filter may have replaced the host, and the scheme with it."""
    found = _URI.match(uri)
    assert found is not None  # each of its parts may be empty
    return found[1], found[2], found[3] or ""


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of one cassette: a verdict on each exchange, how many interactions of which hosts were left alone.

    `masked` says where secrets were, if any were.
    """

    verdicts: tuple[ImportVerdict, ...]
    alone: Mapping[str, int]
    masked: str = ""


@dataclass(slots=True)
class _Tracks:
    room: int = field(default_factory=lambda: MAX_FILE)
    """Bytes to which the bodies that are left may unpack."""
    captured: list[CapturedExchange] = field(default_factory=list[CapturedExchange])
    reserialised: list[bool] = field(default_factory=list[bool])
    alone: Counter[str] = field(default_factory=Counter[str])
    problems: list[CannotImport] = field(default_factory=list[CannotImport])


class CannotImportAll(DamagedData):
    """A cassette with interactions that cannot be imported: nothing of it is; `problems` has them all."""

    def __init__(self, problems: list[CannotImport]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


def import_cassette(source: Path, target: Path, hosts: Hosts, redaction: Redaction | None = None) -> Imported:
    """Write the exchanges of a cassette to a recording, which is then read and compared; none of them, no file.

    All times are 0, and each frame of a stream is a chunk: a cassette has neither. What is masked, replaced by the
    `redaction` or left out is so as in any recording. Raises CannotImport, CannotImportAll and OSError, and then
    `target` is as it was; SecretFound where an exchange was left out.
    """
    tracks = _Tracks()
    for interaction in read_cassette(source):
        try:
            _take(interaction, hosts, tracks)
        except Unreadable as error:
            tracks.problems.append(CannotImport(source, interaction.line, str(error)))
    if tracks.problems:
        check_tool(source)
        raise CannotImportAll(tracks.problems)
    if not tracks.captured:
        return Imported((), tracks.alone)
    writer = SessionWriter(target, redaction=redaction or Redaction(), captured=tracks.captured, exact=True)
    writer.save()
    return Imported(tuple(_verdicts(target, tracks)), tracks.alone, said_of_masked(writer.written.masked, target))


def _verdicts(target: Path, tracks: _Tracks) -> Iterator[ImportVerdict]:
    """What a client of the written file gets, beside what the cassette has."""
    exchanges = read(target).exchanges
    for number, (exchange, captured, reserialised) in enumerate(
        zip(exchanges, tracks.captured, tracks.reserialised, strict=True), 1
    ):
        recorded = reply_of(exchange).recorded
        chunks = () if recorded is None else recorded.response.chunks
        if b"".join(chunk.data for chunk in chunks) == b"".join(piece for piece, _ in captured.pieces):
            yield "re-serialised" if reserialised else "equal byte for byte"
        else:
            yield (
                "not equal"
                if [*exchange.lines()] == exchange_lines(captured, number)
                else "equal but for what was masked"
            )


def _take(interaction: Interaction, hosts: Hosts, tracks: _Tracks) -> None:
    request, response = interaction.request, interaction.response
    method, uri = str(request.get("method", "")).upper(), request.get("uri")
    if not isinstance(uri, str):
        raise Unreadable(f"the uri of its request is {kind_of(uri)}; it is a text.")
    target, found = hosts.find(method, uri)
    if found is None:
        tracks.alone[authority_of(uri)] += 1
        return
    asked, _ = body_of(request, "request")
    sent = Request(method, target, tuple(headers_of(request, "request")), asked)
    status = status_of(response)
    answered, reserialised = body_of(response, "response")
    headers = tuple(headers_of(response, "response"))
    if not reserialised:
        packed = answered
        answered = decoded(packed, headers, min(MAX_BODY, tracks.room))
        tracks.room -= 0 if answered is packed else len(answered)
    pieces = [(piece, 0.0) for piece in pieces_of(answered)]
    kept = tuple(kept_headers(headers, status, pieces, answered))
    tracks.captured.append(CapturedExchange(sent, found.operation, status, kept, pieces=pieces))
    tracks.reserialised.append(reserialised)


def _route(method: str, path: str) -> Route | None:
    request = Request(method, path, (), b"")
    return route(request) or control_route(request)
