"""Import vcrpy cassettes and saved answers: make a recording of the exchanges with Bedrock, and ignore all others."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from hashlib import shake_256
from pathlib import Path
from typing import Any, Final, Literal
from uuid import UUID

from converse_harness.endpoint.operations import Route, any_route
from converse_harness.errors import DamagedData
from converse_harness.features.cassettes.answers import BadAnswer, SavedAnswer, path_of, saved_answers
from converse_harness.features.cassettes.read import (
    CannotImport,
    Interaction,
    check_tool,
    kind_of,
    read_cassette,
    text_of,
)
from converse_harness.json_values import is_array, is_object, member_of, parsed_json
from converse_harness.recordings.format.exchanges import reply_of
from converse_harness.recordings.format.read import read
from converse_harness.recordings.format.readable import compact
from converse_harness.recordings.record.captured import JSON, STREAM, CapturedExchange, exchange_lines
from converse_harness.recordings.record.write import SessionWriter, imported_header, said_of_kept_files, said_of_masked
from converse_harness.recordings.redaction import Redaction
from converse_harness.reply.body import shorten
from converse_harness.secrets.encodings import CODINGS, GZIP, MAX_BODY, MAX_FILE, CannotUnpack, unpack
from converse_harness.stream.frames import PRELUDE_LENGTH, decode
from converse_harness.stream.http import ERROR_NAME, GATEWAY_ERROR, GATEWAY_ERRORS, SERVICE_ERROR, Request

ImportVerdict = Literal["equal byte for byte", "re-serialised", "equal but for what was masked", "not equal"]
"""The result of the comparison between a replayed answer and the answer in the cassette."""


@dataclass(frozen=True, slots=True)
class Hosts:
    """The hosts whose exchanges are imported: those for which `is_bedrock` returns true, and those in `others`.

    `others` contains hosts in lower case, with or without a port. It may contain placeholders that a recorder wrote in
    place of a host.
    """

    is_bedrock: Callable[[str], bool]
    others: frozenset[str] = frozenset()

    def find(self, method: str, uri: str) -> tuple[str, Route] | None:
        """Return the target (path and query) of a request as it was sent, and its Bedrock route.

        Return None for another host or an unknown path.
        """
        _, path, query = _parts(uri)
        authority = authority_of(uri)
        host = _PORT.sub("", authority)
        starts = [0] if self.is_bedrock(host.strip("[]")) else []
        if {host, authority} & self.others:
            # The Bedrock path may follow a prefix of a gateway.
            starts += [found.start() for found in re.finditer("/", path)]
        requests = (Request(method, path[start:], (), b"") for start in starts)
        routes = ((request.target + query, any_route(request)) for request in requests)
        return next(((target, known) for target, known in routes if known is not None), None)


_URI: Final = re.compile(r"(?:[a-z][a-z0-9+.-]*://|//)?([^/?#]*)([^?#]*)(\?[^#]*)?", re.IGNORECASE)
_PORT: Final = re.compile(r":\d+\Z")


def authority_of(uri: str) -> str:
    """Return the host and port of a URI in lower case, or the placeholder that a recorder wrote in their place.

    For a URI without a host, return "no host".
    """
    return _parts(uri)[0].rpartition("@")[2].lower() or "no host"


def _parts(uri: str) -> tuple[str, str, str]:
    """Return the authority, path and query of a URI. The authority may be a placeholder that a recorder wrote."""
    found = _URI.match(uri)
    assert found is not None  # the pattern matches every text, even an empty one
    return found[1], found[2], found[3] or ""


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of importing one cassette, with a verdict for each exchange with Bedrock.

    `alone` maps each host other than Bedrock's to the number of its interactions, which were ignored. `said` is a
    text that lists the places where secrets were masked, and says which files are kept; it may be empty.
    """

    verdicts: tuple[ImportVerdict, ...]
    alone: Mapping[str, int]
    said: str = ""
    no_json: tuple[str, ...] = ()
    """A text for each body that is neither JSON nor a stream: the place of the body in the cassette, its beginning, and
    advice.
    """
    without_request: int = 0
    """The number of answers whose request is not known."""


