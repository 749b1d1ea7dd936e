"""What stands behind the progress of a green run of this suite."""

import os
from pathlib import Path
from typing import Final

import pytest

from tests.nested import OURS

ROOT: Final = Path(__file__).parents[2]
CONFTEST: Final = """
import pytest

pytest_plugins = ['tests.tiers', 'tests.quiet']

def pytest_terminal_summary(terminalreporter):
    for number in range(LINES):
        terminalreporter.write_line("a line")
"""
TESTS: Final = """
import warnings
import pytest
from converse_harness import fake_converse, reply
from converse_harness.intercept.clients import create_client

def ask():
    messages = [{"role": "user", "content": [{"text": "hi"}]}] * 2
    with fake_converse(reply.text("hi")) as fake:
        create_client().converse(modelId="anthropic.claude-3-haiku-20240307-v1:0", messages=messages)
    return fake

def test_reads():
    assert [note.kind for note in ask().notes] == ["roles_alternate"]

@pytest.mark.slow
def test_slow():
    ask()

def test_other():
    OTHER
"""


@pytest.fixture(autouse=True)
def _project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(OURS))
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    monkeypatch.delenv("CI", raising=False)
    pytester.makeconftest(CONFTEST.replace("LINES", "0"))
    pytester.makepyfile(test_it=TESTS.replace("OTHER", "pass"))


def test_a_note_that_a_test_reads_is_no_line(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess("-q")
    result.assert_outcomes(passed=2, deselected=1)
    assert [line for line in result.outlines if line][1:] == [
        "Left out: 1 slow (--tier slow runs them).",
        result.outlines[-1],
    ]


def test_a_note_that_nobody_reads_fails_its_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=TESTS.replace("OTHER", "ask()"))
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(passed=1, failed=1, deselected=1)
    result.stdout.fnmatch_lines(["E * converse_harness.NotedCall: Bedrock may refuse call 1:*"])
    asked_for = pytester.runpytest_inprocess("-m", "slow")
    asked_for.assert_outcomes(passed=1, deselected=2)
    asked_for.stdout.fnmatch_lines(["roles_alternate, in 1 test"])


@pytest.mark.parametrize(
    ("ci", "lines", "other", "arguments", "noisy"),
    [
        ("true", 7, "pass", (), False),
        ("true", 8, "pass", (), True),
        ("", 8, "pass", (), False),
        ("true", 8, "pass", ("--tier", "slow"), False),
        ("true", 0, "warnings.warn('a' + 8 * '\\n b')", ("-W", "default"), True),
    ],
    ids=["few", "many", "not in CI", "another tier", "a warning"],
)
def test_a_green_run_with_much_to_say_fails_under_ci(
    ci: str,
    lines: int,
    other: str,
    arguments: tuple[str, ...],
    noisy: bool,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr("tests.tiers._warm", lambda: None)
    pytester.makeconftest(CONFTEST.replace("LINES", str(lines)))
    pytester.makepyfile(test_it=TESTS.replace("OTHER", other))
    result = pytester.runpytest_inprocess(*arguments)
    assert ("NOISY: " in result.stdout.str()) is noisy
    assert result.ret == (pytest.ExitCode.TESTS_FAILED if noisy else pytest.ExitCode.OK)
