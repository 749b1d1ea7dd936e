"""Files are of their format: read by parsers that share nothing with what wrote them."""

import csv
import io
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness.samples.content import png
from converse_strategies.message.media import AUDIOS, DOCUMENTS, IMAGES, TEXTS, VIDEOS

sides = st.integers(1, 40)
colours = st.integers(0, 0xFFFFFF)
paragraphs = st.lists(st.text(min_size=1), min_size=1, max_size=4)


# Images


def test_a_png_is_of_the_sample_s_writer() -> None:
    assert IMAGES["png"] == png([bytes(3)])


@given(sides, sides, colours)
def test_a_png_has_sound_chunks_and_the_pixels(width: int, height: int, colour: int) -> None:
    data = png([colour.to_bytes(3) * width] * height)
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks: dict[bytes, bytes] = {}
    at = 8
    while at < len(data):
        (size,) = struct.unpack_from(">I", data, at)
        name, body, (crc,) = (
            data[at + 4 : at + 8],
            data[at + 8 : at + 8 + size],
            struct.unpack_from(">I", data, at + 8 + size),
        )
        assert crc == zlib.crc32(name + body)
        chunks[name] = body
        at += 12 + size
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    assert struct.unpack(">IIBBBBB", chunks[b"IHDR"]) == (width, height, 8, 2, 0, 0, 0)
    rows = zlib.decompress(chunks[b"IDAT"])
    assert len(rows) == height * (1 + 3 * width)
    assert {rows[at] for at in range(0, len(rows), 1 + 3 * width)} == {0}
    assert rows[1:4] == rows[-3:] == colour.to_bytes(3)


def bits_of(data: bytes) -> Iterator[int]:
    return (byte >> bit & 1 for byte in data for bit in range(8))


def little_endian(bits: Iterator[int], size: int) -> int:
    return sum(next(bits) << at for at in range(size))


def test_a_gif_decodes_to_a_black_pixel() -> None:
    data = IMAGES["gif"]
    assert data[:6] == b"GIF89a"
    assert struct.unpack_from("<HHBBB", data, 6) == (1, 1, 0x81, 0, 0)
    assert data[13:25] == bytes(12)
    assert struct.unpack_from("<cHHHHB", data, 25) == (b",", 0, 0, 1, 1, 0)
    smallest, at, packed = data[35], 36, b""
    while data[at]:
        packed += data[at + 1 : at + 1 + data[at]]
        at += 1 + data[at]
    assert data[at:] == b"\0;"
    assert lzw(packed, smallest) == bytes(1)


def lzw(packed: bytes, smallest: int) -> bytes:
    bits = bits_of(packed)
    clear = 1 << smallest
    table: dict[int, bytes] = {}
    width, last, out = smallest + 1, b"", b""
    while (code := little_endian(bits, width)) != clear + 1:
        if code == clear:
            table = {each: bytes([each]) for each in range(clear)} | {clear: b"", clear + 1: b""}
            width, last = smallest + 1, b""
            continue
        entry = table[code] if code in table else last + last[:1]
        if last:
            table[len(table)] = last + entry[:1]
            width += len(table) == 1 << width
        out += entry
        last = entry
    return out


def test_a_webp_has_its_size_and_one_symbol_for_each_code() -> None:
    data = IMAGES["webp"]
    assert data[:4] + data[8:16] == b"RIFFWEBPVP8L"
    assert struct.unpack_from("<I", data, 4) == (len(data) - 8,)
    (size,) = struct.unpack_from("<I", data, 16)
    assert len(data) == 20 + size + size % 2
    assert data[20] == 0x2F
    read = partial(little_endian, bits_of(data[21 : 20 + size]))
    assert (read(14) + 1, read(14) + 1, read(1), read(3)) == (1, 1, 0, 0)
    assert (read(1), read(1), read(1)) == (0, 0, 0), "no transform, no colour cache, one group of codes"
    symbols: list[int] = []
    for _ in range(5):
        assert (read(1), read(1), read(1)) == (1, 0, 1), "a simple code of one symbol of 8 bits"
        symbols.append(read(8))
    green, red, blue, alpha, _ = symbols
    assert (red, green, blue, alpha) == (0, 0, 0, 255)


