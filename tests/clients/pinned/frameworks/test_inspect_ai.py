"""An evaluation by Inspect, tested as its users test one. Its model asks over aiobotocore."""

import asyncio

import pytest
from inspect_ai import Task, eval_async
from inspect_ai import eval as run
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import tool

from converse_harness import reply

MODEL = "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0"


@tool
def get_weather():
    async def execute(city: str):
        """Look up the weather.

        Args:
            city: Name of the city.
        """
        return f"18 °C in {city}"

    return execute


def task(question, target, *tools):
    return Task([Sample(question, target=target)], solver=[use_tools(*tools), generate()], scorer=includes())


@pytest.fixture
def evaluated(converse, tmp_path):
    def evaluate(question, target, *tools, **options):
        (log,) = run(task(question, target, *tools), MODEL, log_dir=str(tmp_path), display="none", **options)
        assert (log.status, log.results.scores[0].metrics["accuracy"].value) == ("success", 1)
        return log.samples[0].output.completion

    return evaluate


def test_text(converse, evaluated):
    converse.script(reply.text("To Zürich!"))
    assert evaluated("Where to?", "Zürich") == "To Zürich!"
    (call,) = converse.calls
    assert call.last_user_text == "Where to?"


def test_stream(converse, evaluated):
    converse.script(reply.text("One fine day in May."))
    assert evaluated("When?", "May", model_args={"streaming": True}) == "One fine day in May."
    assert [call.operation for call in converse.calls] == ["ConverseStream"]


def test_tool_loop(converse, evaluated):
    converse.script(reply.tool_use("get_weather", {"city": "Bern"}), reply.text("18 °C"))
    assert evaluated("How warm is it in Bern?", "18 °C", get_weather()) == "18 °C"
    asked, answered = converse.calls
    assert asked.tool_names == ["get_weather"]
    assert answered.tool_results[0]["content"] == [{"text": "18 °C in Bern"}]


def test_throttled(converse, evaluated):
    converse.script(reply.throttled(), reply.text("ok"))
    assert evaluated("Are you there?", "ok") == "ok"
    assert [call.status for call in converse.calls] == [429, 200]


def test_async(converse, tmp_path):
    converse.script(reply.text("To Zürich!"))
    (log,) = asyncio.run(eval_async(task("Where to?", "Zürich"), MODEL, log_dir=str(tmp_path)))
    assert (log.status, log.samples[0].output.completion) == ("success", "To Zürich!")
