"""Strategies for AWS Citations: passages of documents, search results and web pages, with their locations."""

from __future__ import annotations

import string
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness.bedrock.citations import Source, locations, read_source
from converse_harness.errors import ReplyError
from converse_strategies import basics
from converse_strategies.basics import Texts, chosen, composite, sampled

Document = Mapping[str, Any]

MOST_PAGES: Final = 100
"""The number of pages assumed for a document whose pages cannot be counted. Anthropic's models read no more pages."""

_MOST_CHARACTERS: Final = 10_000
_MOST_PARTS: Final = 20
_MOST_DOCUMENTS: Final = 5
URLS: Final = st.tuples(
    st.sampled_from(("example.com", "www.example.org", "docs.example.net")),
    st.text(string.ascii_lowercase + string.digits, max_size=12),
).map(lambda both: (f"https://{both[0]}/{both[1]}", both[0]))


@composite
def citations(
    draw: st.DrawFn,
    *,
    document: Document | None = None,
    index: int | None = None,
    kinds: Collection[str] | None = None,
    texts: Texts | None = None,
) -> dict[str, Any]:
    """AWS Citations (which are also CitationsDeltas), with every kind of location that the installed botocore has.

    `document` is the cited DocumentBlock or SearchResultBlock, or a ContentBlock that contains one. Then the location
    is inside the document, `title` is the document's name, and `sourceContent` is the cited passage. The source of the
    document determines the unit of the location: characters for a text or for the bytes of a txt, md, csv or html file,
    chunks for `content`. A search result is cited by the blocks of its content. Any other document is cited by pages;
    its text is not read, so `sourceContent` is drawn from `texts`. `index` is the position of the document among the
    documents (or search results) of the request, by default any of 0 to 4. `kinds` are members of CitationLocation;
    `texts` is a strategy for texts.

    `end` is the first position after the cited range; characters and chunks are counted from 0, pages from 1. A
    citation of a web page may lack `title` and `sourceContent`. Source: recorded answers of Claude and Nova; AWS's
    API model. Raises InvalidArgument, when drawn, for unknown kinds, and for kinds that do not fit the document.

    >>> from hypothesis import find
    >>> policy = {"name": "policy", "source": {"text": "Twenty days."}}
    >>> find(citations(document=policy, index=0), lambda citation: True)
    ... # doctest: +NORMALIZE_WHITESPACE
    {'location': {'documentChar': {'documentIndex': 0, 'start': 0, 'end': 1}},
     'sourceContent': [{'text': 'T'}], 'title': 'policy'}
    """
    some = basics.texts() if texts is None else texts
    return _draw_citation(draw, _choose(draw, "citations", document, kinds), index, some)


@composite
def citation_locations(
    draw: st.DrawFn, *, document: Document | None = None, index: int | None = None, kinds: Collection[str] | None = None
) -> dict[str, Any]:
    """AWS CitationLocations, which are inside `document` if it is given. Arguments and errors are those of
    `citations()`.

    >>> from hypothesis import find
    >>> find(citation_locations(kinds=["documentPage"]), lambda location: True)
    {'documentPage': {'documentIndex': 0, 'start': 1, 'end': 2}}
    """
    cited = _choose(draw, "citation_locations", document, kinds)
    return _draw_web(draw) if cited.kind == "web" else _draw_range(draw, cited, index)[0]


@composite
def citations_content_blocks(
    draw: st.DrawFn,
    *,
    document: Document | None = None,
    index: int | None = None,
    kinds: Collection[str] | None = None,
    max_citations: int = 3,
    texts: Texts | None = None,
) -> dict[str, Any]:
    """AWS CitationsContentBlocks that can be streamed: one generated text, and one or more citations that support it.

    If all citations are of web pages, the generated text may be missing, as in answers of Nova's grounding. Arguments
    and errors are those of `citations()`.

    >>> from hypothesis import find
    >>> pages = citations_content_blocks(kinds=["documentPage"])
    >>> block = find(pages, lambda block: len(block["citations"]) == 2)
    >>> block["content"]
    [{'text': ''}]
    """
    some = basics.texts() if texts is None else texts
    # The arguments are checked here and not only in `citations`, so that an error message names this function.
    known = _kinds("citations_content_blocks", document, kinds)
    if max_citations < 1:
        raise InvalidArgument(
            f"citations_content_blocks(max_citations={max_citations!r}): a block without a citation cannot be "
            "streamed. Give 1 or more; a plain text is a text block."
        )
    if document is None and kinds is None:  # one answer never cites both web pages and other sources
        known = draw(sampled((kinds_of_web(False), kinds_of_web(True))))
    one = citations(document=document, index=index, kinds=known if document is None else kinds, texts=some)
    cited = draw(st.lists(one, min_size=1, max_size=max_citations))
    block: dict[str, Any] = {"citations": cited}
    if not all("web" in citation["location"] for citation in cited) or draw(st.booleans()):
        block["content"] = [{"text": draw(some)}]
    return block