def test_a_jpeg_decodes_to_a_black_pixel() -> None:
    data = IMAGES["jpeg"]
    segments, scan = jpeg_segments(data)
    assert segments[0xE0][0].startswith(b"JFIF\0")
    assert struct.unpack(">BHHB", segments[0xC0][0][:6]) == (8, 1, 1, 3)
    tables = {each[0]: huffman(each[1:17], each[17:]) for each in segments[0xC4]}
    quantum = segments[0xDB][0][1]
    bits = (byte >> (7 - bit) & 1 for byte in scan.replace(b"\xff\0", b"\xff") for bit in range(8))
    levels: list[float] = []
    for _ in range(3):
        size = decoded(bits, tables[0x00])
        value = sum(next(bits) << at for at in reversed(range(size)))
        level = value if not size or value >> (size - 1) else value - (1 << size) + 1
        levels.append(128 + level * quantum / 8)
        assert decoded(bits, tables[0x10]) == 0, "the end of a block"
    luma, blue, red = levels
    seen = (luma + 1.402 * (red - 128), luma - 0.344 * (blue - 128) - 0.714 * (red - 128), luma + 1.772 * (blue - 128))
    assert all(abs(each) <= 4 for each in seen)
    rest = list(bits)
    assert len(rest) < 8
    assert all(rest)


def jpeg_segments(data: bytes) -> tuple[dict[int, list[bytes]], bytes]:
    assert data[:2] == b"\xff\xd8"
    assert data[-2:] == b"\xff\xd9"
    segments: dict[int, list[bytes]] = {}
    at = 2
    while True:
        mark, marker, size = struct.unpack_from(">BBH", data, at)
        assert mark == 0xFF
        segments.setdefault(marker, []).append(data[at + 4 : at + 2 + size])
        at += 2 + size
        if marker == 0xDA:
            return segments, data[at:-2]


def huffman(counts: bytes, symbols: bytes) -> dict[tuple[int, int], int]:
    """(length, code) -> symbol."""
    assert sum(counts) == len(symbols)
    table: dict[tuple[int, int], int] = {}
    code = 0
    for length, count in enumerate(counts, 1):
        for _ in range(count):
            assert code + 1 < 1 << length, "the code of all ones is not allowed"
            table[length, code] = symbols[len(table)]
            code += 1
        code <<= 1
    return table


def decoded(bits: Iterator[int], table: dict[tuple[int, int], int]) -> int:
    code = length = 0
    while (length, code) not in table:
        code, length = code << 1 | next(bits), length + 1
    return table[length, code]


# Documents


@given(paragraphs)
def test_plain_text_holds_the_paragraphs(texts: list[str]) -> None:
    assert TEXTS["txt"](texts).decode() == "\n".join(texts)
    assert TEXTS["md"](texts).decode() == "# " + "\n\n".join(texts)


@given(st.lists(st.text(min_size=1).filter(lambda text: "\0" not in text), min_size=1, max_size=4))
def test_a_csv_reads_back(texts: list[str]) -> None:
    rows = list(csv.reader(io.StringIO(TEXTS["csv"](texts).decode(), newline="")))
    assert rows == [["number", "text"], *([str(number), text] for number, text in enumerate(texts, 1))]


@given(st.lists(st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1), min_size=1, max_size=4))
def test_an_html_page_reads_back(texts: list[str]) -> None:
    read: list[str] = []

    class Parser(HTMLParser):
        def handle_data(self, data: str) -> None:
            read.append(data)

    parser = Parser()
    parser.feed(TEXTS["html"](texts).decode())
    parser.close()
    assert "".join(read) == "".join(texts)


def test_a_pdf_has_a_sound_table_and_three_pages() -> None:
    data = DOCUMENTS["pdf"]
    assert data.startswith(b"%PDF-1.4\n")
    assert data.endswith(b"%%EOF\n")
    (start,) = re.findall(rb"startxref\n(\d+)\n", data)[-1:]
    table = re.match(
        rb"xref\n0 (\d+)\n((?:\d{10} \d{5} [fn] \n)+)trailer\n<< /Size (\d+) /Root 1 0 R >>", data[int(start) :]
    )
    assert table
    entries = table[2].split(b"\n")[:-1]
    assert len(entries) == int(table[1]) == int(table[3])
    for number, entry in enumerate(entries[1:], 1):
        assert data[int(entry[:10]) :].startswith(b"%d 0 obj\n" % number)
    streams = re.findall(rb"<< /Length (\d+) >>\nstream\n", data)
    ends = [match.end() for match in re.finditer(rb"<< /Length \d+ >>\nstream\n", data)]
    assert all(data[end + int(size) :].startswith(b"\nendstream") for end, size in zip(ends, streams, strict=True))
    assert len(re.findall(rb"/Type /Page\b", data)) == len(streams) == 3
    assert b"/Count 3" in data


