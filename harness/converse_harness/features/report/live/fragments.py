"""The HTML of the live page: the page without calls, the head of a fake, and one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Final
from weakref import WeakKeyDictionary

from converse_harness.endpoint.call import Call
from converse_harness.endpoint.script import scripted_in_short
from converse_harness.errors import UnusedReplies
from converse_harness.features.report.calls import MessageMemory, views_of
from converse_harness.features.report.live.feed import LiveFake, Shown
from converse_harness.features.report.view import CallView, Html, call_html, document, element, overview_html
from converse_harness.features.report.view import policy as policy_of_pages
from converse_harness.features.report.view.page import text_of
from converse_harness.features.report.view.view import mask_value
from converse_harness.secrets.mask import mask
from converse_harness.secrets.process import own_secrets
from converse_harness.server.control import ROOT, id_of, problem_text
from converse_harness.server.mounts import ServerFake

_SCRIPT: Final = Path(__file__).with_name("live.js")


@cache
def page() -> bytes:
    """Return the page as HTML, without calls. Its script reads the calls from the server."""
    state = element("p", "Without JavaScript, this page shows no calls.", id="state", role="status")
    lead = Html(state + element("div", id="fakes"))
    return document("Calls to a fake Amazon Bedrock", (), lead=lead, scripts=(text_of(_SCRIPT),), connect=True).encode()


@cache
def policy() -> str:
    """Return the Content-Security-Policy of the page, for its header."""
    return f"{policy_of_pages(scripts=(text_of(_SCRIPT),), connect=True)}; frame-ancestors 'none'"


def rendered(shown: Shown, fake: LiveFake) -> Mapping[str, object]:
    """Return the data of the event for a fake or a call. Every text is escaped, and its secrets are masked."""
    views, prefix = _views(fake), f"fake-{fake.number}-"
    if shown.kind == "fake":
        name = id_of(fake.fake)
        title = "The fake at the server's own URL" if name == ROOT else f"Fake {name}"
        return {"title": title, "html": _head(fake) + overview_html(views, prefix=prefix)}
    found = (call_html(view, views[:at], prefix=prefix) for at, view in enumerate(views) if view.number == shown.call)
    return {"html": next(found, "")}  # empty if the call is not shown any more, because many calls came after it


def _head(fake: LiveFake) -> str:
    script = [mask(each) for each in scripted_in_short(fake.fake.endpoint.script)]
    failures = [each for each in fake.fake.failures() if fake.closed or not isinstance(each, UnusedReplies)]
    problems = [problem_text(each) if fake.fake.in_json else mask(str(each)) for each in failures]
    facts = element("p", element("code", fake.fake.url), *(f", {each}" for each in script))
    return facts + "".join(element("pre", each, class_="removed") for each in problems)


_first: WeakKeyDictionary[ServerFake, float] = WeakKeyDictionary()
"""For each fake: the time at which the first call that the page shows began."""

_ended: WeakKeyDictionary[Call, CallView] = WeakKeyDictionary()
"""The views of calls whose answers have ended. They are kept, because each later call is compared with them."""


_memories: WeakKeyDictionary[ServerFake, tuple[frozenset[str], MessageMemory]] = WeakKeyDictionary()
"""For each fake: the secrets of this process, and the masked forms of messages, computed with these secrets."""

_MOST_MESSAGES: Final = 2_000
"""A MessageMemory with more messages than this is replaced by an empty one."""


def _memory(fake: ServerFake) -> MessageMemory:
    own = own_secrets()
    known = _memories.get(fake)
    if known is None or known[0] != own or known[1].size > _MOST_MESSAGES:
        known = _memories[fake] = (own, MessageMemory(partial(mask_value, own=own)))
    return known[1]


def _views(fake: LiveFake) -> list[CallView]:
    """Return the views of all calls of a fake that the page shows."""
    views: list[CallView] = []
    for call in fake.calls.values():
        view = _ended.get(call)
        if view is None:
            # Read before the view is made: only a view of the whole answer may be kept.
            over = call.outcome != "still running"
            begun = call.answered.taken.started
            started = views[-1].started if views else 0.0
            if begun:
                started = round(1000 * (begun - _first.setdefault(fake.fake, begun)), 1)
            view = replace(views_of([call], _memory(fake.fake))[0], started=started)
            if over:
                _ended[call] = view
        views.append(view)
    return views
