"""Citations lie inside what they cite and say what stands there; every location that the model has is reached."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness import assemble, bedrock, chunk
from converse_strategies.message.citation import MOST_PAGES, citation_locations, citations, citations_content_blocks
from converse_strategies.message.media import documents
from tests.strategies.conftest import found, never

TEXT = "Twenty days of leave, für alle. 🏖️"
POLICY = {"name": "policy", "source": {"text": TEXT}}
SEARCH = {"source": "https://example.com/leave", "title": "Leave", "content": [{"text": "20"}, {"text": "days"}]}
LOCATIONS = tuple(bedrock.shape("CitationLocation").members)
has_search = pytest.mark.skipif("searchResultLocation" not in LOCATIONS, reason="this botocore cites no search results")
has_web = pytest.mark.skipif("web" not in LOCATIONS, reason="this botocore cites no web pages")


def span(location: dict[str, Any]) -> tuple[str, int, int]:
    (kind, place), *none = location.items()
    assert not none
    return kind, place["start"], place["end"]


@given(citations())
def test_a_citation_is_valid_in_a_message_and_in_a_stream(citation: dict[str, Any]) -> None:
    bedrock.check("Citation", citation)
    if bedrock.has_shape("CitationsDelta"):
        bedrock.check("CitationsDelta", citation)
    (kind, place), *_ = citation["location"].items()
    if kind == "web":
        assert place["url"].startswith(f"https://{place['domain']}/")
    else:
        assert place["start"] <= place["end"]
        assert "title" in citation
        assert ("source" in citation) == (kind == "searchResultLocation")
    if kind == "documentChar":
        assert place["end"] - place["start"] == len(citation["sourceContent"][0]["text"])
    if kind == "documentPage":
        assert place["start"] >= 1


@given(citation_locations())
def test_a_location_is_valid(location: dict[str, Any]) -> None:
    bedrock.check("CitationLocation", location)


def test_every_location_of_the_model_is_reached() -> None:
    assert never(citation_locations(), LOCATIONS, list) == set()


@pytest.mark.parametrize("kind", LOCATIONS)
def test_every_location_of_the_model_can_be_chosen(kind: str) -> None:
    assert list(found(citation_locations(kinds=[kind]))) == [kind]
    assert list(found(citations(kinds=[kind]))["location"]) == [kind]


@given(st.data(), st.text(), st.integers(0, 4))
def test_of_a_text_what_stands_there_is_cited(data: st.DataObject, text: str, index: int) -> None:
    document = {"name": "notes", "source": {"text": text}}
    citation = data.draw(citations(document=document, index=index))
    kind, start, end = span(citation["location"])
    assert kind == "documentChar"
    assert citation["location"][kind]["documentIndex"] == index
    assert 0 <= start <= end <= len(text)
    assert citation["sourceContent"] == [{"text": text[start:end]}]
    assert citation["title"] == "notes"


@pytest.mark.parametrize("form", ["txt", "md", "csv", "html"])
def test_the_bytes_of_a_text_are_cited_as_the_text(form: str) -> None:
    document = {"name": "policy", "format": form, "source": {"bytes": TEXT.encode()}}
    cited = found(citations(document=document), lambda each: each["sourceContent"][0]["text"] == TEXT[-3:])
    assert span(cited["location"]) == ("documentChar", len(TEXT) - 3, len(TEXT))


@given(st.data(), st.lists(st.text(), max_size=4))
def test_of_content_chunks_are_cited(data: st.DataObject, chunks: list[str]) -> None:
    document = {"document": {"name": "notes", "source": {"content": [{"text": text} for text in chunks]}}}
    citation = data.draw(citations(document=document))
    kind, start, end = span(citation["location"])
    assert kind == "documentChunk"
    assert [part["text"] for part in citation["sourceContent"]] == chunks[start:end]
    assert start < end <= len(chunks) or not chunks


@has_search
@given(citations(document={"searchResult": SEARCH}, index=1))
def test_a_search_result_brings_its_title_and_source(citation: dict[str, Any]) -> None:
    kind, start, end = span(citation["location"])
    assert kind == "searchResultLocation"
    assert citation["location"][kind]["searchResultIndex"] == 1
    assert citation["sourceContent"] == SEARCH["content"][start:end]
    assert (citation["title"], citation["source"]) == (SEARCH["title"], SEARCH["source"])


@pytest.mark.parametrize(
    ("source", "last"),
    [
        ({"bytes": b"%PDF-1.4 <</Type /Pages>> <</Type /Page>> <</Type/Page >>"}, 2),
        ({"bytes": b"%PDF-1.5 compressed"}, MOST_PAGES),
        ({"s3Location": {"uri": "s3://bucket/report.pdf"}}, MOST_PAGES),
    ],
)
def test_what_has_pages_is_cited_by_page(source: dict[str, Any], last: int) -> None:
    document = {"name": "report", "format": "pdf", "source": source}
    cited = citations(document=document, texts=st.just("as it says"))

    @given(cited)
    def no_page_beyond(citation: dict[str, Any]) -> None:
        kind, start, end = span(citation["location"])
        assert kind == "documentPage"
        assert 1 <= start < end <= last + 1
        assert citation["sourceContent"] == [{"text": "as it says"}]

    no_page_beyond()


def test_the_last_page_can_be_cited() -> None:
    document = {"name": "report", "format": "pdf", "source": {"bytes": b"/Type /Page /Type/Page"}}
    last = found(citation_locations(document=document, index=0), lambda location: span(location)[1] == 2)
    assert last == {"documentPage": {"documentIndex": 0, "start": 2, "end": 3}}


@given(st.data(), documents())
def test_every_document_can_be_cited(data: st.DataObject, document: dict[str, Any]) -> None:
    citation = data.draw(citations(document={"document": document}))
    kind, start, end = span(citation["location"])
    assert citation["title"] == document["name"]
    match document["source"]:
        case {"bytes": written} if kind == "documentChar":
            assert citation["sourceContent"][0]["text"] == written.decode()[start:end]
        case {"bytes": written} if document["format"] == "pdf":
            assert 1 <= start < end <= 1 + written.count(b"/Type /Page ")
        case _:
            assert start < end


def test_bytes_that_are_no_text_are_cited_by_page() -> None:
    document = {"name": "odd", "format": "txt", "source": {"bytes": b"\xff"}}
    assert "documentPage" in found(citation_locations(document=document))


@given(citations_content_blocks())
def test_a_block_streams_and_comes_back_as_it_was(block: dict[str, Any]) -> None:
    bedrock.check("CitationsContentBlock", block)
    message = {"role": "assistant", "content": [{"citationsContent": block}]}
    assert assemble(chunk(message)).message == message
    assert len(block.get("content", [])) == 1 or all("web" in each["location"] for each in block["citations"])


@has_web
def test_a_block_of_web_pages_may_be_without_a_text() -> None:
    block = found(citations_content_blocks(), lambda block: "content" not in block)
    assert {kind for citation in block["citations"] for kind in citation["location"]} == {"web"}


@given(citations_content_blocks(document=POLICY, max_citations=2, texts=st.just("20 days")))
def test_a_block_can_be_about_one_document(block: dict[str, Any]) -> None:
    assert block["content"] == [{"text": "20 days"}]
    assert 1 <= len(block["citations"]) <= 2
    assert all(each["sourceContent"][0]["text"] in TEXT for each in block["citations"])


@has_search
@given(citations(document=SEARCH))
def test_what_is_drawn_can_be_changed(citation: dict[str, Any]) -> None:
    assert citation["sourceContent"]
    citation["sourceContent"][0]["text"] = ""
    assert SEARCH["content"] == [{"text": "20"}, {"text": "days"}]


@pytest.mark.parametrize(
    ("strategy", "told"),
    [
        (citations(kinds=["page"]), "'page' is no choice of kinds"),
        (citations(kinds=[]), "[] is no choice"),
        (citations(kinds="documentChar"), "Write kinds=['documentChar']"),
        (citation_locations(document=POLICY, kinds=["documentPage"]), "this document is cited by documentChar"),
        (citations(document={"text": "hello"}), "give a DocumentBlock of the AWS API"),
        (citations(document=POLICY, index=-1), "counted from 0"),
        (citations_content_blocks(kinds=["page"]), "citations_content_blocks(kinds=['page'])"),
        (citations_content_blocks(max_citations=0), "cannot be streamed"),
    ],
)
def test_what_is_wrong_is_said_when_drawn(strategy: st.SearchStrategy[Any], told: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        found(strategy)
    assert told in str(caught.value)
