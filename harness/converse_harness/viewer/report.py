"""The page of a test run: the failed tests, each with its calls, and all tests, each with the number of its calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from converse_harness.viewer.blocks import counted, folded, table_html, text_html
from converse_harness.viewer.html import Html, element, joined
from converse_harness.viewer.page import PageSection, document

_INTERRUPTED: Final = (
    "The run was interrupted, by a person or by an error while tests were collected: tests are missing."
)


class ShownFake(NamedTuple):
    """A fake that a test used: the title of the fake, and the HTML of its calls."""

    title: str
    calls: Html


class FailedTest(NamedTuple):
    """A test that failed: its id, and the phase that failed ("setup", "call" or "teardown").

    `first_lines` are those of the text of the failure, and `whole` is all of it. `fakes` are those that the test used.
    """

    test: str
    phase: str
    first_lines: str
    whole: str
    fakes: Sequence[ShownFake]


class ShownTest(NamedTuple):
    """A row in the list of all tests: the id of a test, its outcome, and the number of its calls."""

    test: str
    outcome: str
    calls: int


def report_html(failed: Sequence[FailedTest], tests: Sequence[ShownTest], *, interrupted: bool = False) -> str:
    """Return the report as an HTML document. The secrets in all texts must be masked already."""
    outcomes = Counter(row.outcome for row in tests)
    counts = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(outcomes.items()))
    calls = counted(sum(row.calls for row in tests), "call")
    lead = [f"{counted(len(tests), 'test')}{f' ({counts})' if counts else ''}, {calls}."]
    if interrupted:
        lead.append(_INTERRUPTED)
    elif not failed:
        lead.append("No test failed. A test that fails is shown here with its calls.")
    sections = [PageSection(test.test, _failure(test), f"test-{at}") for at, test in enumerate(failed, 1)]
    sections.append(PageSection("All tests", _table(tests), "all-tests"))
    return document("Bedrock Converse calls", sections, lead=joined(element("p", each) for each in lead))


def _failure(test: FailedTest) -> Html:
    phase = element("p", f"The {test.phase} failed.", class_="test-failed") if test.phase != "call" else None
    fakes = [part for fake in test.fakes for part in (element("p", element("b", fake.title)), fake.calls)]
    none = element("p", "No call reached a fake.", class_="none")
    whole = folded("The whole failure", text_html(test.whole))
    return joined([phase, text_html(test.first_lines), whole, *(fakes or [none])])


def _table(tests: Sequence[ShownTest]) -> Html:
    if not tests:
        return element("p", "No test ran.", class_="none")
    rows = (
        element("tr", element("th", row.test, scope="row"), element("td", row.outcome), element("td", f"{row.calls:,}"))
        for row in tests
    )
    return table_html(("test", "outcome", "calls"), rows)
