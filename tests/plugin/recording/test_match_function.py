"""A function of the user that decides which exchange answers, and that is wrong."""

import pytest

from tests.plugin.upstream import Upstream

TEST = """
import pytest
from agent import ask

def same_city(recorded, asked):
    return recorded["city"] == asked["city"]

def one(recorded):
    return True

@pytest.mark.converse_recording({})
def test_city():
    {}
"""


@pytest.mark.parametrize("agent", ["ask('Bern')", "try: ask('Bern')\n    except Exception: pass"])
def test_its_error_is_one_of_the_function(upstream: Upstream, agent: str) -> None:
    upstream.project.makepyfile(test_a=TEST.format("", "ask('Bern')"))
    upstream.record().assert_outcomes(passed=1)
    upstream.project.makepyfile(test_a=TEST.format("match=same_city", agent))
    result = upstream.replay()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "test_a.py:5: KeyError",
            "*The above exception was the direct cause of the following exception:*",
            "E*match function same_city (test_a.py:5) raised KeyError: 'city', while it looked at call 1. It gets *",
        ]
    )
    result.stdout.no_fnmatch_line("*botocore*")
    result.stdout.no_fnmatch_line("*harness*frames.py*")


def test_wrong_arguments_are_those_of_the_marker(upstream: Upstream) -> None:
    upstream.project.makepyfile(test_a=TEST.format("", "ask('Bern')"))
    upstream.record().assert_outcomes(passed=1)
    upstream.project.makepyfile(test_a=TEST.format("match=one", "ask('Bern')"))
    upstream.replay().stdout.fnmatch_lines(
        ["@pytest.mark.converse_recording(match=one): too many positional arguments*"]
    )