def _draw_citation(draw: st.DrawFn, cited: Source, index: int | None, texts: Texts) -> dict[str, Any]:
    if cited.kind == "web":
        location = _draw_web(draw)
        if not draw(st.booleans()):
            return {"location": location}
        quoted = [draw(texts)]
        return replace(cited, title=draw(texts)).citation(location, quoted)
    if cited.parts is not None:
        location, start, end = _draw_range(draw, cited, index)
        passage = cited.passage(start, end)
    else:
        passage = [draw(texts)]
        length = len(passage[0]) if cited.kind == "documentChar" else None
        location, _, _ = _draw_range(draw, cited, index, length)
    if cited.title is None:
        cited = replace(cited, title=draw(texts))
    if cited.kind == "searchResultLocation" and cited.source is None:
        cited = replace(cited, source=draw(URLS)[0])
    return cited.citation(location, passage)


def _draw_web(draw: st.DrawFn) -> dict[str, Any]:
    url, domain = draw(URLS)
    return {"web": {"url": url, "domain": domain}}


def _draw_range(
    draw: st.DrawFn, cited: Source, index: int | None, length: int | None = None
) -> tuple[dict[str, Any], int, int]:
    """Draw a location that is a range in `cited`. Return the location, and the start and end of the range, counted from
    0.

    `length` is the length of the range; it is drawn if `length` is None. `index` is the position of the document in the
    request.
    """
    if index is not None and index < 0:
        raise InvalidArgument(
            f"index={index!r}: a document's place is counted from 0. Leave it out, or give 0 or more."
        )
    size = MOST_PAGES if cited.size is None else cited.size
    start = draw(st.integers(0, max(size - 1, 0)))
    if length is None:
        length = draw(st.integers(1, size - start)) if size else 0
    chosen_index = draw(st.integers(0, _MOST_DOCUMENTS - 1)) if index is None else index
    return cited.location(chosen_index, start, start + length), start, start + length


_ANYTHING: Final[Mapping[str, Source]] = {
    "documentChar": Source("documentChar", _MOST_CHARACTERS),
    "documentPage": Source("documentPage", None),
    "documentChunk": Source("documentChunk", _MOST_PARTS),
    "searchResultLocation": Source("searchResultLocation", _MOST_PARTS),
    "web": Source("web", None),
}
"""Member of CitationLocation -> the source that is cited if no document is given."""


@cache
def _known() -> tuple[str, ...]:
    return tuple(kind for kind in locations() if kind in _ANYTHING)


@cache
def kinds_of_web(web: bool) -> tuple[str, ...]:
    """Return the member of CitationLocation for web pages if `web` is true, otherwise all other members.

    Models of one maker cite either web pages or other sources.
    """
    return tuple(kind for kind in _known() if (kind == "web") is web) or _known()


def _choose(draw: st.DrawFn, function: str, document: Document | None, kinds: Collection[str] | None) -> Source:
    fitting = _kinds(function, document, kinds)
    return _ANYTHING[draw(sampled(fitting))] if document is None else _read(function, document)


def _kinds(function: str, document: Document | None, kinds: Collection[str] | None) -> tuple[str, ...]:
    """Return those of `kinds` (None: all kinds of locations) that are possible for `document`.

    Raises InvalidArgument if no kind is left. `function` is the name in its message.
    """
    possible = _known() if document is None else (_read(function, document).kind,)
    if kinds is None:
        return possible
    asked = chosen(function, "kinds", kinds, _known())
    fitting = tuple(kind for kind in possible if kind in asked)
    if not fitting:
        raise InvalidArgument(
            f"{function}(kinds={kinds!r}): this document is cited by {possible[0]}. Leave kinds= out, or give a "
            "document with text (cited by character), content (by chunk) or pages."
        )
    return fitting


def _read(function: str, document: Document) -> Source:
    """Convert a document or search result to a Source that can be cited. Raises InvalidArgument for any other value."""
    try:
        return read_source(document)
    except ReplyError as error:
        raise InvalidArgument(f"{function}(document=...): {error}") from error
