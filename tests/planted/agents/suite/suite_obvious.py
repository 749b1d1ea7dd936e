"""The tests that one writes first, after the README and the tutorial."""

import boto3
import pytest
from agent import Agent, Answer, Busy, TooLong

from converse_harness import reply

TOOL = {
    "name": "get_weather",
    "description": "The weather in a city.",
    "inputSchema": {"json": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}},
}


def weather(city):
    return f"18 °C in {city}"


def agent(**options):
    client = boto3.client("bedrock-runtime", region_name="us-east-1")
    return Agent(client, {"get_weather": (TOOL, weather)}, **options)


def test_it_answers(converse):
    converse.script(reply.text("Hello."))
    assert agent().ask("Hi").text == "Hello."


def test_it_runs_a_tool(converse):
    converse.script(reply.tool_use("get_weather", {"city": "Bern"}), reply.text("It is warm."))
    assert agent().ask("How is Bern?").text == "It is warm."
    assert converse.calls[1].tool_results[0]["content"] == [{"text": "18 °C in Bern"}]


def test_it_runs_two_tools(converse):
    cities = [{"toolUse": {"name": "get_weather", "input": {"city": city}}} for city in ("Bern", "Chur")]
    converse.script(reply.message(*cities), reply.text("Both are warm."))
    assert agent().ask("How are Bern and Chur?").text == "Both are warm."


def test_it_remembers(converse):
    converse.script(reply.text("Hello Ann."), reply.text("Ann."))
    chat = agent()
    chat.ask("I am Ann.")
    assert chat.ask("Who am I?").text == "Ann."
    assert len(converse.calls[1].messages) == 3


def test_it_thinks_before_it_runs_a_tool(converse):
    use = reply.tool_use("get_weather", {"city": "Bern"})
    converse.script(reply.reasoning("I need the weather.", use), reply.text("It is warm."))
    assert agent(thinking=True).ask("How is Bern?").text == "It is warm."


def test_it_asks_again_when_throttled(converse):
    converse.script(reply.throttled().times(2), reply.text("Hello."))
    assert agent().ask("Hi").text == "Hello."


def test_an_answer_has_its_text():
    assert Answer({0: {"text": "a"}}, "end_turn").text == "a"
    assert issubclass(Busy, Exception)
    assert issubclass(TooLong, Exception)
    with pytest.raises(KeyError):
        raise KeyError
