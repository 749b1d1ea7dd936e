"""Documents of a few paragraphs: plain text, markup, PDF, and the files of offices."""

from __future__ import annotations

import csv as _csv
import html as _html
import io
import re
import struct
import zipfile
from collections.abc import Callable, Mapping, Sequence
from typing import Final

Document = Callable[[Sequence[str]], bytes]
"""(paragraphs) -> a file that holds them: as lines, paragraphs, rows or, in a PDF, pages."""

_NOT_IN_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NO_TIME: Final = (1980, 1, 1, 0, 0, 0)
_XML: Final = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
_PACKAGE: Final = "http://schemas.openxmlformats.org/package/2006"
_OFFICE: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_WORD: Final = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SHEET: Final = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_TYPE: Final = "application/vnd.openxmlformats-officedocument"


def txt(paragraphs: Sequence[str]) -> bytes:
    r"""The paragraphs, a line each, in UTF-8.

    >>> txt(["one", "two"])
    b'one\ntwo'
    """
    return "\n".join(paragraphs).encode()


def md(paragraphs: Sequence[str]) -> bytes:
    r"""Markdown: the first paragraph is the heading.

    >>> md(["one", "two"])
    b'# one\n\ntwo'
    """
    return "\n\n".join((f"# {paragraphs[0]}", *paragraphs[1:])).encode()


def html(paragraphs: Sequence[str]) -> bytes:
    """HTML: the first paragraph is the title.

    >>> html(["a < b"])
    b'<!DOCTYPE html><html><head><meta charset="utf-8"><title>a &lt; b</title></head><body></body></html>'
    """
    title, *rest = map(_html.escape, paragraphs)
    body = "".join(f"<p>{each}</p>" for each in rest)
    head = f'<meta charset="utf-8"><title>{title}</title>'
    return f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>".encode()


def csv(paragraphs: Sequence[str]) -> bytes:
    r"""CSV as in RFC 4180: a header, and for each paragraph a row of its number and itself.

    >>> csv(["one, two"])
    b'number,text\r\n1,"one, two"\r\n'
    """
    file = io.StringIO(newline="")
    rows = _csv.writer(file, quoting=_csv.QUOTE_MINIMAL)
    rows.writerows([("number", "text"), *enumerate(paragraphs, 1)])
    return file.getvalue().encode()


def pdf(paragraphs: Sequence[str]) -> bytes:
    """A PDF with a page for each paragraph, in Helvetica; what Latin-1 lacks is a question mark.

    >>> pdf(["one"])[:8]
    b'%PDF-1.4'
    """
    pages = [4 + 2 * number for number in range(len(paragraphs))]
    kids = " ".join(f"{page} 0 R" for page in pages)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for page, text in zip(pages, paragraphs, strict=True):
        fonts = "/Resources << /Font << /F1 3 0 R >> >>"
        box = "/MediaBox [0 0 595 842]"
        objects.append(f"<< /Type /Page /Parent 2 0 R {box} {fonts} /Contents {page + 1} 0 R >>".encode())
        shown = b"BT /F1 12 Tf 72 770 Td (" + _pdf_string(text) + b") Tj ET"
        objects.append(b"<< /Length %d >>\nstream\n%b\nendstream" % (len(shown), shown))
    file = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    table = b"0000000000 65535 f \n"
    for number, each in enumerate(objects, 1):
        table += b"%010d 00000 n \n" % len(file)
        file += b"%d 0 obj\n%b\nendobj\n" % (number, each)
    size = len(objects) + 1
    tail = b"xref\n0 %d\n%btrailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    return bytes(file) + tail % (size, table, size, len(file))


def _pdf_string(text: str) -> bytes:
    printable = "".join(each if each.isprintable() else " " for each in text).encode("latin-1", "replace")
    return re.sub(rb"([\\()])", rb"\\\1", printable)


def docx(paragraphs: Sequence[str]) -> bytes:
    """A Word document.

    >>> docx(["one"])[:2]
    b'PK'
    """
    body = "".join(f'<w:p><w:r><w:t xml:space="preserve">{_xml(each)}</w:t></w:r></w:p>' for each in paragraphs)
    document = f'<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>'
    return _package("word/document.xml", "wordprocessingml.document.main", {"word/document.xml": document})


