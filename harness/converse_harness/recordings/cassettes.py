"""Cassettes of vcrpy, as its serializers and those of its users write them: YAML or JSON, plain or gzip.

Two layouts are read, `{"interactions": [{"request", "response"}, ...]}` and `{"requests": [...], "responses": [...]}`.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from converse_harness.errors import DamagedData
from converse_harness.recordings.capture import JSON, STREAM
from converse_harness.recordings.lines import compact
from converse_harness.stream.frames import PRELUDE_LENGTH, decode
from converse_harness.stream.http import ERROR_NAME, GATEWAY_ERROR, GATEWAY_ERRORS, SERVICE_ERROR

_GZIP: Final = b"\x1f\x8b"
_VERSION: Final = 1

_MEND: Final = "Mend it, or record the cassette again."
_DECODER: Final = json.JSONDecoder()


_KINDS: Final[Mapping[type, str]] = {
    list: "a list",
    str: "a text",
    bytes: "bytes",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "nothing",
}


class CannotImport(DamagedData):
    """A cassette that cannot be imported: `path`, `line` (from 1) and what is wrong with it."""

    def __init__(self, path: object, line: int, problem: str, advice: str = _MEND) -> None:
        super().__init__(f"{path}:{line}: {problem} {advice}".rstrip())
        self.path, self.line, self.problem = path, line, problem


class NoCassette(CannotImport):
    """A file of YAML or JSON that holds something else."""


@dataclass(frozen=True, slots=True)
class Interaction:
    """One request and its response as the cassette has them; `line` is where it begins."""

    line: int
    request: Mapping[str, Any]
    response: Mapping[str, Any]


def read_cassette(path: Path) -> list[Interaction]:
    """The interactions of a cassette in their order.

    Raises CannotImport, and OSError for a file that cannot be read.
    """
    text = _text_of(path)
    if text.lstrip().startswith("{"):
        try:
            document = json.loads(text, object_pairs_hook=_unique)
        except (ValueError, RecursionError) as error:
            if _is_json(path):
                line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
                reason = error.msg if isinstance(error, json.JSONDecodeError) else error
                raise CannotImport(path, line, f"this is not JSON ({reason}).") from error
        else:
            return list(_interactions(document, path, _json_lines(text)))
    document = _yaml(text, path)
    return list(_interactions(document, path, {}))


def kind_of(value: object) -> str:
    """What a value is, in words that tell nothing of what it says: that may be a secret."""
    return _KINDS.get(type(value), "a mapping" if isinstance(value, dict) else "of another kind")


def _is_json(path: Path) -> bool:
    return path.name.lower().removesuffix(".gz").endswith(".json")


def _text_of(path: Path) -> str:
    data = path.read_bytes()
    if data.startswith(_GZIP):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise CannotImport(path, 1, f"this is not gzip to its end ({error}).") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise CannotImport(path, line, f"byte {error.start} of the file is not UTF-8.") from error
    if not text.strip():
        raise CannotImport(path, 1, "the file is empty.", "Record the cassette again, or remove it.")
    return text


def _yaml(text: str, path: Path) -> Any:
    try:
        from converse_harness.recordings.cassette_yaml import BadYaml, load
    except ModuleNotFoundError as error:
        if error.name != "yaml":
            raise
        advice = "Install it: pip install 'converse-harness[import]'"
        raise CannotImport(path, 1, "this is YAML, and PyYAML, which reads it, is not installed.", advice) from error
    try:
        return load(text)
    except BadYaml as error:
        raise CannotImport(path, *error.args) from error


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in made if keys.count(key) > 1)
        raise ValueError(f"an object has the key {twice[:40]!r} twice")
    return made


def _interactions(document: Any, path: Path, lines: Mapping[str, Sequence[int]]) -> Iterator[Interaction]:
    items: Sequence[Any] = cast("Sequence[Any]", document) if isinstance(document, list) else ()
    if items and isinstance(items[0], dict) and "request" in items[0]:
        raise CannotImport(path, 1, "this is a cassette of vcrpy before 1.0.", "Record it again with a newer vcrpy.")
    if not isinstance(document, dict):
        held = kind_of(cast("object", document))
        raise NoCassette(path, 1, f"this holds {held}; a cassette is a mapping.")
    document = cast("dict[str, Any]", document)
    version = document.get("version", _VERSION)
    if "interactions" in document:
        entries = _list(document, "interactions", path)
        sides = [(_side(entry, "request"), _side(entry, "response")) for entry in entries]
        begin = lines.get("interactions", ())
    elif "requests" in document and "responses" in document:
        requests, responses = (_list(document, name, path) for name in ("requests", "responses"))
        if len(requests) != len(responses):
            raise CannotImport(path, 1, f"it has {len(requests)} requests and {len(responses)} responses.")
        sides, begin = list(zip(requests, responses, strict=True)), lines.get("requests", ())
        entries = requests
    else:
        keys = ", ".join(str(key) for key in list(document)[:5])
        raise NoCassette(path, 1, f"its keys are {keys or 'none'}; a cassette has interactions.")
    if version != _VERSION:
        raise CannotImport(path, 1, f"its version is {version!r:.20}; cassettes of version {_VERSION} are read.", "")
    for number, (request, response) in enumerate(sides):
        line = begin[number] if begin else getattr(entries[number], "line", 1)
        if not isinstance(request, dict) or not isinstance(response, dict):
            raise CannotImport(path, line, "this interaction is not a request and a response.")
        yield Interaction(line, cast("dict[str, Any]", request), cast("dict[str, Any]", response))


def _list(document: Mapping[str, Any], name: str, path: Path) -> list[Any]:
    found = document[name]
    if not isinstance(found, list):
        raise CannotImport(path, 1, f"{name} is {kind_of(found)}; it is a list.")
    return [*cast("Sequence[Any]", found)]


def _side(entry: Any, name: str) -> Any:
    return cast("dict[str, Any]", entry).get(name) if isinstance(entry, dict) else None


def _json_lines(text: str) -> dict[str, list[int]]:
    """On which lines the entries of each list of a JSON document begin, which is known to be an object."""
    lines: dict[str, list[int]] = {}
    line, counted = 1, 0
    at = _next(text, text.index("{") + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        at = _next(text, at)
        if text[at] != "[":
            _, at = _DECODER.raw_decode(text, at)
        else:
            at = _next(text, at + 1)
            while text[at] != "]":
                line, counted = line + text.count("\n", counted, at), at
                lines.setdefault(key, []).append(line)
                _, at = _DECODER.raw_decode(text, at)
                at = _next(text, at)
            at += 1
        at = _next(text, at)
    return lines


def _next(text: str, at: int) -> int:
    """Where the next value or bracket begins: past white space, a comma or a colon."""
    while text[at] in " \t\r\n,:":
        at += 1
    return at


_MASKED: Final = re.compile(
    r"[\W_]*(?:redacted|placeholder|masked|filtered|scrubbed|removed|hidden|dummy|x+)?[\W_]*", re.IGNORECASE
)
"""What stands in a header where its value was taken out before the cassette was written: it is no value."""

_DROPPED: Final = frozenset(
    {"connection", "content-encoding", "content-length", "date", "server", "set-cookie", "transfer-encoding"}
)
"""Response headers that say how the recorder's copy travelled; the usual ones take their place."""

_DECODERS: Final[Mapping[str, Callable[[bytes], bytes]]] = {
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
            raise Unreadable(f"the body of its {name} has {', '.join(sorted(map(str, unknown)))}; it has string.")
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
    except (LookupError, ValueError) as error:  # a name with a zero byte is a ValueError
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
            if value is not None and not _MASKED.fullmatch(_text(value)):
                yield _text(key), _text(value)


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def decoded(body: bytes, headers: tuple[tuple[str, str], ...]) -> bytes:
    """What the client read of a body that was compressed on its way."""
    coding = next((value.strip().lower() for key, value in headers if key.lower() == "content-encoding"), "")
    if not coding and body.startswith(_GZIP):
        coding = "gzip"  # the header was masked; neither JSON nor a frame begins so
    if not body or coding in ("", "identity") or _is_plain(body):
        return body
    if coding not in _DECODERS:
        raise Unreadable(
            f"the body of its response is encoded as {coding[:40]}; {', '.join(_DECODERS)} are read. "
            "vcrpy decodes while it records with decode_compressed_response=True."
        )
    try:
        return _DECODERS[coding](body)
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
    yield from ((key, value) for key, value in headers if key.lower() not in _DROPPED)
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
