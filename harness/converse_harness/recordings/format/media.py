"""Keep images, documents, videos and audio out of the lines of a recording: by digest, or in files beside it.

Of the files in requests, a recording usually keeps the digest alone (`FileDigest`). For example,
`{"$file": {"bytes": 12345, "sha256": "9f86..."}}` replaces the base64 string of an image. Other media, and files in
requests with `keep_files`, are in files beside the recording, each named after its hash. For example,
`{"$media": "trip.media/9f86d081884c7d65.png"}` is a reference in `trip.jsonl`: this object replaces the base64 string
of an image. If a request or answer itself contains an object with the key `$media`, the object is written as
`{"$media": {"$media": ...}}`, so that it does not look like a reference. The same applies to `$file`.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

from converse_harness import bedrock
from converse_harness.errors import DamagedData
from converse_harness.json_values import is_object, leaves, mapped, path_text
from converse_harness.recordings import digest
from converse_harness.recordings.digest import FileDigest
from converse_harness.recordings.format.lines import Line, event_of
from converse_harness.recordings.format.other_files import other_file
from converse_harness.recordings.format.readable import BYTES, is_other
from converse_harness.stream.assemble import text_delta

KEY: Final = "$media"

_MARKS: Final = (f'"{KEY}"', f'"{digest.KEY}"')

THRESHOLD: Final = 4096
"""A base64 text with more characters than this is media, if AWS's API model does not describe it."""

FOLDER_SUFFIX: Final = ".media"

_HASH_LENGTH: Final = 16
_NAME: Final = re.compile(rf"(?:[^/\\:\0]+/)*(?P<hash>[0-9a-f]{{{_HASH_LENGTH}}})\.[a-z0-9]{{1,16}}")
_FORMAT: Final = re.compile(r"(?:[a-z]+/)?(?P<format>[a-z0-9]{1,16})")
_FORMAT_MEMBERS: Final = ("format", "media_type", "mediaType")
_DATA_URL: Final = re.compile(r"(?P<before>data:[^,]{0,200};base64,)(?P<data>.*)", re.DOTALL)


class DamagedMedia(DamagedData):
    """Raised if a media file that a line refers to is missing, was changed, or has an invalid name."""


def has_marks(text: str) -> bool:
    """Whether a text may contain references to media files, or digests of files. Most recordings contain none."""
    return any(mark in text for mark in _MARKS)


def has_digests(text: str) -> bool:
    """Whether the text of a recording may contain digests of files."""
    return _MARKS[1] in text


def folder_of(recording: Path) -> str:
    """Return the name of the folder with the media files of a recording. It is in the same folder as the recording.

    >>> folder_of(Path("recordings/trip.jsonl"))
    'trip.media'
    """
    return f"{recording.stem}{FOLDER_SUFFIX}"


def set_aside(lines: Sequence[Line], recording: Path) -> tuple[list[Line], dict[str, bytes]]:
    """Return the lines with references in place of long media, and a map from the names of media files to their bytes.

    Digests of files become the objects that stand for them. The names are paths relative to the recording's folder.
    AWS's API model defines which members are media. In a body that the model does not describe, for instance that of
    InvokeModel, every base64 string is media. Nothing is moved from the line of an event that also has the exact bytes
    of its frame.
    """
    files: dict[str, bytes] = {}

    def aside(text: str, place: _MediaPlace) -> Any:
        if isinstance(text, FileDigest):
            return text.written
        if len(text) <= THRESHOLD:
            return text
        with suppress(ValueError):  # raised if the text is not base64
            data = base64.b64decode(text, validate=True)
            if base64.b64encode(data) == text.encode():
                name = f"{folder_of(recording)}/{sha256(data).hexdigest()[:_HASH_LENGTH]}.{place.format or 'bin'}"
                files[name] = data
                return {KEY: name}
        return text

    return _written(lines, aside), files


def inline(lines: Sequence[Line]) -> list[Line]:
    """Return the lines as `set_aside` does, but with all media in them."""
    return _written(lines, lambda text, _: text.written if isinstance(text, FileDigest) else text)


