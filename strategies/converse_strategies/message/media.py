"""Strategies for images, documents, videos and audio. Each format of AWS's API model has a tiny file; plain-text
documents contain drawn text.

Audio and video files are empty containers of their format, since consumers only pass them on. Long files are stored
here as base64 of zlib data.
"""

from __future__ import annotations

import csv as _csv
import html as _html
import io
import string
import zlib
from base64 import b64decode
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness import bedrock
from converse_harness.samples import content
from converse_harness.samples.content import png
from converse_strategies import basics
from converse_strategies.basics import Texts, cached, chosen, composite

Text = Callable[[Sequence[str]], bytes]
"""Function that takes paragraphs, and returns the bytes of a file that contains them, for example as lines or rows."""


def _txt(paragraphs: Sequence[str]) -> bytes:
    r"""The paragraphs as UTF-8 text, one per line.

    >>> _txt(["one", "two"])
    b'one\ntwo'
    """
    return "\n".join(paragraphs).encode()


def _md(paragraphs: Sequence[str]) -> bytes:
    r"""The paragraphs as Markdown; the first one is the heading.

    >>> _md(["one", "two"])
    b'# one\n\ntwo'
    """
    return "\n\n".join((f"# {paragraphs[0]}", *paragraphs[1:])).encode()


def html(paragraphs: Sequence[str]) -> bytes:
    """The paragraphs as HTML; the first one is the title.

    >>> html(["a < b"])
    b'<!DOCTYPE html><html><head><meta charset="utf-8"><title>a &lt; b</title></head><body></body></html>'
    """
    title, *rest = map(_html.escape, paragraphs)
    body = "".join(f"<p>{each}</p>" for each in rest)
    head = f'<meta charset="utf-8"><title>{title}</title>'
    return f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>".encode()


def csv(paragraphs: Sequence[str]) -> bytes:
    r"""Return the paragraphs as CSV (RFC 4180): a header, and one row per paragraph with its number and its text.

    >>> csv(["one, two"])
    b'number,text\r\n1,"one, two"\r\n'
    """
    file = io.StringIO(newline="")
    rows = _csv.writer(file, quoting=_csv.QUOTE_MINIMAL)
    rows.writerows([("number", "text"), *enumerate(paragraphs, 1)])
    return file.getvalue().encode()


def _unpacked(text: str) -> bytes:
    return zlib.decompress(b64decode(text))


_ISO: Final = b"\0\0\0\x14ftyp%b\0\0\2\0%b\0\0\0\x08mdat"
"""A bytes template for an ISO base media file: an `ftyp` box and an empty `mdat` box. The brand of the file is inserted
twice.
"""

_EBML: Final = (
    b"\x1aE\xdf\xa3%bB\x86\x81\1B\xf7\x81\1B\xf2\x81\4B\xf3\x81\x08B\x87\x81\4B\x85\x81\2B\x82%b\x18S\x80g\x82\xec\x80"
)
"""A bytes template for a Matroska file: an EBML head and an empty segment. The length of the head and the document type
are inserted.
"""

_MATROSKA: Final = _EBML % (b"\xa3", b"\x88matroska")
_WEBM: Final = _EBML % (b"\x9f", b"\x84webm")
_M4A: Final = _ISO % (b"M4A ", b"M4A ")
_MPEG: Final = bytes.fromhex("000001ba 440004000401 000003f8 000001bf0000 000001b9")
_MP3: Final = bytes.fromhex("fffb14c4").ljust(96, b"\0")
_AAC: Final = bytes.fromhex("fff16c4000fffc")
_OPUS: Final = _unpacked("""
eNrzT08PZmBigAJGKN2Sc1OFUdi/oLTYIzUxhREo3LAbLOEPUs6CrByEE99J6TEKgJSHJKYXw2QBiHcOHw==
""")

TEXTS: Final[Mapping[str, Text]] = {"txt": _txt, "md": _md, "csv": csv, "html": html}
"""Plain-text format of AWS's DocumentFormat -> the function that makes a file in this format; the simplest is first."""

