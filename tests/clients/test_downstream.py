"""A project of somebody else, three files, its pytest in a process of its own, as the README promises it."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

PYPROJECT = """
[project]
name = "weather-agent"
version = "1"
dependencies = ["boto3", "strands-agents"]

[tool.pytest.ini_options]
pythonpath = ["."]
"""

AGENT = '''
"""The weather agent: nothing in it knows of tests."""

from strands import Agent, tool
from strands.models import BedrockModel


@tool
def get_weather(city: str) -> str:
    """Look up the weather.

    Args:
        city: Where.
    """
    return "18 °C, sunny"


model = BedrockModel(model_id="us.anthropic.claude-haiku-4-5-20251001-v1:0", region_name="eu-central-1")


def weather_agent(question):
    return str(Agent(model=model, tools=[get_weather], callback_handler=None)(question))
'''

TEST = """
from converse_harness import reply
from weather_agent import weather_agent


def test_looks_up_the_weather(converse):
    converse.script(
        reply.tool_use("get_weather", {"city": "Zürich"}),
        reply.text("18 °C and sunny."),
    )
    assert "18" in weather_agent("What is it like in Zürich?")      # their code, unchanged

    ask, answer = converse.calls
    assert ask.tool_names == ["get_weather"]
    assert answer.tool_results[0]["content"] == [{"text": "18 °C, sunny"}]
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """The three files."""
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")  # the module makes its client before any fake is open
    pytester.makepyprojecttoml(PYPROJECT)
    pytester.makepyfile(weather_agent=AGENT, test_weather=TEST)
    return pytester


def test_three_files(project: pytest.Pytester) -> None:
    project.runpytest_subprocess().assert_outcomes(passed=1)


@pytest.mark.parametrize("mode", ["prepend", "importlib"])
def test_with_folders_of_its_own_that_are_called_as_ours(mode: str, project: pytest.Pytester) -> None:
    for folder in ("harness", "strategies"):
        package = project.mkpydir(folder)
        (package / "mine.py").write_text(f"NAME = {folder!r}\n", encoding="utf-8")
    project.makepyfile(
        test_mine="""
        import converse_strategies
        import harness.mine
        import strategies.mine


        def test_both_are_mine():
            assert (harness.mine.NAME, strategies.mine.NAME) == ("harness", "strategies")
        """
    )
    project.runpytest_subprocess(f"--import-mode={mode}").assert_outcomes(passed=2)


def test_a_failure_tells_what_to_do(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_weather="""
        from converse_harness import reply
        from weather_agent import weather_agent


        def test_it(converse):
            converse.script(reply.tool_use("get_weather", {"city": "Zürich"}))
            weather_agent("What is it like in Zürich?")
        """
    )
    result = project.runpytest_subprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*UnexpectedCall: call 2 has no reply left.",
            'E*scripted  1. tool_use get_weather {"city": "Zürich"}     used by call 1',
            "*- Bedrock Converse calls -*",
            "call 1  ConverseStream us.anthropic.claude-haiku-4-5-20251001-v1:0, 1 message*",
        ]
    )


def test_an_operation_that_is_not_routed_fails_the_test_that_swallows_it(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_weather="""
        import boto3
        import pytest


        def embed():
            try:
                boto3.client("bedrock-runtime").invoke_model(modelId="amazon.titan-embed-text-v2:0", body="{}")
            except Exception:
                return []


        def test_swallowed(converse):
            assert embed() == []


        def test_routed(converse):
            converse.on_operation("InvokeModel", lambda call: {"body": b"[1]", "contentType": "application/json"})
            assert embed() is None
        """
    )
    result = project.runpytest_subprocess()
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(
        ["*UnexpectedCall: InvokeModel of bedrock-runtime is not scripted*", '*converse.on_operation("InvokeModel"*']
    )
