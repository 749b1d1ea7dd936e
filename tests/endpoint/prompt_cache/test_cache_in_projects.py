"""The prompt cache in a project's tests: the assertion on rewrites, what its failure says, the setting, the clock."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import imported, project

__all__ = ["imported", "project"]

AGENT = """
from converse_harness.intercept.clients import create_client

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
POINT = {"cachePoint": {"type": "default"}}


def run_agent(steps, prompt):
    client, messages = create_client(), []
    for step in range(steps):
        messages.append({"role": "user", "content": [{"text": f"Step {step}."}]})
        system = [{"text": prompt(step)}, POINT]
        answer = client.converse(modelId=MODEL, messages=messages, system=system)
        messages.append(answer["output"]["message"])
"""

CLOCK = 'lambda step: f"Now: 05:00:0{step}. " + "You are a planner. " * 400'
STABLE = 'lambda step: "You are a planner. " * 400'


def _tests(project: pytest.Pytester, body: str) -> None:
    project.makepyfile(
        agent=AGENT,
        test_it="import pytest\nfrom agent import *\nfrom converse_harness import reply\n\n"
        "@pytest.fixture\ndef fake(converse):\n    converse.always(reply.text('ok'))\n    return converse\n\n" + body,
    )


def test_a_clock_in_the_prompt_fails_with_the_place_and_what_was(project: pytest.Pytester) -> None:
    _tests(
        project,
        f"""
def test_not(fake):
    run_agent(3, {CLOCK})
    assert not fake.cache.rewrites

def test_equal(fake):
    run_agent(3, {CLOCK})
    assert fake.cache.rewrites == ()

def test_stable(fake):
    run_agent(3, {STABLE})
    assert not fake.cache.rewrites
    assert fake.cache.hit_rate > 0.6
""",
    )
    result = project.runpytest("-vv")
    result.assert_outcomes(passed=1, failed=2)
    said = "call 2 wrote *,*** tokens again that call 1 had cached: the prefix parts at system?0?.text, character 5"
    result.stdout.fnmatch_lines([f"E *assert not <{said}, and 1 more>"])
    result.stdout.fnmatch_lines([f"* cache    {said}", "*     was  Now: 05:00:00. You are *", "*now  Now: 05:00:01. *"])
    result.stdout.fnmatch_lines([f"E  *{said}", "E *was  Now: 05:00:00. You are *", "E *now  Now: 05:00:01. You are *"])


def test_time_goes_by(project: pytest.Pytester) -> None:
    _tests(
        project,
        f"""
def test_it(fake):
    run_agent(1, {STABLE})
    fake.later(minutes=4, seconds=59)
    run_agent(1, {STABLE})
    assert fake.calls[-1].cache.read
    fake.later(minutes=6)
    run_agent(1, {STABLE})
    assert not fake.calls[-1].cache.read
    with pytest.raises(ValueError, match="later"):
        fake.later()
""",
    )
    project.runpytest().assert_outcomes(passed=1)


SHORT = """
def test_it(fake):
    run_agent(2, lambda step: f"Now: {step}.")
    assert not fake.cache.rewrites
"""


def test_a_prompt_that_is_too_short_is_noted(project: pytest.Pytester) -> None:
    _tests(project, SHORT + "\n\ndef test_other(fake):\n    assert not fake.cache.rewrites\n")
    result = project.runpytest()
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        ["cache_prefix_too_short, in 1 test", "*caches nothing below 1,024.", "*converse(cache_minimum=0)*"]
    )


@pytest.mark.parametrize(
    ("marker", "ini", "options"),
    [
        ("@pytest.mark.converse(cache_minimum=0)", "", ()),
        ("", "converse_cache_minimum = 0", ()),
        ("", "", ("--converse-cache-minimum=0",)),
    ],
)
def test_short_prompts_are_cached_by_a_setting(
    marker: str, ini: str, options: tuple[str, ...], project: pytest.Pytester
) -> None:
    _tests(project, f"{marker}{SHORT}")
    project.makeini(f"[pytest]\n{ini}")
    result = project.runpytest(*options)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*call 2 wrote * tokens again that call 1 had cached*"])


def test_a_setting_that_is_no_number(project: pytest.Pytester) -> None:
    _tests(project, SHORT)
    result = project.runpytest("--converse-cache-minimum=few")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--converse-cache-minimum=few: it is a whole number of tokens from 0, or model *"])
