"""Chaos leaves out a test that expects a refusal, in a block or by its marker."""

import pytest

from tests.endpoint.expected_refusals.test_refuses_in_projects import LEFT_OUT
from tests.plugin.conftest import asking

__all__ = ["asking"]


def test_the_test_is_left_out_as_one_with_the_marker(asking: pytest.Pytester) -> None:
    asking.makepyfile(LEFT_OUT)
    result = asking.runpytest("--converse-chaos")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["left out *2 with calls that are refused or not *"])
