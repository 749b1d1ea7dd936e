"""Citations: the location and text of a passage in a document or search result of the request, or of a web page.

The table COUNTING lists the kinds of AWS CitationLocation that are ranges, with their units, such as characters or
pages. `citing` builds a Citation; the hypothesis strategies generate random ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final
from urllib.parse import urlsplit

from converse_harness import bedrock
from converse_harness.bedrock.api.checks import is_array, is_object
from converse_harness.errors import ReplyError
from converse_harness.words import shown

Span = int | range
"""Which units (characters, pages, chunks or blocks) of a source are cited: the position of one unit, or a range of
positions. The end of a range is exclusive, as in AWS's locations."""


@dataclass(frozen=True, slots=True)
class Counting:
    """How one kind of AWS CitationLocation counts the units of a source.

    `units` is the name of the units, such as "pages". `index` is the name of the location's member that contains the
    index of the cited source. `first` is the position of a source's first unit, 0 or 1.
    """

    units: str
    index: str = "documentIndex"
    first: int = 0


COUNTING: Final[Mapping[str, Counting]] = {
    "documentChar": Counting("characters"),
    "documentPage": Counting("pages", first=1),
    "documentChunk": Counting("chunks"),
    "searchResultLocation": Counting("blocks", index="searchResultIndex"),
}
"""Maps the members of AWS's CitationLocation that give a range in a source to the way in which they count its units.
Source: recorded answers of Claude; for `searchResultLocation`, AWS's API model."""

_TEXT_FORMATS: Final = ("txt", "md", "csv", "html")
_PDF_PAGE: Final = re.compile(rb"/Type\s*/Page\b")
_PDF_COMPRESSED: Final = b"/ObjStm"


@dataclass(frozen=True, slots=True)
class Source:
    """A document, search result or web page that can be cited.

    `kind` is the member of AWS's CitationLocation for passages of this source. `size` is the number of units, None if
    they cannot be counted. `parts` are the texts of the units, None if the texts cannot be read. For a plain text,
    whose units are characters, `parts` is the text itself. `title` and `source` are copied into the Citation.
    """

    kind: str
    size: int | None
    parts: Sequence[str] | None = None
    title: str | None = None
    source: str | None = None

    def location(self, index: int, start: int, end: int) -> dict[str, Any]:
        """Return the AWS CitationLocation of the units from `start` to `end` (exclusive), both counted from 0.

        `index` is the position of this source among the documents, or among the search results, of the request.
        """
        counting = COUNTING[self.kind]
        return {
            self.kind: {counting.index: index, "start": counting.first + start, "end": counting.first + end},
        }

    def passage(self, start: int, end: int) -> list[str] | None:
        """Return the text of the units from `start` to `end` (exclusive), or None if the units cannot be read.

        A plain text gives one string; other sources give one string per unit.
        """
        if self.parts is None:
            return None
        part = self.parts[start:end]
        return [part] if isinstance(part, str) else list(part)

    def citation(self, location: Mapping[str, Any], passage: Sequence[str] | None) -> dict[str, Any]:
        """Return the AWS Citation of a location and passage, with this source's title and `source`.

        The member `source` is left out if the installed botocore does not have it.
        """
        citation: dict[str, Any] = {"location": dict(location)}
        if passage is not None:
            citation["sourceContent"] = [{"text": text} for text in passage]
        if self.title is not None:
            citation["title"] = self.title
        if self.source is not None and bedrock.has_member("Citation", "source"):
            citation["source"] = self.source
        return citation