def _written(lines: Sequence[Line], aside: Callable[[str, _MediaPlace], Any]) -> list[Line]:
    made: list[Line] = []
    operation = ""
    for line in lines:
        if text_delta(line) is not None:  # most lines; AWS's API model has no media in these deltas
            made.append(line)
            continue
        operation = str(line.get("operation", "")) if "call" in line else operation
        shapes = {key: _shape_of(line, key, operation) for key in _keys(line)}
        made.append(
            line | {key: _changed(line[key], _MediaPlace(shape), aside, _sealed) for key, shape in shapes.items()}
        )
    return made


def by_digest(line: Line) -> Line:
    """Return the line of a call with digests in place of the bytes of files in its request; other lines as they are.

    In a request that AWS's API model describes, these are the sources of images, documents, videos and audio. In any
    other request, these are long base64 strings, also in data URLs.
    """
    if "call" not in line or "request" not in line:
        return line
    operation = str(line.get("operation", ""))
    return line | {"request": request_by_digest(line["request"], operation)}


def request_by_digest(request: Any, operation: str) -> Any:
    """Return the JSON of a request with digests in place of the bytes of its files, as `by_digest` does."""
    return _changed(request, _MediaPlace(_shape_of({}, "request", operation)), _digest, lambda made: made)


def _digest(text: str, place: _MediaPlace) -> str:
    if isinstance(text, FileDigest):
        return text
    before, data = "", text
    if not place.is_source:
        # A signature of reasoning is no file: answers and later requests have the same one.
        if place.shape is not None or len(text) <= THRESHOLD or place.name == "signature":
            return text
        if found := _DATA_URL.fullmatch(text):
            before, data = found["before"], found["data"]
    try:
        # Some clients send base64 in lines. Without a source around it, a text of words could be read so, too.
        file = base64.b64decode("".join(data.split()) if place.is_source else data, validate=True)
    except ValueError:  # not base64: a service refuses it, or a cassette contains a shortened file
        return text
    return FileDigest.of(file, before)


def put_back(line: Line, folder: Path) -> Line:
    """Return a line with base64 in place of its references to media files below `folder`, and with its digests.

    Raises DamagedMedia.
    """
    return line | {key: _with_media(line[key], lambda name: _read(name, folder)) for key in _keys(line)}


def with_digests(line: Line) -> Line:
    """Return a line with its digests of files, and with its references to media files as they are written."""
    return line | {key: _with_media(line[key], None) for key in _keys(line)}


def digests_in(request: Any) -> list[str]:
    """Return the paths of the digests of files in a request, such as "messages[0].content[1].image.source.bytes"."""
    return [path_text(path) for path, value in leaves(request) if isinstance(value, FileDigest)]


def unreferenced(folder: Path) -> list[Path]:
    """Return the media files in the folder with the media of a recording to which no line of the recording refers.

    These are all of them if there is no such recording. Raises OSError.
    """
    recording = folder.with_suffix(".jsonl")
    text = recording.read_bytes() if recording.exists() else b""
    names = ((f"{folder.name}/{each.name}", each) for each in sorted(folder.iterdir()))
    return [each for name, each in names if _NAME.fullmatch(name) and json.dumps(name).encode() not in text]


def references(line: Line) -> list[str]:
    """Return the names of the media files that a line refers to."""
    names: list[str] = []
    for key in _keys(line):
        _with_media(line[key], names.append)
    return names


def _keys(line: Line) -> tuple[str, ...]:
    """Return the keys of a line whose values may contain media; none for an event with exact bytes on the same line."""
    if "call" in line or "part" in line or "status" in line:
        return tuple(key for key in ("request", "is", "body") if key in line)
    event = event_of(line)
    return () if event is None or "payload" in line or "frame" in line else (event[0],)


def _with_media(value: Any, find: Callable[[str], object] | None) -> Any:
    """Return a copy of a value in which each reference to a media file is replaced by `find(name)`, if `find` is given.

    Digests of files are read in any case.
    """
    if is_object(value) and len(value) == 1:
        ((key, inner),) = value.items()
        if key == KEY and find is not None:
            if isinstance(inner, str):
                return find(inner)
            value = inner if is_object(inner) else value
        elif key == digest.KEY:
            found = FileDigest.read(value)
            if found is not None:
                return found
            # An older recording may contain such an object of the application's own, without another one around it.
            value = inner if is_object(inner) and not _MARKED.isdisjoint(inner) else value
    return mapped(value, lambda _, each: _with_media(each, find))