DOCUMENTS: Final[Mapping[str, bytes]] = {
    # The PDF has three pages.
    "pdf": _unpacked("""
eNq9ktFKwzAUhu/zFOemoBfapmmaFsbA6Yag4tgKXgwvsjXbOmYibabTl/TCN9AXMc3mNhYHgmAph/bPyX/OdxKve9E5wacR8j4+394RhgDUcIYa
DfCzl0cB/jnXfK4m4Hf5RFQQmoQeNJtIyLxODJ0Nqzz/qsgrGEQ2PbYxqeO9cVQLqYHsmBDHpKNMit9fDLX9rUUMfotXYrVyKeZPQhcjDn5bjlRe
SNPhXSHPZFVshG2B6Mcu61gKY7eC8m9EXvCWWsIgMAJNKSRRaBruiUotypGhqvfbBuwHBrKeRv0aLqmNWwV0b0Z0p/q1kBM9BZLW65UuBX9Arcya
4RCyMbAQGAsgy+HI9qikOIZsBu2stlvvWBvH/4rF9rDYX7D0szqIlfwrVrqHlbpYEf411rQUh89rWYoxCgAHKNg8EFNKKIxho2FzX+yK3Gpx5GiY
EEcLSeBohMaOFkVuDcqwo8Wx68eSHT9d8mIuSjusfvEqDJs5AaU04O+xVpqX2pInjCHPa9920BdT8C4Y
"""),
    # The files in docx and xlsx contain one paragraph, "text". In xlsx, it is a row with the number and the text of the
    # paragraph.
    "docx": _unpacked("""
eNqdVM2O0zAQTunChROiD2B8Q6hxFyRAVZMVYkFarQQVWk4IrUwybSMS27K9/RGXfY99Bh6AJ+HGgSMnXgCJmaTdkmwWUB15HHs834y/z/L4uLvX
C6p2L1ipR18/d4KA+l1cefdcKw/Kn56sDLj34bLIRwdo2Bysy7SK+H444AxUotNMTSP+9uRl/ylnzkuVylwriPgKHD+IRyUCw1jlIj7z3gyFcMkM
CulCbUChZ6JtIT1O7VQYmXyUUxAPB4PHIqmq6HvC4PHoECbyLPfsxRKXqzos5I6zdbmUK+LSmDxLpEe/mKu0kaW/zhBiZLnHzTLjHuAGLlozkOf6
BOu410iMzVJgY2n9K1ngLrHQNhWpTs4KjAz/DtNSp55MsgQu4wnNWJ2Ac8h4kYeXnkJmalO/KOmOxzV1L349+XEflaV+G1dOiTRBBLhdVX3zJ3k7
qlsTgNcx2VGK2h6l+5xVZP0bu+LrcM1KS4rGDkSWdgo+4leFIiZrR2ww2vvEf37HP+p3sF9B2JXXxXCDUpE6XPzP0Zt3ozo83QtOkB90uqLRkLFk
SvShQzkwtbHgwM6Bxx6WfiTQHZO1pTWlrSDEtjwkpHOj173+Cdm0807Q/qA0AZq3dAvwrVO7s83AphjbwEG3RZrx8c1b5O7i9wXHZ3s0+w1CxZk1
"""),
    "xlsx": _unpacked("""
eNrlVUFv0zAUTtdtHBDisB0QuwRfQJoatxwQqtJMsA5pmgQVGxxAMJnEbaMmTmR7XXdDXPkDXBD/gDMX/gh/ACTuXBASz3HSrF67om43Url27Pe+
9/y9z05nr7q8bunnlsXIl2u1JctSbQ1mXm4nTFImDw9OUipeOaM4crfgzx5SLsKEtVDDqSObMj8JQtZroWcHj2r3kS0kYQGJEkZb6IQKtOW5GYIN
vky0UF/KtImx8Ps0JsJJUspgpZvwmEh45T2cEn9AehTfrdfvYV9nUZMKA3lum3bJUSTtnRFM6zw4jQSy83RVrBYiaRqFPpGwjocsMKLU8ggOeGY2
oh+mYhMMEJ4aQa3MDpD7PQFieBhQu0O4fExisMKjCB8nfPAmSQbO+SBTsky63dCnQeIfxeDiiJRTEog+pTKOnKx3YhKyzfnxM2OBs65xyYmM8Ys8
cFZurzOhrg/ffr6/XbEs1a7CzKEqGlYFEIuq6unp4i2orgkBoElMezcAbe0GDWRrluZja6LaOVFTQhgWgEx4j0pQmCEUxePEBg0+P0bbXzeAS9Wu
w4zhvyinBca/0zkhBr1jJUqkEZr8UmiDymgJ573NMnnvZ3qGjaheVQvGvBkWZVMcFm5jdgweX/x5N7gDHKp2U/OopXmazf9PpuNDXSp0+j0yT6e/
B99/rAG3qt0odXoG6CKC1ZK4sGJzbbWJJJ7Lk2ObK0F5rq8GD9Ro6DVcPIQd+/nsQyAdqAlZFDK6LznYhCC2LJmmgBJCohBNUD6kyJN0JF0swV8Z
KRAMYQqR6rglO0BkZWm9OvsDXTxvK9b0z7UJYN7BJcDrpYkb2XQ0L5vS8XP1zNVjOpsnrHT+tXzeeTNxTCWVOM9XZ+uqs7eyqqxW4LcDnp+uqLe/
WtvWsw==
"""),
    # The files in doc and xls are OLE compound files, as of old Office, with one empty stream: WordDocument or
    # Workbook.
    "doc": _unpacked("""
eNq7cF7wwcKNUg8Z0IAdAzPDv/+cDGxIYoxQDAYCDED5//9BTBgNAv9HwZACf4H432gwjFgQxJAPhCUMCgyuDHlAuoihkoEUIMbAyggzi5FIPcjl
RTjQ9iKGFAYXIJ3MUMqQy5AKdgexQIqBiRHZP6TaTwVAsv1UBhTZDwBNMPhk
"""),
    "xls": _unpacked("""
eNq7cF7wwcKNUg8Z0IAdAzPDv/+cDGxIYoxQDAYCDED5//9BTBgNAv9HwZACf4H432gwjFgQxJAPhCUMCgyuDHlAuoihkoEUIMbAyggzi5FIPcjl
RTjQ9iKGbIYksDuyGUgFQgxMjMj+IdV+KgCS7acyoMh+AA7u9s8=
"""),
}
"""Each format of AWS's DocumentFormat that is not plain text -> a file in this format."""

