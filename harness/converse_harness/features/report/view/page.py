"""A whole page as one file that loads nothing from the network, and its Content-Security-Policy."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from converse_harness.features.report.view.answer import counted, folded, table_html, text_html
from converse_harness.features.report.view.html import Html, anchor, element, joined

_TOOLS: Final = Html(
    '<div role="search" aria-label="Calls" class="tools" hidden>'
    '<label>Search calls <input type="search" class="search" autocomplete="off"></label>'
    '<span role="status" class="found"></span>'
    '<label><input type="checkbox" class="only-failed"> only failed calls</label>'
    '<button type="button" class="open-all">Open all</button>'
    '<button type="button" class="close-all">Close all</button>'
    '<label><input type="checkbox" class="keys" checked>'
    " Keys: / search, j next call, k previous call, o open all, c close all</label></div>"
)
"""The search field and the buttons. They work only with the script of the page, which makes them visible."""


class PageSection(NamedTuple):
    """A section of a page: its title, its content, and its id, to which the list of contents links."""

    title: str
    content: Html
    anchor: str


@cache
def text_of(file: Path) -> str:
    """Return the text of a style sheet or script with LF as line end, because browsers hash the text in this form."""
    return file.read_text(encoding="utf-8").replace("\r\n", "\n")


_STYLE: Final = Path(__file__).with_name("view.css")
"""The style sheet of all pages. It changes nothing outside of elements with the class `converse`."""

_SCRIPT: Final = Path(__file__).with_name("view.js")
"""The script of all pages: the search, the shortcut keys, and the buttons that open or close all folded parts."""


def policy(*, scripts: Sequence[str] = (), connect: bool = False) -> str:
    """Return the Content-Security-Policy of a page, for its `meta` element or for a header.

    The policy allows the style sheet and the script of all pages, and `scripts`, by their hashes. The page can load
    nothing from a URL. With `connect`, scripts may connect to the server that the page comes from.
    """
    return _policy(text_of(_STYLE), (text_of(_SCRIPT), *scripts), connect=connect)


def _policy(style_sheet: str, scripts: Iterable[str], *, connect: bool) -> str:
    allowed = " ".join(f"'sha256-{_hash(each)}'" for each in scripts)
    connections = "; connect-src 'self'" if connect else ""
    loaded = f"default-src 'none'; style-src 'sha256-{_hash(style_sheet)}'; script-src {allowed}{connections}"
    return f"{loaded}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()


def document(
    title: str,
    sections: Iterable[PageSection],
    *,
    lead: str | None = None,
    scripts: Sequence[str] = (),
    connect: bool = False,
) -> str:
    """Return a whole HTML document: its title, `lead` (a text or HTML), and sections, each with a heading.

    `scripts` are the texts of scripts beside the script of all pages. `connect` allows them to connect to the page's
    server.
    """
    sections = list(sections)
    entries = [element("li", element("a", each.title, href=f"#{anchor(each.anchor)}")) for each in sections]
    contents = element("nav", element("ol", *entries), aria_label="Contents", class_="contents")
    content = (
        element("a", "Skip to the calls", href="#main", class_="skip"),
        element("header", element("h1", title), _TOOLS, class_="page-head"),
        contents if len(sections) > 1 else None,
        element("main", element("div", lead, class_="lead") if lead else None, *map(_section, sections), id="main"),
    )
    return html_file(title, content, text_of(_STYLE), (text_of(_SCRIPT), *scripts), connect=connect)


def html_file(
    title: str, content: Iterable[str | None], style_sheet: str, scripts: Sequence[str], *, connect: bool = False
) -> str:
    """Return a whole HTML document of any content. Its policy allows only this style sheet and these scripts.

    The scripts run after the browser has read the content. `connect` allows them to connect to the page's server.
    """
    body = element("body", *content, *(element("script", Html(each)) for each in scripts), class_="converse")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(style_sheet, scripts, connect=connect)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("style", Html(style_sheet)),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _section(section: PageSection) -> Html:
    name = anchor(section.anchor)
    heading = element("h2", section.title, id=f"{name}-title", tabindex=-1)
    return element("section", heading, section.content, id=name, aria_labelledby=f"{name}-title", class_="page-section")


def notebook_html(*parts: Html) -> str:
    """Return HTML for a notebook: the style sheet and the parts, without a script."""
    return element("div", element("style", Html(text_of(_STYLE))), *parts, class_="converse")


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
