"""What a notebook shows of fakes, calls and replies: the methods `_repr_html_` of these classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from converse_harness.endpoint.call import Call
from converse_harness.features.report.calls import views_of
from converse_harness.features.report.view import call_html as html_of
from converse_harness.features.report.view import element, notebook_html
from converse_harness.features.report.view import fake_html as html_of_fake
from converse_harness.features.report.view.answer import answer_html, changed_events
from converse_harness.features.report.view.view import CallView, mask_value, plain
from converse_harness.intercept.fake import Fake
from converse_harness.reply.body import ErrorBody, EventsBody, MessageBody
from converse_harness.reply.reply import Reply
from converse_harness.secrets.mask import mask


def fake_html(fake: Fake) -> str:
    """Return HTML with all calls of a fake on a time line, each with details to expand. Secrets are masked."""
    title = element("p", element("b", mask(repr(fake))))
    return notebook_html(title, html_of_fake(views_of(fake.calls.all)))


def call_html(call: Call) -> str:
    """Return HTML with the whole request of a call, and its answer with the times. Secrets are masked."""
    return notebook_html(*map(html_of, views_of([call])))


def reply_html(reply: Reply) -> str:
    """Return HTML with the summary of a reply, and its message or error, or its events. Secrets are masked."""
    answer: Any = None
    sent: list[Any] = []
    match body := reply.plan.body:
        case MessageBody():
            message = {"role": body.role, "content": [*body.content]}
            answer = {"output": {"message": message}, "stopReason": body.stop_reason, **body.options}
        case ErrorBody():
            answer = {"error": body.name, "status": body.status, **body.members}
        case _:
            events: Iterable[Mapping[str, Any]] = reply.events() if isinstance(body, EventsBody) else []
            sent = changed_events([plain(event) for event in events], mask_value)
    view = CallView(0, answer=mask_value(plain(answer)), events=[(0.0, event) for event in sent])
    title = element("p", element("b", mask_value(f"Reply {reply.summary}")))
    shown = answer_html(view) if answer is not None or sent else ""
    return notebook_html(title, element("div", shown))
