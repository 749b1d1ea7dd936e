"""Citations in strands-agents and langchain-aws, unchanged: which locations arrive, and what is lost on the way."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_aws import ChatBedrockConverse
from strands import Agent
from strands.models import BedrockModel

from converse_harness import Call, Fake, Reply, citing, model, reply

MODEL = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
TEXT = "Zürich: 18 °C, sunny."
WEB = citing("https://www.example.com/weather")

CITATIONS: dict[str, dict[str, Any]] = {
    "documentChar": citing({"name": "forecast", "source": {"text": TEXT}}, "18 °C"),
    "documentPage": citing({"name": "report", "format": "pdf", "source": {"bytes": b"%PDF"}}, "18 °C", pages=3),
    "documentChunk": citing({"name": "notes", "source": {"content": [{"text": "."}, {"text": TEXT}]}}, "18 °C"),
    "searchResultLocation": citing(
        {"source": "https://example.com", "title": "Weather", "content": [{"text": TEXT}]}, "18 °C", index=2
    ),
    "web": WEB,
}


@pytest.fixture(params=[True, False], ids=["streaming", "not streaming"])
def streaming(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(params=CITATIONS)
def citation(request: pytest.FixtureRequest) -> dict[str, Any]:
    return CITATIONS[request.param]


def cited(text: str, *citations: dict[str, Any]) -> dict[str, Any]:
    return {"citationsContent": {"content": [{"text": text}], "citations": list(citations)}}


def without_source(citation: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in citation.items() if name != "source"}


def make_agent(streaming: bool) -> Agent:
    return Agent(model=BedrockModel(model_id=MODEL, streaming=streaming), callback_handler=None)


def test_every_location_of_the_model_is_tried() -> None:
    assert set(CITATIONS) == set(model.shape("CitationLocation").members)


# strands


def test_strands_keeps_every_location_and_sends_it_back(
    converse: Fake, citation: dict[str, Any], streaming: bool
) -> None:
    converse.script(reply.cited("It is ", "18 °C", citation, " today."), reply.text("You are welcome."))
    agent = make_agent(streaming)
    assert str(agent("How warm is it?")).split() == ["It", "is", "18", "°C", "today."]
    # It knows `source` only in what it passes on as it came: not on plain Converse, and never to the model.
    kept = citation if streaming else without_source(citation)
    assert agent.messages[1]["content"] == [{"text": "It is "}, cited("18 °C", kept), {"text": " today."}]
    agent("Thanks")
    sent_back = converse.calls[1].messages[1]["content"]
    assert sent_back == [{"text": "It is "}, cited("18 °C", without_source(citation)), {"text": " today."}]


def test_strands_keeps_several_citations_of_a_text_in_order(converse: Fake, streaming: bool) -> None:
    first, second = CITATIONS["documentChar"], CITATIONS["documentChunk"]
    converse.script(reply.cited("18 °C", first, second, "!", WEB))
    agent = make_agent(streaming)
    agent("How warm is it?")
    assert agent.messages[1]["content"] == [cited("18 °C", first, second), cited("!", WEB)]


def test_strands_loses_a_block_of_citations_only_or_gives_it_to_the_text_behind(
    converse: Fake, streaming: bool
) -> None:
    converse.script(reply.cited("Warm.", "", WEB), reply.cited("Warm.", "", WEB, "Sunny."))
    agent = make_agent(streaming)
    agent("How warm is it?")
    agent("And now?")
    assert agent.messages[1]["content"] == [{"text": "Warm."}]
    assert agent.messages[3]["content"] == [{"text": "Warm."}, cited("Sunny.", WEB)]


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


# langchain


def ask(*parts: Any, converse: Fake, streaming: bool) -> Any:
    """The content of the message that langchain makes of an answer."""
    converse.script(reply.cited(*parts))
    chat = ChatBedrockConverse(model=MODEL)
    if not streaming:
        return chat.invoke("How warm is it?").content
    whole, *chunks = chat.stream("How warm is it?")
    for chunk in chunks:
        whole = whole + chunk
    return whole.content


def test_langchain_keeps_every_location(converse: Fake, citation: dict[str, Any], streaming: bool) -> None:
    content = ask("It is ", "18 °C", citation, " today.", converse=converse, streaming=streaming)
    assert [part["text"] for part in content] == ["It is ", "18 °C", " today."]
    assert [part.get("citations") for part in content] == [None, [in_snake_case(citation)], None]


def test_langchain_loses_the_citations_of_an_answer_of_one_text(converse: Fake, streaming: bool) -> None:
    content = ask("18 °C", WEB, converse=converse, streaming=streaming)
    kept = [{"type": "text", "text": "18 °C", "citations": [in_snake_case(WEB)], "index": 0}]
    assert content == (kept if streaming else "18 °C")


def test_langchain_loses_a_block_of_citations_only_on_plain_converse(converse: Fake, streaming: bool) -> None:
    content = ask("Warm.", "", WEB, converse=converse, streaming=streaming)
    if streaming:
        assert content[1] == {"type": "text", "text": "", "citations": [in_snake_case(WEB)], "index": 1}
    else:
        assert content == "Warm."


def in_snake_case(value: Any) -> Any:
    if isinstance(value, list):
        return [in_snake_case(item) for item in value]
    if isinstance(value, dict):
        return {
            "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name): in_snake_case(item)
            for name, item in value.items()
        }
    return value
