"""Every text that a recording holds, also what is encoded in another: JSON, percent, base64, hex, gzip, zip."""

from __future__ import annotations

import base64
import io
import re
import zipfile
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeGuard
from urllib.parse import unquote

from converse_harness.errors import DamagedData
from converse_harness.stream.frames import PRELUDE_LENGTH, Decoder

_DEPTH: Final = 6
"""How many encodings, one in the other, are undone."""

_LARGE: Final = 64 * 1024
"""Texts from this length on are searched one by one, shorter ones together."""

_MAX_DECODED: Final = 64 * 1024 * 1024
"""Bytes that are unpacked from one compressed text at most."""

Path = tuple[str | int, ...]


def is_dict(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a value that was parsed from JSON is an object."""
    return type(value) is dict


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether a value that was parsed from JSON is a list."""
    return type(value) is list


class View(NamedTuple):
    """A text, the number of the line that it is on, its place in the JSON of that line, and how it was encoded.

    `binary`: it is an image or its like, in which nothing that looks encoded is.
    """

    text: str
    line: int
    path: Path
    form: tuple[str, ...] = ()
    binary: bool = False


class Joined:
    """Views that are searched at once: one search in a text of a megabyte is faster than thousands in short ones.

    `searched` is the text without base64 that is too long to be a secret; positions in it are good for `view_at`.
    """

    BETWEEN: Final = "\n\x00\n"

    def __init__(self, views: Sequence[View]) -> None:
        self.views = views
        self.text = self.searched = self.BETWEEN.join(view.text for view in views)
        if len(views) == 1 and len(self.text) >= _LARGE and not views[0].binary:
            self.searched = _LONG_RUN.sub("", self.text)
        self._starts: list[int] = []
        at = 0
        for view in views:
            self._starts.append(at)
            at += len(view.text) + len(self.BETWEEN)

    def view_at(self, position: int) -> View:
        """The view that a position in the text belongs to."""
        return self.views[bisect_right(self._starts, position) - 1]


def levels(views: Iterable[View]) -> Iterator[Joined]:
    """These views in groups to be searched, then what is encoded in them, then what is encoded in that."""
    # What is large is searched once, wherever it stands again: an image that each request of a session repeats.
    seen: set[object] = set()
    level: list[View] = list(views)
    for _ in range(_DEPTH + 1):
        groups = list(_groups(level))
        yield from groups
        level = []
        for view in (view for group in groups for view in _decoded(group)):
            key = view.text if len(view.text) >= _LARGE else (view.text, view.line, view.path)
            if key not in seen:
                seen.add(key)
                level.append(view)
        if not level:
            return


def _groups(views: Sequence[View]) -> Iterator[Joined]:
    small = [view for view in views if len(view.text) < _LARGE]
    if small:
        yield Joined(small)
    for view in views:
        if len(view.text) >= _LARGE:
            yield Joined((view,))


def views_of(line: Any, number: int) -> Iterator[View]:
    """The texts of one line as they stand: strings, keys, and numbers of twelve digits; a value with its key."""
    stack: list[tuple[Any, Path]] = [(line, ())]
    while stack:
        value, path = stack.pop()
        if is_dict(value):
            later: list[tuple[Any, Path]] = []
            for key, item in value.items():
                if type(item) is str or (type(item) is int and item > _LARGE_NUMBER):
                    yield View(f"{key}: {item}", number, (*path, key))
                else:
                    yield View(str(key), number, (*path, key))
                    later.append((item, (*path, key)))
            stack += reversed(later)
        elif is_list(value):
            stack += reversed([(item, (*path, index)) for index, item in enumerate(value)])
        elif type(value) is str:
            yield View(value, number, path)


_LARGE_NUMBER: Final = 10**9

# What is encoded in a text

_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([nrtbf])|([\s\S]))")
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_PERCENT: Final = re.compile(r"%[0-9a-fA-F]{2}")
_WRAP: Final = re.compile(r"(?<=[A-Za-z0-9+/_-]{20})\r?\n[ \t]*(?=[A-Za-z0-9+/_-])")
_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]{20,}")
_LONG_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]{4096,}")
_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2}){16,}")
_STANDARD: Final = str.maketrans("-_", "+/")

_ALIGNED: Final = 4096
"""A longer run of base64 is taken to begin where it begins; before a shorter one there may be something else."""


