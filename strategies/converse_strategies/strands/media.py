"""Strategies for `converse_harness.types.citations`: all five locations, whatever the installed botocore knows."""

from __future__ import annotations

import string
from collections.abc import Mapping
from functools import partial
from typing import Any, Final, get_args

from hypothesis import strategies as st

from converse_harness import bedrock
from converse_harness.types import media as types
from converse_harness.types.event_loop import StopReason
from converse_strategies import media
from converse_strategies.leaves import made
from converse_strategies.strands.making import (
    INDEXES,
    RARELY,
    Texts,
    Value,
    Values,
    built,
    cached,
    dicts,
    or_none,
    rarely,
    some,
    tagged,
)

_PLACES: Final = st.integers(0, 9_999)
_LENGTHS: Final = st.integers(0, 99)
_DOMAINS: Final = ("example.com", "www.example.org", "docs.example.net")
_PATHS: Final = st.text(string.ascii_lowercase + string.digits, max_size=12)


def _spans(index: str) -> Values:
    def span(place: int, start: int, length: int) -> Value:
        return {index: place, "start": start, "end": start + length}

    return built(span, INDEXES, _PLACES, _LENGTHS)


@cached
def citations_configs() -> Values:
    """CitationsConfigs."""
    return tagged("enabled", st.booleans())


@cached
def document_char_locations() -> Values:
    """DocumentCharLocations: no span ends before it starts, nothing is negative.

    >>> from hypothesis import find
    >>> find(document_char_locations(), lambda span: span["end"] > span["start"])
    {'documentIndex': 0, 'start': 0, 'end': 1}
    """
    return _spans("documentIndex")


@cached
def document_chunk_locations() -> Values:
    """DocumentChunkLocations, as document_char_locations()."""
    return _spans("documentIndex")


@cached
def document_page_locations() -> Values:
    """DocumentPageLocations, as document_char_locations()."""
    return _spans("documentIndex")


@cached
def search_result_locations() -> Values:
    """SearchResultLocations, as document_char_locations()."""
    return _spans("searchResultIndex")


@cached
def web_locations() -> Values:
    """WebLocations: an https URL, and its domain.

    >>> from hypothesis import find
    >>> find(web_locations(), lambda location: True)
    {'url': 'https://example.com/', 'domain': 'example.com'}
    """

    def location(domain: str, path: str) -> Value:
        return {"url": f"https://{domain}/{path}", "domain": domain}

    return built(location, st.sampled_from(_DOMAINS), _PATHS)


@cached
def citation_locations() -> Values:
    """CitationLocations: dicts of one of the five tags.

    >>> from hypothesis import find
    >>> find(citation_locations(), lambda location: "web" in location)
    {'web': {'url': 'https://example.com/', 'domain': 'example.com'}}
    """
    return st.one_of(
        tagged("documentChar", document_char_locations()),
        tagged("documentPage", document_page_locations()),
        tagged("documentChunk", document_chunk_locations()),
        tagged("searchResultLocation", search_result_locations()),
        tagged("web", web_locations()),
    )


@cached
def citation_source_contents(*, texts: Texts | None = None) -> Values:
    """CitationSourceContents."""
    return tagged("text", some(texts))


@cached
def citation_generated_contents(*, texts: Texts | None = None) -> Values:
    """CitationGeneratedContents."""
    return tagged("text", some(texts))


@cached
def citations(*, texts: Texts | None = None) -> Values:
    """Citations: a location, and passages and a title where the provider gives them."""
    passages = st.lists(citation_source_contents(texts=texts), max_size=2)
    return dicts({"location": citation_locations()}, sourceContent=passages, title=some(texts))


@cached
def citations_content_blocks(*, texts: Texts | None = None) -> Values:
    """CitationsContentBlocks: generated texts and the citations that they lean on, one or more of each.

    >>> from hypothesis import find
    >>> find(citations_content_blocks(), lambda block: True)["content"]
    [{'text': ''}]
    """
    return dicts(
        {
            "citations": st.lists(citations(texts=texts), min_size=1, max_size=2),
            "content": st.lists(citation_generated_contents(texts=texts), min_size=1, max_size=2),
        }
    )


_TOKENS: Final = st.integers(0, 200_000)
_MILLISECONDS: Final = st.integers(0, 60_000)


@st.composite
def usages(draw: st.DrawFn) -> Value:
    """Usages: the total is the sum, and what a cache did is there rarely.

    >>> from hypothesis import find
    >>> find(usages(), lambda usage: usage["totalTokens"] > 0)
    {'inputTokens': 0, 'outputTokens': 1, 'totalTokens': 1}
    """
    came, went = draw(_TOKENS), draw(_TOKENS)
    usage: Value = {"inputTokens": came, "outputTokens": went, "totalTokens": came + went}
    if draw(RARELY):
        usage["cacheReadInputTokens"] = read = draw(_TOKENS)
        usage["cacheWriteInputTokens"] = written = draw(_TOKENS)
        # Bedrock counts them in the total, and not among the tokens that came in.
        usage["totalTokens"] += read + written
    return usage


