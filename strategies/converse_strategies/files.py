"""A tiny file of every format of AWS's model, that really is of its format, and documents of plain text as written.

Sounds and moving pictures are the container that their format is known by, empty: nobody who only passes it on decodes
it. What is long is base64 of what zlib packed.
"""

from __future__ import annotations

import csv as _csv
import html as _html
import io
import zlib
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from converse_harness.samples import media

Text = Callable[[Sequence[str]], bytes]
"""(paragraphs) -> a file that holds them, as lines, paragraphs or rows."""


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


def _unpacked(text: str) -> bytes:
    return zlib.decompress(b64decode(text))


_ISO: Final = b"\0\0\0\x14ftyp%b\0\0\2\0%b\0\0\0\x08mdat"
"""An ISO base media file of a box with its brand, and an empty one for media."""

_EBML: Final = (
    b"\x1aE\xdf\xa3%bB\x86\x81\1B\xf7\x81\1B\xf2\x81\4B\xf3\x81\x08B\x87\x81\4B\x85\x81\2B\x82%b\x18S\x80g\x82\xec\x80"
)
"""A file of the family of Matroska: its head, whose length and kind are left open, and a segment that is void."""

_MATROSKA: Final = _EBML % (b"\xa3", b"\x88matroska")
_WEBM: Final = _EBML % (b"\x9f", b"\x84webm")
_M4A: Final = _ISO % (b"M4A ", b"M4A ")
_MPEG: Final = bytes.fromhex("000001ba 440004000401 000003f8 000001bf0000 000001b9")
_MP3: Final = bytes.fromhex("fffb14c4").ljust(96, b"\0")
_AAC: Final = bytes.fromhex("fff16c4000fffc")
_OPUS: Final = _unpacked("""
eNrzT08PZmBigAJGKN2Sc1OFUdi/oLTYIzUxhREo3LAbLOEPUs6CrByEE99J6TEKgJSHJKYXw2QBiHcOHw==
""")

TEXTS: Final[Mapping[str, Text]] = {"txt": txt, "md": md, "csv": csv, "html": html}
"""Writers of the formats of AWS's DocumentFormat that are plain text, the simplest first."""

DOCUMENTS: Final[Mapping[str, bytes]] = {
    # Three pages.
    "pdf": _unpacked("""
eNq9ktFKwzAUhu/zFOemoBfapmmaFsbA6Yag4tgKXgwvsjXbOmYibabTl/TCN9AXMc3mNhYHgmAph/bPyX/OdxKve9E5wacR8j4+394RhgDUcIYa
DfCzl0cB/jnXfK4m4Hf5RFQQmoQeNJtIyLxODJ0Nqzz/qsgrGEQ2PbYxqeO9cVQLqYHsmBDHpKNMit9fDLX9rUUMfotXYrVyKeZPQhcjDn5bjlRe
SNPhXSHPZFVshG2B6Mcu61gKY7eC8m9EXvCWWsIgMAJNKSRRaBruiUotypGhqvfbBuwHBrKeRv0aLqmNWwV0b0Z0p/q1kBM9BZLW65UuBX9Arcya
4RCyMbAQGAsgy+HI9qikOIZsBu2stlvvWBvH/4rF9rDYX7D0szqIlfwrVrqHlbpYEf411rQUh89rWYoxCgAHKNg8EFNKKIxho2FzX+yK3Gpx5GiY
EEcLSeBohMaOFkVuDcqwo8Wx68eSHT9d8mIuSjusfvEqDJs5AaU04O+xVpqX2pInjCHPa9920BdT8C4Y
"""),
    # One paragraph or cell, "text".
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
    # The compound file of an old office, with an empty stream of Word's or Excel's name.
    "doc": _unpacked("""
eNq7cF7wwcKNUg8Z0IAdAzPDv/+cDGxIYoxQDAYCDED5//9BTBgNAv9HwZACf4H432gwjFgQxJAPhCUMCgyuDHlAuoihkoEUIMbAyggzi5FIPcjl
RTjQ9iKGFAYXIJ3MUMqQy5AKdgexQIqBiRHZP6TaTwVAsv1UBhTZDwBNMPhk
"""),
    "xls": _unpacked("""
eNq7cF7wwcKNUg8Z0IAdAzPDv/+cDGxIYoxQDAYCDED5//9BTBgNAv9HwZACf4H432gwjFgQxJAPhCUMCgyuDHlAuoihkoEUIMbAyggzi5FIPcjl
RTjQ9iKGbIYksDuyGUgFQgxMjMj+IdV+KgCS7acyoMh+AA7u9s8=
"""),
}
"""By the other formats of AWS's DocumentFormat."""

IMAGES: Final[Mapping[str, bytes]] = {
    "png": media.png([b"\0\0\0"]),
    "jpeg": _unpacked("""
eNqlzLsJgEAQRdE7O35WMHDB0F4MBEEbsy0Di/CTWIIdjGsmpp4bPni22kk19kOPCEgMO+jwP9lM8M+fSsAFNGALDVHBmzhN0iz3ca0r4cN2ShUc
Ci3TJbbdY+YUjg==
"""),
    "gif": b"GIF89a\1\0\1\0\x81\0\0" + bytes(12) + b",\0\0\0\0\1\0\1\0\0\2\2D\1\0;",
    "webp": b"RIFF\x1a\0\0\0WEBPVP8L\r\0\0\0/\0\0\0\0(@\1\n\xd0\xff\2\0\0",
}
"""One black pixel, by the formats of AWS's ImageFormat."""

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
"""By the formats of AWS's VideoFormat."""

AUDIOS: Final[Mapping[str, bytes]] = {
    "wav": media.wav(),
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
"""By the formats of AWS's AudioFormat; the simplest first."""
