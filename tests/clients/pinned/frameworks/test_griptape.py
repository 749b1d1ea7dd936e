"""An agent of Griptape, tested as its users test one."""

from griptape.artifacts import TextArtifact
from griptape.drivers.prompt.amazon_bedrock import AmazonBedrockPromptDriver
from griptape.structures import Agent
from griptape.tools import BaseTool
from griptape.utils import Stream
from griptape.utils.decorators import activity
from schema import Schema

from converse_harness import reply

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


class Weather(BaseTool):
    @activity(config={"description": "Look up the weather.", "schema": Schema({"city": str})})
    def get_weather(self, params):
        return TextArtifact(f"18 °C in {params['values']['city']}")


def agent(**options):
    return Agent(prompt_driver=AmazonBedrockPromptDriver(model=MODEL, **options), tools=[Weather()])


def test_text(converse):
    converse.script(reply.text("Zürich"))
    assert agent().run("Where to?").output.value == "Zürich"
    (call,) = converse.calls
    assert call.last_user_text == "Where to?"


def test_stream(converse):
    converse.script(reply.text("One fine day in May."))
    pieces = Stream(agent(stream=True)).run("When?")
    assert "One fine day in May." in "".join(piece.value for piece in pieces)
    assert [call.operation for call in converse.calls] == ["ConverseStream"]


def test_tool_loop(converse):
    converse.script(reply.tool_use("Weather_get_weather", {"city": "Bern"}), reply.text("18 °C"))
    assert agent().run("How warm is it in Bern?").output.value == "18 °C"
    asked, answered = converse.calls
    assert asked.tool_names == ["Weather_get_weather"]
    assert "18 °C in Bern" in str(answered.tool_results[0]["content"])


def test_throttled(converse):
    converse.script(reply.throttled(), reply.text("ok"))
    assert agent().run("Are you there?").output.value == "ok"
    assert [call.status for call in converse.calls] == [429, 200]