def citing(
    document: Mapping[str, Any] | str,
    quote: str | None = None,
    *,
    index: int = 0,
    characters: Span | None = None,
    pages: Span | None = None,
    chunks: Span | None = None,
    blocks: Span | None = None,
) -> dict[str, Any]:
    """Build the AWS Citation of a passage in a document or search result of the request, or of a web page.

    `document` is a DocumentBlock or SearchResultBlock, a ContentBlock with one of these, or the URL of a web page.
    `index` is the block's position among the documents, or among the search results, of the request.

    The passage is the first occurrence of `quote`, or an int or a range in the unit of the source. This unit is
    `characters` for a plain text (also as bytes of a txt, md, csv or html file), and `blocks` for a search result. It
    is `chunks` for a document with `content`, and `pages` for all other documents. Pages are numbered from 1, other
    units from 0. Without a quote and a unit, the whole source is cited. The text of pages is not read: a citation of
    pages contains `quote` as its text, or no text.

    Source: recorded answers of Claude (document) and Nova (web). Raises ReplyError for a passage that is not in the
    document, for a unit that the source does not have, and for a kind of location that the installed botocore lacks.

    >>> policy = {"name": "policy", "source": {"text": "You get twenty days."}}
    >>> citing(policy, "twenty days")  # doctest: +NORMALIZE_WHITESPACE
    {'location': {'documentChar': {'documentIndex': 0, 'start': 8, 'end': 19}},
     'sourceContent': [{'text': 'twenty days'}], 'title': 'policy'}
    """
    given = {"characters": characters, "pages": pages, "chunks": chunks, "blocks": blocks}
    spans = {units: span for units, span in given.items() if span is not None}
    _check_arguments(quote, index)
    if isinstance(document, str):
        return _citing_page_of_the_web(document, quote, index, spans)
    try:
        source = read_source(document)
    except ReplyError as error:
        raise ReplyError(f"citing(): {error}") from error
    match _inner(document):
        case {"citations": {"enabled": False}}:
            raise ReplyError(
                f"citing(): {source.title!r} has citations switched off, so AWS would not cite it. Send it with "
                '"citations": {"enabled": True}.'
            )
        case _:
            pass
    start, end = _find(source, quote, spans)
    passage = source.passage(start, end)
    if passage is None and quote is not None:
        passage = [quote]
    return source.citation(source.location(index, start, end), passage)


def read_source(document: Mapping[str, Any]) -> Source:
    """Convert a DocumentBlock, a SearchResultBlock, or a ContentBlock with one of these to a Source.

    Raises ReplyError for any other value, and if the installed botocore lacks the kind of location.
    """
    match _inner(document):
        case {"source": str(source), "content": list() | tuple(), "title": str(title)} as block:
            found = _read_parts("searchResultLocation", title, block["content"], source)
        case {"source": Mapping(), "name": str(name)} as block:
            found = _read_document(block["source"], name, block.get("format"))
        case _:
            raise ReplyError(
                f"{shown(document)} cannot be cited: give a DocumentBlock of the AWS API (name, source), a "
                "SearchResultBlock (source, title, content) or a ContentBlock that holds one."
            )
    _check_known(found.kind)
    return found


@cache
def locations() -> tuple[str, ...]:
    """The names of the members of CitationLocation in the installed botocore: first those in COUNTING, then all others.

    >>> locations()[:3]
    ('documentChar', 'documentPage', 'documentChunk')
    """
    known = tuple(bedrock.shape("CitationLocation").members)
    ranges = tuple(kind for kind in COUNTING if kind in known)
    return ranges + tuple(kind for kind in known if kind not in COUNTING)


def _check_arguments(quote: object, index: object) -> None:
    if type(index) is not int or index < 0:
        raise ReplyError(
            f"citing(index={index!r}): the place of a document among those of the request, counted from 0."
        )
    if quote is not None and (not isinstance(quote, str) or not quote):
        raise ReplyError(f"citing(quote={quote!r}): a passage, as it stands in the document; or leave it out.")


def _check_known(kind: str) -> None:
    if kind not in locations():
        raise ReplyError(
            f"botocore {bedrock.botocore_version()} has no location {kind}, by which this is cited; it has "
            f"{', '.join(locations())}. Upgrade botocore, or give another document."
        )


def _citing_page_of_the_web(url: str, quote: str | None, index: int, spans: Mapping[str, Span]) -> dict[str, Any]:
    try:
        split = urlsplit(url)
    except ValueError:
        split = urlsplit("")
    if split.scheme not in ("http", "https") or not split.hostname:
        raise ReplyError(
            f"citing({shown(url)}): a page of the web is cited by its URL, https://example.com/page for instance, and "
            "a document by its DocumentBlock."
        )
    if spans or index:
        raise ReplyError(
            f"citing({shown(url)}, {', '.join(spans) or 'index'}=...): a page of the web is cited as a whole, by its "
            "URL; leave it out."
        )
    _check_known("web")
    location = {"web": {"url": url, "domain": split.hostname}}
    return Source("web", None).citation(location, None if quote is None else [quote])


