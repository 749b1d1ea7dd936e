"""Strategies for `converse_harness.types.media`: media as bytes in a valid format, or as a location in Amazon S3."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Final, get_args

from converse_harness import bedrock
from converse_harness.types import media as types
from converse_strategies.basics import (
    BLOBS,
    Texts,
    Value,
    Values,
    cached,
    dicts,
    made,
    or_none,
    rarely,
    sampled,
    some,
    tagged,
)
from converse_strategies.message import media
from converse_strategies.strands.citations import citations_configs

if TYPE_CHECKING:
    from hypothesis import strategies as st

_SOURCES: Final = ("bytes", "s3Location")
"""Those members of AWS's media sources that Strands also has. Strands calls the second one `location`."""

_SOURCE_OF: Final = itemgetter("source")


def document_formats() -> st.SearchStrategy[str]:
    """DocumentFormats: one of the format names in Strands, such as pdf."""
    return sampled(get_args(types.DocumentFormat))


def image_formats() -> st.SearchStrategy[str]:
    """ImageFormats: one of the format names in Strands, such as png."""
    return sampled(get_args(types.ImageFormat))


def video_formats() -> st.SearchStrategy[str]:
    """VideoFormats: one of the format names in Strands, such as mp4."""
    return sampled(get_args(types.VideoFormat))


def audio_formats() -> st.SearchStrategy[str]:
    """AudioFormats: one of the format names in Strands, such as mp3."""
    return sampled(get_args(types.AudioFormat))


def locations(*, texts: Texts | None = None) -> Values:
    """Locations: dicts with any text under `type`."""
    return tagged("type", some(texts))


@cached
def s3_locations() -> Values:
    """S3Locations: dicts with a URI; some also have the account that owns the bucket.

    >>> from hypothesis import find
    >>> find(s3_locations(), lambda location: True)["type"]
    's3'
    """
    return made(media.images(sources=("s3Location",)), lambda image: _source(image["source"])["location"])


def image_contents() -> Values:
    """ImageContents: dicts with a format, and with bytes in this format or a location in Amazon S3.

    >>> from hypothesis import find
    >>> find(image_contents(), lambda image: image["format"] == "gif")["source"]["bytes"][:3]
    b'GIF'
    """
    return made(media.images(formats=get_args(types.ImageFormat), sources=_SOURCES), _content)


def video_contents() -> Values:
    """VideoContents: dicts with a format, and with bytes in this format or a location in Amazon S3."""
    return made(media.videos(formats=get_args(types.VideoFormat), sources=_SOURCES), _content)


def audio_contents() -> Values:
    """AudioContents: dicts with a format, and with bytes in this format or a location in Amazon S3.

    If the installed botocore has no AudioBlock, the bytes are arbitrary, and there are no locations.
    """
    if bedrock.has_shape("AudioBlock"):
        return made(media.audios(formats=get_args(types.AudioFormat), sources=_SOURCES), _content)
    # The installed botocore has no audio, so AWS's shapes cannot be used. Strands' types support audio all the same,
    # for other providers.
    return dicts({"format": audio_formats(), "source": dicts({"bytes": BLOBS})})


@cached
def document_contents(*, texts: Texts | None = None) -> Values:
    """DocumentContents with a format, a name that Bedrock accepts, and a source; rarely also with citations or a
    context.
    """
    whole = media.documents(formats=get_args(types.DocumentFormat), sources=_SOURCES, texts=some(texts))
    more = dicts({}, citations=or_none(citations_configs()), context=or_none(some(texts)))
    return rarely(made(whole, _content), more)


def document_sources() -> Values:
    """DocumentSources: dicts with the bytes of the document, or with its location in Amazon S3."""
    return made(document_contents(), _SOURCE_OF)


def image_sources() -> Values:
    """ImageSources: dicts with the bytes of the image, or with its location in Amazon S3."""
    return made(image_contents(), _SOURCE_OF)


def video_sources() -> Values:
    """VideoSources: dicts with the bytes of the video, or with its location in Amazon S3."""
    return made(video_contents(), _SOURCE_OF)


def audio_sources() -> Values:
    """AudioSources: dicts with the bytes of the audio, or with its location in Amazon S3."""
    return made(audio_contents(), _SOURCE_OF)


def _content(block: Value) -> Value:
    """Convert an AWS media block to Strands' format, without `context` and `citations`."""
    kept = {name: value for name, value in block.items() if name in ("format", "name")}
    return {**kept, "source": _source(block["source"])}


def _source(source: Value) -> Value:
    return {"location": {"type": "s3", **source["s3Location"]}} if "s3Location" in source else source