IMAGES: Final[Mapping[str, bytes]] = {
    "png": content.png([b"\0\0\0"]),
    "jpeg": _unpacked("""
eNqlzLsJgEAQRdE7O35WMHDB0F4MBEEbsy0Di/CTWIIdjGsmpp4bPni22kk19kOPCEgMO+jwP9lM8M+fSsAFNGALDVHBmzhN0iz3ca0r4cN2ShUc
Ci3TJbbdY+YUjg==
"""),
    "gif": b"GIF89a\1\0\1\0\x81\0\0" + bytes(12) + b",\0\0\0\0\1\0\1\0\0\2\2D\1\0;",
    "webp": b"RIFF\x1a\0\0\0WEBPVP8L\r\0\0\0/\0\0\0\0(@\1\n\xd0\xff\2\0\0",
}
"""Each format of AWS's ImageFormat -> an image of one black pixel in this format."""

VIDEOS: Final[Mapping[str, bytes]] = {
    "mp4": _ISO % (b"isom", b"isom"),
    "mov": _ISO % (b"qt  ", b"qt  "),
    "three_gp": _ISO % (b"3gp4", b"3gp4"),
    "mkv": _MATROSKA,
    "webm": _WEBM,
    "flv": b"FLV\1\1\0\0\0\t\0\0\0\0\x12" + bytes(13) + b"\x0b",
    "mpeg": _MPEG,
    "mpg": _MPEG,
    "wmv": _unpacked("""
eNozUNtU2pd2XnDZTYZVDEnncuQYEICRyQxNVgIqAwDAxw5s
"""),
}
"""Each format of AWS's VideoFormat -> a file in this format."""

AUDIOS: Final[Mapping[str, bytes]] = {
    "wav": content.WAV,
    "pcm": b"\0\0",
    "mp3": _MP3,
    "mpeg": _MP3,
    "mpga": _MP3,
    "aac": _AAC,
    "x-aac": _AAC,
    "flac": b'fLaC\0\0\0"\x10\0\x10' + bytes(7) + b"\1\xf4\0\xf0" + bytes(20) + b"\x82\0\0\4test",
    "ogg": _OPUS,
    "opus": _OPUS,
    "mp4": _M4A,
    "m4a": _M4A,
    "mkv": _MATROSKA,
    "mka": _MATROSKA,
    "webm": _WEBM,
}
"""Each format of AWS's AudioFormat -> a file in this format; the simplest is first."""


