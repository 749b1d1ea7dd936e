"""Budgets in pytest: the marker, the ini file and the block; what a failure says, and what --converse-costs writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from converse_harness import ReplyError, fake_converse
from converse_harness.features.budgets.limits import KEYS
from tests.features.budgets.stages import NEEDS_CACHE, NEEDS_HISTORY
from tests.nested import XDIST

AGENT: Final = """
import boto3

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
TOOL = {"toolSpec": {"name": "timetable", "inputSchema": {"json": {"type": "object"}}}}

def ask(messages, url=None, system="You plan trips."):
    client = boto3.client("bedrock-runtime", region_name="us-east-1", endpoint_url=url)
    prompt = [{"text": system}, {"cachePoint": {"type": "default"}}]
    asked = {"modelId": MODEL, "messages": messages, "toolConfig": {"tools": [TOOL]}, "system": prompt}
    return client.converse(**asked)["output"]["message"]

def say(text="Chur to Tirano?", **others):
    return ask([{"role": "user", "content": [{"text": text}]}], **others)["content"][0]["text"]

def plan(text="Chur to Tirano?"):
    messages = [{"role": "user", "content": [{"text": text}]}]
    while True:
        messages.append(ask(messages))
        uses = [block["toolUse"] for block in messages[-1]["content"] if "toolUse" in block]
        if not uses:
            return messages[-1]["content"][0]["text"]
        results = [{"toolUseId": use["toolUseId"], "content": [{"text": "08:32"}]} for use in uses]
        messages.append({"role": "user", "content": [{"toolResult": each} for each in results]})
"""
HEAD: Final = """
import pytest
from converse_harness import fake_converse, reply
from trip import ask, plan, say
"""


@pytest.fixture
def trips(project: pytest.Pytester) -> pytest.Pytester:
    """A project with an agent that has no maximum of turns."""
    project.makepyfile(trip=AGENT)
    return project


@NEEDS_HISTORY
def test_a_failure_names_the_keys_that_are_over_and_why(trips: pytest.Pytester) -> None:
    trips.makepyfile(
        HEAD
        + """
@pytest.mark.converse(budget={"calls": 4, "attempts": 6, "same_tool_again": 0, "characters": 9_000})
def test_trip(converse):
    again = reply.tool_use("timetable", {"from": "Chur"})
    converse.script(again, reply.tool_use("timetable", {"from": "Thusis"}), again, reply.throttled(), again)
    converse.script(reply.text("At 08:32."))
    plan()
"""
    )
    result = trips.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            ">   def test_trip(converse):",
            "E   *CallError: budget: 5 calls of 4, 2 same_tool_again of 0. Call 4 asked timetable again *of call 2.",
            "E     call  asked * tools * characters",
            'E        1  text "Chur to Tirano?" *',
            'E        3  toolResult tooluse_* "08:32"  timetable  *',
            "E   >    4  * timetable * over: same_tool_again; asked timetable again with the input of call 2",
            "E        5  * -  is a retry of call 4",
            "E   >    6  * timetable * over: calls, same_tool_again; asked timetable again with the input of call 2",
            'E   *raise the limits: @pytest.mark.converse(budget={"calls": 5, "same_tool_again": 2}), or converse_*',
        ]
    )


@NEEDS_CACHE
def test_a_rewrite_says_where_the_prefix_parted(trips: pytest.Pytester) -> None:
    trips.makepyfile(
        HEAD
        + """
@pytest.mark.converse(budget={"rewrites": 0}, cache_minimum=0)
def test_clock(converse):
    converse.always(reply.text("ok"))
    messages = [{"role": "user", "content": [{"text": "Chur to Tirano?"}]}]
    for second in range(2):
        messages.append(ask(messages, system=f"Now: 10:00:0{second}."))
        messages.append(messages[0])

@pytest.mark.converse(budget={"rewrites": 0})
def test_too_short(converse):
    converse.always(reply.text("ok"))
    say()
"""
    )
    result = trips.runpytest()
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(
        [
            "E   *budget: 1 rewrites of 0. Call 2 wrote again what call 1 had cached: *[[]0[]].text, character 5.",
            "E     was  Now: 10:00:00.",
            "E     now  Now: 10:00:01.",
            "E   >    2  *over: rewrites; wrote again what call 1 had cached: the prefix parts at system*",
            "*converse notes*",
            "cache_prefix_too_short, in 1 test",
            "  test_a_rewrite_says_where_the_prefix_parted.py::test_too_short",
        ]
    )


OWN: Final = """
@pytest.mark.converse(budget={"calls": 1})
def test_own_error(converse):
    converse.always(reply.text("ok"))
    say(), say()
    assert say() == "no"

@pytest.mark.converse(budget={"calls": 1})
def test_unexpected(converse):
    converse.script(reply.text("ok"))
    say()
    with pytest.raises(Exception):
        say("Another?")

@pytest.mark.converse(budget={"calls": 0})
def test_skipped(converse):
    converse.always(reply.text("ok"))
    say()
    pytest.skip("not today")

