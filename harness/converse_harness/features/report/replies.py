"""Convert a Reply to HTML for a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from converse_harness.features.report.view.answer import answer_html, changed_events
from converse_harness.features.report.view.html import element
from converse_harness.features.report.view.page import notebook_html
from converse_harness.features.report.view.view import CallView, mask_value, plain
from converse_harness.reply.body import Body, ErrorBody, MessageBody


def body_html(summary: str, body: Body, events: Iterable[Mapping[str, Any]]) -> str:
    """Return the HTML that shows a reply: a message or an error as a whole, and any other answer as its events.

    `summary` is Reply.summary, which is shown as the title.
    """
    answer: Any = None
    sent: list[Any] = []
    match body:
        case MessageBody():
            message = {"role": body.role, "content": [*body.content]}
            answer = {"output": {"message": message}, "stopReason": body.stop_reason, **body.options}
        case ErrorBody():
            answer = {"error": body.name, "status": body.status, **body.members}
        case _:
            sent = changed_events([plain(event) for event in events], mask_value)
    view = CallView(0, answer=mask_value(plain(answer)), events=[(0.0, event) for event in sent])
    title = element("p", element("b", mask_value(f"Reply {summary}")))
    shown = answer_html(view) if answer is not None or sent else ""
    return notebook_html(title, element("div", shown))