class _MediaPlace(NamedTuple):
    """The place of a value: its shape in AWS's API model, or None if the model does not describe the value.

    `format` is the media format, such as `png`, that the object around the value names. `is_source` is true for the
    bytes of an image, a document, a video or audio. `name` is the value's key.
    """

    shape: Any
    format: str = ""
    is_source: bool = False
    name: str = ""


def _changed(
    value: Any, place: _MediaPlace, change: Callable[[str, _MediaPlace], Any], seal: Callable[[Any], Any]
) -> Any:
    """Return a copy of a value with `change(text, place)` for each text that may be media.

    `seal` is called with each object in the copy.
    """
    shape, format = place.shape, place.format  # noqa: A001  (as AWS calls it)
    kind: str = getattr(shape, "type_name", "")
    if isinstance(value, str):
        return change(value, place) if kind in ("", "blob") or isinstance(value, FileDigest) else value
    other = shape if shape is _OTHER_EVENT else _TEXT if kind else None
    if is_object(value):
        format = _format(value) or format  # noqa: A001
        members: Mapping[str, Any] = shape.members if kind == "structure" else {}
        other = shape.value if kind == "map" else other
        sources = kind == "structure" and str(shape.name).endswith("Source")

        def inner(key: str, each: Any) -> Any:
            described = None if shape is _OTHER_EVENT and key == BYTES else members.get(key, other)
            its = _MediaPlace(described, format, sources and key == BYTES, key)
            return _changed(each, its, change, seal)

        return seal(mapped(value, inner))
    other = shape.member if kind == "list" else other
    return mapped(value, lambda _, each: _changed(each, _MediaPlace(other, format), change, seal))


_MARKED: Final = frozenset({KEY, digest.KEY})


def _sealed(made: dict[str, Any]) -> dict[str, Any]:
    """Return an object of the application so that it does not look like a reference or a digest."""
    key = next((key for key in (KEY, digest.KEY) if key in made), None)
    return made if key is None else {key: made}


_TEXT: Final = SimpleNamespace(type_name="document")
"""The shape that is used for values that are never media: documents, and members that are not in AWS's API model."""

_OTHER_EVENT: Final = SimpleNamespace(type_name="document")
"""The shape of an event of another operation than ConverseStream: only what its members `bytes` have may be media."""


def _shape_of(line: Line, key: str, operation: str) -> Any:
    """Return the shape of the value at `key` of a line; None if AWS's API model does not describe the value."""
    if key not in ("request", "body"):
        return _OTHER_EVENT if is_other(key) else bedrock.shape(bedrock.stream_shape(key))
    if operation not in bedrock.operations() or (key == "body" and line["status"] != 200):
        return None
    described = bedrock.operation(operation)
    shape: Any = described.input_shape if key == "request" else described.output_shape
    # If the whole body is a blob, as for InvokeModel, AWS's API model does not describe its content.
    return None if any(each.type_name == "blob" for each in shape.members.values()) else shape


def _format(value: Mapping[str, Any]) -> str:
    formats = (value[name] for name in _FORMAT_MEMBERS if isinstance(value.get(name), str))
    return next((found["format"] for found in map(_FORMAT.fullmatch, formats) if found), "")


def _read(name: str, folder: Path) -> str:
    found = _NAME.fullmatch(name)
    if found is None or ".." in name.split("/"):
        raise DamagedMedia(
            f"{name!r} is no name of a file with media: that is relative, stays in the folder of the recording and "
            f"ends in {_HASH_LENGTH} hexadecimal digits and a suffix."
        )
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise DamagedMedia(f"{name!r} leads out of the folder of the recording.")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DamagedMedia(f"its media in {name} cannot be read ({error.strerror or error}).") from error
    # git may convert the line ends of text files, such as CSV. The hash proves which conversion restores the media.
    for each in (data, data.replace(b"\r\n", b"\n"), data.replace(b"\n", b"\r\n")):
        if sha256(each).hexdigest()[:_HASH_LENGTH] == found["hash"]:
            return base64.b64encode(each).decode()
    if other := other_file(data, name):  # not earlier: real media may be of such a kind
        raise DamagedMedia(f"its media in {name} is not there: {' '.join(other)}")
    actual = sha256(data).hexdigest()[:_HASH_LENGTH]
    raise DamagedMedia(
        f"its media in {name} was changed: its SHA-256 begins with {actual}. If that is meant, give the file this "
        "name, here as well."
    )
