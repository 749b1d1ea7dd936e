"""What a lone clone says of the tests that need the folder beside it."""

import os
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]

TESTS: Final = """
import pytest
from tests.shared_folder import LACKS

@pytest.mark.parametrize("n", range(COUNT))
def test_compares(n):
    pytest.skip(LACKS)

def test_other():
    pytest.skip("another reason")
"""
TOLD: Final = "Skipped: *with the folder ../shared, which is not there."


@pytest.fixture(autouse=True)
def _project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    pytester.makeconftest("pytest_plugins = ['tests.shared_folder']")


@pytest.mark.parametrize(
    ("count", "told", "arguments"),
    [
        (2, "2 tests compare", ()),
        (1, "1 test compares", ("-q",)),
        pytest.param(3, "3 tests compare", ("-n", "2", "-p", "xdist"), marks=pytest.mark.slow),
    ],
)
def test_the_line_before_the_last_counts_them(
    count: int, told: str, arguments: tuple[str, ...], pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(TESTS.replace("COUNT", str(count)))
    result = pytester.runpytest_inprocess(*arguments)
    result.assert_outcomes(skipped=count + 1)
    assert result.outlines[-2] == f"Skipped: {told} with the folder ../shared, which is not there."


def test_without_such_a_test_nothing_is_said(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS.replace("COUNT", "0").replace("test_compares", "compares"))
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(skipped=1)
    result.stdout.no_fnmatch_line(TOLD)
