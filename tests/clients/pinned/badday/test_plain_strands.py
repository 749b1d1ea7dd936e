"""An agent of strands-agents, tested as its users test one: no list of cases, no faults."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel
from strands import Agent, tool
from strands.models import BedrockModel

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

    def agent(self, **options: Any) -> Agent:
        """An agent that can look up the weather and book."""

        @tool
        def get_weather(city: str) -> str:
            """Look up the weather.

            Args:
                city: Where.
            """
            return f"18 °C in {city}"

        @tool
        def book(city: str, nights: int = 1) -> str:
            """Book a room.

            Args:
                city: Where.
                nights: How many nights.
            """
            self.booked.append((city, nights))
            return "booked"

        model = BedrockModel(model_id=MODEL, region_name="us-east-1")
        return Agent(model=model, tools=[get_weather, book], callback_handler=None, **options)


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_one_question(converse: Fake, desk: Desk) -> None:
    converse.script(reply.text("Zürich is lovely in May."))
    assert str(desk.agent()("Where shall I go?")).strip() == "Zürich is lovely in May."


def test_system_prompt(converse: Fake, desk: Desk) -> None:
    converse.script(reply.text("Bern."))
    desk.agent(system_prompt="Answer in one word.")("What is the capital of Switzerland?")
    assert converse.calls[0].system_text == "Answer in one word."


def test_books_once(converse: Fake, desk: Desk) -> None:
    converse.script(reply.tool_use("book", {"city": "Zürich", "nights": 2}), reply.text("Booked."))
    desk.agent()("Book two nights in Zürich.")
    assert desk.booked == [("Zürich", 2)]


def test_weather_reaches_the_model(converse: Fake, desk: Desk) -> None:
    converse.script(reply.tool_use("get_weather", {"city": "Bern"}), reply.text("18 °C in Bern."))
    assert "18 °C" in str(desk.agent()("How warm is it in Bern?"))
    assert converse.calls[1].tool_results[0]["content"] == [{"text": "18 °C in Bern"}]


def test_two_tools_in_one_turn(converse: Fake, desk: Desk) -> None:
    converse.script(
        reply.message(
            {"text": "I book both."},
            {"toolUse": {"name": "book", "input": {"city": "Bern"}}},
            {"toolUse": {"name": "book", "input": {"city": "Chur", "nights": 3}}},
        ),
        reply.text("Both are booked."),
    )
    desk.agent()("Bern for a night, and Chur for three.")
    assert sorted(desk.booked) == [("Bern", 1), ("Chur", 3)]


def test_structured_output(converse: Fake, desk: Desk) -> None:
    converse.script(reply.tool_use("Booking", {"city": "Lugano", "nights": 2}))
    result = desk.agent()("Two nights in Lugano.", structured_output_model=Booking)
    assert result.structured_output == Booking(city="Lugano", nights=2)


def test_second_question_has_the_first(converse: Fake, desk: Desk) -> None:
    converse.script(reply.text("Zürich."), reply.text("About an hour."))
    agent = desk.agent()
    agent("Where shall I go?")
    assert str(agent("How far is that from Bern?")).strip() == "About an hour."
    assert [message["role"] for message in converse.calls[1].messages] == ["user", "assistant", "user"]


@pytest.mark.asyncio
async def test_shows_the_answer_as_it_comes(converse: Fake, desk: Desk) -> None:
    converse.script(reply.text("One fine day in May."))
    shown = "".join([event["data"] async for event in desk.agent().stream_async("When?") if "data" in event])
    assert shown == "One fine day in May."


@pytest.mark.asyncio
async def test_books_asynchronously(converse: Fake, desk: Desk) -> None:
    converse.script(reply.tool_use("book", {"city": "Basel", "nights": 1}), reply.text("Booked."))
    await desk.agent().invoke_async("A night in Basel.")
    assert desk.booked == [("Basel", 1)]