def xlsx(paragraphs: Sequence[str]) -> bytes:
    """An Excel workbook: in each row a number and a paragraph.

    >>> xlsx(["one"])[:2]
    b'PK'
    """
    rows = "".join(
        f'<row r="{number}"><c r="A{number}"><v>{number}</v></c>'
        f'<c r="B{number}" t="inlineStr"><is><t xml:space="preserve">{_xml(each)}</t></is></c></row>'
        for number, each in enumerate(paragraphs, 1)
    )
    parts = {
        "xl/workbook.xml": f'<workbook xmlns="{_SHEET}" xmlns:r="{_OFFICE}"><sheets>'
        '<sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": _relationships("worksheet", "worksheets/sheet1.xml"),
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_SHEET}"><sheetData>{rows}</sheetData></worksheet>',
    }
    more = {"xl/worksheets/sheet1.xml": "spreadsheetml.worksheet"}
    return _package("xl/workbook.xml", "spreadsheetml.sheet.main", parts, more)


def _xml(text: str) -> str:
    return _html.escape(_NOT_IN_XML.sub("", text))


def _relationships(kind: str, target: str) -> str:
    one = f'<Relationship Id="rId1" Type="{_OFFICE}/{kind}" Target="{target}"/>'
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{one}</Relationships>'


def _package(main: str, kind: str, parts: Mapping[str, str], more: Mapping[str, str] | None = None) -> bytes:
    """An Office Open XML file: a zip of XML parts, of which one says what the others are."""
    kinds = {main: kind, **(more or {})}
    overrides = "".join(
        f'<Override PartName="/{name}" ContentType="{_TYPE}.{each}+xml"/>' for name, each in kinds.items()
    )
    defaults = (
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
    )
    types = f'<Types xmlns="{_PACKAGE}/content-types">{defaults}{overrides}</Types>'
    whole = {"[Content_Types].xml": types, "_rels/.rels": _relationships("officeDocument", main), **parts}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in whole.items():
            archive.writestr(zipfile.ZipInfo(name, _NO_TIME), (_XML + text).encode())
    return file.getvalue()


def doc(paragraphs: Sequence[str]) -> bytes:
    """The container of an old Word document, empty: what Word keeps in it is beyond a test's file.

    >>> doc([])[:8].hex()
    'd0cf11e0a1b11ae1'
    """
    return _compound_file("WordDocument")


def xls(paragraphs: Sequence[str]) -> bytes:
    """The container of an old Excel workbook, empty as that of `doc`.

    >>> xls([])[:8].hex()
    'd0cf11e0a1b11ae1'
    """
    return _compound_file("Workbook")


_FREE, _END, _FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD


def _compound_file(name: str) -> bytes:
    """A Compound File of one empty stream, as [MS-CFB] has it: header, chains of sectors, directory; 512 bytes each."""
    versions = (bytes.fromhex("d0cf11e0a1b11ae1"), b"", 0x3E, 3, 0xFFFE, 9, 6)
    places = (0, 1, 1, 0, 4096, _END, 0, _END, 0, 0)
    header = struct.pack("<8s16s5H6x10I108I", *versions, *places, *[_FREE] * 108)
    chains = struct.pack("<128I", _FAT, _END, *[_FREE] * 126)
    directory = [_entry("Root Entry", 5, child=1), _entry(name, 2), _entry("", 0), _entry("", 0)]
    return header + chains + b"".join(directory)


def _entry(name: str, kind: int, *, child: int = _FREE) -> bytes:
    text = f"{name}\0".encode("utf-16-le") if name else b""
    return struct.pack("<64sHBB3I36xIQ", text, len(text), kind, 1, _FREE, _FREE, child, _END if name else 0, 0)


DOCUMENTS: Final[Mapping[str, Document]] = {
    "txt": txt,
    "md": md,
    "csv": csv,
    "html": html,
    "pdf": pdf,
    "docx": docx,
    "xlsx": xlsx,
    "doc": doc,
    "xls": xls,
}
"""By the formats of AWS's DocumentFormat, the simplest first."""
