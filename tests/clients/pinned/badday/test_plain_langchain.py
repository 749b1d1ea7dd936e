"""A chain of langchain-aws, tested as its users test one: no list of cases, no faults."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

import pytest
from langchain_aws import ChatBedrockConverse
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from pydantic import BaseModel

from converse_harness import Fake, reply

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


class Booking(BaseModel):
    """A booked trip."""

    city: str
    nights: int


def chat() -> ChatBedrockConverse:
    return ChatBedrockConverse(model=MODEL, region_name="us-east-1")


class Desk:
    """A booking desk, which remembers what was booked, and the loop of an agent."""

    def __init__(self) -> None:
        self.booked: list[tuple[str, int]] = []

    def book(self, city: str, nights: int = 1) -> str:
        """Book a room."""
        self.booked.append((city, nights))
        return "booked"

    def run(self, question: str, *, streaming: bool = False) -> str:
        """Ask until the answer uses no tool."""

        def get_weather(city: str) -> str:
            """Look up the weather."""
            return f"18 °C in {city}"

        functions: list[Callable[..., Any]] = [get_weather, self.book]
        tools: dict[str, BaseTool] = {function.__name__: tool(function) for function in functions}
        model = chat().bind_tools(list(tools.values()))
        messages: list[BaseMessage] = [SystemMessage("You book trips."), HumanMessage(question)]
        while True:
            answer: Any = reduce(add, list(model.stream(messages))) if streaming else model.invoke(messages)
            messages.append(answer)
            if not answer.tool_calls:
                return str(answer.text)
            messages += [
                ToolMessage(tools[call["name"]].invoke(call["args"]), tool_call_id=call["id"])
                for call in answer.tool_calls
            ]


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_one_question(converse: Fake) -> None:
    converse.script(reply.text("Zürich is lovely in May."))
    assert chat().invoke("Where shall I go?").content == "Zürich is lovely in May."


def test_system_prompt(converse: Fake, desk: Desk) -> None:
    converse.script(reply.text("Bern."))
    assert desk.run("What is the capital of Switzerland?") == "Bern."
    assert converse.calls[0].system_text == "You book trips."


def test_shows_the_answer_as_it_comes(converse: Fake) -> None:
    converse.script(reply.text("One fine day in May."))
    assert "".join(chunk.text for chunk in chat().stream("When?")) == "One fine day in May."


@pytest.mark.parametrize("streaming", [True, False], ids=["stream", "invoke"])
def test_books_once(converse: Fake, desk: Desk, streaming: bool) -> None:
    converse.script(reply.tool_use("book", {"city": "Zürich", "nights": 2}), reply.text("Booked."))
    desk.run("Book two nights in Zürich.", streaming=streaming)
    assert desk.booked == [("Zürich", 2)]


def test_two_tools_in_one_turn(converse: Fake, desk: Desk) -> None:
    converse.script(
        reply.message(
            {"text": "I look, and book."},
            {"toolUse": {"name": "get_weather", "input": {"city": "Chur"}}},
            {"toolUse": {"name": "book", "input": {"city": "Chur", "nights": 3}}},
        ),
        reply.text("It is warm, and booked."),
    )
    assert desk.run("Chur for three nights, if it is warm.", streaming=True) == "It is warm, and booked."
    assert desk.booked == [("Chur", 3)]


def test_structured_output(converse: Fake) -> None:
    converse.script(reply.tool_use("Booking", {"city": "Lugano", "nights": 2}))
    found = chat().with_structured_output(Booking).invoke("Two nights in Lugano.")
    assert found == Booking(city="Lugano", nights=2)


def test_second_question_has_the_first(converse: Fake) -> None:
    converse.script(reply.text("Zürich."), reply.text("About an hour."))
    messages: list[BaseMessage] = [HumanMessage("Where shall I go?")]
    messages += [chat().invoke(messages), HumanMessage("How far is that from Bern?")]
    answer = chat().invoke(messages)
    assert isinstance(answer, AIMessage)
    assert answer.content == "About an hour."
    assert [message["role"] for message in converse.calls[1].messages] == ["user", "assistant", "user"]


@pytest.mark.asyncio
async def test_asynchronously(converse: Fake) -> None:
    converse.script(reply.text("One fine day in May."))
    shown = "".join([chunk.text async for chunk in chat().astream("When?")])
    assert shown == "One fine day in May."
