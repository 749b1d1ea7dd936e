"""An agent of pydantic-ai, tested as its users test one: no list of cases, no faults."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models.bedrock import BedrockConverseModel
from pydantic_ai.providers.bedrock import BedrockProvider

from converse_harness import Fake, reply

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


class Booking(BaseModel):
    """A booked trip."""

    city: str
    nights: int


class Desk:
    """A booking desk, which remembers what was booked."""

    def __init__(self) -> None:
        self.booked: list[tuple[str, int]] = []

    def get_weather(self, city: str) -> str:
        """Look up the weather."""
        return f"18 °C in {city}"

    def book(self, city: str, nights: int = 1) -> str:
        """Book a room."""
        self.booked.append((city, nights))
        return "booked"

    def agent(self, **options: Any) -> Agent[None, Any]:
        """An agent that can look up the weather and book."""
        model = BedrockConverseModel(MODEL, provider=BedrockProvider(region_name="us-east-1"))
        return Agent(model, tools=[self.get_weather, self.book], **options)


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_one_question(converse: Fake, desk: Desk) -> None:
    converse.script(reply.text("Zürich is lovely in May."))
    assert desk.agent().run_sync("Where shall I go?").output == "Zürich is lovely in May."


def test_system_prompt(converse: Fake, desk: Desk) -> None:
    converse.script(reply.text("Bern."))
    desk.agent(system_prompt="Answer in one word.").run_sync("What is the capital of Switzerland?")
    assert converse.calls[0].system_text == "Answer in one word."


def test_books_once(converse: Fake, desk: Desk) -> None:
    converse.script(reply.tool_use("book", {"city": "Zürich", "nights": 2}), reply.text("Booked."))
    desk.agent().run_sync("Book two nights in Zürich.")
    assert desk.booked == [("Zürich", 2)]


def test_whole_answers(converse: Fake, desk: Desk) -> None:
    converse.script(reply.tool_use("get_weather", {"city": "Bern"}), reply.text("18 °C in Bern."))
    result = desk.agent(model_settings={"max_tokens": 500}).run_sync("How warm is it in Bern?")
    assert result.output == "18 °C in Bern."
    assert [call.operation for call in converse.calls] == ["Converse", "Converse"]


def test_two_tools_in_one_turn(converse: Fake, desk: Desk) -> None:
    converse.script(
        reply.message(
            {"text": "I book both."},
            {"toolUse": {"name": "book", "input": {"city": "Bern"}}},
            {"toolUse": {"name": "book", "input": {"city": "Chur", "nights": 3}}},
        ),
        reply.text("Both are booked."),
    )
    assert desk.agent().run_sync("Bern for a night, and Chur for three.").output == "Both are booked."
    assert sorted(desk.booked) == [("Bern", 1), ("Chur", 3)]


def test_structured_output(converse: Fake, desk: Desk) -> None:
    converse.script(reply.tool_use("final_result", {"city": "Lugano", "nights": 2}))
    assert desk.agent(output_type=Booking).run_sync("Two nights in Lugano.").output == Booking(city="Lugano", nights=2)


def test_second_question_has_the_first(converse: Fake, desk: Desk) -> None:
    converse.script(reply.text("Zürich."), reply.text("About an hour."))
    agent = desk.agent()
    first = agent.run_sync("Where shall I go?")
    second = agent.run_sync("How far is that from Bern?", message_history=first.all_messages())
    assert second.output == "About an hour."
    assert [message["role"] for message in converse.calls[1].messages] == ["user", "assistant", "user"]


@pytest.mark.asyncio
async def test_shows_the_answer_as_it_comes(converse: Fake, desk: Desk) -> None:
    converse.script(reply.text("One fine day in May."))
    async with desk.agent().run_stream("When?") as result:
        shown = "".join([piece async for piece in result.stream_text(delta=True)])
    assert shown == "One fine day in May."


@pytest.mark.asyncio
async def test_books_asynchronously(converse: Fake, desk: Desk) -> None:
    converse.script(reply.tool_use("book", {"city": "Basel", "nights": 1}), reply.text("Booked."))
    await desk.agent().run("A night in Basel.")
    assert desk.booked == [("Basel", 1)]