@pytest.mark.xfail(reason="too many calls", strict=True)
@pytest.mark.converse(budget={"calls": 0})
def test_expected(converse):
    converse.always(reply.text("ok"))
    say()

def test_block(converse):
    converse.always(reply.text("ok"))
    say()
    with converse.budget(calls=1):
        say()
    with pytest.raises(ValueError) as raised, converse.budget(calls=0):
        say()
        raise ValueError
    assert raised.value.__notes__[0].startswith("budget: 1 calls of 0. ")
"""


def test_the_budget_hides_no_other_error(trips: pytest.Pytester) -> None:
    trips.makepyfile(HEAD + OWN)
    result = trips.runpytest("-rf")
    result.assert_outcomes(failed=2, skipped=1, xfailed=1, passed=1)
    result.stdout.fnmatch_lines(
        [
            "E       AssertionError: assert 'ok' == 'no'*",
            "E       budget: 3 calls of 1. Call 2 went over.",
            "E   *UnexpectedCall: call 2 has no reply left.",
            "E   budget: 2 calls of 1. Call 2 went over.",
            "FAILED *::test_own_error - AssertionErr*",
            "FAILED *::test_unexpected - *",
        ]
    )


SCOPES: Final = """
import unittest

pytestmark = pytest.mark.converse(budget={"calls": 2, "tool_calls": 0})

def say_often(times):
    with fake_converse(reply.text("ok").times(times)):
        for _ in range(times):
            say()

@pytest.mark.parametrize("times", [2, 3])
def test_of_the_module(times):
    say_often(times)

@pytest.mark.converse(budget={"calls": 3})
class TestClass:
    def test_of_the_class(self):
        say_often(3)

    @pytest.mark.converse(budget={"calls": 1})
    def test_of_the_function(self):
        say_often(2)

    @pytest.mark.converse(budget={"calls": None})
    def test_lifted(self):
        say_often(6)

    @pytest.mark.converse(budget={"attempts": None})
    def test_of_the_ini_file(self):
        with fake_converse(reply.text("ok"), reply.text("ok")) as fake:
            say(), say()
        with fake_converse(reply.tool_use("timetable", {}), reply.text("ok")) as fake:
            plan()

class TestOfUnittest(unittest.TestCase):
    def test_it(self):
        say_often(3)

class TestServer:
    def test_server(self, converse_server):
        fake = converse_server.script(reply.text("ok").times(3))
        for _ in range(3):
            say(url=fake.url)

    def test_httpx(self, converse_httpx):
        import json
        import httpx

        converse_httpx.always(reply.text("ok"))
        body = {"messages": [{"role": "user", "content": [{"text": "?"}]}]}
        for _ in range(3):
            httpx.post("https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse", json=body)

def test_two_fakes():
    say_often(1)
    say_often(2)
"""


def test_the_budget_of_each_scope_is_kept_key_by_key(trips: pytest.Pytester) -> None:
    trips.makepyfile(test_scopes=HEAD + SCOPES)
    trips.makeini("[pytest]\nconverse_budget =\n    attempts = 5\n    tool_calls = 7\n")
    result = trips.runpytest("-rA", "-W", "ignore")
    shown = {line.partition(" - ")[0]: line for line in result.outlines if line.startswith(("PASSED", "FAILED"))}
    outcomes = {name.partition("::")[2]: name.split()[0] for name in shown}
    assert outcomes == {
        "test_of_the_module[2]": "PASSED",
        "test_of_the_module[3]": "FAILED",
        "TestClass::test_of_the_class": "PASSED",
        "TestClass::test_of_the_function": "FAILED",
        "TestClass::test_lifted": "FAILED",
        "TestClass::test_of_the_ini_file": "FAILED",
        "TestOfUnittest::test_it": "FAILED",
        "TestServer::test_server": "FAILED",
        "TestServer::test_httpx": "FAILED",
        "test_two_fakes": "FAILED",
    }
    result.stdout.fnmatch_lines_random(
        [
            "E*budget: 3 calls of 2. Call 3 went over.",
            "E*budget: 2 calls of 1. Call 2 went over.",
            "E*budget: 6 attempts of 5. Call 6 went over.",
            "E*budget: 4 calls of 3, 1 tool_calls of 0. Call 2.2 went over.",
            "E*budget: 3 calls of 2. Call 2.2 went over.",
        ]
    )


WRONG: Final = {
    '{"call": 4}': "budget.call=4): a budget has no such key. Did you mean calls? Keys: calls, attempts, *",
    '{"input_tokens": 4}': "budget.input_tokens=4): an estimate of tokens never turns a test red. Limit what *",
    '{"calls": -1}': "budget.calls=-1): it is a whole number from 0, or None for no limit.",
    '{"calls": True}': "budget.calls=True): it is a whole number from 0, or None for no limit.",
    '{"waited": "2 s"}': "budget.waited='2 s'): it is a number of seconds from 0, or None for no limit.",
    "{1: 2}": "*): a budget has no such key. Keys: *",
    "4": 'budget=4): it maps keys to limits, as {"calls": 4}. Keys: *',
}


def test_a_wrong_budget_fails_before_the_fixtures(trips: pytest.Pytester) -> None:
    tests = [
        f"@pytest.mark.converse(budget={budget})\ndef test_{number}(converse): raise AssertionError\n"
        for number, budget in enumerate(WRONG)
    ]
    trips.makepyfile("\n".join([HEAD, *tests]))
    result = trips.runpytest()
    result.assert_outcomes(errors=len(WRONG))
    result.stdout.fnmatch_lines([f"E   *UsageError: @pytest.mark.converse({text}" for text in WRONG.values()])


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("calls 4", "converse_budget: 'calls 4' is no line KEY = NUMBER, such as calls = 20."),
        ("calls = few", "converse_budget: calls='few': it is a whole number from 0, or None for no limit."),
        ("tokens = 9", "converse_budget: tokens=9: an estimate of tokens never turns a test red. *"),
    ],
)
def test_a_wrong_line_of_the_ini_file_stops_the_run(trips: pytest.Pytester, line: str, problem: str) -> None:
    trips.makeini(f"[pytest]\nconverse_budget =\n    attempts = 5\n    {line}\n")
    result = trips.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {problem}"])


def test_a_wrong_limit_of_a_block_fails_at_its_line() -> None:
    limits: Any = {"outputTokens": 5}
    with fake_converse() as fake, pytest.raises(ReplyError, match=r"^budget\(outputTokens=5\): an estimate of tokens"):
        fake.budget(**limits)


COSTS: Final = """
@pytest.mark.parametrize("often", [1, 2])
def test_say(converse, often):
    converse.always(reply.text("ok"))
    for _ in range(often):
        say()

