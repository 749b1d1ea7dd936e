"""Which failures chaos takes for the test's own."""

import unittest
from collections.abc import Callable
from pathlib import Path

import pytest

from converse_harness.features.chaos.verdict import own_line


def asserts() -> None:
    assert [] == [1]


def fails() -> None:
    pytest.fail("no")


def compares() -> None:
    unittest.TestCase().assertEqual(1, 2)  # noqa: PT009 - it is the subject


def unpacks() -> None:
    (only,) = list[int]()
    assert only


def converts() -> None:
    Path("x").relative_to("y")


def raised(act: Callable[[], None]) -> BaseException:
    with pytest.raises((AssertionError, pytest.fail.Exception, ValueError)) as caught:
        act()
    return caught.value


@pytest.mark.parametrize("act", [asserts, fails, compares, unpacks])
def test_a_failure_is_the_tests_own_also_if_pytest_or_unittest_raises_it(act: Callable[[], None]) -> None:
    own = own_line(raised(act), Path(__file__), act.__name__)
    assert own == (__file__, act.__code__.co_firstlineno + 1)


def test_the_failure_of_other_code_is_not() -> None:
    assert own_line(raised(converts), Path(__file__), "converts") is None
    assert own_line(raised(unpacks), Path(__file__), "another") is None