@dataclass(slots=True)
class _Tracks:
    room: int = field(default_factory=lambda: MAX_FILE)
    """The number of bytes that the bodies not read so far may have, in total, after decompression."""
    captured: list[tuple[CapturedExchange, bool]] = field(default_factory=list[tuple[CapturedExchange, bool]])
    """Each exchange with Bedrock, with a flag: true if the cassette contains the answer's body only as parsed JSON, not
    as bytes.
    """
    alone: Counter[str] = field(default_factory=Counter[str])
    problems: list[str] = field(default_factory=list[str])
    no_json: list[str] = field(default_factory=list[str])
    dates: list[str] = field(default_factory=list[str])
    """The values of the header Date of the answers."""

    def add(self, captured: CapturedExchange, headers: Sequence[tuple[str, str]], *, reserialised: bool) -> None:
        """Add an exchange whose answer had these headers."""
        made = tuple(_kept_headers(headers, captured.status, captured.body, len(self.captured)))
        self.captured.append((replace(captured, headers=made), reserialised))
        self.dates += (value for key, value in headers if key.lower() == "date")


class CannotImportAll(DamagedData):
    """Raised for a cassette if interactions cannot be imported; the message has a line for each such interaction."""


def import_cassette(
    source: Path,
    target: Path,
    hosts: Hosts,
    redaction: Redaction | None = None,
    model_id: str = "",
    *,
    keep_files: bool = False,
) -> Imported:
    """Write the Bedrock exchanges of the cassette `source` to the recording `target`; compare the answers in both.

    Nothing is written if the cassette has no Bedrock exchange. If `source` contains answers without their requests, any
    request gets them in the recording: of the model `model_id`, or of any model if it is empty.

    A cassette contains no times and no chunks. So all times in the recording are 0, and each frame of a stream is a
    chunk. Secrets are masked, the replacements of `redaction` are made, and the files in requests are kept only if
    `keep_files` is true, as in any recording. Raises CannotImport,
    CannotImportAll or OSError; then `target` is unchanged. Raises SecretFound if an exchange was left out because of a
    secret.
    """
    tracks = _Tracks()
    saved = _saved(source)
    for answer in saved:
        sent = Request("POST", path_of(answer, model_id), (), b"")
        pieces = [(piece, 0.0) for piece in answer.pieces]
        captured = CapturedExchange(sent, answer.operation, answer.status, pieces=pieces, any_request=True)
        tracks.add(captured, answer.headers, reserialised=True)
    for number, interaction in enumerate([] if saved else read_cassette(source), 1):
        before = len(tracks.captured)
        try:
            _take(interaction, hosts, tracks)
        except _Unreadable as error:
            tracks.problems.append(str(CannotImport(source, interaction.line, str(error))))
        where = f"{source}:{interaction.line}: interaction {number}"
        tracks.no_json += [f"{where}: {text}" for each, _ in tracks.captured[before:] for text in _without_json(each)]
    if tracks.problems:
        check_tool(source)
        raise CannotImportAll("\n".join(tracks.problems))
    if not tracks.captured:
        return Imported((), tracks.alone)
    all_captured = [each for each, _ in tracks.captured]
    made_header = partial(imported_header, _first(tracks.dates))
    writer = SessionWriter(
        target,
        redaction=redaction or Redaction(),
        captured=all_captured,
        exact=True,
        header=made_header,
        keep_files=keep_files,
    )
    writer.save()
    said = filter(None, (said_of_masked(writer.written.masked, target), said_of_kept_files(writer, target)))
    return Imported(tuple(_verdicts(target, tracks)), tracks.alone, "\n".join(said), tuple(tracks.no_json), len(saved))


def _saved(source: Path) -> list[SavedAnswer]:
    try:
        return saved_answers(text_of(source))
    except BadAnswer as error:
        raise CannotImport(source, 1, str(error)) from error


def _first(dates: Sequence[str]) -> datetime | None:
    """Return the earliest of some values of the header Date; values that are no dates are ignored."""
    found: list[datetime] = []
    for each in dates:
        with suppress(ValueError):
            found.append(parsedate_to_datetime(each).astimezone(UTC))
    return min(found, default=None)


def _without_json(captured: CapturedExchange) -> Iterator[str]:
    """Yield a text about each body that is neither JSON nor a stream: a proxy answered, or a recorder changed it."""
    asked, answered = captured.request.body, captured.body
    if (captured.operation or "").startswith("InvokeModel"):
        return  # the bodies of InvokeModel need not be JSON: each model has its own format
    if asked and parsed_json(asked, ...) is ...:
        yield f"the body of its request is no JSON: {_beginning(asked)}. {_REQUEST_ADVICE}"
    if parsed_json(answered, ...) is ... and not _frame_length(answered, 0):
        is_what = f"is no JSON and no event stream: {_beginning(answered)}" if answered else "is empty"
        yield f"the body of its response {is_what}. {_RESPONSE_ADVICE}"


