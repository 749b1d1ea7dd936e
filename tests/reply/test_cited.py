"""reply.cited(): texts in order, each followed by its citations, in blocks as AWS sends them."""

from __future__ import annotations

from typing import Any

import pytest

from converse_harness import Reply, ReplyError, citing, reply
from converse_harness.stream.grammar import check_order, symbol

FORECAST = {"name": "forecast", "source": {"text": "Zürich: 18 °C, sunny."}}
WARM = citing(FORECAST, "18 °C")
SUNNY = citing(FORECAST, "sunny")


A_PART = "a part is a text or a Citation of the AWS API, each an argument of its own."


def content_of(answer: Reply) -> list[dict[str, Any]]:
    body: Any = answer.plan.body
    return list(body.content)


def block(text: str | None, *citations: dict[str, Any]) -> dict[str, Any]:
    generated = {} if text is None else {"content": [{"text": text}]}
    return {"citationsContent": {**generated, "citations": list(citations)}}


@pytest.mark.parametrize(
    ("parts", "content"),
    [
        (("It is ", "18 °C", WARM, "."), [{"text": "It is "}, block("18 °C", WARM), {"text": "."}]),
        (("Warm and sunny", WARM, SUNNY), [block("Warm and sunny", WARM, SUNNY)]),
        (("18", WARM, "sun", SUNNY), [block("18", WARM), block("sun", SUNNY)]),
        ((WARM, SUNNY), [block(None, WARM, SUNNY)]),
        (("It is warm.", "", WARM, "", SUNNY), [{"text": "It is warm."}, block(None, WARM), block(None, SUNNY)]),
        (("a", "b", ""), [{"text": "a"}, {"text": "b"}, {"text": ""}]),
    ],
    ids=["one", "two of one text", "one each", "without a text", "behind a text", "none"],
)
def test_texts_and_citations_become_blocks(parts: Any, content: list[dict[str, Any]]) -> None:
    assert content_of(reply.cited(*parts)) == content


def test_a_stream_has_the_citations_before_the_text_and_no_start() -> None:
    pieces = {0: ["It is", " "], 1: ["18 °C", " and sunny"]}
    events = list(reply.cited("It is ", "18 °C and sunny", WARM, SUNNY, pieces=pieces).events())
    check_order(events)
    assert [symbol(event) for event in events] == [
        "messageStart",
        "contentBlockDelta.text",
        "contentBlockDelta.text",
        "contentBlockStop",
        "contentBlockDelta.citation",
        "contentBlockDelta.citation",
        "contentBlockDelta.text",
        "contentBlockDelta.text",
        "contentBlockStop",
        "messageStop",
        "metadata",
    ]


def test_the_rest_is_as_in_a_message() -> None:
    usage = {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}
    body: Any = reply.cited("18 °C", WARM, stop_reason="max_tokens", usage=usage).plan.body
    assert (body.stop_reason, body.options) == ("max_tokens", {"usage": usage})


def test_a_reply_keeps_what_it_was_given() -> None:
    citation = citing(FORECAST, "18 °C")
    answer = reply.cited("18 °C", citation)
    citation["title"] = "changed"
    assert content_of(answer) == [block("18 °C", WARM)]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((), "cited() has nothing to say. Give texts, and after each the Citations that it leans on."),
        (
            ("18 °C", [WARM]),
            f"cited(): parts[1] is {[WARM]!r}; {A_PART}",
        ),
        (("18 °C", None), f"cited(): parts[1] is None; {A_PART}"),
    ],
)
def test_nonsense_fails_where_it_is_written(parts: Any, message: str) -> None:
    with pytest.raises(ReplyError) as caught:
        reply.cited(*parts)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("citation", "told"),
    [
        (FORECAST, "cited(): parts[1] has the unknown member 'name'; a Citation has 'title', "),
        (WARM["location"], "cited(): parts[1] has the unknown member 'documentChar'; a Citation has 'title', "),
        (WARM | {"location": {"documentChar": {"start": -1}}}, "cited(): parts[1].location.documentChar.start is -1; "),
        (WARM | {"location": {}}, "cited(): parts[1].location has no member; "),
    ],
    ids=["a document", "a location", "a number below 0", "no location"],
)
def test_what_is_no_citation_is_said_by_its_place(citation: Any, told: str) -> None:
    with pytest.raises(ReplyError) as caught:
        reply.cited("18 °C", citation)
    assert told in str(caught.value)


def test_pieces_that_are_not_the_text_are_refused() -> None:
    with pytest.raises(ReplyError, match=r"pieces\[0\] is \['18'\]; joined they must be"):
        reply.cited("18 °C", WARM, pieces={0: ["18"]})