@pytest.mark.parametrize(("form", "main"), [("docx", "word/document.xml"), ("xlsx", "xl/worksheets/sheet1.xml")])
def test_an_office_file_is_a_zip_of_xml_that_says_what_it_holds(form: str, main: str) -> None:
    archive = zipfile.ZipFile(io.BytesIO(DOCUMENTS[form]))
    assert archive.testzip() is None
    parts = {name: ET.fromstring(archive.read(name)) for name in archive.namelist()}
    declared = {each.attrib["PartName"] for each in parts["[Content_Types].xml"] if "PartName" in each.attrib}
    assert declared == {f"/{name}" for name in parts if name.endswith(".xml") and not name.startswith("[")}
    for name, rels in ((name, root) for name, root in parts.items() if name.endswith(".rels")):
        folder = name.split("_rels/")[0]
        assert {folder + each.attrib["Target"] for each in rels} <= set(parts)
    assert [each.text for each in parts[main].iter() if each.tag.endswith("}t")] == ["text"]


@pytest.mark.parametrize(("form", "stream"), [("doc", "WordDocument"), ("xls", "Workbook")])
def test_an_old_office_file_is_a_compound_file(form: str, stream: str) -> None:
    data = DOCUMENTS[form]
    assert len(data) == 3 * 512
    assert data[:8].hex() == "d0cf11e0a1b11ae1"
    assert struct.unpack_from("<HHHHH", data, 24) == (0x3E, 3, 0xFFFE, 9, 6)
    tables, directory, first_table = *struct.unpack_from("<II", data, 44), *struct.unpack_from("<I", data, 76)
    assert (tables, directory, first_table) == (1, 1, 0)
    assert struct.unpack_from("<III", data, 512) == (0xFFFFFFFD, 0xFFFFFFFE, 0xFFFFFFFF)
    root, entry = data[1024:1152], data[1152:1280]
    assert [each[:64].decode("utf-16-le").rstrip("\0") for each in (root, entry)] == ["Root Entry", stream]
    assert (root[66], entry[66]) == (5, 2)
    assert struct.unpack_from("<I", root, 76) == (1,)


# Videos and sounds


def iso_boxes(data: bytes) -> list[tuple[bytes, bytes]]:
    boxes: list[tuple[bytes, bytes]] = []
    while data:
        size, name = struct.unpack_from(">I4s", data)
        boxes.append((name, data[8:size]))
        data = data[size:]
    return boxes


def check_iso(brand: bytes, data: bytes) -> None:
    (kind, head), (media, body) = iso_boxes(data)
    assert (kind, head[:4], media, body) == (b"ftyp", brand, b"mdat", b"")


def ebml(data: bytes) -> Iterator[tuple[str, bytes]]:
    at = 0
    while at < len(data):
        width = 9 - data[at].bit_length()
        name = data[at : at + width].hex()
        at += width
        width = 9 - data[at].bit_length()
        size = int.from_bytes(data[at : at + width]) & ((1 << 7 * width) - 1)
        assert size != (1 << 7 * width) - 1, "a size of ones alone is unknown"
        at += width
        yield name, data[at : at + size]
        at += size


def check_matroska(kind: bytes, data: bytes) -> None:
    (head, inside), (segment, body) = ebml(data)
    assert (head, segment) == ("1a45dfa3", "18538067")
    assert dict(ebml(inside))["4282"] == kind
    assert list(ebml(body)) == [("ec", b"")]


def check_flv(data: bytes) -> None:
    assert data[:13] == b"FLV\x01\x01\0\0\0\x09\0\0\0\0"
    assert int.from_bytes(data[14:17]) == 0, "an empty tag"
    assert int.from_bytes(data[24:]) == 11


def check_mpeg_video(data: bytes) -> None:
    assert data[:4].hex() == "000001ba"
    assert data[4] >> 6 == 1, "an MPEG-2 pack"
    assert data[14:18].hex() == "000001bf"
    assert data[18:] == bytes.fromhex("0000 000001b9"), "an empty packet, and the end"