def _decoded(group: Joined) -> Iterator[View]:
    for form, marks, decode in _WHOLE:
        if not any(mark in group.text for mark in marks):
            continue
        for view in group.views:
            if not view.binary and any(mark in view.text for mark in marks):
                text = decode(view.text)
                if text != view.text:
                    yield View(text, view.line, view.path, (*view.form, form) if form else view.form)
    for found in _RUN.finditer(group.text):
        view = group.view_at(found.start())
        for form, data in _bytes_of(found[0]):
            for inner, text, binary in _texts_of(data):
                yield View(text, view.line, view.path, (*view.form, form, *inner), binary)


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_unescaped, text)


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    if code:
        return chr(int(code, 16))
    return _ESCAPED[found[3]] if found[3] else found[4]


_WHOLE: Final[tuple[tuple[str, tuple[str, ...], Callable[[str], str]], ...]] = (
    ("escaped", ("\\",), _unescape),
    ("percent-encoded", ("%",), lambda text: unquote(text) if _PERCENT.search(text) else text),
    ("", ("\n",), lambda text: _WRAP.sub("", text)),
)
"""Encodings of a whole text: what it is called, what such a text has in it, and how it is undone."""


def _bytes_of(run: str) -> Iterator[tuple[str, bytes]]:
    """What a run of characters stands for, in base64 of either alphabet and in hex."""
    run = run.translate(_STANDARD) if "-" in run or "_" in run else run
    for skipped in range(4 if len(run) < _ALIGNED else 1):
        part = run[skipped:]
        yield "base64", base64.b64decode(part[: len(part) // 4 * 4] + _tail(part))
    # A search for hex in megabytes of base64 takes seconds.
    for found in _HEX.finditer(run) if len(run) < _LARGE else filter(None, [_HEX.fullmatch(run)]):
        yield "hex", bytes.fromhex(found[0])


def _tail(run: str) -> str:
    """The last characters of a run that are no four, padded; a single one stands for nothing."""
    left = len(run) % 4
    return run[-left:] + "=" * (4 - left) if left > 1 else ""


def _texts_of(data: bytes) -> Iterator[tuple[tuple[str, ...], str, bool]]:
    """Bytes as texts: each byte a character, and what they are compressed from. All that is secret is ASCII."""
    yield (), data.decode("latin-1"), _is_binary(data)
    if data.count(0) * 3 > len(data):
        yield ("UTF-16",), data.replace(b"\0", b"").decode("latin-1"), False
    for form, inner in unpacked(data):
        yield (form,), inner.decode("latin-1"), _is_binary(inner)
    for text in _in_frames(data):
        yield ("frame",), text, False


_PRINTABLE: Final = bytes([*b"\t\n\r", *range(32, 127)])


def _is_binary(data: bytes) -> bool:
    """Whether long bytes are neither UTF-8 nor mostly ASCII, as frames of JSON are."""
    if len(data) <= _ALIGNED:
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        sample = data[:_LARGE]
        return len(sample.translate(None, _PRINTABLE)) * 3 > len(sample)
    return False


def _in_frames(data: bytes) -> Iterator[str]:
    """The texts of the headers of whole frames, each for itself: before it is its length, which may be a letter."""
    if len(data) < PRELUDE_LENGTH or zlib.crc32(data[:8]) != int.from_bytes(data[8:PRELUDE_LENGTH], "big"):
        return
    try:
        frames = Decoder().feed(data)
    except DamagedData:
        return
    yield from (header.value for frame in frames for header in frame.headers if isinstance(header.value, str))


def unpacked(data: bytes) -> Iterator[tuple[str, bytes]]:
    """What gzip, zlib or zip have packed into these bytes; nothing where they are none of these, or damaged."""
    if data[:2] in (b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"):
        try:
            yield "gzip", zlib.decompressobj(wbits=47).decompress(data, _MAX_DECODED)  # 32 + 15: gzip or zlib
        except zlib.error:
            return
    elif data[:4] == b"PK\x03\x04":
        yield from _members(data)


def _members(data: bytes) -> Iterator[tuple[str, bytes]]:
    left = _MAX_DECODED
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for each in archive.infolist():
                with archive.open(each) as member:
                    inner = member.read(left)
                left -= len(inner)
                yield "zip", inner
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError):
        return  # damaged, encrypted, or compressed in a way that Python does not know
