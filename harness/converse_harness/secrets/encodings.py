"""Decode encoded or compressed parts of texts and bytes.

The size of the result is limited, because a megabyte can expand to gigabytes.
"""

from __future__ import annotations

import base64
import bz2
import codecs
import gzip
import html
import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Final
from urllib.parse import unquote

from converse_harness.errors import DamagedData
from converse_harness.secrets.readable import shown
from converse_harness.stream.frames import PRELUDE_LENGTH, Decoder

LARGE: Final = 64 * 1024
"""Texts with at least this number of characters are searched one by one. Shorter texts are joined and searched
together.
"""

GZIP: Final = b"\x1f\x8b"
"""The first two bytes of gzip data."""

MAX_BODY: Final = 64 * 1024 * 1024
MAX_FILE: Final = 512 * 1024 * 1024
"""The maximum number of bytes after decompression: MAX_BODY for one body, MAX_FILE for a whole file."""

_CODE: Final = (
    r"u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|U(00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4})|[ux]\{(0?[0-9a-fA-F]{1,5})\}"
    r"|([0-3][0-7]{2})"
)
_ESCAPE: Final = re.compile(rf"\\(?:{_CODE}|([nrtbf])|([\s\S]))")
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_PERCENT: Final = re.compile(r"%[0-9a-fA-F]{2}")
_ENTITY: Final = re.compile(r"&(?:#\d+|#[xX][0-9a-fA-F]+|[a-zA-Z]{2,8}(?=;));?")
_WRAP: Final = re.compile(
    r"""(?<=[A-Za-z0-9+/_-]{20})(?:(?:\\n)?['"])?\r?\n([ \t]*(?:[>|#*E+-][ \t]+){0,4}['"]?)(?=[A-Za-z0-9+/_-])"""
)
"""Matches a line break within base64. Quotes may stand around it. The next line may begin with a sign, such as `+` in a
diff that pytest prints.
"""
RUN: Final = re.compile(r"[A-Za-z0-9+/_-]{16,}")
LONG_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]{4096,}")
_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2}){16,}")
STANDARD: Final = str.maketrans("-_", "+/")
"""A table for `str.translate`, from the URL-safe alphabet of base64 to the standard alphabet."""

_ALIGNED: Final = 4096
"""Runs with fewer base64 characters than this are decoded at all four alignments of the groups of four, longer runs
only at those that `_beginnings` returns.
"""


def _unwrap(text: str) -> str:
    made, done, line, before = list[str](), 0, -1, ""
    for found in _WRAP.finditer(text):
        if text.rfind("\n", 0, found.start()) == line and found[1] != before:
            continue  # this line does not continue the base64: its prefix differs from that of the lines before
        line, before = text.index("\n", found.start()), found[1]
        made.append(text[done : found.start()])
        done = found.end()
    return "".join([*made, text[done:]])


_PRINTABLE_QUOTED: Final = re.compile(r"=(?:([0-9A-F]{2})|\r?\n)")


def _unquoted(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else ""


_DUMPED: Final = re.compile(r"(?<![0-9A-Za-z])[0-9a-fA-F]{6,8}:? {1,2}((?:[0-9a-fA-F]{2,4} {1,2}){2,16})")
"""Matches a line of a hex dump, as xxd and hexdump -C print it."""


def _undumped(text: str) -> str:
    lines = [
        bytes.fromhex(found[1]).decode("latin-1")
        for found in _DUMPED.finditer(text)
        if len(found[1].replace(" ", "")) % 2 == 0
    ]
    return "".join(lines) or text


def _unescaped(found: re.Match[str]) -> str:
    if found[5]:
        return chr(int(found[5], 8))
    code = found[1] or found[2] or found[3] or found[4]
    return chr(int(code, 16)) if code else _ESCAPED.get(found[6], found[7])


_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def _unescape(text: str) -> str:
    made = _ESCAPE.sub(_unescaped, text)
    # JSON escapes a character beyond U+FFFF as two halves. Some of these characters are not seen.
    return _PAIR.sub(lambda found: found[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le"), made)


WHOLE: Final[tuple[tuple[str, str, Callable[[str], str]], ...]] = (
    ("escaped", "\\", _unescape),
    ("percent-encoded", "%", lambda text: unquote(text) if _PERCENT.search(text) else text),
    ("HTML", "&", lambda text: html.unescape(text) if _ENTITY.search(text) else text),
    ("quoted-printable", "=3D", lambda text: _PRINTABLE_QUOTED.sub(_unquoted, text)),
    ("coloured", "", shown),
    ("wrapped", "\n", _unwrap),
    ("hex dump", "0  ", _undumped),
    ("hex dump", "0: ", _undumped),
)
"""The encodings that are decoded in a text as a whole. Each has a name, a character (or "") that every encoded text
contains, and a decoder.
"""

ALL: Final = "encoded"
WHOLE_FORMS: Final = frozenset([ALL, *(form for form, _, _ in WHOLE)])


_CODES: Final[tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]], ...]] = (
    ("\\", _ESCAPE, _unescaped),
    ("%", _PERCENT, lambda found: chr(int(found[0][1:], 16))),
    ("&", _ENTITY, lambda found: html.unescape(found[0])),
    ("=3D", _PRINTABLE_QUOTED, _unquoted),
)


