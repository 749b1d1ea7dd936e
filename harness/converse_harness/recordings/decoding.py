"""Every text that a recording holds, also what is encoded or packed in another, or comes in pieces."""

from __future__ import annotations

import base64
import bz2
import codecs
import html
import io
import json
import lzma
import re
import zipfile
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    runs: set[object] = set()
    level: list[View] = list(views)
    for _ in range(_DEPTH + 1):
        groups = list(_groups(level))
        yield from groups
        level = []
        for view in (view for group in groups for view in _decoded(group, runs)):
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
    """The texts of one line as they stand: strings, keys, and numbers of twelve digits; a value with its name.

    The name is its key, that of the list that it is in, or what stands beside it in a pair.
    """
    stack: list[tuple[Any, Path, str]] = [(line, (), "")]
    while stack:
        value, path, name = stack.pop()
        if is_dict(value):
            later: list[tuple[Any, Path, str]] = []
            data = value.get("data")
            if value.get("type") == "Buffer" and is_list(data):
                yield from _buffer(data, number, (*path, "data"))
            names = value_names(value)
            for key, item in value.items():
                shown = names[key]
                if type(item) is str or (type(item) is int and item > _LARGE_NUMBER):
                    yield View(f"{shown}: {item}", number, (*path, key))
                else:
                    yield View(str(key), number, (*path, key))
                    later.append((item, (*path, key), str(shown)))
            stack += reversed(later)
        elif is_list(value):
            if is_pair(value):
                yield View(f"{value[0]}: {value[1]}", number, (*path, 1))
            stack += reversed([(item, (*path, index), name) for index, item in enumerate(value)])
        elif type(value) is str:
            yield View(f"{name}: {value}" if name else value, number, path)
        elif type(value) is int and value > _LARGE_NUMBER:
            yield View(f"{name}: {value}", number, path)


def value_names(value: Mapping[str, Any]) -> dict[str, str]:
    """What names each value of an object: its key, or for a `value` the `name` beside it."""
    named = next((value[key] for key in _NAMES if type(value.get(key)) is str), "")
    return {key: named if named and key in _VALUES else str(key) for key in value}


def is_pair(value: Sequence[Any]) -> bool:
    """Whether it is a list of two texts, the first of which may name the second."""
    return len(value) == _PAIR and type(value[0]) is str and type(value[1]) is str


_NAMES: Final = ("name", "Name", "key", "Key")
_VALUES: Final = ("value", "Value", "values", "Values")
_PAIR: Final = 2


def _buffer(data: list[Any], number: int, path: Path) -> Iterator[View]:
    """The bytes that JavaScript's Buffer writes as a list of numbers."""
    if all(type(each) is int and 0 <= each < 256 for each in data):
        for form, text, binary in _texts_of(bytes(data)):
            yield View(text, number, path, ("Buffer", *form), binary)


