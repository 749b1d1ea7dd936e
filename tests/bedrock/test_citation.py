"""citing(): the Citation of a passage lies where the passage stands; nonsense fails at the line that wrote it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness import ReplyError, bedrock, citing
from converse_harness.bedrock.citations import COUNTING, locations

TEXT = "Zürich: 18 °C, sunny. Bern: 18 °C, cloudy."
FORECAST = {"name": "forecast", "source": {"text": TEXT}}
CHUNKS = {"name": "notes", "source": {"content": [{"text": "Zürich: 18 °C"}, {"text": "Bern: 18 °C"}, {"text": "."}]}}
PDF = {
    "name": "report",
    "format": "pdf",
    "source": {"bytes": b"%PDF-1.4 <</Type /Pages>> <</Type /Page>> <</Type/Page >>"},
}
ONE_PAGE = {"name": "page", "format": "pdf", "source": {"bytes": b"%PDF-1.4 /Type /Page /Type /Pages"}}
COMPRESSED = {"name": "book", "format": "pdf", "source": {"bytes": b"%PDF-1.5 /Type /Page /Type /ObjStm"}}
STORED = {"name": "stored", "format": "pdf", "source": {"s3Location": {"uri": "s3://bucket/report.pdf"}}}
SEARCH = {"source": "https://example.com/leave", "title": "Leave", "content": [{"text": "20"}, {"text": "days"}]}
EMPTY = {"name": "empty", "source": {"text": ""}}
WEB = "https://www.example.com/weather?city=bern"


def characters(start: int, end: int, index: int = 0) -> dict[str, Any]:
    return {
        "location": {"documentChar": {"documentIndex": index, "start": start, "end": end}},
        "sourceContent": [{"text": TEXT[start:end]}],
        "title": "forecast",
    }


def chunks(start: int, end: int) -> dict[str, Any]:
    return {
        "location": {"documentChunk": {"documentIndex": 0, "start": start, "end": end}},
        "sourceContent": CHUNKS["source"]["content"][start:end],  # type: ignore[index]
        "title": "notes",
    }


def pages(title: str, start: int, end: int, said: str | None = None) -> dict[str, Any]:
    content = {} if said is None else {"sourceContent": [{"text": said}]}
    return {"location": {"documentPage": {"documentIndex": 0, "start": start, "end": end}}, **content, "title": title}


def blocks(start: int, end: int, index: int = 0) -> dict[str, Any]:
    return {
        "location": {"searchResultLocation": {"searchResultIndex": index, "start": start, "end": end}},
        "sourceContent": SEARCH["content"][start:end],
        "title": "Leave",
        "source": "https://example.com/leave",
    }


CITED: list[tuple[Any, dict[str, Any], dict[str, Any]]] = [
    (FORECAST, {"quote": "18 °C"}, characters(8, 13)),
    (FORECAST, {"quote": "18 °C, c"}, characters(28, 36)),
    (FORECAST, {"quote": TEXT}, characters(0, len(TEXT))),
    (FORECAST, {}, characters(0, len(TEXT))),
    (FORECAST, {"characters": range(28, 33), "index": 3}, characters(28, 33, 3)),
    (FORECAST, {"characters": len(TEXT) - 1}, characters(len(TEXT) - 1, len(TEXT))),
    ({"document": FORECAST}, {"quote": "Z"}, characters(0, 1)),
    (
        {"name": "forecast", "format": "csv", "source": {"bytes": TEXT.encode()}},
        {"quote": "sunny"},
        characters(15, 20),
    ),
    (CHUNKS, {"quote": "18 °C"}, chunks(0, 1)),
    (CHUNKS, {"quote": "Bern"}, chunks(1, 2)),
    (CHUNKS, {"chunks": 2}, chunks(2, 3)),
    (CHUNKS, {"chunks": range(1, 3)}, chunks(1, 3)),
    (CHUNKS, {}, chunks(0, 3)),
    (PDF, {"pages": 2}, pages("report", 2, 3)),
    (PDF, {"pages": range(1, 3), "quote": "as it says"}, pages("report", 1, 3, "as it says")),
    (PDF, {}, pages("report", 1, 3)),
    (ONE_PAGE, {"quote": "as it says"}, pages("page", 1, 2, "as it says")),
    (COMPRESSED, {"pages": 300}, pages("book", 300, 301)),
    (STORED, {"pages": 7}, pages("stored", 7, 8)),
    (SEARCH, {"quote": "day", "index": 2}, blocks(1, 2, 2)),
    ({"searchResult": SEARCH}, {"blocks": 0}, blocks(0, 1)),
    (SEARCH, {}, blocks(0, 2)),
    (WEB, {}, {"location": {"web": {"url": WEB, "domain": "www.example.com"}}}),
    (
        WEB,
        {"quote": "18 °C"},
        {"location": {"web": {"url": WEB, "domain": "www.example.com"}}, "sourceContent": [{"text": "18 °C"}]},
    ),
]


@pytest.mark.parametrize(
    ("document", "arguments", "citation"), [row for row in CITED if next(iter(row[2]["location"])) in locations()]
)
def test_what_is_cited_is_where_it_stands(document: Any, arguments: dict[str, Any], citation: dict[str, Any]) -> None:
    assert citing(document, **arguments) == citation
    bedrock.check("Citation", citation)


NUMBER = "a whole number, or range(start, end), whose end is not cited."
INDEX = "the place of a document among those of the request, counted from 0."
QUOTE = "a passage, as it stands in the document; or leave it out."
NOTHING = "'empty' is empty: there is nothing in it to cite."
NOT_READ = "is cited by pages, which are not read. Say which: pages=1."
NO_URL = (
    "a page of the web is cited by its URL, https://example.com/page for instance, and a document by its DocumentBlock."
)
AS_A_WHOLE = "a page of the web is cited as a whole, by its URL; leave it out."
NO_DOCUMENT = (
    "cannot be cited: give a DocumentBlock of the AWS API (name, source), a SearchResultBlock (source, title, content) "
    "or a ContentBlock that holds one."
)

WRONG: list[tuple[Any, dict[str, Any], str]] = [
    (
        FORECAST,
        {"quote": "19 °C"},
        f"citing('19 °C'): this does not stand in 'forecast', which is '{TEXT}'. Give a passage as it stands in it.",
    ),
    (
        CHUNKS,
        {"quote": "18 °CBern"},
        (
            "citing('18 °CBern'): this does not stand in 'notes', which is ['Zürich: 18 °C', 'Bern: 18 °C', '.']. Give "
            "a passage as it stands in one of its chunks."
        ),
    ),
    (
        FORECAST,
        {"pages": 1},
        "citing(pages=...): 'forecast' is cited by characters. Give characters= or a quote.",
    ),
    (PDF, {"chunks": 1}, "citing(chunks=...): 'report' is cited by pages. Give pages= or a quote."),
    (PDF, {"pages": 3}, "citing(pages=3): 'report' has 2 of them: pages 1 to 2."),
    (PDF, {"pages": 0}, "citing(pages=0): 'report' has 2 of them: pages 1 to 2."),
    (PDF, {"quote": "x"}, f"citing(): 'report' {NOT_READ}"),
    (COMPRESSED, {"pages": 0}, "citing(pages=0): 'book' has at least one of them: pages 1 to ...."),
    (STORED, {}, f"citing(): 'stored' {NOT_READ}"),
    (CHUNKS, {"chunks": 3}, "citing(chunks=3): 'notes' has 3 of them: chunks 0 to 2."),
    (CHUNKS, {"chunks": -1}, "citing(chunks=-1): 'notes' has 3 of them: chunks 0 to 2."),
    (CHUNKS, {"chunks": range(2, 4)}, "citing(chunks=range(2, 4)): 'notes' has 3 of them: chunks 0 to 2."),
    (CHUNKS, {"chunks": range(1, 1)}, "citing(chunks=range(1, 1)): 'notes' has 3 of them: chunks 0 to 2."),
    (CHUNKS, {"chunks": (0, 1)}, f"citing(chunks=(0, 1)): {NUMBER}"),
    (CHUNKS, {"chunks": True}, f"citing(chunks=True): {NUMBER}"),
    (CHUNKS, {"chunks": range(0, 3, 2)}, f"citing(chunks=range(0, 3, 2)): {NUMBER}"),
    (
        CHUNKS,
        {"chunks": 0, "quote": "Zürich"},
        "citing('Zürich', chunks=...): the quote says where already. Give one of the two.",
    ),
    (EMPTY, {}, f"citing(): {NOTHING}"),
    (EMPTY, {"characters": 0}, f"citing(characters=0): {NOTHING}"),
    (FORECAST, {"index": -1}, f"citing(index=-1): {INDEX}"),
    (FORECAST, {"index": True}, f"citing(index=True): {INDEX}"),
    (FORECAST, {"quote": ""}, f"citing(quote=''): {QUOTE}"),
    (FORECAST, {"quote": 18}, f"citing(quote=18): {QUOTE}"),
    (
        FORECAST | {"citations": {"enabled": False}},
        {},
        (
            "citing(): 'forecast' has citations switched off, so AWS would not cite it. Send it with "
            '"citations": {"enabled": True}.'
        ),
    ),
    (
        {"name": "base64", "source": {"bytes": "JVBERi0="}},
        {},
        "citing(): the bytes of 'base64' are 'JVBERi0='; give them as bytes, as boto3 takes them.",
    ),
    ({"text": TEXT}, {}, f"citing(): {{'text': '{TEXT}'}} {NO_DOCUMENT}"),
    (None, {}, f"citing(): None {NO_DOCUMENT}"),
    ("forecast.txt", {}, f"citing('forecast.txt'): {NO_URL}"),
    ("https://[", {}, f"citing('https://['): {NO_URL}"),
    (WEB, {"pages": 1}, f"citing('{WEB}', pages=...): {AS_A_WHOLE}"),
    (WEB, {"index": 1}, f"citing('{WEB}', index=...): {AS_A_WHOLE}"),
]
if "searchResultLocation" in locations():
    WRONG += [
        (SEARCH, {"chunks": 1}, "citing(chunks=...): 'Leave' is cited by blocks. Give blocks= or a quote."),
        (SEARCH, {"blocks": 2}, "citing(blocks=2): 'Leave' has 2 of them: blocks 0 to 1."),
    ]


@pytest.mark.parametrize(("document", "arguments", "message"), WRONG)
def test_nonsense_fails_where_it_is_written(document: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ReplyError) as caught:
        citing(document, **arguments)
    assert str(caught.value) == message


@pytest.mark.parametrize(("kind", "document"), [("searchResultLocation", SEARCH), ("web", WEB)])
def test_a_location_that_botocore_lacks_is_refused_by_name(
    kind: str, document: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = tuple(each for each in locations() if each != kind)
    monkeypatch.setattr("converse_harness.bedrock.citations.locations", lambda: known)
    with pytest.raises(ReplyError) as caught:
        citing(document)
    assert f"botocore {bedrock.botocore_version()} has no location {kind}" in str(caught.value)
    assert f"it has {', '.join(known)}. Upgrade botocore" in str(caught.value)


@given(st.data(), st.text(min_size=1), st.integers(0, 9))
def test_a_quote_is_found_in_any_text(data: st.DataObject, text: str, index: int) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    quote = text[start : data.draw(st.integers(start + 1, len(text)))]
    citation = citing({"name": "notes", "source": {"text": text}}, quote, index=index)
    place = citation["location"]["documentChar"]
    assert text[place["start"] : place["end"]] == quote
    assert place["start"] <= start
    assert place["documentIndex"] == index


def test_every_range_of_the_model_is_in_the_table() -> None:
    ranges = {name for name, shape in bedrock.shape("CitationLocation").members.items() if "start" in shape.members}
    assert ranges == set(COUNTING) & set(locations())
    for name in ranges:
        assert COUNTING[name].index in bedrock.member("CitationLocation", name).members