def undone(text: str) -> Iterator[tuple[str, list[int]]]:
    """Decode a text with each encoding of single characters: backslash escapes, percent-encoding, HTML entities.

    Yield each decoded text that differs, and a list: for each of its characters, and for its end, the position in the
    original text.
    """
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


def bytes_of(run: str) -> Iterator[tuple[str, bytes]]:
    """Decode a run of characters as base64 and as hex; yield the name of the encoding and the bytes of each result.

    The run may begin within the base64: up to three characters of the first group of four may be missing.
    """
    run = run.translate(STANDARD) if "-" in run or "_" in run else run
    for missing in range(4) if len(run) < _ALIGNED else _beginnings(run):
        part = "A" * missing + run
        # In base64, a last group of only one character encodes no byte.
        part = part[:-1] if len(part) % 4 == 1 else part
        yield "base64", base64.b64decode(part + "=" * (-len(part) % 4))[missing:]
    # The search for hex within a large run is slow, so a large run is decoded as hex only if all of it is hex.
    for found in _HEX.finditer(run) if len(run) < LARGE else filter(None, [_HEX.fullmatch(run)]):
        yield "hex", bytes.fromhex(found[0])


def _beginnings(run: str) -> list[int]:
    """Return how many base64 characters a long run may lack at its start: 0, and each number for which it is text."""
    samples = (len(run) // 2, len(run))
    return [0, *(4 - skipped for skipped in (1, 2, 3) if any(_is_text(run, skipped, end) for end in samples))]


def _is_text(run: str, skipped: int, end: int) -> bool:
    """Whether the end of `run[skipped:end]`, decoded as base64, is mostly printable ASCII."""
    end = (end - skipped) // 4 * 4 + skipped
    data = base64.b64decode(run[max(end - _SAMPLE, skipped) : end])
    return len(data.translate(None, _PRINTABLE)) * 3 < len(data)


_SAMPLE: Final = 1024


_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def texts_of(data: bytes) -> Iterator[tuple[tuple[str, ...], str, bool]]:
    """Yield the texts in bytes: decoded as Latin-1 or as UTF-16, decompressed, or from the headers of frames.

    Before each text stand the names of its encodings. After it stands true if the text is binary data.
    """
    yield (), data.decode("latin-1"), _is_binary(data)
    begins = data.startswith(_MARKS)
    if begins or data.count(0) * 3 > len(data):
        # Without its zero bytes, UTF-16 or UTF-32 shows its ASCII characters. For other characters, the likelier byte
        # order is used.
        order = "utf-16" if begins else "utf-16-be" if data[::2].count(0) > data[1::2].count(0) else "utf-16-le"
        for text in dict.fromkeys([data.replace(b"\0", b"").decode("latin-1"), data.decode(order, "replace")]):
            yield ("UTF-16",), text, False
    for form, inner in unpacked(data):
        yield (form,), inner.decode("latin-1"), _is_binary(inner)
    for text in _in_frames(data):
        yield ("frame",), text, False


_PRINTABLE: Final = bytes([*b"\t\n\r", *range(32, 127)])


def _is_binary(data: bytes) -> bool:
    """Whether data is binary: it is long, is not UTF-8, and is not mostly ASCII. Frames with JSON are mostly ASCII."""
    if len(data) <= _ALIGNED:
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        sample = data[:LARGE]
        return len(sample.translate(None, _PRINTABLE)) * 3 > len(sample)
    return False


def _in_frames(data: bytes) -> Iterator[str]:
    """Yield the texts in the headers of complete frames.

    A search of the raw bytes could miss a text's beginning, because the length byte before the text can look like a
    letter.
    """
    if len(data) < PRELUDE_LENGTH or zlib.crc32(data[:8]) != int.from_bytes(data[8:PRELUDE_LENGTH], "big"):
        return
    try:
        frames = Decoder().feed(data)
    except DamagedData:
        return
    yield from (header.value for frame in frames for header in frame.headers if isinstance(header.value, str))


def unpacked(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the decompressed contents of gzip, zlib, bz2, xz, zip or PDF data, each after the name of its format."""
    if data[:4] == b"PK\x03\x04":
        yield from _members(data)
    elif b"%PDF-" in data[:_PDF_BEGINS]:
        for found in _PDF_STREAM.finditer(data):
            end = data.find(b"endstream", found.end())
            if end > 0:
                yield from (("PDF", inner) for _, inner in unpacked(data[found.end() : end]))
    else:
        for form, begins, make in _PACKERS:
            if data.startswith(begins) and (inner := _unpack(data, make)):
                yield form, inner


_PDF_BEGINS: Final = 1024
_PDF_STREAM: Final = re.compile(rb"stream\r?\n")
"""Matches the beginning of a stream in a PDF. Its end is found by `endstream`, because the stream's length may be in a
compressed part.
"""

_PACKERS: Final[tuple[tuple[str, tuple[bytes, ...], Callable[[], Any]], ...]] = (
    ("gzip", (GZIP,), lambda: zlib.decompressobj(wbits=31)),
    ("zlib", (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"), zlib.decompressobj),
    ("bz2", (b"BZh",), bz2.BZ2Decompressor),
    ("xz", (b"\xfd7zXZ\0",), lzma.LZMADecompressor),
)


def _unpack(data: bytes, make: Callable[[], Any]) -> bytes:
    """Decompress the compressed streams in `data`, one after the other, with decompressors from `make`.

    Stop at a damaged stream or after MAX_BODY bytes.
    """
    made = b""
    while data and len(made) < MAX_BODY:
        packed = make()
        try:
            made += packed.decompress(data, MAX_BODY - len(made))
        except (zlib.error, OSError, EOFError, lzma.LZMAError, ValueError):
            return made
        data = packed.unused_data if packed.eof else b""
    return made


def _members(data: bytes) -> Iterator[tuple[str, bytes]]:
    left = MAX_BODY
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for each in archive.infolist():
                with archive.open(each) as member:
                    inner = member.read(left)
                left -= len(inner)
                yield "zip", inner
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError):
        return  # the archive is damaged or encrypted, or Python does not support its compression


# The code below decompresses bodies and files that must be complete. Damaged data raises an error.


class CannotUnpack(ValueError):
    """Raised if compressed data is damaged or too long, or if the package for its format is not installed."""


def unpack(coding: str, data: bytes, most: int = MAX_BODY) -> bytes:
    """Decompress `data` from the HTTP content coding `coding`. Raises CannotUnpack, also for more than `most` bytes."""
    try:
        made = CODINGS[coding](data, most)
    except ModuleNotFoundError as error:
        raise CannotUnpack(
            f"is encoded as {coding}, and the package {error.name}, which reads it, is not installed. Install it: pip "
            "install 'converse-harness[import]'"
        ) from None
    except EOFError as error:
        raise CannotUnpack(f"is no {coding} (it stops in the middle)") from error
    except (zlib.error, OSError, ValueError, RuntimeError) as error:
        raise CannotUnpack(f"is no {coding} ({error})") from error
    if len(made) > most:
        raise CannotUnpack(f"is longer than {most // (1024 * 1024)} MB once it is unpacked, and no more is")
    return made


def _gzip(data: bytes, most: int) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        return file.read(most + 1)


def _deflate(data: bytes, most: int) -> bytes:
    stream = zlib.decompressobj()
    try:
        made = stream.decompress(data, most + 1)
    except zlib.error:
        stream = zlib.decompressobj(-zlib.MAX_WBITS)  # some servers send deflate without a zlib header
        made = stream.decompress(data, most + 1)
    if len(made) <= most and not stream.eof:
        raise EOFError
    return made


def _brotli(data: bytes, most: int) -> bytes:
    package: Any = import_module("brotli")
    decoder = package.Decompressor()
    try:
        made: bytes = decoder.process(data, output_buffer_limit=most + 1)
    except package.error as error:
        raise ValueError(str(error)) from error
    if len(made) <= most and not decoder.is_finished():
        raise EOFError
    return made


def _zstd(data: bytes, most: int) -> bytes:
    package: Any = import_module("zstandard")
    try:
        with package.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True) as reader:
            made: bytes = reader.read(most + 1)
    except package.ZstdError as error:
        raise ValueError(str(error)) from error
    return made


CODINGS: Final[Mapping[str, Callable[[bytes, int], bytes]]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
"""Maps each HTTP content coding to its decoder. A decoder has the data and the maximum number of result bytes as
parameters.
"""