def check_wmv(data: bytes) -> None:
    assert data[:16].hex() == "3026b2758e66cf11a6d900aa0062ce6c"
    head, objects = struct.unpack_from("<QI", data, 16)
    assert (head, objects) == (30, 0)
    assert struct.unpack_from("<Q", data, head + 16) == (len(data) - head,)


def check_wav(data: bytes) -> None:
    assert struct.unpack_from("<4sI4s", data) == (b"RIFF", len(data) - 8, b"WAVE")
    assert struct.unpack_from("<4sIHHIIHH", data, 12) == (b"fmt ", 16, 1, 1, 8000, 16000, 2, 16)
    assert struct.unpack_from("<4sI", data, 36) == (b"data", len(data) - 44)
    check_pcm(data[44:])


def check_pcm(data: bytes) -> None:
    assert data
    assert len(data) % 2 == 0


def check_mp3(data: bytes) -> None:
    (head,) = struct.unpack_from(">I", data)
    assert head >> 17 == 0b111111111111101, "MPEG-1, layer III"
    bitrate, rate = (32, 48000) if (head >> 12 & 15, head >> 10 & 3) == (1, 1) else (0, 1)
    assert len(data) == 144 * bitrate * 1000 // rate


def check_aac(data: bytes) -> None:
    head = int.from_bytes(data[:7])
    assert head >> 40 == 0xFFF1
    assert head >> 13 & 0x1FFF == len(data), "the length of the frame"


def check_flac(data: bytes) -> None:
    assert data[:4] == b"fLaC"
    assert data[4:8] == bytes([0, 0, 0, 34])
    info = int.from_bytes(data[18:26])
    assert (info >> 44, info >> 41 & 7, info >> 36 & 31) == (8000, 0, 15)
    assert (data[42], int.from_bytes(data[43:46])) == (0x82, 4), "the last block, an application's"
    assert data[46:] == b"test"


def check_opus(data: bytes) -> None:
    packets: list[bytes] = []
    while data:
        magic, version, _, _, serial, number, crc, count = struct.unpack_from("<4sBBQIIIB", data)
        assert (magic, version, serial, number, count) == (b"OggS", 0, 1, len(packets), 1)
        page = data[: 28 + data[27]]
        assert crc == ogg_crc(page[:22] + bytes(4) + page[26:])
        packets.append(page[28:])
        data = data[len(page) :]
    assert packets[0][:10] == b"OpusHead\x01\x01"
    assert packets[1] == b"OpusTags" + bytes(8)


def ogg_crc(page: bytes) -> int:
    """By long division of the whole page as one number."""
    value = int.from_bytes(page) << 32
    for bit in reversed(range(32, value.bit_length())):
        value ^= 0x104C11DB7 << (bit - 32) if value >> bit & 1 else 0
    return value


ISO = {"mp4": b"isom", "mov": b"qt  ", "three_gp": b"3gp4"}
CHECKS: dict[tuple[str, str], Callable[[bytes], None]] = {
    **{("Video", form): partial(check_iso, brand) for form, brand in ISO.items()},
    ("Video", "mkv"): partial(check_matroska, b"matroska"),
    ("Video", "webm"): partial(check_matroska, b"webm"),
    ("Video", "flv"): check_flv,
    ("Video", "mpeg"): check_mpeg_video,
    ("Video", "mpg"): check_mpeg_video,
    ("Video", "wmv"): check_wmv,
    ("Audio", "wav"): check_wav,
    ("Audio", "pcm"): check_pcm,
    **{("Audio", form): check_mp3 for form in ("mp3", "mpeg", "mpga")},
    **{("Audio", form): check_aac for form in ("aac", "x-aac")},
    ("Audio", "flac"): check_flac,
    **{("Audio", form): check_opus for form in ("ogg", "opus")},
    **{("Audio", form): partial(check_iso, b"M4A ") for form in ("mp4", "m4a")},
    **{("Audio", form): partial(check_matroska, b"matroska") for form in ("mkv", "mka")},
    ("Audio", "webm"): partial(check_matroska, b"webm"),
}


FILES = {
    **{("Video", form): data for form, data in VIDEOS.items()},
    **{("Audio", form): data for form, data in AUDIOS.items()},
}


def test_every_container_is_checked() -> None:
    assert set(CHECKS) == set(FILES)


@pytest.mark.parametrize(("kind", "form"), CHECKS)
def test_every_container_is_sound(kind: str, form: str) -> None:
    CHECKS[kind, form](FILES[kind, form])
