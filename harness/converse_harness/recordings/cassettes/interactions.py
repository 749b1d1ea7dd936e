"""What one interaction of a cassette says: its bodies, headers and status, in the forms that recorders give them."""

from __future__ import annotations

import base64
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from converse_harness.errors import DamagedData
from converse_harness.recordings.capture import JSON, STREAM
from converse_harness.recordings.cassettes.files import GZIP, kind_of
from converse_harness.recordings.lines import compact
from converse_harness.stream.frames import PRELUDE_LENGTH, decode
from converse_harness.stream.http import ERROR_NAME, GATEWAY_ERROR, GATEWAY_ERRORS, SERVICE_ERROR

MASKED: Final = re.compile(
    r"[\W_]*(?:redacted|placeholder|masked|filtered|scrubbed|removed|hidden|dummy|x+)?[\W_]*", re.IGNORECASE
)
"""What stands in a header where its value was taken out before the cassette was written: it is no value."""

DROPPED: Final = frozenset(
    {"connection", "content-encoding", "content-length", "date", "server", "set-cookie", "transfer-encoding"}
)
"""Response headers that say how the recorder's copy travelled; the usual ones take their place."""

DECODERS: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "gzip": gzip.decompress,
    "x-gzip": gzip.decompress,
    "deflate": zlib.decompress,
}
"""How bodies are decoded: a recording has what the client read. Bedrock itself encodes none, proxies do."""


class Unreadable(ValueError):
    """What is wrong with an interaction."""


def status_of(response: Mapping[str, Any]) -> int:
    """The status code of a response. Raises Unreadable."""
    # httpx's answers had a form of their own before vcrpy 6.
    status: Any = response.get("status", {"code": response.get("status_code")})
    code = cast("dict[str, Any]", status).get("code") if isinstance(status, dict) else None
    if type(code) is not int or not 100 <= code <= 599:
        raise Unreadable(f"the status of its response has the code {code!r:.20}; it is a number from 100 to 599.")
    return code


def body_of(side: Mapping[str, Any], name: str) -> tuple[bytes, bool]:
    """The bytes of a body, and whether they are made anew because the recorder kept the parsed JSON instead.

    Raises Unreadable.
    """
    parsed = side.get("parsed_body")
    if parsed is not None:
        try:
            return compact(parsed), True
        except (TypeError, ValueError, RecursionError) as error:
            raise Unreadable(f"the parsed_body of its {name} is no JSON ({error}).") from error
    body = side["content"] if "status_code" in side and "body" not in side else side.get("body")
    if isinstance(body, dict):
        held = cast("dict[str, Any]", body)
        if "base64_string" in held:
            return _from_base64(held["base64_string"], name), False
        unknown = held.keys() - {"string", "encoding"}
        if unknown:
            raise Unreadable(f"the body of its {name} has {', '.join(sorted(unknown))}; it has string.")
        return _bytes(held.get("string"), name, str(held.get("encoding") or "utf-8")), False
    return _bytes(body, name), False


def _bytes(value: Any, name: str, encoding: str = "utf-8") -> bytes:
    if value is None:
        return b""
    if isinstance(value, bytes):
        return value
    if isinstance(value, list):
        return b"".join(_bytes(part, name) for part in cast("Sequence[Any]", value))
    if not isinstance(value, str):
        raise Unreadable(f"the body of its {name} is {kind_of(value)}; it is a text or bytes.")
    try:
        return value.encode(encoding)
    except (LookupError, UnicodeError) as error:
        raise Unreadable(f"the body of its {name} cannot be written as {encoding[:40]} ({error}).") from error


def _from_base64(value: Any, name: str) -> bytes:
    try:
        return base64.b64decode("".join(_bytes(value, name).decode().split()), validate=True)
    except ValueError as error:
        raise Unreadable(f"the base64_string of its {name} is no base64 ({error}).") from error


def headers_of(side: Mapping[str, Any], name: str) -> Iterator[tuple[str, str]]:
    """Each header that has a value; a recorder may have put a text or bytes in place of a list of values."""
    headers: Any = side.get("headers") or {}
    if not isinstance(headers, dict):
        raise Unreadable(f"the headers of its {name} are {kind_of(headers)}; they are a mapping.")
    for key, values in cast("Mapping[Any, Any]", headers).items():
        for value in cast("Sequence[Any]", values) if isinstance(values, list) else [values]:
            if value is not None and not MASKED.fullmatch(_text(value)):
                yield _text(key), _text(value)


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def decoded(body: bytes, headers: tuple[tuple[str, str], ...]) -> bytes:
    """What the client read of a body that was compressed on its way."""
    coding = next((value.strip().lower() for key, value in headers if key.lower() == "content-encoding"), "")
    if not coding and body.startswith(GZIP):
        coding = "gzip"  # the header was masked; neither JSON nor a frame begins so
    if not body or coding in ("", "identity") or _is_plain(body):
        return body
    if coding not in DECODERS:
        raise Unreadable(
            f"the body of its response is encoded as {coding[:40]}; {', '.join(DECODERS)} are read. "
            "vcrpy decodes while it records with decode_compressed_response=True."
        )
    try:
        return DECODERS[coding](body)
    except (OSError, EOFError, zlib.error) as error:
        raise Unreadable(f"the body of its response is no {coding} ({error}).") from error


def _is_plain(body: bytes) -> bool:
    """Whether a body was decoded already, and only the header still says otherwise."""
    if _frame_length(body, 0):
        return True
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def kept_headers(
    headers: tuple[tuple[str, str], ...], status: int, pieces: list[tuple[bytes, float]], body: bytes
) -> Iterator[tuple[str, str]]:
    """The headers that the answer had; in the place of those that say what it is, if the recorder dropped them."""
    known = {key.lower() for key, _ in headers}
    yield from ((key, value) for key, value in headers if key.lower() not in DROPPED)
    if "content-type" not in known:
        yield "Content-Type", STREAM if status == 200 and _frame_length(pieces[0][0] if pieces else b"", 0) else JSON
    if status >= 400 and "x-amzn-errortype" not in known:
        name = _error_name(body)
        if name:
            yield "x-amzn-ErrorType", name + (GATEWAY_ERROR if name in GATEWAY_ERRORS else SERVICE_ERROR)


def _error_name(body: bytes) -> str:
    """The name of an error that its body tells, as older protocols of AWS's do."""
    try:
        members: Any = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    said = cast("dict[str, Any]", members).get("__type") if isinstance(members, dict) else None
    name = str(said or "").rpartition("#")[2].partition(":")[0]
    return name if ERROR_NAME.fullmatch(name) else ""


def pieces_of(body: bytes) -> Iterator[bytes]:
    """A body cut after each frame; what is no frame, and what comes after it, in one piece."""
    start = 0
    while length := _frame_length(body, start):
        yield body[start : start + length]
        start += length
    if start < len(body):
        yield body[start:]


def _frame_length(body: bytes, start: int) -> int:
    """The length of the frame that begins here, 0 if there is none."""
    length = int.from_bytes(body[start : start + 4])
    if length < PRELUDE_LENGTH or start + length > len(body):
        return 0
    try:
        decode(body[start : start + length])
    except DamagedData:
        return 0
    return length
