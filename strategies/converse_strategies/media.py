"""Images, documents, videos and sounds: AWS blocks whose bytes really are of the format that they say."""

from __future__ import annotations

import string
from collections.abc import Collection, Iterable
from functools import cache
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness import bedrock
from converse_harness.samples.media import png
from converse_strategies import leaves
from converse_strategies.choices import chosen
from converse_strategies.files import AUDIOS, DOCUMENTS, IMAGES, TEXTS, VIDEOS

Texts = st.SearchStrategy[str]
Block = dict[str, Any]
Pair = tuple[str, str]
"""The member of a source, and a format; empty where the block says none."""

_SIDE: Final = 16
"""Pixels."""

_SIZES: Final = st.integers(0, _SIDE * _SIDE - 1)
_COLOURS: Final = st.integers(0, 0xFFFFFF)
_NAMES: Final = st.text(string.digits + string.ascii_letters + " -()[]", min_size=1, max_size=40)
_BUCKETS: Final = st.text(string.ascii_lowercase + string.digits, min_size=3, max_size=20)
_OWNERS: Final = st.sampled_from((None, "123456789012"))
_EXTENSIONS: Final = {"three_gp": "3gp", "x-aac": "aac"}
_EXTRAS: Final = st.sampled_from([(context, cited) for context in (False, True) for cited in (None, False, True)])


@st.composite
def images(draw: st.DrawFn, *, formats: Collection[str] | None = None, sources: Collection[str] | None = None) -> Block:
    """AWS ImageBlocks: PNG of one colour and 1 to 16 pixels each way, a pixel of JPEG, GIF or WebP, or an object of S3.

    `formats` are some of AWS's ImageFormat, `sources` some of `bytes` and `s3Location`. Raises InvalidArgument, when
    drawn, for what the installed botocore does not know.

    >>> from hypothesis import find
    >>> image = find(images(), lambda image: image["format"] == "gif")
    >>> image["source"]["bytes"][:6]
    b'GIF89a'
    """
    source, form = draw(_pairs("images", "Image", _names(formats), _names(sources)))
    if source == "s3Location":
        return {"format": form, "source": _draw_s3(draw, form)}
    # Drawn for every format: hypothesis takes what has the fewest draws for the simplest.
    height, width = divmod(draw(_SIZES), _SIDE)
    row = draw(_COLOURS).to_bytes(3) * (width + 1)
    return {"format": form, "source": {"bytes": png([row] * (height + 1)) if form == "png" else IMAGES[form]}}


@st.composite
def documents(
    draw: st.DrawFn,
    *,
    formats: Collection[str] | None = None,
    sources: Collection[str] | None = None,
    names: Texts | None = None,
    texts: Texts | None = None,
) -> Block:
    """AWS DocumentBlocks with a name that Bedrock takes: files, an object of S3, a text, or texts as chunks.

    `formats` are some of AWS's DocumentFormat, `sources` some of `bytes`, `text`, `content` and `s3Location`; a text
    and chunks are to be cited, and may have no format, or one of plain text. `names` are `document_names()` if not
    given; `texts` is what documents of plain text say, of which what is blank gets a character: of each other format
    there is one file. Raises InvalidArgument, when drawn, for what the installed botocore does not know, and for a
    source that has none of the formats.

    >>> from hypothesis import find
    >>> find(documents(sources=["bytes"]), lambda document: True)
    {'format': 'txt', 'name': '0', 'source': {'bytes': b'0'}}
    """
    source, form = draw(_pairs("documents", "Document", _names(formats), _names(sources)))
    block: Block = {"format": form} if form else {}
    block["name"] = draw(document_names() if names is None else names)
    match source:
        case "text":
            block["source"] = {"text": draw(_visible(texts))}
        case "content":
            block["source"] = {"content": [{"text": text} for text in draw(_paragraphs(texts))]}
        case "bytes":
            paragraphs = draw(_paragraphs(texts))  # for every format, as the size of an image
            block["source"] = {"bytes": TEXTS[form](paragraphs) if form in TEXTS else DOCUMENTS[form]}
        case _:
            block["source"] = _draw_s3(draw, form)
    context, cited = draw(_EXTRAS)
    if context:
        block["context"] = draw(_visible(texts))
    if source in ("text", "content"):
        cited = True  # Bedrock takes them for nothing else
    if cited is not None:
        block["citations"] = {"enabled": cited}
    return block