def test_fails(converse):
    converse.script(reply.tool_use("timetable", {}), reply.throttled(), reply.text("ok"))
    assert plan() == "no"

@pytest.mark.parametrize("key", ["AKIA2J5XNRQ4WVZ7LTMB"])
def test_secret(converse, key):
    converse.always(reply.text("ok"))
    say()

def test_nothing_asked():
    pass
"""


@pytest.mark.parametrize("workers", [(), pytest.param(("-n", "2"), marks=pytest.mark.slow)], ids=["alone", "xdist"])
def test_costs_are_written_for_each_test_also_if_tests_fail(workers: tuple[str, ...], trips: pytest.Pytester) -> None:
    trips.makepyfile(test_costs=HEAD + COSTS)
    options = (*XDIST, *workers) if workers else ()
    result = trips.runpytest("--converse-costs=costs.json", *options)
    result.assert_outcomes(passed=4, failed=1)
    written = json.loads(Path(trips.path, "costs.json").read_text(encoding="utf-8"))
    assert (written["format"], written["version"]) == ("converse-costs", 1)
    names = ["test_fails", "test_say[1]", "test_say[2]", "test_secret[***]"]
    assert [*written["tests"]] == [f"test_costs.py::{name}" for name in names]
    fails, once, twice, _ = written["tests"].values()
    assert once.keys() == {*KEYS, "estimated_tokens"}
    assert (fails["calls"], fails["attempts"], fails["tool_calls"]) == (2, 3, 1)
    assert (once["calls"], twice["calls"]) == (1, 2)
    assert twice["characters"] == 2 * once["characters"] > 0
    assert once["estimated_tokens"].keys() == {"input", "output", "cache_read", "cache_write"}
    assert once["estimated_tokens"]["output"] > 0


@pytest.mark.parametrize("given", [".", "missing/costs.json"])
def test_costs_need_a_file_in_a_folder_that_is_there(trips: pytest.Pytester, given: str) -> None:
    result = trips.runpytest(f"--converse-costs={given}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --converse-costs={given}: it names a file, in a folder that is there."])


UNUSED: Final = """
import sys

def test_without_a_budget(converse):
    converse.always(reply.text("ok"))
    say()
    assert not [name for name in sys.modules if "features.budgets" in name]
    assert [type(stage).__name__ for stage in converse.endpoint.stages][-1] != "_Counting"

@pytest.mark.converse(budget={"calls": 1})
def test_with_a_budget(converse):
    converse.always(reply.text("ok"))
    say()
    assert [name for name in sys.modules if "features.budgets" in name]
"""


@pytest.mark.slow
def test_without_a_budget_nothing_of_it_is_imported(trips: pytest.Pytester) -> None:
    trips.makepyfile(HEAD + UNUSED)
    trips.runpytest_subprocess().assert_outcomes(passed=2)


@pytest.mark.parametrize("is_rerun", [False, True])
def test_a_rerun_with_a_fault_has_no_budget(trips: pytest.Pytester, is_rerun: bool) -> None:
    trips.makeconftest(
        f"""
from converse_harness.plugin.settings import CHANGED

def pytest_configure(config):
    config.stash[CHANGED] = {is_rerun}
"""
    )
    trips.makepyfile(
        HEAD
        + """
@pytest.mark.converse(budget={"attempts": 1})
def test_trip(converse):
    converse.script(reply.throttled(), reply.text("ok"))
    assert say() == "ok"
"""
    )
    trips.runpytest().assert_outcomes(passed=is_rerun, failed=not is_rerun)
