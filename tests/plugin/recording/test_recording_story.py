"""A downstream project records an agent once, commits the file, and replays it with the network blocked and no keys."""

import shutil
import subprocess
from pathlib import Path

import pytest

from converse_harness import Call, Reply, reply
from tests.plugin.upstream import ACCOUNT, service

AGENT = '''
from strands import Agent, tool
from strands.models import BedrockModel

SYSTEM = "You are a terse travel clerk."


@tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"18 °C and sunny in {city}"


def weather(city):
    model = BedrockModel(model_id="us.amazon.nova-lite-v1:0")
    agent = Agent(model=model, tools=[get_weather], system_prompt=SYSTEM, callback_handler=None)
    return str(agent(f"What is it like in {city}?"))
'''

TESTS = """
import pytest
from travel import weather


@pytest.mark.converse_recording
def test_weather():
    assert weather("Zürich") == "18 °C, bring no coat.\\n"


@pytest.mark.converse_recording(match="exact")
def test_weather_to_the_word():
    assert weather("Zürich") == "18 °C, bring no coat.\\n"
"""

PLUGINS = ("-p", "converse_harness.plugin", "-p", "pytest_socket", "-p", "no:cacheprovider")
BLOCKED = ("--disable-socket", "--allow-unix-socket")

DIFFERENCE = r"""
E  *UnexpectedCall: call 1 matches no exchange of recordings/tests/test_travel/test_weather_to_the_word.jsonl.
E  *   arrived   ConverseStream us.amazon.nova-lite-v1:0, 1 message, last: text "What is it like in Zürich?"
E  *   nearest   recordings/tests/test_travel/test_weather_to_the_word.jsonl:5, not played: *
E  *   differs   - recorded, + arrived
E  *             - system[[]0].text  "You are a terse travel clerk."
E  *             + system[[]0].text  "You are a concise travel clerk."
E  *pytest --converse-record=all "tests/test_travel.py::test_weather_to_the_word"
""".strip().splitlines()


def clerk(call: Call) -> Reply:
    """The model: it asks the tool once, then answers."""
    if call.tool_results:
        return reply.text("18 °C, bring no coat.")
    return reply.tool_use("get_weather", {"city": "Zürich"})


def git(folder: Path, *args: str) -> None:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *args]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_a_strands_agent_is_recorded_once_and_replayed_for_ever(
    pytester: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "")
    pytester.makepyfile(travel=AGENT)
    pytester.mkdir("tests").joinpath("test_travel.py").write_text(TESTS, encoding="utf-8")
    pytester.makeini("[pytest]\npythonpath = .")

    # A developer records, with an account.
    with service(clerk) as bedrock, monkeypatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", bedrock.url)
        for name, value in ACCOUNT.items():
            patch.setenv(name, value)
        recorded = pytester.runpytest_subprocess(*PLUGINS, "--converse-record=once")
    recorded.assert_outcomes(passed=2)
    assert [call.turn for call in bedrock.calls] == [1, 2, 1, 2]
    recorded.stdout.fnmatch_lines(
        [
            "converse-harness: wrote recordings/tests/test_travel/test_weather.jsonl (2 exchanges)",
            "converse-harness: wrote recordings/tests/test_travel/test_weather_to_the_word.jsonl (2 exchanges)",
        ]
    )
    git(pytester.path, "init")
    git(pytester.path, "add", "recordings", "tests", "travel.py", "tox.ini")
    git(pytester.path, "commit", "-m", "Recorded")

    # CI replays, on another machine: nothing but what was committed, no keys, no region, no network.
    elsewhere = tmp_path / "elsewhere"
    git(tmp_path, "clone", str(pytester.path), str(elsewhere))
    monkeypatch.chdir(elsewhere)
    replayed = pytester.runpytest_subprocess(*PLUGINS, *BLOCKED)
    replayed.assert_outcomes(passed=2)
    replayed.stdout.no_fnmatch_line("converse-harness:*")

    # One word of the system prompt changes, for one of another length: Python takes the compiled file for current where
    # neither the size nor the second of a source differ, and the test passed now and then with "brief".
    travel = elsewhere / "travel.py"
    travel.write_text(travel.read_text(encoding="utf-8").replace("terse", "concise"), encoding="utf-8")
    changed = pytester.runpytest_subprocess(*PLUGINS, *BLOCKED)
    changed.assert_outcomes(passed=1, failed=1)
    changed.stdout.fnmatch_lines(DIFFERENCE)
    changed.stdout.fnmatch_lines(["FAILED tests/test_travel.py::test_weather_to_the_word*"])
