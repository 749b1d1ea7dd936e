"""Keep images, documents, videos and audio in separate files beside a recording. Each file is named after its hash.

For example, `{"$media": "trip.media/9f86d081884c7d65.png"}` is a reference in `trip.jsonl`: this object replaces the
base64 string of an image. If a request or answer itself contains an object with the key `$media`, the object is written
as `{"$media": {"$media": ...}}`, so that it does not look like a reference.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from converse_harness import bedrock
from converse_harness.errors import DamagedData
from converse_harness.json_values import is_object, mapped
from converse_harness.recordings.format.lines import Line, event_of
from converse_harness.stream.assemble import text_delta

KEY: Final = "$media"

MARK: Final = f'"{KEY}"'
"""A text that every recording with media files contains."""

THRESHOLD: Final = 4096
"""A base64 text with more characters than this is moved from its line to a media file."""

FOLDER_SUFFIX: Final = ".media"

_HASH_LENGTH: Final = 16
_NAME: Final = re.compile(rf"(?:[^/\\:\0]+/)*(?P<hash>[0-9a-f]{{{_HASH_LENGTH}}})\.[a-z0-9]{{1,16}}")
_FORMAT: Final = re.compile(r"(?:[a-z]+/)?(?P<format>[a-z0-9]{1,16})")
_FORMAT_MEMBERS: Final = ("format", "media_type", "mediaType")


class DamagedMedia(DamagedData):
    """Raised if a media file that a line refers to is missing, was changed, or has an invalid name."""


def folder_of(recording: Path) -> str:
    """Return the name of the folder with the media files of a recording. It is in the same folder as the recording.

    >>> folder_of(Path("recordings/trip.jsonl"))
    'trip.media'
    """
    return f"{recording.stem}{FOLDER_SUFFIX}"


def set_aside(lines: Sequence[Line], recording: Path) -> tuple[list[Line], dict[str, bytes]]:
    """Return the lines with references in place of long media, and a map from the names of media files to their bytes.

    The names are paths relative to the recording's folder. AWS's API model defines which members are media. In a body
    that the model does not describe, for instance that of InvokeModel, every base64 string is media. Nothing is moved
    from the line of an event that also has the exact bytes of its frame.
    """
    files: dict[str, bytes] = {}

    def aside(text: str, format: str) -> Any:
        with suppress(ValueError):  # raised if the text is not base64
            data = base64.b64decode(text, validate=True)
            if base64.b64encode(data) == text.encode():
                name = f"{folder_of(recording)}/{sha256(data).hexdigest()[:_HASH_LENGTH]}.{format or 'bin'}"
                files[name] = data
                return {KEY: name}
        return text

    made: list[Line] = []
    operation = ""
    for line in lines:
        if text_delta(line) is not None:  # most lines; AWS's API model has no media in these deltas
            made.append(line)
            continue
        operation = str(line.get("operation", "")) if "call" in line else operation
        shapes = {key: _shape_of(line, key, operation) for key in _keys(line)}
        made.append(line | {key: _without_media(line[key], shape, "", aside) for key, shape in shapes.items()})
    return made, files


def put_back(line: Line, folder: Path) -> Line:
    """Return a line with base64 in place of its references to media files below `folder`. Raises DamagedMedia."""
    return line | {key: _with_media(line[key], lambda name: _read(name, folder)) for key in _keys(line)}


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


def _with_media(value: Any, find: Callable[[str], object]) -> Any:
    """Return a copy of a value in which each reference to a media file is replaced by `find(name)`."""
    if is_object(value) and value.keys() == {KEY}:
        inner = value[KEY]
        if isinstance(inner, str):
            return find(inner)
        value = inner if is_object(inner) else value
    return mapped(value, lambda _, each: _with_media(each, find))


def _without_media(value: Any, shape: Any, format: str, aside: Callable[[str, str], Any]) -> Any:
    """Return a copy of a value in which each long base64 text is replaced by `aside(text, format)`.

    `shape` is the shape of the value in AWS's API model, or None if the model does not describe the value. `format` is
    the media format, such as `png`, that the object around the value names.
    """
    if isinstance(value, str):
        is_media = len(value) > THRESHOLD and (shape is None or shape.type_name == "blob")
        return aside(value, format) if is_media else value
    kind: str = getattr(shape, "type_name", "")
    other = _TEXT if kind else None
    if is_object(value):
        format = _format(value) or format  # noqa: A001  (as AWS calls it)
        members: Mapping[str, Any] = shape.members if kind == "structure" else {}
        other = shape.value if kind == "map" else other
        made = mapped(value, lambda key, each: _without_media(each, members.get(key, other), format, aside))
        return {KEY: made} if KEY in made else made
    other = shape.member if kind == "list" else other
    return mapped(value, lambda _, each: _without_media(each, other, format, aside))


_TEXT: Final = SimpleNamespace(type_name="document")
"""The shape that is used for values that are never media: documents, and members that are not in AWS's API model."""


def _shape_of(line: Line, key: str, operation: str) -> Any:
    """Return the shape of the value at `key` of a line; None if AWS's API model does not describe the value."""
    if key not in ("request", "body"):
        known = key in bedrock.stream_events() or key in bedrock.stream_exceptions()
        return bedrock.shape(bedrock.stream_shape(key)) if known else _TEXT
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
    actual = sha256(data).hexdigest()[:_HASH_LENGTH]
    raise DamagedMedia(
        f"its media in {name} was changed: its SHA-256 begins with {actual}. If that is meant, give the file this "
        "name, here as well."
    )