Block = dict[str, Any]
_Pair = tuple[str, str]
"""(member of the block's `source`, such as `bytes`; format of the block, or "" for a block without a format)"""

_SIDE: Final = 16
"""The largest height and width of an image, in pixels."""

_SIZES: Final = st.integers(0, _SIDE * _SIDE - 1)
_COLOURS: Final = st.integers(0, 0xFFFFFF)
_NAMES: Final = st.text(string.digits + string.ascii_letters + " -()[]", min_size=1, max_size=40)
_BUCKETS: Final = st.text(string.ascii_lowercase + string.digits, min_size=3, max_size=20)
_OWNERS: Final[st.SearchStrategy[Block]] = st.sampled_from(({}, {"bucketOwner": "123456789012"}))
_EXTENSIONS: Final = {"three_gp": "3gp", "x-aac": "aac"}
_EXTRAS: Final = st.sampled_from([(context, cited) for context in (False, True) for cited in (None, False, True)])


@composite
def images(draw: st.DrawFn, *, formats: Collection[str] | None = None, sources: Collection[str] | None = None) -> Block:
    """AWS ImageBlocks: PNG files of one colour, with 1 to 16 pixels per side; one-pixel files of other formats;
    locations in S3.

    `formats` are some of AWS's ImageFormat, `sources` some of `bytes` and `s3Location`. Raises InvalidArgument, when
    drawn, for a value that the installed botocore lacks.

    >>> from hypothesis import find
    >>> image = find(images(), lambda image: image["format"] == "gif")
    >>> image["source"]["bytes"][:6]
    b'GIF89a'
    """
    source, form = draw(_pairs("images", "Image", formats, sources))
    if source == "s3Location":
        return {"format": form, "source": _draw_s3(draw, form)}
    # Only PNG uses the size and the colour, but they are drawn for all formats. Hypothesis treats the value with the
    # fewest draws as the simplest, and the simplest image should be a PNG.
    height, width = divmod(draw(_SIZES), _SIDE)
    row = draw(_COLOURS).to_bytes(3) * (width + 1)
    return {"format": form, "source": {"bytes": png([row] * (height + 1)) if form == "png" else IMAGES[form]}}


@composite
def documents(
    draw: st.DrawFn,
    *,
    formats: Collection[str] | None = None,
    sources: Collection[str] | None = None,
    names: Texts | None = None,
    texts: Texts | None = None,
) -> Block:
    """AWS DocumentBlocks: the source is a file, a location in S3, a text, or a list of texts. Bedrock accepts the name.

    `formats` are some of AWS's DocumentFormat, `sources` some of `bytes`, `text`, `content` and `s3Location`. With the
    sources `text` and `content`, citations are enabled, and the format is missing or a plain-text one. `names` is a
    strategy for names, by default `document_names()`. `texts` is a strategy for the contents of plain-text documents; a
    blank text gets one more character. Each other format has one constant file. Raises InvalidArgument, when drawn, for
    a value that the installed botocore lacks, and if the sources allow none of the formats.

    >>> from hypothesis import find
    >>> find(documents(sources=["bytes"]), lambda document: True)
    {'format': 'txt', 'name': '0', 'source': {'bytes': b'0'}}
    """
    source, form = draw(_pairs("documents", "Document", formats, sources))
    block: Block = {"format": form} if form else {}
    block["name"] = draw(document_names() if names is None else names)
    paragraphs = st.lists(basics.visible_texts(texts), min_size=1, max_size=3)
    match source:
        case "text":
            block["source"] = {"text": draw(basics.visible_texts(texts))}
        case "content":
            block["source"] = {"content": [{"text": text} for text in draw(paragraphs)]}
        case "bytes":
            # Drawn even if the format does not use them: so the simplest document for hypothesis, the one with the
            # fewest draws, is a plain text.
            lines = draw(paragraphs)
            block["source"] = {"bytes": TEXTS[form](lines) if form in TEXTS else DOCUMENTS[form]}
        case _:
            block["source"] = _draw_s3(draw, form)
    context, cited = draw(_EXTRAS)
    if context:
        block["context"] = draw(basics.visible_texts(texts))
    if source in ("text", "content"):
        cited = True  # for these sources, Bedrock requires that citations are enabled
    if cited is not None:
        block["citations"] = {"enabled": cited}
    return block


