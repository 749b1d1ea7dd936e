"""A program on aisuite, tested as its users test one."""

import aisuite
import pytest

from converse_harness import reply

MODEL = "aws:us.anthropic.claude-sonnet-4-5-20250929-v1:0"


def get_weather(city: str) -> dict[str, str]:
    """Look up the weather."""
    return {"weather": f"18 °C in {city}"}


def get_country(city: str) -> str:
    """Look up the country."""
    return f"{city} is in Switzerland"


@pytest.fixture
def ask(converse):
    client = aisuite.Client()

    def ask(question, **options):
        messages = [{"role": "user", "content": question}]
        return client.chat.completions.create(MODEL, messages, **options).choices[0].message.content

    return ask


def test_text(converse, ask):
    converse.script(reply.text("Zürich"))
    assert ask("Where to?") == "Zürich"
    (call,) = converse.calls
    assert call.last_user_text == "Where to?"


def test_tool_loop(converse, ask):
    converse.script(reply.tool_use("get_weather", {"city": "Bern"}), reply.text("18 °C"))
    assert ask("How warm is it in Bern?", tools=[get_weather], max_turns=2) == "18 °C"
    asked, answered = converse.calls
    assert asked.tool_names == ["get_weather"]
    assert answered.tool_results[0]["content"] == [{"json": {"weather": "18 °C in Bern"}}]


def test_throttled(converse, ask):
    converse.script(reply.throttled(), reply.text("ok"))
    assert ask("Are you there?") == "ok"
    assert [call.status for call in converse.calls] == [429, 200]


@pytest.mark.converse(rules="off")
def test_text_of_a_tool_is_no_object(converse, ask):
    converse.script(reply.tool_use("get_country", {"city": "Bern"}), reply.text("Switzerland"))
    ask("Where is Bern?", tools=[get_country], max_turns=2)
    assert converse.calls[1].tool_results[0]["content"] == [{"json": "Bern is in Switzerland"}]