@st.composite
def videos(draw: st.DrawFn, *, formats: Collection[str] | None = None, sources: Collection[str] | None = None) -> Block:
    """AWS VideoBlocks: the container of each format, with nothing in it, or an object of S3.

    `formats` are some of AWS's VideoFormat, `sources` some of `bytes` and `s3Location`. Raises InvalidArgument, when
    drawn, for what the installed botocore does not know.

    >>> from hypothesis import find
    >>> find(videos(formats=["webm"]), lambda video: True)["source"]["bytes"][:4].hex()
    '1a45dfa3'
    """
    source, form = draw(_pairs("videos", "Video", _names(formats), _names(sources)))
    if source == "s3Location":
        return {"format": form, "source": _draw_s3(draw, form)}
    return {"format": form, "source": {"bytes": VIDEOS[form]}}


@st.composite
def audios(draw: st.DrawFn, *, formats: Collection[str] | None = None, sources: Collection[str] | None = None) -> Block:
    """AWS AudioBlocks: silent WAV and PCM, the empty container of each other format, or an object of S3.

    `formats` are some of AWS's AudioFormat, `sources` some of `bytes` and `s3Location`. Raises InvalidArgument, when
    drawn, for what the installed botocore does not know; an old one has no AudioBlock at all.
    """
    source, form = draw(_pairs("audios", "Audio", _names(formats), _names(sources)))
    if source == "s3Location":
        return {"format": form, "source": _draw_s3(draw, form)}
    return {"format": form, "source": {"bytes": AUDIOS[form]}}


@cache
def document_names() -> Texts:
    """Names of documents as Bedrock takes them: letters, digits, hyphens, parentheses, brackets and single spaces.

    Source: rule 13 of what Bedrock enforces beyond its model.

    >>> from hypothesis import find
    >>> find(document_names(), lambda name: " " in name)
    '0 0'
    """
    return leaves.made(_NAMES, lambda name: " ".join(name.split()) or "0")


_BUILT: Final = {"Image": IMAGES, "Document": {**TEXTS, **DOCUMENTS}, "Video": VIDEOS, "Audio": AUDIOS}
_SOURCES: Final = ("bytes", "text", "content", "s3Location")


@cache
def _pairs(
    function: str, kind: str, formats: tuple[str, ...] | None, sources: tuple[str, ...] | None
) -> st.SearchStrategy[Pair]:
    """The sources and formats that go together. Raises InvalidArgument."""
    if not bedrock.has_shape(f"{kind}Block"):
        raise InvalidArgument(
            f"{function}(): botocore {bedrock.botocore_version()} has no {kind}Block. Upgrade (pip install --upgrade "
            "botocore), or do without."
        )
    known = [form for form in _BUILT[kind] if form in bedrock.enum(f"{kind}Format")]
    members = [source for source in _SOURCES if bedrock.has_member(f"{kind}Source", source)]
    some = chosen(function, "formats", formats, known)
    unsaid = [""] if formats is None else []
    plain = unsaid + [form for form in some if form in TEXTS]
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


def _names(asked: Iterable[str] | None) -> Any:
    """An argument as what a cache takes."""
    return asked if asked is None or isinstance(asked, str) else tuple(asked)


def _draw_s3(draw: st.DrawFn, form: str) -> Block:
    name = draw(_BUCKETS)
    extension = _EXTENSIONS.get(form, form)
    location: dict[str, str] = {"uri": f"s3://{name}/file.{extension}"}
    owner = draw(_OWNERS)
    if owner is not None:
        location["bucketOwner"] = owner
    return {"s3Location": location}


@cache
def _visible(texts: Texts | None) -> Texts:
    return leaves.visible_texts(texts)


@cache
def _paragraphs(texts: Texts | None) -> st.SearchStrategy[list[str]]:
    return st.lists(_visible(texts), min_size=1, max_size=3)
