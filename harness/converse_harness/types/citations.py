"""Citations: the passages of documents, search results and web pages that support an answer."""

from typing import Literal, TypeAlias, TypedDict


class CitationsConfig(TypedDict):
    """Settings for citations of a document; `enabled` turns them on."""

    enabled: bool


class DocumentCharLocation(TypedDict, total=False):
    """A span of characters. `documentIndex` counts the documents of the request; all three count from 0."""

    documentIndex: int
    start: int
    end: int


class DocumentChunkLocation(TypedDict, total=False):
    """A span of chunks of a document that came in parts; all three count from 0."""

    documentIndex: int
    start: int
    end: int


class DocumentPageLocation(TypedDict, total=False):
    """A span of pages of a document; none of the three is negative."""

    documentIndex: int
    start: int
    end: int


class SearchResultLocation(TypedDict, total=False):
    """A span of the content blocks of a search result; all three count from 0."""

    searchResultIndex: int
    start: int
    end: int


class WebLocation(TypedDict, total=False):
    """A web page that a search found: its `url` and `domain`."""

    url: str
    domain: str


DocumentCharLocationDict: TypeAlias = dict[Literal["documentChar"], DocumentCharLocation]
"""A span of characters under its tag."""

DocumentPageLocationDict: TypeAlias = dict[Literal["documentPage"], DocumentPageLocation]
"""A span of pages under its tag."""

DocumentChunkLocationDict: TypeAlias = dict[Literal["documentChunk"], DocumentChunkLocation]
"""A span of chunks under its tag."""

SearchResultLocationDict: TypeAlias = dict[Literal["searchResultLocation"], SearchResultLocation]
"""A span of a search result under its tag."""

WebLocationDict: TypeAlias = dict[Literal["web"], WebLocation]
"""A page of the web under its tag."""

CitationLocation: TypeAlias = (
    DocumentCharLocationDict
    | DocumentPageLocationDict
    | DocumentChunkLocationDict
    | SearchResultLocationDict
    | WebLocationDict
)
"""Where the cited passage stands: a dict of exactly one tag."""


class CitationSourceContent(TypedDict, total=False):
    """A passage in the source's words. A union: `text` is the only member so far."""

    text: str


class CitationGeneratedContent(TypedDict, total=False):
    """The model's text for which a source is cited. A union: `text` is the only member so far."""

    text: str


class Citation(TypedDict, total=False):
    """One source of an answer: its `location`, the passages cited from it and its `title`.

    AWS's own shape has a `source` as well, which Strands lacks.
    """

    location: CitationLocation
    sourceContent: list[CitationSourceContent]
    title: str


class CitationsContentBlock(TypedDict, total=False):
    """A content block with sources: the generated `content`, and the `citations` that support it."""

    citations: list[Citation]
    content: list[CitationGeneratedContent]