_REQUEST_ADVICE: Final = (
    "It is imported as text, and only a call with the same text gets its answer. If a filter of the recorder changed "
    "it, mend the cassette or record it again."
)
_RESPONSE_ADVICE: Final = (
    "It is imported as it is, and a client that expects JSON fails. If a filter of the recorder changed it, or a proxy "
    "answered, mend the cassette or record it again."
)


def _beginning(body: bytes) -> str:
    return shorten(body.decode(errors="replace"), 48)


def _verdicts(target: Path, tracks: _Tracks) -> Iterator[ImportVerdict]:
    """Yield a verdict for each exchange: the answer that `target` replays is compared with the cassette's answer."""
    both = zip(read(target).exchanges, tracks.captured, strict=True)
    for number, (exchange, (captured, reserialised)) in enumerate(both, 1):
        recorded = reply_of(exchange).plan.recorded
        chunks = () if recorded is None else recorded.response.chunks
        if b"".join(chunk.data for chunk in chunks) == captured.body:
            yield "re-serialised" if reserialised else "equal byte for byte"
        elif exchange.lines() == exchange_lines(captured, number):
            yield "not equal"
        else:
            yield "equal but for what was masked"


def _take(interaction: Interaction, hosts: Hosts, tracks: _Tracks) -> None:
    request, response = interaction.request, interaction.response
    method, uri = str(request.get("method", "")).upper(), request.get("uri")
    if not isinstance(uri, str):
        raise _Unreadable(f"the uri of its request is {kind_of(uri)}; it is a text.")
    found = hosts.find(method, uri)
    if found is None:
        tracks.alone[authority_of(uri)] += 1
        return
    target, known = found
    sent = Request(method, target, tuple(_headers_of(request, "request")), _body_of(request, "request")[0])
    # vcrpy before version 6 wrote the responses of httpx in another layout.
    status = member_of(response.get("status", {"code": response.get("status_code")}), "code")
    if type(status) is not int or not 100 <= status <= 599:
        raise _Unreadable(f"the status of its response has the code {status!r:.20}; it is a number from 100 to 599.")
    headers = tuple(_headers_of(response, "response"))
    body, reserialised = _body_of(response, "response")
    plain = body if reserialised else _decoded(body, headers, min(MAX_BODY, tracks.room))
    tracks.room -= 0 if plain is body else len(plain)
    pieces = [(piece, 0.0) for piece in pieces_of(plain)]
    tracks.add(
        CapturedExchange(sent, known.operation, status, pieces=pieces, service=known.service),
        headers,
        reserialised=reserialised,
    )


# The code below reads the parts of one interaction.

_MASKED: Final = re.compile(
    r"[\W_]*(?:redacted|placeholder|masked|filtered|scrubbed|removed|hidden|dummy|x+)?[\W_]*", re.IGNORECASE
)
"""Matches a header value that is empty or that a recorder wrote in place of a secret. Such headers are left out."""

_DROPPED: Final = frozenset(
    {"connection", "content-encoding", "content-length", "date", "server", "set-cookie", "transfer-encoding"}
)
"""Response headers that belong only to the original transfer. They are left out, and a replay sends its own standard
headers.
"""


class _Unreadable(ValueError):
    """Raised for an interaction that cannot be imported; the message describes the problem."""


def _body_of(side: Mapping[str, Any], name: str) -> tuple[bytes, bool]:
    """Return the body of a request or response, and whether the cassette has only its parsed JSON, not its bytes.

    `name`, "request" or "response", is for error messages. Raises _Unreadable for a body of unknown form.
    """
    parsed = side.get("parsed_body")
    if parsed is not None:
        try:
            return compact(parsed), True
        except (TypeError, ValueError, RecursionError) as error:
            raise _Unreadable(f"the parsed_body of its {name} is no JSON ({error}).") from error
    body = side["content"] if "status_code" in side and "body" not in side else side.get("body")
    if not is_object(body):
        return _bytes(body, name), False
    if "base64_string" in body:
        try:
            text = b"".join(_bytes(body["base64_string"], name).split())
            return base64.b64decode(text, validate=True), False
        except ValueError as error:
            raise _Unreadable(f"the base64_string of its {name} is no base64 ({error}).") from error
    unknown = body.keys() - {"string", "encoding"}
    if unknown:
        raise _Unreadable(f"the body of its {name} has {', '.join(sorted(map(str, unknown)))}; it has string.")
    return _bytes(body.get("string"), name, str(body.get("encoding") or "utf-8")), False


