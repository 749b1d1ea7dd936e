"""The failure of a test without recording: the user's own lines stand above it, and no frames of clients."""

import re

import pytest

from tests.plugin.upstream import Upstream

TESTS = """
import asyncio
import httpx
import pytest
from agent import ask
from strands import Agent
from strands.models import BedrockModel

pytestmark = pytest.mark.converse_recording
BODY = {"messages": [{"role": "user", "content": [{"text": "q"}]}]}
HOST = "https://bedrock-runtime.us-east-1.amazonaws.com"

def test_boto():
    ask("a")  # here

def test_thread():
    async def main():
        await asyncio.to_thread(ask, "a")
    asyncio.run(main())  # here

def test_strands():
    model = BedrockModel(model_id="us.amazon.nova-lite-v1:0", region_name="us-east-1")
    Agent(model, callback_handler=None)("hi")  # here

def test_httpx():
    answer = httpx.post(f"{HOST}/model/us.amazon.nova-lite-v1%3A0/converse", json=BODY)
    answer.raise_for_status()  # here

def test_assertion():
    try:
        ask("a")
    except Exception:
        pass
    assert 1 == 2, "my own words"  # here

def test_wrapped():
    try:
        ask("a")
    except Exception as error:
        raise RuntimeError("my agent failed") from error  # here

def test_group():
    async def main():
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.to_thread(ask, "a"))
    asyncio.run(main())  # here

@pytest.fixture
def asks():
    ask("a")  # here

def test_fixture(asks):
    pass

def test_swallowed():
    try:
        ask("a")
    except Exception:
        pass
"""

MISSING = "E*UnexpectedCall: call 1 has no reply: recordings/test_a/test_*.jsonl is not there."


def test_the_lines_above_a_missing_recording_are_the_users(upstream: Upstream) -> None:
    upstream.project.makepyfile(test_a=TESTS)
    result = upstream.replay()
    result.assert_outcomes(failed=8, errors=2)
    result.stdout.no_fnmatch_line("*site-packages*")
    result.stdout.no_fnmatch_line("*converse_harness?plugin?*.py:*")  # where the package is no site package
    result.stdout.no_fnmatch_line("*/asyncio/*")
    shown = result.outlines[: next(n for n, line in enumerate(result.outlines) if "short test summary" in line)]
    tests = [index for index, line in enumerate(shown) if line.startswith("_____")]
    sections = ["\n".join(shown[start:end]) for start, end in zip(tests, [*tests[1:], len(shown)], strict=True)]
    by_name = {section.strip("_ ").partition(" _")[0]: section for section in sections}
    assert [name for name, section in by_name.items() if "# here" not in section] == [
        "ERROR at teardown of test_fixture",
        "test_swallowed",
    ]
    chained = [name for name, section in by_name.items() if "direct cause" in section]
    assert chained == ["test_httpx", "test_assertion", "test_wrapped"]
    assert "my agent failed" in by_name["test_wrapped"]
    assert "400 Bad Request" in by_name["test_httpx"]
    assert "my own words" in by_name["test_assertion"]


def test_full_trace_keeps_all_frames(upstream: Upstream) -> None:
    upstream.project.makepyfile(test_a=TESTS)
    result = upstream.replay("--full-trace", "-k", "boto")
    result.stdout.fnmatch_lines(["*botocore*client.py*", MISSING])


WRONG = """
from converse_harness import fake_converse, reply

def test_condition(converse):
    converse.when(operation="converse")  # here

def test_answer(converse):
    converse.on_operation("InvokeModel", {"embedding": [1]})  # here

def test_reply():
    reply.text("a", usage={"input_tokens": 5})  # here

def test_setting():
    with fake_converse(unuse="allow"):  # here
        pass
"""


def test_a_wrong_argument_stands_at_the_users_line(project: pytest.Pytester) -> None:
    project.makepyfile(WRONG)
    result = project.runpytest_inprocess()
    result.assert_outcomes(failed=4)
    shown = result.stdout.str()
    assert len(re.findall(r"# here\n( +\^+\n)?E  ", shown)) == 4
    assert "direct cause" not in shown
    assert "in __init__" not in shown
    assert "converse_harness/" not in shown.partition("= FAILURES =")[2]
    full = project.runpytest_inprocess("--full-trace", "-k", "condition")
    full.stdout.fnmatch_lines(["*converse_harness?endpoint?outputs.py:*"])
