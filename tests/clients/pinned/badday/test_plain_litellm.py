"""A tool loop on litellm, tested as its users test one: no list of cases, no faults."""

from __future__ import annotations

import json
from typing import Any, Final

import litellm
import pytest
from litellm.llms.custom_httpx.async_client_cleanup import close_litellm_async_clients

from converse_harness import ConverseServer, HttpxFake, reply

MODEL: Final = "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0"
BOOK: Final[dict[str, Any]] = {
    "type": "function",
    "function": {
        "name": "book",
        "description": "Book a room.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "nights": {"type": "integer"}},
            "required": ["city"],
        },
    },
}


class Desk:
    """A booking desk, which remembers what was booked, and the loop of an agent."""

    def __init__(self) -> None:
        self.booked: list[tuple[str, int]] = []
        self.messages: list[Any] = []

    def ask(self, question: str, *, streaming: bool = False) -> str:
        """Ask until the answer uses no tool."""
        self.messages.append({"role": "user", "content": question})
        while True:
            answer: Any = litellm.completion(model=MODEL, messages=self.messages, tools=[BOOK], stream=streaming)
            if streaming:
                answer = litellm.stream_chunk_builder(list(answer))
            message = answer.choices[0].message
            self.messages.append(message.model_dump())
            if not message.tool_calls:
                return str(message.content)
            for call in message.tool_calls:
                given = json.loads(call.function.arguments)
                self.booked.append((given["city"], given.get("nights", 1)))
                self.messages.append({"role": "tool", "tool_call_id": call.id, "content": "booked"})


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "any")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "any")
    monkeypatch.setenv("AWS_REGION_NAME", "us-east-1")


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_one_question(converse_httpx: HttpxFake, desk: Desk) -> None:
    converse_httpx.script(reply.text("Zürich is lovely in May."))
    assert desk.ask("Where shall I go?") == "Zürich is lovely in May."


def test_system_prompt(converse_httpx: HttpxFake, desk: Desk) -> None:
    converse_httpx.script(reply.text("Bern."))
    desk.messages.append({"role": "system", "content": "Answer in one word."})
    desk.ask("What is the capital of Switzerland?")
    assert converse_httpx.calls[0].system_text == "Answer in one word."


def test_shows_the_answer_as_it_comes(converse_httpx: HttpxFake) -> None:
    converse_httpx.script(reply.text("One fine day in May."))
    question = [{"role": "user", "content": "When?"}]
    chunks: Any = litellm.completion(model=MODEL, messages=question, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "One fine day in May."


@pytest.mark.parametrize("streaming", [True, False], ids=["stream", "whole"])
def test_books_once(converse_httpx: HttpxFake, desk: Desk, streaming: bool) -> None:
    converse_httpx.script(reply.tool_use("book", {"city": "Zürich", "nights": 2}), reply.text("Booked."))
    desk.ask("Book two nights in Zürich.", streaming=streaming)
    assert desk.booked == [("Zürich", 2)]


def test_two_tools_in_one_turn(converse_httpx: HttpxFake, desk: Desk) -> None:
    converse_httpx.script(
        reply.message(
            {"text": "I book both."},
            {"toolUse": {"name": "book", "input": {"city": "Bern"}}},
            {"toolUse": {"name": "book", "input": {"city": "Chur", "nights": 3}}},
        ),
        reply.text("Both are booked."),
    )
    assert desk.ask("Bern for a night, and Chur for three.", streaming=True) == "Both are booked."
    assert desk.booked == [("Bern", 1), ("Chur", 3)]


def test_structured_output(converse_httpx: HttpxFake) -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "nights": {"type": "integer"}},
        "required": ["city", "nights"],
        "additionalProperties": False,
    }
    converse_httpx.script(reply.json({"city": "Lugano", "nights": 2}))
    answer: Any = litellm.completion(
        model=MODEL,
        messages=[{"role": "user", "content": "Two nights in Lugano."}],
        response_format={"type": "json_schema", "json_schema": {"name": "booking", "schema": schema, "strict": True}},
    )
    assert json.loads(answer.choices[0].message.content) == {"city": "Lugano", "nights": 2}


def test_second_question_has_the_first(converse_httpx: HttpxFake, desk: Desk) -> None:
    converse_httpx.script(reply.text("Zürich."), reply.text("About an hour."))
    desk.ask("Where shall I go?")
    assert desk.ask("How far is that from Bern?") == "About an hour."
    assert [message["role"] for message in converse_httpx.calls[1].messages] == ["user", "assistant", "user"]


@pytest.mark.asyncio
async def test_asynchronously(converse_server: ConverseServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with converse_server.script(reply.text("One fine day in May.")) as fake:
        for name, value in fake.environ.items():
            monkeypatch.setenv(name, value)
        question = [{"role": "user", "content": "When?"}]
        answer: Any = await litellm.acompletion(model=MODEL, messages=question)
        await close_litellm_async_clients()  # type: ignore[no-untyped-call]  # the only untyped one of litellm here
    assert answer.choices[0].message.content == "One fine day in May."
