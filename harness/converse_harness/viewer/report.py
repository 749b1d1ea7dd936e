"""The page of a run: the tests that failed with their calls, and all tests with the number of their calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from converse_harness.viewer.blocks import counted, folded, text_html
from converse_harness.viewer.html import Html, element, joined
from converse_harness.viewer.page import PageSection, document


class ShownFake(NamedTuple):
    """A fake of a test: its title, and the HTML of its calls."""

    title: str
    calls: Html


class FailedTest(NamedTuple):
    """A test that failed: its id, the phase that failed, the failure in short and as a whole, and its fakes."""

    test: str
    phase: str
    first_lines: str
    whole: str
    fakes: Sequence[ShownFake]


class ShownTest(NamedTuple):
    """A test in the list of all tests."""

    test: str
    outcome: str
    calls: int


def report_html(failed: Sequence[FailedTest], tests: Sequence[ShownTest], *, interrupted: bool = False) -> str:
    """Return the whole document. All texts must be without secrets."""
    outcomes = Counter(row.outcome for row in tests)
    counts = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(outcomes.items()))
    calls = counted(sum(row.calls for row in tests), "call")
    said = [f"{counted(len(tests), 'test')}{f' ({counts})' if counts else ''}, {calls}."]
    if interrupted:
        said.append(
            "The run was interrupted, by a person or by an error while tests were collected: tests are missing."
        )
    elif not failed:
        said.append("No test failed. A test that fails is shown here with its calls.")
    sections = [PageSection(test.test, _failure(test), f"test-{at}") for at, test in enumerate(failed, 1)]
    sections.append(PageSection("All tests", _table(tests), "all-tests"))
    return document("Bedrock Converse calls", sections, lead=joined(element("p", each) for each in said))


def _failure(test: FailedTest) -> Html:
    phase = element("p", f"The {test.phase} failed.", class_="test-failed") if test.phase != "call" else None
    fakes = [part for fake in test.fakes for part in (element("p", element("b", fake.title)), fake.calls)]
    if not fakes:
        fakes = [element("p", "No call reached a fake.", class_="none")]
    parts = [phase, text_html(test.first_lines), folded("The whole failure", text_html(test.whole)), *fakes]
    return joined(part for part in parts if part is not None)


def _table(tests: Sequence[ShownTest]) -> Html:
    if not tests:
        return element("p", "No test ran.", class_="none")
    heads = [element("th", head, scope="col") for head in ("test", "outcome", "calls")]
    rows = [
        element("tr", element("th", row.test, scope="row"), element("td", row.outcome), element("td", f"{row.calls:,}"))
        for row in tests
    ]
    table = element("table", element("thead", element("tr", *heads)), element("tbody", *rows))
    return element("div", table, class_="scroll")