def _bytes(value: Any, name: str, encoding: str = "utf-8") -> bytes:
    if value is None or isinstance(value, bytes):
        return value or b""
    if is_array(value):
        return b"".join(_bytes(part, name) for part in value)
    if not isinstance(value, str):
        raise _Unreadable(f"the body of its {name} is {kind_of(value)}; it is a text or bytes.")
    try:
        return value.encode(encoding)
    # `encode` raises ValueError for text that it cannot encode, and for an encoding name with a zero byte.
    except (LookupError, ValueError) as error:
        raise _Unreadable(f"the body of its {name} cannot be written as {encoding[:40]} ({error}).") from error


def _headers_of(side: Mapping[str, Any], name: str) -> Iterator[tuple[str, str]]:
    """Yield the name and value of each header in `side`, a request or response that is called `name` in errors.

    A recorder may have written a list of values for a header; then each value is yielded with the header's name. Empty
    values and values that the recorder masked are left out.
    """
    headers: Any = side.get("headers") or {}
    if not is_object(headers):
        raise _Unreadable(f"the headers of its {name} are {kind_of(headers)}; they are a mapping.")
    for key, values in headers.items():
        for value in values if is_array(values) else [values]:
            named = [each.decode("latin-1") if isinstance(each, bytes) else str(each) for each in (key, value)]
            if value is not None and not _MASKED.fullmatch(named[1]):
                yield named[0], named[1]


def _decoded(body: bytes, headers: tuple[tuple[str, str], ...], most: int) -> bytes:
    """Return the body of a response, decompressed if necessary.

    Bedrock never compresses a body, but a proxy may have done so. Raises _Unreadable if the body cannot be
    decompressed, or has more than `most` bytes after decompression.
    """
    coding = next((value.strip().lower() for key, value in headers if key.lower() == "content-encoding"), "")
    if not coding and body.startswith(GZIP):
        coding = "gzip"  # the header may have been masked, but JSON and frames never begin with these bytes
    # The recorder may have decompressed the body without removing the header Content-Encoding.
    if not body or coding in ("", "identity") or _frame_length(body, 0) or parsed_json(body) is not None:
        return body
    if coding not in CODINGS:
        raise _Unreadable(
            f"the body of its response is encoded as {coding[:40]}; {', '.join(CODINGS)} are read. "
            "vcrpy decodes while it records with decode_compressed_response=True."
        )
    try:
        return unpack(coding, body, most)
    except CannotUnpack as error:
        raise _Unreadable(f"the body of its response {error}.") from error


def _kept_headers(
    headers: Sequence[tuple[str, str]], status: int, body: bytes, number: int
) -> Iterator[tuple[str, str]]:
    """Yield the headers of a response, except those in _DROPPED.

    A missing Content-Type or error name is derived from the body. A missing request id is made, always the same for the
    same body and number, because clients of AWS show it.
    """
    known = {key.lower() for key, _ in headers}
    yield from ((key, value) for key, value in headers if key.lower() not in _DROPPED)
    if "content-type" not in known:
        yield "Content-Type", STREAM if status == 200 and _frame_length(body, 0) else JSON
    if "x-amzn-requestid" not in known:
        yield "x-amzn-RequestId", str(UUID(bytes=shake_256(body + b"|%d" % number).digest(16), version=4))
    if status >= 400 and "x-amzn-errortype" not in known:
        # In older AWS protocols the name of an error is in its body, not in a header.
        name = str(member_of(parsed_json(body), "__type") or "").rpartition("#")[2].partition(":")[0]
        if ERROR_NAME.fullmatch(name):
            yield "x-amzn-ErrorType", name + (GATEWAY_ERROR if name in GATEWAY_ERRORS else SERVICE_ERROR)


def pieces_of(body: bytes) -> Iterator[bytes]:
    """Cut a body after each frame, and yield the pieces. Everything from the first invalid frame on is one piece."""
    start = 0
    while length := _frame_length(body, start):
        yield body[start : start + length]
        start += length
    if start < len(body):
        yield body[start:]


def _frame_length(body: bytes, start: int) -> int:
    """Return the length of the frame that begins at `start`; 0 if no valid frame begins there."""
    length = int.from_bytes(body[start : start + 4])
    if length < PRELUDE_LENGTH or start + length > len(body):
        return 0
    try:
        decode(body[start : start + length])
    except DamagedData:
        return 0
    return length
