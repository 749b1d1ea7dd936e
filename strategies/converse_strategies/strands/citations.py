"""Strategies for `converse_harness.types.citations`. All five kinds of locations are drawn, even if the installed
botocore lacks some.
"""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from converse_strategies.basics import INDEXES, Texts, Value, Values, built, cached, dicts, either, made, some, tagged
from converse_strategies.message.citation import URLS

_PLACES: Final = st.integers(0, 9_999)
_LENGTHS: Final = st.integers(0, 99)


@cached
def _spans(index: str) -> Values:
    def span(place: int, start: int, length: int) -> Value:
        return {index: place, "start": start, "end": start + length}

    return built(span, INDEXES, _PLACES, _LENGTHS)


def citations_configs() -> Values:
    """CitationsConfigs: `enabled` is true or false."""
    return tagged("enabled", st.booleans())


def document_char_locations() -> Values:
    """DocumentCharLocations with 0 <= start <= end.

    DocumentChunkLocations and DocumentPageLocations have the same members, so this strategy draws them, too.

    >>> from hypothesis import find
    >>> find(document_char_locations(), lambda span: span["end"] > span["start"])
    {'documentIndex': 0, 'start': 0, 'end': 1}
    """
    return _spans("documentIndex")


document_chunk_locations = document_page_locations = document_char_locations


def search_result_locations() -> Values:
    """SearchResultLocations with 0 <= start <= end."""
    return _spans("searchResultIndex")


@cached
def web_locations() -> Values:
    """WebLocations: dicts with an https URL and the domain of this URL.

    >>> from hypothesis import find
    >>> find(web_locations(), lambda location: True)
    {'url': 'https://example.com/', 'domain': 'example.com'}
    """
    return made(URLS, lambda both: {"url": both[0], "domain": both[1]})


def citation_locations() -> Values:
    """CitationLocations: dicts with one of five members, each for one kind of location, for example `web`.

    >>> from hypothesis import find
    >>> find(citation_locations(), lambda location: "web" in location)
    {'web': {'url': 'https://example.com/', 'domain': 'example.com'}}
    """
    return either(
        documentChar=document_char_locations(),
        documentPage=document_page_locations(),
        documentChunk=document_chunk_locations(),
        searchResultLocation=search_result_locations(),
        web=web_locations(),
    )


def citation_source_contents(*, texts: Texts | None = None) -> Values:
    """CitationSourceContents, which are also CitationGeneratedContents: dicts with any text under `text`."""
    return tagged("text", some(texts))


citation_generated_contents = citation_source_contents


@cached
def citations(*, texts: Texts | None = None) -> Values:
    """Citations: dicts with a location. Some also have passages of the source, some have a title."""
    passages = st.lists(citation_source_contents(texts=texts), max_size=2)
    return dicts({"location": citation_locations()}, sourceContent=passages, title=some(texts))


@cached
def citations_content_blocks(*, texts: Texts | None = None) -> Values:
    """CitationsContentBlocks: generated texts and their citations, one or more of each.

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