@composite
def videos(draw: st.DrawFn, *, formats: Collection[str] | None = None, sources: Collection[str] | None = None) -> Block:
    """AWS VideoBlocks: empty containers of each format, or locations in S3.

    `formats` are some of AWS's VideoFormat, `sources` some of `bytes` and `s3Location`. Raises InvalidArgument, when
    drawn, for a value that the installed botocore lacks.

    >>> from hypothesis import find
    >>> find(videos(formats=["webm"]), lambda video: True)["source"]["bytes"][:4].hex()
    '1a45dfa3'
    """
    return _draw_file(draw, "videos", "Video", formats, sources)


@composite
def audios(draw: st.DrawFn, *, formats: Collection[str] | None = None, sources: Collection[str] | None = None) -> Block:
    """AWS AudioBlocks: silence as WAV and PCM, empty containers of the other formats, or locations in S3.

    `formats` are some of AWS's AudioFormat, `sources` some of `bytes` and `s3Location`. Raises InvalidArgument, when
    drawn, for a value that the installed botocore lacks; an old botocore has no AudioBlock at all.

    >>> from hypothesis import find
    >>> find(audios(formats=["wav"]), lambda audio: True)["source"]["bytes"][:4]
    b'RIFF'
    """
    return _draw_file(draw, "audios", "Audio", formats, sources)


def _draw_file(
    draw: st.DrawFn, function: str, kind: str, formats: Collection[str] | None, sources: Collection[str] | None
) -> Block:
    source, form = draw(_pairs(function, kind, formats, sources))
    return {"format": form, "source": _draw_s3(draw, form) if source == "s3Location" else {"bytes": _BUILT[kind][form]}}


@cache
def document_names() -> Texts:
    """Names of documents that Bedrock accepts: letters, digits, hyphens, parentheses, brackets and single spaces.

    Source: the rule `document_names_are_plain` in `converse_harness.bedrock.rules`.

    >>> from hypothesis import find
    >>> find(document_names(), lambda name: " " in name)
    '0 0'
    """
    return basics.made(_NAMES, lambda name: " ".join(name.split()) or "0")


_BUILT: Final[Mapping[str, Mapping[str, Any]]] = {
    "Image": IMAGES,
    "Document": {**TEXTS, **DOCUMENTS},
    "Video": VIDEOS,
    "Audio": AUDIOS,
}
_SOURCES: Final = ("bytes", "text", "content", "s3Location")


@cached
def _pairs(
    function: str, kind: str, formats: Collection[str] | None, sources: Collection[str] | None
) -> st.SearchStrategy[_Pair]:
    """Return a strategy for the valid pairs of a source and a format, among the given `formats` and `sources`.

    `kind` is Image, Document, Video or Audio. Raises InvalidArgument if there is no valid pair.
    """
    if not bedrock.has_shape(f"{kind}Block"):
        raise InvalidArgument(
            f"{function}(): botocore {bedrock.botocore_version()} has no {kind}Block. Upgrade (pip install --upgrade "
            "botocore), or do without."
        )
    known = [form for form in _BUILT[kind] if form in bedrock.enum(f"{kind}Format")]
    members = [source for source in _SOURCES if bedrock.has_member(f"{kind}Source", source)]
    some = chosen(function, "formats", formats, known)
    plain = [*([""] if formats is None else []), *(form for form in some if form in TEXTS)]
    pairs = [
        (source, form)
        for source in chosen(function, "sources", sources, members)
        for form in (plain if source in ("text", "content") else some)
    ]
    if not pairs:
        raise InvalidArgument(
            f"{function}(formats={formats!r}, sources={sources!r}): such a source is plain text. Add a source that has "
            f"these formats (bytes, s3Location), or a format of: {', '.join(TEXTS)}."
        )
    return st.sampled_from(pairs)


def _draw_s3(draw: st.DrawFn, form: str) -> Block:
    location = {"uri": f"s3://{draw(_BUCKETS)}/file.{_EXTENSIONS.get(form, form)}"}
    return {"s3Location": location | draw(_OWNERS)}
