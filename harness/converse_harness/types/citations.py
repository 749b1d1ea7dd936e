"""Citations: the passages of documents, search results and web pages that support an answer.

>>> passage: Citation = {"title": "Report", "location": {"documentChar": {"documentIndex": 0, "start": 0, "end": 4}}}
>>> passage["location"]["documentChar"]["end"]
4
"""

from typing import Literal, TypeAlias, TypedDict


class CitationsConfig(TypedDict):
    """Settings for citations of a document; `enabled` turns them on."""

    enabled: bool


class DocumentCharLocation(TypedDict, total=False):
    """A range of characters of the document with the index `documentIndex` in the request. All numbers count from 0."""

    documentIndex: int
    start: int
    end: int


class DocumentChunkLocation(TypedDict, total=False):
    """A range of chunks of a document that was sent as a list of chunks; all three numbers count from 0."""

    documentIndex: int
    start: int
    end: int


class DocumentPageLocation(TypedDict, total=False):
    """A range of pages of a document; all three numbers are 0 or more."""

    documentIndex: int
    start: int
    end: int


class SearchResultLocation(TypedDict, total=False):
    """A range of the content blocks of a search result; all three numbers count from 0."""

    searchResultIndex: int
    start: int
    end: int


class WebLocation(TypedDict, total=False):
    """A web page that a search found: its `url` and `domain`."""

    url: str
    domain: str


DocumentCharLocationDict: TypeAlias = dict[Literal["documentChar"], DocumentCharLocation]
"""A dict whose only key, `documentChar`, has a DocumentCharLocation as its value."""

DocumentPageLocationDict: TypeAlias = dict[Literal["documentPage"], DocumentPageLocation]
"""A dict whose only key, `documentPage`, has a DocumentPageLocation as its value."""

DocumentChunkLocationDict: TypeAlias = dict[Literal["documentChunk"], DocumentChunkLocation]
"""A dict whose only key, `documentChunk`, has a DocumentChunkLocation as its value."""

SearchResultLocationDict: TypeAlias = dict[Literal["searchResultLocation"], SearchResultLocation]
"""A dict whose only key, `searchResultLocation`, has a SearchResultLocation as its value."""

WebLocationDict: TypeAlias = dict[Literal["web"], WebLocation]
"""A dict whose only key, `web`, has a WebLocation as its value."""

CitationLocation: TypeAlias = (
    DocumentCharLocationDict
    | DocumentPageLocationDict
    | DocumentChunkLocationDict
    | SearchResultLocationDict
    | WebLocationDict
)
"""The location of a cited passage: a dict with exactly one key, the kind of location."""


class CitationSourceContent(TypedDict, total=False):
    """A passage copied from the source. This is a union; `text` is its only member so far."""

    text: str


class CitationGeneratedContent(TypedDict, total=False):
    """The model's text for which a source is cited. This is a union; `text` is its only member so far."""

    text: str


class Citation(TypedDict, total=False):
    """One source of an answer: its `location`, the passages cited from it and its `title`.

    AWS's own shape also has the member `source`, which Strands lacks.
    """

    location: CitationLocation
    sourceContent: list[CitationSourceContent]
    title: str


class CitationsContentBlock(TypedDict, total=False):
    """A content block with sources: the generated `content`, and the `citations` that support it."""

    citations: list[Citation]
    content: list[CitationGeneratedContent]
