"""Chaos leaves out a test that expects a refusal, in a block or by its marker."""

import pytest

from tests.plugin.conftest import asking

__all__ = ["asking"]

# A built-in stage may be taken away.
of_stage = pytest.importorskip("tests.endpoint.expected_refusals.test_refuses_in_projects")


def test_the_test_is_left_out_as_one_with_the_marker(asking: pytest.Pytester) -> None:
    asking.makepyfile(of_stage.LEFT_OUT)
    result = asking.runpytest("--converse-chaos")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["left out *2 with calls that are refused or not *"])
