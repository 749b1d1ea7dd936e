"""One call as HTML, and a list of calls on a time line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from converse_harness.features.report.view.answer import answer_html, counted, folded, milliseconds, text_html, titled
from converse_harness.features.report.view.html import Html, anchor, element, joined
from converse_harness.features.report.view.request_changes import request_html
from converse_harness.features.report.view.view import CallView

_WIDTH: Final = 1000
"""The width of the time line, in units of the SVG."""

_NARROWEST: Final = 6
"""The minimum width of the bar of a call on the time line, in units of the SVG."""


def call_html(view: CallView, before: Sequence[CallView] = (), *, prefix: str = "") -> Html:
    """Return one call as an `article` with the id `{prefix}call-{number}`.

    `before` are the calls that the page shows before this call, in their order. Messages, settings and tools that one
    of them contains become links to that call. A page with several fakes has another `prefix` for each, so that all ids
    are different. Every text is escaped, and the HTML contains no styles, scripts or addresses.
    """
    name = f"{anchor(prefix)}call-{view.number}"
    model = element("code", view.model_id) if view.model_id else None
    number = element("a", f"Call {view.number}", href=f"#{name}")
    title = element("h3", number, " ", view.operation or "another request", " ", model, id=f"{name}-title")
    state = "fine" if view.is_fine else "failed"
    outline = element("p", element("span", _badge(view), class_=f"badge {state}"), " ", view.outline, class_="outline")
    request = _side("Request", request_html(view, before, anchor(prefix)), _headers(view))
    columns = element("div", request, _side("Answer", answer_html(view)), class_="columns")
    return element(
        "article", element("header", title, outline, _facts(view)), *_remarks(view), columns,
        class_=f"call {state}", id=name, aria_labelledby=f"{name}-title", tabindex=-1,
    )  # fmt: skip


def _badge(view: CallView) -> str:
    if view.outcome == "still running":
        return "still running"
    return "ok" if view.is_fine else "refused" if view.refusal is not None else "failed"


def _side(title: str, *content: Html | None) -> Html:
    return element("section", element("h4", title), *content)


def _headers(view: CallView) -> Html | None:
    if not view.headers:
        return None
    lines = "\n".join(f"{name}: {value}" for name, value in view.headers)
    return folded(counted(len(view.headers), "header"), text_html(lines, "json"))


def _facts(view: CallView) -> Html:
    facts = (
        ("arrived", milliseconds(view.started)),
        ("took", milliseconds(view.took)),
        ("events", f"{len(view.events):,}" if view.events else ""),
        ("answer from", view.line),
        ("uses of the request", ", ".join(view.uses)),
        ("waited before the next attempt", milliseconds(view.waited) if view.waited else ""),
    )
    pairs = [element("div", element("dt", name), element("dd", value)) for name, value in facts if value]
    return element("dl", *pairs, class_="facts")


def _remarks(view: CallView) -> Iterator[Html]:
    if view.refusal is not None:
        rule, words, source = view.refusal
        described = element("p", element("b", "Source: "), source) if source else None
        yield titled(f"Refused by the rule {rule}", text_html(words), described, kind="failed")
    for fault in view.faults:
        yield titled("Fault", text_html(fault), kind="fault")
    for note in view.notes:
        yield titled("Note", text_html(note), kind="note")


def overview_html(views: Sequence[CallView], *, prefix: str = "") -> Html:
    """Return a list of the calls, each with a link to its `article` and a bar on a common time line."""
    start = min((view.started for view in views), default=0.0)
    whole = max((view.started + view.took for view in views), default=0.0) - start
    return element("ol", *(_entry(view, start, whole, anchor(prefix)) for view in views), class_="overview")


def fake_html(views: Sequence[CallView], *, prefix: str = "") -> Html:
    """Return the calls of one fake: a list of all calls, then each call, folded under a line that summarizes it."""
    calls = [
        folded(f"Call {view.number}: {view.outline}", call_html(view, views[:at], prefix=prefix))
        for at, view in enumerate(views)
    ]
    return joined([overview_html(views, prefix=prefix), *calls])


def _entry(view: CallView, start: float, whole: float, prefix: str) -> Html:
    state = "fine" if view.is_fine else "failed"
    left, width = 0.0, float(_WIDTH)
    if whole > 0:
        width = max(_WIDTH * view.took / whole, _NARROWEST)
        left = min(_WIDTH * (view.started - start) / whole, _WIDTH - width)
    rect = element("rect", x=round(left), y=0, width=round(width), height=10, rx=2)
    bar = element(
        "svg", rect, viewBox=f"0 0 {_WIDTH} 10", preserveAspectRatio="none", aria_hidden="true", focusable="false"
    )
    name = joined([f"{view.number}. {view.operation or 'another request'} ", element("small", view.model_id)])
    line = element("a", name, href=f"#{prefix}call-{view.number}")
    times = element("span", f"{milliseconds(view.started - start)} + {milliseconds(view.took)}", class_="at")
    outline = element("span", element("b", _badge(view)), " ", view.outline, class_="outline")
    return element("li", line, bar, times, outline, class_=state)