def _inner(document: Any) -> Any:
    """Return the DocumentBlock or SearchResultBlock inside a ContentBlock; return any other block unchanged."""
    match document:
        case {"document": inner} | {"searchResult": inner}:
            return inner
        case _:
            return document


def _find(source: Source, quote: str | None, spans: Mapping[str, Span]) -> tuple[int, int]:
    """Return the start and end (exclusive) of the cited passage in units of the source, counted from 0.

    `spans` maps the name of a unit to the positions that the caller of `citing` gave in this unit.
    """
    units = COUNTING[source.kind].units
    for asked in spans:
        if asked != units:
            raise ReplyError(f"citing({asked}=...): {source.title!r} is cited by {units}. Give {units}= or a quote.")
    if spans and quote is not None and source.parts is not None:
        raise ReplyError(f"citing({shown(quote)}, {units}=...): the quote says where already. Give one of the two.")
    if spans:
        return _span(source, units, spans[units])
    if quote is not None and source.parts is not None:
        return _place_of(source, source.parts, quote)
    if source.size == 0:
        raise ReplyError(f"citing(): {source.title!r} is empty: there is nothing in it to cite.")
    if source.size is None or (quote is not None and source.size > 1):
        raise ReplyError(f"citing(): {source.title!r} is cited by {units}, which are not read. Say which: {units}=1.")
    return 0, source.size


def _span(source: Source, units: str, span: object) -> tuple[int, int]:
    first = COUNTING[source.kind].first
    if type(span) is int:
        start, end = span - first, span - first + 1
    elif isinstance(span, range) and span.step == 1:
        start, end = span.start - first, span.stop - first
    else:
        raise ReplyError(f"citing({units}={span!r}): a whole number, or range(start, end), whose end is not cited.")
    if not 0 <= start < end or (source.size is not None and end > source.size):
        size = "at least one" if source.size is None else str(source.size)
        last = "..." if source.size is None else str(first + source.size - 1)
        raise ReplyError(
            f"citing({units}={span!r}): {source.title!r} has {size} of them: {units} {first} to {last}."
            if source.size != 0
            else f"citing({units}={span!r}): {source.title!r} is empty: there is nothing in it to cite."
        )
    return start, end


def _place_of(source: Source, parts: Sequence[str], quote: str) -> tuple[int, int]:
    if isinstance(parts, str):
        start = parts.find(quote)
        if start >= 0:
            return start, start + len(quote)
    else:
        for place, part in enumerate(parts):
            if quote in part:
                return place, place + 1
    one = "it" if isinstance(parts, str) else f"one of its {COUNTING[source.kind].units}"
    raise ReplyError(
        f"citing({shown(quote)}): this does not stand in {source.title!r}, which is {shown(parts)}. Give a passage "
        f"as it stands in {one}."
    )


def _read_document(origin: Mapping[str, Any], name: str, form: object) -> Source:
    text = origin.get("text")
    data = origin.get("bytes")
    if not isinstance(text, str | None):
        raise ReplyError(f"the text of {name!r} is {shown(text)}; give it as str.")
    if not isinstance(data, bytes | bytearray | None):
        raise ReplyError(f"the bytes of {name!r} are {shown(data)}; give them as bytes, as boto3 takes them.")
    if text is None and data is not None and form in _TEXT_FORMATS:
        text = _decoded(data)
    if text is not None:
        return Source("documentChar", len(text), parts=text, title=name)
    if "content" in origin:
        return _read_parts("documentChunk", name, origin["content"])
    return Source("documentPage", None if data is None else _count_pages(data), title=name)


def _read_parts(kind: str, title: str, content: object, source: str | None = None) -> Source:
    if not is_array(content) or not all(is_object(part) for part in content):
        raise ReplyError(f"the content of {title!r} is {shown(content)}; give a list of dicts with 'text'.")
    parts = [str(part.get("text", "")) for part in content]
    return Source(kind, len(parts), parts=parts, title=title, source=source)


def _decoded(data: bytes | bytearray) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _count_pages(data: bytes | bytearray) -> int | None:
    """Return the number of pages of a PDF; None for other files, and for a PDF whose page objects may be compressed."""
    pages = 0 if _PDF_COMPRESSED in data else len(_PDF_PAGE.findall(data))
    return pages or None
