"""A small agent on boto3 alone, tested as its users test one: no list of cases, no faults."""

from __future__ import annotations

import json
from typing import Any, Final

import boto3
import pytest

from converse_harness import Fake, reply

MODEL: Final = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
BOOK: Final[dict[str, Any]] = {
    "toolSpec": {
        "name": "book",
        "description": "Book a room.",
        "inputSchema": {
            "json": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "nights": {"type": "integer"}},
                "required": ["city"],
            }
        },
    }
}


class Agent:
    """Asks, runs tools, asks again; it reads streams as many a small agent does."""

    def __init__(self, system: str = "You book trips.") -> None:
        self.client = boto3.client("bedrock-runtime", region_name="us-east-1")
        self.system = system
        self.messages: list[dict[str, Any]] = []
        self.booked: list[tuple[str, int]] = []

    def ask(self, question: str) -> str:
        """The answer to a question, after the tools that it takes."""
        self.messages.append({"role": "user", "content": [{"text": question}]})
        while True:
            content = self.answer()
            self.messages.append({"role": "assistant", "content": content})
            uses = [block["toolUse"] for block in content if "toolUse" in block]
            if not uses:
                return "".join(block["text"] for block in content if "text" in block)
            self.messages.append({"role": "user", "content": [{"toolResult": self.book(use)} for use in uses]})

    def book(self, use: dict[str, Any]) -> dict[str, Any]:
        """The result of a tool."""
        self.booked.append((use["input"].get("city", ""), use["input"].get("nights", 1)))
        return {"toolUseId": use["toolUseId"], "content": [{"text": "booked"}]}

    def answer(self) -> list[dict[str, Any]]:
        """The blocks of one answer."""
        stream = self.client.converse_stream(
            modelId=MODEL,
            system=[{"text": self.system}],
            messages=self.messages,
            toolConfig={"tools": [BOOK]},
        )["stream"]
        blocks: list[dict[str, Any]] = []
        text, use, fragments = "", None, ""
        for event in stream:
            if "contentBlockStart" in event:
                use = dict(event["contentBlockStart"]["start"]["toolUse"])
            elif "contentBlockDelta" in event:
                delta = event["contentBlockDelta"]["delta"]
                text += delta.get("text", "")
                fragments += delta.get("toolUse", {}).get("input", "")
            elif "contentBlockStop" in event:
                if use:
                    blocks.append({"toolUse": {**use, "input": json.loads(fragments or "{}")}})
                elif text:
                    blocks.append({"text": text})
                text, use, fragments = "", None, ""
        return blocks


@pytest.fixture
def agent(converse: Fake) -> Agent:
    return Agent()


def test_one_question(converse: Fake, agent: Agent) -> None:
    converse.script(reply.text("Zürich is lovely in May."))
    assert agent.ask("Where shall I go?") == "Zürich is lovely in May."


def test_system_prompt(converse: Fake) -> None:
    converse.script(reply.text("Bern."))
    Agent("Answer in one word.").ask("What is the capital of Switzerland?")
    assert converse.calls[0].system_text == "Answer in one word."


def test_books_once(converse: Fake, agent: Agent) -> None:
    converse.script(reply.tool_use("book", {"city": "Zürich", "nights": 2}), reply.text("Booked."))
    agent.ask("Book two nights in Zürich.")
    assert agent.booked == [("Zürich", 2)]


def test_two_tools_in_one_turn(converse: Fake, agent: Agent) -> None:
    converse.script(
        reply.message(
            {"text": "I book both."},
            {"toolUse": {"name": "book", "input": {"city": "Bern"}}},
            {"toolUse": {"name": "book", "input": {"city": "Chur", "nights": 3}}},
        ),
        reply.text("Both are booked."),
    )
    assert agent.ask("Bern for a night, and Chur for three.") == "Both are booked."
    assert agent.booked == [("Bern", 1), ("Chur", 3)]


def test_second_question_has_the_first(converse: Fake, agent: Agent) -> None:
    converse.script(reply.text("Zürich."), reply.text("About an hour."))
    agent.ask("Where shall I go?")
    assert agent.ask("How far is that from Bern?") == "About an hour."
    assert [message["role"] for message in converse.calls[1].messages] == ["user", "assistant", "user"]


def test_whole_answer(converse: Fake, agent: Agent) -> None:
    converse.script(reply.text("Lugano."))
    question = [{"role": "user", "content": [{"text": "Where is it warm?"}]}]
    answer = agent.client.converse(modelId=MODEL, messages=question)
    assert answer["output"]["message"]["content"][0]["text"] == "Lugano."


def test_structured_output(converse: Fake, agent: Agent) -> None:
    converse.script(reply.json({"city": "Lugano", "nights": 2}))
    assert json.loads(agent.ask("Two nights in Lugano, as JSON.")) == {"city": "Lugano", "nights": 2}
