"""Citations in strands-agents, unchanged: which locations arrive, and what is lost on the way."""

from __future__ import annotations

from typing import Any

import pytest
from strands import Agent
from strands.models import BedrockModel

from converse_harness import Call, Fake, Reply, bedrock, citing, reply
from tests.clients.citations import CITATIONS, MODEL, TEXT, WEB, each_location, streamed

pytestmark = pytest.mark.any_answer


def cited(text: str, *citations: dict[str, Any]) -> dict[str, Any]:
    return {"citationsContent": {"content": [{"text": text}], "citations": list(citations)}}


def without_source(citation: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in citation.items() if name != "source"}


def make_agent(streaming: bool) -> Agent:
    return Agent(model=BedrockModel(model_id=MODEL, streaming=streaming), callback_handler=None)


def test_every_location_of_the_model_is_tried() -> None:
    assert set(CITATIONS) == set(bedrock.shape("CitationLocation").members)


@streamed
@each_location
def test_strands_keeps_every_location_and_sends_it_back(converse: Fake, location: str, streaming: bool) -> None:
    citation = CITATIONS[location]
    converse.script(reply.cited("It is ", "18 °C", citation, " today."), reply.text("You are welcome."))
    agent = make_agent(streaming)
    assert str(agent("How warm is it?")).split() == ["It", "is", "18", "°C", "today."]
    # It knows `source` only in what it passes on as it came: not on plain Converse, and never to the model.
    kept = citation if streaming else without_source(citation)
    assert agent.messages[1]["content"] == [{"text": "It is "}, cited("18 °C", kept), {"text": " today."}]
    agent("Thanks")
    sent_back = converse.calls[1].messages[1]["content"]
    assert sent_back == [{"text": "It is "}, cited("18 °C", without_source(citation)), {"text": " today."}]


@streamed
def test_strands_keeps_several_citations_of_a_text_in_order(converse: Fake, streaming: bool) -> None:
    first, second = CITATIONS["documentChar"], CITATIONS["documentChunk"]
    converse.script(reply.cited("18 °C", first, second, "!", WEB))
    agent = make_agent(streaming)
    agent("How warm is it?")
    assert agent.messages[1]["content"] == [cited("18 °C", first, second), cited("!", WEB)]


@streamed
def test_strands_loses_a_block_of_citations_only_or_gives_it_to_the_text_behind(
    converse: Fake, streaming: bool
) -> None:
    converse.script(reply.cited("Warm.", "", WEB), reply.cited("Warm.", "", WEB, "Sunny."))
    agent = make_agent(streaming)
    agent("How warm is it?")
    agent("And now?")
    assert agent.messages[1]["content"] == [{"text": "Warm."}]
    assert agent.messages[3]["content"] == [{"text": "Warm."}, cited("Sunny.", WEB)]


@streamed
def test_the_document_that_the_agent_sent_can_be_cited(converse: Fake, streaming: bool) -> None:
    def answer(call: Call) -> Reply:
        return reply.cited("18 °C", citing(call.messages[0]["content"][0], "18 °C"))

    converse.script(answer)
    agent = make_agent(streaming)
    forecast: Any = {
        "document": {
            "name": "forecast",
            "format": "txt",
            "source": {"bytes": TEXT.encode()},
            "citations": {"enabled": True},
        }
    }
    agent([forecast, {"text": "How warm is it?"}])
    assert agent.messages[1]["content"] == [cited("18 °C", CITATIONS["documentChar"])]