def strings(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Every string in JSON with its place."""
    if type(value) is str:
        yield path, value
    elif is_dict(value):
        for key, item in value.items():
            yield from strings(item, (*path, key))
    elif is_list(value):
        for index, item in enumerate(value):
            yield from strings(item, (*path, index))


def in_pieces(values: Iterable[Any]) -> Iterator[tuple[Path, str]]:
    """Texts that several JSON values in a row have together: what stands at one place in all of them, joined.

    What differs in a number that is called an index is not one place. A blob that is JSON counts as that JSON.
    """
    joined: dict[tuple[Path, object], list[str]] = {}
    for value in values:
        for place, text in _leaves(value, (), ()):
            joined.setdefault(place, []).append(text)
    for (path, _), texts in joined.items():
        if len(texts) > 1:
            yield path, "".join(texts)


def _leaves(value: Any, path: Path, indices: tuple[object, ...]) -> Iterator[tuple[tuple[Path, object], str]]:
    if is_dict(value):
        own = tuple(item for key, item in value.items() if type(item) is int and str(key).lower().endswith("index"))
        for key, item in value.items():
            yield from _leaves(item, (*path, key), (*indices, *own))
    elif is_list(value):
        for item in value:
            yield from _leaves(item, path, indices)
    elif type(value) is str:
        inner = _json_in_base64(value)
        if inner is None:
            yield (path, indices), value
        else:
            yield from _leaves(inner, path, indices)


def _json_in_base64(text: str) -> Any:
    if text[:1] not in ("e", "W"):  # how { and [ begin
        return None
    try:
        value = json.loads(base64.b64decode(text, validate=True))
    except (ValueError, RecursionError):
        return None
    return value if is_dict(value) or is_list(value) else None


def _in_json(text: str) -> tuple[list[Any], bool]:
    """The JSON that a text is, after a name perhaps, or that its lines are; and whether it comes in pieces."""
    start = min((at for at in (text.find("{"), text.find("[")) if at >= 0), default=-1)
    if start < 0:
        return [], False
    whole = _parsed(text[start:]) if start < _LONGEST_NAME else None
    if whole is not None:
        return [whole], is_list(whole)
    if "\n" not in text:
        return [], False
    return [value for line in LINE_OF_JSON.findall(text[start:]) if (value := _parsed(line)) is not None], True


_LONGEST_NAME: Final = 200
LINE_OF_JSON: Final = re.compile(r"^[ \t]*(?:(?:data:|[\d.]+ ms)[ \t]*)?([{\[].*)", re.MULTILINE)
"""Of server-sent events and of transcripts as well."""


def _parsed(text: str) -> Any:
    text = text.strip()
    if text[:1] + text[-1:] not in ("{}", "[]"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


_LARGE_NUMBER: Final = 10**9

# What is encoded in a text

_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([nrtbf])|([\s\S]))")
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_PERCENT: Final = re.compile(r"%[0-9a-fA-F]{2}")
_ENTITY: Final = re.compile(r"&(?:#\d+|#[xX][0-9a-fA-F]+|[a-zA-Z]{2,8}(?=;));?")
_WRAP: Final = re.compile(r"(?<=[A-Za-z0-9+/_-]{20})\r?\n([ \t]*(?:[>|#*E][ \t]+){0,4})(?=[A-Za-z0-9+/_-])")
"""Where base64 goes on in the next line, which may be quoted, or have the E of pytest before it."""
_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]{16,}")
_LONG_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]{4096,}")
_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2}){16,}")
_STANDARD: Final = str.maketrans("-_", "+/")

_ALIGNED: Final = 4096
"""A longer run of base64 is taken to begin where it begins; before a shorter one there may be something else."""


def _decoded(group: Joined, runs: set[object]) -> Iterator[View]:
    """What is encoded in these texts; `runs` are the runs of base64 and hex that were decoded before."""
    for view in group.views:
        if not view.binary:
            yield from _as_whole(view)
            yield from _structured(view)
    for found in _RUN.finditer(group.text):
        view = group.view_at(found.start())
        name = _name_before(group.text, found.start())
        if (key := (found[0], name, view.line, view.path)) in runs:
            continue
        runs.add(key)
        for form, data in _bytes_of(found[0]):
            for inner, text, binary in _texts_of(data):
                yield View(name + text if not inner else text, view.line, view.path, (*view.form, form, *inner), binary)


def _as_whole(view: View) -> Iterator[View]:
    """The text without each encoding that a whole text may have, and without all of them.

    Each of them again where it was undone before, for that order; and not in every order, which are too many.
    """
    last = view.form[-1] if view.form else ""
    made = view.text
    for form, marks, decode in _WHOLE:
        if any(mark in view.text for mark in marks) and (last == form or last not in _WHOLE_FORMS):
            text = decode(view.text)
            if text != view.text:
                yield View(text, view.line, view.path, (*view.form, form))
        made = decode(made) if any(mark in made for mark in marks) else made
    if made != view.text:
        yield View(made, view.line, view.path, (*view.form, _ALL))


def _structured(view: View) -> Iterator[View]:
    """The texts of the JSON in a text, and those that come in pieces there."""
    values, in_turn = _in_json(view.text)
    for value in values:
        for inner in views_of(value, view.line):
            yield View(inner.text, view.line, view.path, (*view.form, "JSON", *inner.form), inner.binary)
    if in_turn:
        for _, text in in_pieces(values):
            yield View(text, view.line, view.path, (*view.form, "JSON", "joined"))


_NAME_BEFORE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,60}[\"']?\s{0,3}[:=]\s{0,3}[\"']?$")


_BEFORE_VALUE: Final = frozenset(" \t\n:=\"'")


def _name_before(text: str, at: int) -> str:
    """What names a value: base64 of Kubernetes has no other word of what it is."""
    if text[at - 1 : at] not in _BEFORE_VALUE:
        return ""
    found = _NAME_BEFORE.search(text, max(at - _LONGEST_NAME, 0), at)
    return found[0] if found else ""


def _unwrap(text: str) -> str:
    made, done, line, before = list[str](), 0, -1, ""
    for found in _WRAP.finditer(text):
        if text.rfind("\n", 0, found.start()) == line and found[1] != before:
            continue  # the base64 ended with this line, as all before it had something else before them
        line, before = text.index("\n", found.start()), found[1]
        made.append(text[done : found.start()])
        done = found.end()
    return "".join([*made, text[done:]])


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
    ("HTML", ("&",), lambda text: html.unescape(text) if _ENTITY.search(text) else text),
    ("wrapped", ("\n",), _unwrap),
)
"""Encodings of a whole text: what it is called, what such a text has in it, and how it is undone."""

_ALL: Final = "encoded"
_WHOLE_FORMS: Final = frozenset([_ALL, *(form for form, _, _ in _WHOLE)])


_CODES: Final[tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]], ...]] = (
    ("\\", _ESCAPE, _unescaped),
    ("%", _PERCENT, lambda found: chr(int(found[0][1:], 16))),
    ("&", _ENTITY, lambda found: html.unescape(found[0])),
)


def undone(text: str) -> Iterator[tuple[str, list[int]]]:
    """The text without each encoding that stands for single characters, and where each of them began, and the end."""
    for mark, code, decode in _CODES:
        if mark not in text:
            continue
        made, starts, done = list[str](), list[int](), 0
        for found in code.finditer(text):
            characters = decode(found)
            made += [text[done : found.start()], characters]
            starts += [*range(done, found.start()), *[found.start()] * len(characters)]
            done = found.end()
        if done:
            yield "".join([*made, text[done:]]), [*starts, *range(done, len(text) + 1)]


def _bytes_of(run: str) -> Iterator[tuple[str, bytes]]:
    """What a run of characters stands for, in base64 of either alphabet and in hex.

    Where it begins is not known, and it may be cut: of the four characters before a byte some may be missing.
    """
    run = run.translate(_STANDARD) if "-" in run or "_" in run else run
    for missing in range(4) if len(run) < _ALIGNED else _beginnings(run):
        part = "A" * missing + run
        yield "base64", base64.b64decode(part[: len(part) // 4 * 4] + _tail(part))[missing:]
    # A search for hex in megabytes of base64 takes seconds.
    for found in _HEX.finditer(run) if len(run) < _LARGE else filter(None, [_HEX.fullmatch(run)]):
        yield "hex", bytes.fromhex(found[0])


def _beginnings(run: str) -> list[int]:
    """How many characters may be missing before a long run: none, or as many that what stands further in is a text."""
    return [
        0,
        *(4 - skipped for skipped in (1, 2, 3) if any(_reads(run, skipped, at) for at in (len(run) // 2, len(run)))),
    ]


def _reads(run: str, skipped: int, at: int) -> bool:
    end = at // 4 * 4 + skipped
    part = run[max(end - _SAMPLE, skipped) : end] if end <= len(run) else run[max(end - 4 - _SAMPLE, skipped) : end - 4]
    data = base64.b64decode(part[: len(part) // 4 * 4])
    return len(data.translate(None, _PRINTABLE)) * 3 < len(data)


_SAMPLE: Final = 1024


def _tail(run: str) -> str:
    """The last characters of a run that are no four, padded; a single one stands for nothing."""
    left = len(run) % 4
    return run[-left:] + "=" * (4 - left) if left > 1 else ""


_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def _texts_of(data: bytes) -> Iterator[tuple[tuple[str, ...], str, bool]]:
    """Bytes as texts: each byte a character, and what they are compressed from."""
    yield (), data.decode("latin-1"), _is_binary(data)
    begins = data.startswith(_MARKS)
    if begins or data.count(0) * 3 > len(data):
        # UTF-32 as well; and where the text has a zero byte or other letters of its own, UTF-16 in the order that fits
        order = "utf-16" if begins else "utf-16-be" if data[::2].count(0) > data[1::2].count(0) else "utf-16-le"
        for text in dict.fromkeys([data.replace(b"\0", b"").decode("latin-1"), data.decode(order, "replace")]):
            yield ("UTF-16",), text, False
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
    """What gzip, zlib, bz2, xz, zip or a PDF have packed into these bytes; nothing where they are none, or damaged."""
    if data[:4] == b"PK\x03\x04":
        yield from _members(data)
    elif b"%PDF-" in data[:_PDF_BEGINS]:
        for found in _PDF_STREAM.finditer(data):
            end = data.find(b"endstream", found.end())
            if end > 0:
                yield from (("PDF", inner) for _, inner in unpacked(data[found.end() : end]))
    else:
        for form, begins, make in _PACKERS:
            if data.startswith(begins):
                inner = _unpack(data, make)
                if inner:
                    yield form, inner


_PDF_BEGINS: Final = 1024
_PDF_STREAM: Final = re.compile(rb"stream\r?\n")
"""How long a stream is stands in a dictionary that may be packed itself; `endstream` comes after it."""

_PACKERS: Final[tuple[tuple[str, tuple[bytes, ...], Callable[[], Any]], ...]] = (
    ("gzip", (b"\x1f\x8b",), lambda: zlib.decompressobj(wbits=31)),
    ("zlib", (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"), zlib.decompressobj),
    ("bz2", (b"BZh",), bz2.BZ2Decompressor),
    ("xz", (b"\xfd7zXZ\0",), lzma.LZMADecompressor),
)


def _unpack(data: bytes, make: Callable[[], Any]) -> bytes:
    """All that is packed one after the other, as far as it is whole and not more than is read of one text."""
    made = b""
    while data and len(made) < _MAX_DECODED:
        packed = make()
        try:
            made += packed.decompress(data, _MAX_DECODED - len(made))
        except (zlib.error, OSError, EOFError, lzma.LZMAError, ValueError):
            return made
        data = packed.unused_data if packed.eof else b""
    return made


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