@st.composite
def metrics(draw: st.DrawFn) -> Value:
    """Metrics: the first byte, where its time is there, came before the last.

    >>> from hypothesis import find
    >>> find(metrics(), lambda metrics: True)
    {'latencyMs': 0}
    """
    latency = draw(_MILLISECONDS)
    return {"latencyMs": latency, **({"timeToFirstByteMs": latency * draw(_SHARES) // 100} if draw(RARELY) else {})}


_SHARES: Final = st.integers(0, 100)


@cached
def stop_reasons() -> st.SearchStrategy[str]:
    """Why an answer or an agent's loop ended: the reasons of models first, then those that only agents have.

    >>> from hypothesis import find
    >>> find(stop_reasons(), lambda reason: reason.startswith("i"))
    'interrupt'
    """
    first = ("end_turn", "tool_use")
    return st.sampled_from((*first, *(reason for reason in get_args(StopReason) if reason not in first)))


_SOURCES: Final = ("bytes", "s3Location")
"""Members of AWS's sources that Strands has as well, `s3Location` as `location`."""


def _formats(kind: Any) -> st.SearchStrategy[str]:
    return st.sampled_from(get_args(kind))


@cached
def document_formats() -> st.SearchStrategy[str]:
    """DocumentFormats."""
    return _formats(types.DocumentFormat)


@cached
def image_formats() -> st.SearchStrategy[str]:
    """ImageFormats."""
    return _formats(types.ImageFormat)


@cached
def video_formats() -> st.SearchStrategy[str]:
    """VideoFormats."""
    return _formats(types.VideoFormat)


@cached
def audio_formats() -> st.SearchStrategy[str]:
    """AudioFormats."""
    return _formats(types.AudioFormat)


@cached
def locations(*, texts: Texts | None = None) -> Values:
    """Locations: of a kind that a provider may know."""
    return dicts({"type": some(texts)})


@cached
def s3_locations() -> Values:
    """S3Locations: an URI, and the account of the bucket if it is another one.

    >>> from hypothesis import find
    >>> find(s3_locations(), lambda location: True)["type"]
    's3'
    """
    return made(media.images(sources=("s3Location",)), lambda image: _source(image["source"])["location"])


@cached
def image_contents() -> Values:
    """ImageContents.

    >>> from hypothesis import find
    >>> find(image_contents(), lambda image: image["format"] == "gif")["source"]["bytes"][:3]
    b'GIF'
    """
    return made(media.images(formats=get_args(types.ImageFormat), sources=_SOURCES), _content)


@cached
def video_contents() -> Values:
    """VideoContents."""
    return made(media.videos(formats=get_args(types.VideoFormat), sources=_SOURCES), _content)


@st.composite
def audio_contents(draw: st.DrawFn) -> Value:
    """AudioContents."""
    return draw(_audios())


@cached
def _audios() -> Values:
    if bedrock.has_shape("AudioBlock"):
        return made(media.audios(formats=get_args(types.AudioFormat), sources=_SOURCES), _content)
    # The installed botocore is older than audio; Strands has it all the same, for other providers.
    return dicts({"format": audio_formats(), "source": dicts({"bytes": st.binary(min_size=1, max_size=48)})})


@cached
def document_contents(*, texts: Texts | None = None) -> Values:
    """DocumentContents with a format, a name that Bedrock takes, and a source; rarely with citations and a context."""
    whole = media.documents(formats=get_args(types.DocumentFormat), sources=_SOURCES, texts=some(texts))
    plain = made(whole, partial(_content, members=("format", "name", "source")))
    more = dicts({}, citations=or_none(citations_configs()), context=or_none(some(texts)))
    return rarely(plain, more)


@cached
def document_sources() -> Values:
    """DocumentSources."""
    return made(document_contents(), lambda document: document["source"])


@cached
def image_sources() -> Values:
    """ImageSources."""
    return made(image_contents(), lambda image: image["source"])


@cached
def video_sources() -> Values:
    """VideoSources."""
    return made(video_contents(), lambda video: video["source"])


@cached
def audio_sources() -> Values:
    """AudioSources."""
    return made(audio_contents(), lambda audio: audio["source"])


def _content(block: Mapping[str, Any], members: tuple[str, ...] = ("format", "source")) -> Value:
    """What AWS calls a block, in Strands' words."""
    return {name: _source(block[name]) if name == "source" else block[name] for name in members}


def _source(source: Mapping[str, Any]) -> Value:
    if "s3Location" in source:
        return {"location": {"type": "s3", **source["s3Location"]}}
    return dict(source)
