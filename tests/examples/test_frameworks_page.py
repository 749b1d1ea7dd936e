"""docs/frameworks.md is made of the data file, and the data file is as the suites are."""

import re
from typing import Final

import pytest

from tests.clients.pinned.frameworks.page import FOLDER, PAGE, SCENARIOS, Framework, frameworks, page

FRAMEWORKS: Final = list(frameworks().values())
SET_UP: Final = r"environ|setenv|monkeypatch|aws_\w+ *=|AWS_|region|endpoint|fake_converse|\bpatch\b"
"""What a test would do to make a client find the fake."""
OF_THE_PROGRAM: Final = "return AmazonBedrockModel("
"""The beginning of a line that has a region as in production, because this class does not read it elsewhere."""

each_framework = pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda framework: framework.name)


def test_page() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.clients.pinned.frameworks.page`"


def test_each_framework_has_a_suite() -> None:
    assert {f"test_{framework.name}.py" for framework in FRAMEWORKS} == {path.name for path in FOLDER.glob("test_*.py")}


@each_framework
def test_the_suite_has_the_line_that_the_page_tells_of_and_no_other(framework: Framework) -> None:
    found = {line.strip() for line in framework.suite.splitlines() if re.search(SET_UP, line)}
    lines = {line for line in found if not line.startswith(OF_THE_PROGRAM)}
    assert lines == ({framework.line} if framework.line else set[str]())


@each_framework
def test_what_was_seen_is_what_the_suite_tests(framework: Framework) -> None:
    more = [test for test in framework.tests if test not in SCENARIOS]
    assert len(more) > 0 if framework.wrong else not more
    assert framework.wrong or {"test_text", "test_throttled"} < {*framework.tests}


@each_framework
def test_versions_are_exact(framework: Framework) -> None:
    assert all(re.fullmatch(r"[\w.-]+(\[\w+\])?==[\w.]+", requirement) for requirement in framework.requires)
