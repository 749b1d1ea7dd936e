"""Requests that differ in words from what was recorded: a line at the end of the run, or a failure, or nothing."""

import pytest

from tests.plugin.upstream import Upstream

TEST = """
import os
import pytest
from agent import client

def loop(system):
    for question in "abcd":
        client().converse(
            modelId="m", system=[{"text": system}], messages=[{"role": "user", "content": [{"text": question}]}]
        )

@pytest.mark.converse_recording
def test_trip():
    loop(SYSTEM)

@pytest.mark.converse_recording
def test_same():
    loop("You are the same.")

SYSTEM = "You are a guide."
"""


@pytest.fixture
def changed(upstream: Upstream) -> Upstream:
    """A project of which one test's prompt was changed after it was recorded."""
    upstream.project.makepyfile(test_a=TEST)
    upstream.record().assert_outcomes(passed=2)
    path = upstream.project.path / "test_a.py"
    path.write_text(TEST.replace("a guide", "a good guide"))
    return upstream


def said(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "requests" in line and not line.startswith(("E", "FAILED"))]


LINES = """
converse-harness: 1 test sends requests that differ from its recording; pytest --converse-record=all records again:
    test_a.py::test_trip: 4 of 4 requests differ: system[0].text "You are a guide." -> "You are a good guide."
""".strip().splitlines()


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_changed_prompt_is_told_in_one_line(changed: Upstream, workers: tuple[str, ...]) -> None:
    result = changed.replay(*workers)
    result.assert_outcomes(passed=2)
    assert said(result) == LINES


def test_nothing_is_told_where_nothing_differs(changed: Upstream) -> None:
    (changed.project.path / "test_a.py").write_text(TEST)
    assert said(changed.replay()) == []


def test_or_it_fails_the_test(changed: Upstream) -> None:
    result = changed.replay("--converse-stale=fail")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "E*StaleRequests: 4 of 4 requests differ from recordings/test_a/test_trip.jsonl, which answered them.",
            "E*",
            "E*differs   - recorded, + arrived",
            "E*          calls 1, 2, 3, 4",
            'E*          - system[[]0[]].text  "You are a guide."',
            'E*          + system[[]0[]].text  "You are a good guide."',
            "E*",
            "E*If that is meant, record it again:",
            'E*pytest --converse-record=all "test_a.py::test_trip"',
            "E*or leave out what need not be equal: ignore=[[]'system[[][*][]].text'[]]",
        ]
    )
    assert said(result) == []
