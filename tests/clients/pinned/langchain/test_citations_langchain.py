"""Citations in langchain-aws, unchanged: which locations arrive, and what is lost on the way."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_aws import ChatBedrockConverse

from converse_harness import Fake, reply
from tests.clients.citations import CITATIONS, MODEL, WEB, each_location, streamed

pytestmark = pytest.mark.any_answer


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


@streamed
@each_location
def test_langchain_keeps_every_location(converse: Fake, location: str, streaming: bool) -> None:
    citation = CITATIONS[location]
    content = ask("It is ", "18 °C", citation, " today.", converse=converse, streaming=streaming)
    assert [part["text"] for part in content] == ["It is ", "18 °C", " today."]
    assert [part.get("citations") for part in content] == [None, [in_snake_case(citation)], None]


@streamed
def test_langchain_loses_the_citations_of_an_answer_of_one_text(converse: Fake, streaming: bool) -> None:
    content = ask("18 °C", WEB, converse=converse, streaming=streaming)
    kept = [{"type": "text", "text": "18 °C", "citations": [in_snake_case(WEB)], "index": 0}]
    assert content == (kept if streaming else "18 °C")


@streamed
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
