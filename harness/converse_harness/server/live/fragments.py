"""The HTML of the live page: the page without calls, the head of a fake, and one call."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from weakref import WeakKeyDictionary

from converse_harness.endpoint.call import Call
from converse_harness.endpoint.script import scripted_in_short
from converse_harness.secrets import mask
from converse_harness.server.live.feed import Shown, ShownFake
from converse_harness.viewer import CallView, Html, call_html, document, element, overview_html
from converse_harness.viewer import policy as policy_of_pages

_TITLE = "Calls to a fake Amazon Bedrock"


@cache
def _script() -> str:
    return files("converse_harness.server.live").joinpath("live.js").read_text("utf-8").replace("\r\n", "\n")


def page() -> bytes:
    """Return the page without calls; its script reads them."""
    state = element("p", "This page needs JavaScript, which loads the calls.", id="state", role="status")
    lead = Html(state + element("div", id="fakes"))
    return document(_TITLE, (), lead=lead, scripts=(_script(),), connect=True).encode()


def policy() -> str:
    """Return the Content-Security-Policy of the page, for its header."""
    return f"{policy_of_pages(scripts=(_script(),), connect=True)}; frame-ancestors 'none'"


def rendered(shown: Shown, fake: ShownFake) -> Mapping[str, object]:
    """Return the data of the event for a fake or a call. Every text is escaped, and its secrets are masked."""
    prefix = f"fake-{shown.fake}-"
    if shown.kind == "call":
        before = [_view(call, fake) for number, call in [*fake.calls.items()] if number < shown.call]
        return {"html": call_html(_view(fake.calls[shown.call], fake), before, prefix=prefix)}
    endpoint = fake.fake.endpoint
    facts = [f"{fake.fake.url}: ", *scripted_in_short(endpoint.script)]
    problems = [element("pre", mask(str(each))) for each in [*endpoint.problems]]
    views = [_view(call, fake) for call in [*fake.calls.values()]]
    html = Html(element("p", ", ".join(facts)) + "".join(problems) + overview_html(views, prefix=prefix))
    return {"title": f"Fake {fake.id}" if fake.id else "The fake at the server's own URL", "html": html}


_ended: WeakKeyDictionary[Call, CallView] = WeakKeyDictionary()
"""The views of calls whose answers have ended, because each call shows what is new beside those before it."""
