"""Calls as HTML: what stands in it, that no text becomes markup, and that a long conversation is written once."""

import base64
import hashlib
import itertools
import json
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest

from converse_harness import Fake
from converse_harness.features.report.calls import views_of
from converse_harness.features.report.view import (
    CallView,
    Html,
    PageSection,
    RefusedBy,
    call_html,
    document,
    fake_html,
    notebook_html,
    overview_html,
    plain,
    policy,
)
from converse_harness.features.report.view.answer import changed_events
from converse_harness.features.report.view.page import FailedTest, ShownFake, ShownTest, report_html
from converse_harness.features.report.view.view import mask_value
from converse_harness.stream.http import Request
from tests.secrets.planted import LONG
from tests.secrets.test_leaks import LISTED

VOID = {"meta", "input"}


class Parsed(HTMLParser):
    """The elements, attributes and texts of HTML; an element that is not closed in its place is an error."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.styles: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs)
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        (self.styles if self.open[-1:] in (["style"], ["script"]) else self.texts).append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def values(self, name: str) -> list[str]:
        """The values of an attribute."""
        return [str(attributes[name]) for _, attributes in self.elements if name in attributes]


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"text": text}]}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": [*blocks]}


def delta(text: str, block: int = 0) -> dict[str, Any]:
    return {"contentBlockDelta": {"contentBlockIndex": block, "delta": {"text": text}}}


def view(number: int = 1, *messages: dict[str, Any], **given: Any) -> CallView:
    request = {"messages": [*messages], **given.pop("more", {})}
    usual = {"operation": "Converse", "model_id": "amazon.nova", "status": 200, "outcome": "complete"}
    return CallView(number, **{**usual, "request": request, **given})


def shown(now: CallView, *before: CallView) -> str:
    """The text of a call's HTML."""
    return Parsed(call_html(now, before)).text


MARKUP = "<img src=x onerror=alert(1)>\"' onload='x\"<script>alert(2)</script>&amp;</pre></style>"


def fields() -> Iterator[tuple[str, CallView]]:
    """For each field that may hold a text, a view with markup in it."""
    stream = [{"messageStart": {"role": MARKUP}}, delta(MARKUP), {MARKUP: {"a": MARKUP}}]
    start = {
        "contentBlockStart": {"contentBlockIndex": MARKUP, "start": {"toolUse": {"name": MARKUP, "toolUseId": MARKUP}}}
    }
    use = {"toolUse": {"name": MARKUP, "toolUseId": MARKUP, "input": {MARKUP: MARKUP}}}
    result = {
        "toolResult": {"toolUseId": MARKUP, "status": MARKUP, "content": [{"text": MARKUP}, {"json": {"a": MARKUP}}]}
    }
    tool = {"toolSpec": {"name": MARKUP, "description": MARKUP, "inputSchema": {"json": {MARKUP: 1}}}}
    for name in ("operation", "model_id", "outline", "outcome", "line", "error"):
        yield name, view(**dict[str, Any]({name: MARKUP}))
    yield "headers", view(headers=[(MARKUP, MARKUP)])
    yield "events", view(events=[(float(at), each) for at, each in enumerate([*stream, start])])
    yield "answer", view(answer={"output": {"message": assistant({"text": MARKUP}, use)}, MARKUP: MARKUP})
    yield "error answer", view(answer={"message": MARKUP}, status=400)
    yield "text answer", view(answer=MARKUP)
    yield "refusal", view(refusal=RefusedBy(MARKUP, MARKUP, MARKUP))
    yield "faults and notes", view(faults=[MARKUP], notes=[MARKUP])
    yield "messages", view(1, {"role": MARKUP, "content": [{"text": MARKUP}, use, result, {MARKUP: MARKUP}]})
    media = {"document": {"name": MARKUP, "format": MARKUP, "source": {MARKUP: MARKUP}}}
    reasoning = {"reasoningContent": {"reasoningText": {"text": MARKUP}}}
    yield "blocks", view(1, assistant(media, reasoning, {"cachePoint": {"type": MARKUP}}))
    yield "no blocks", view(1, {"role": "user", "content": MARKUP})
    yield "system and tools", view(more={"system": [{"text": MARKUP}], "toolConfig": {"tools": [tool]}})
    yield "settings", view(more={MARKUP: MARKUP, "inferenceConfig": {MARKUP: [MARKUP]}})
    yield "request", view(request=MARKUP)
    yield "list", view(request=[MARKUP])
    yield "long text", view(1, user(MARKUP * 100))


def test_an_answer_of_which_nothing_came_says_so() -> None:
    nothing = "Nothing was received."
    assert nothing in shown(view(outcome="cut"))
    assert nothing not in shown(view(events=[(0.0, delta("a"))]))
    assert nothing not in shown(view(answer={"output": {"message": assistant({"text": "a"})}}))
    assert nothing not in shown(view(error="refused"))


FIELDS = dict(fields())
ALLOWED = {
    "id",
    "class",
    "href",
    "title",
    "open",
    "scope",
    "tabindex",
    "aria-labelledby",
    "aria-hidden",
    "focusable",
} | {*("viewbox", "preserveaspectratio", "x", "y", "width", "height", "rx")}


@pytest.mark.parametrize("field", FIELDS)
def test_markup_in_a_field_stays_text(field: str) -> None:
    plain_view = view(2, user("hi"), more={"system": [{"text": "s"}]})
    for html in (
        call_html(FIELDS[field], (), prefix=MARKUP),
        call_html(FIELDS[field], [plain_view]),
        call_html(plain_view, [FIELDS[field]]),
        overview_html([FIELDS[field]], prefix=MARKUP),
        fake_html([FIELDS[field]]),
    ):
        parsed = Parsed(html)
        names = {name for name, _ in parsed.elements}
        assert names.isdisjoint({"img", "script", "style", "link", "iframe", "form", "meta"})
        assert {name for _, attributes in parsed.elements for name in attributes} <= ALLOWED
        assert all(each.startswith("#") for each in parsed.values("href"))
    assert "<img src=x onerror=alert(1)>" in Parsed(call_html(FIELDS[field]) + overview_html([FIELDS[field]])).text


def test_markup_in_a_report_stays_text() -> None:
    failed = FailedTest(MARKUP, MARKUP, MARKUP, MARKUP, [ShownFake(MARKUP, Html("<b>calls</b>"))])
    parsed = Parsed(report_html([failed], [ShownTest(MARKUP, MARKUP, 1)]))
    assert [name for name, _ in parsed.elements if name in ("img", "script")] == ["script"]
    assert not any(name.startswith("on") for _, attributes in parsed.elements for name in attributes)
    assert parsed.text.count("onload") == 9  # the title twice, in the contents, and elsewhere once each


def test_a_document_is_closed_by_its_policy() -> None:
    page = document(
        "T", [PageSection("A", Html(), "a"), PageSection("B", Html(), "b")], scripts=["more()"], connect=True
    )
    parsed = Parsed(page)
    (given,) = (each["content"] for name, each in parsed.elements if each.get("http-equiv"))
    hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'" for each in parsed.styles]
    assert given == policy(scripts=["more()"], connect=True)
    assert str(given).split("; ") == [
        "default-src 'none'",
        f"style-src {hashes[0]}",
        f"script-src {hashes[1]} {hashes[2]}",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert parsed.values("style") == parsed.values("src") == []
    assert "connect-src" not in policy()
    assert "http:" not in page
    assert "https:" not in page


def test_ids_occur_once_and_every_link_leads_somewhere() -> None:
    views = [view(1, user("a")), view(2, user("a"), assistant({"text": "b"}), user("c"))]
    calls = [call_html(each, views[:at], prefix="x-") for at, each in enumerate(views)]
    page = document("T", [PageSection("A", Html(overview_html(views, prefix="x-") + "".join(calls)), "a")])
    parsed = Parsed(page)
    ids = parsed.values("id")
    assert len(ids) == len(set(ids))
    assert {each.removeprefix("#") for each in parsed.values("href")} <= {*ids}
    assert {*parsed.values("aria-labelledby")} <= {*ids}


def test_headings_are_in_order() -> None:
    before = view(1, user("a"), more={"system": [{"text": "one"}]})
    now = view(2, user("a"), more={"system": [{"text": "two"}]})
    page = document("T", [PageSection("A", Html(call_html(before) + call_html(now, [before])), "a")])
    levels = [int(name[1]) for name, _ in Parsed(page).elements if name in ("h1", "h2", "h3", "h4", "h5", "h6")]
    assert levels[0] == 1
    assert {1, 2, 3, 4, 5, 6} == {*levels}
    assert all(after - level <= 1 for level, after in itertools.pairwise(levels))


def conversation(turns: int) -> list[CallView]:
    views: list[CallView] = []
    messages: list[dict[str, Any]] = []
    for turn in range(1, turns + 1):
        messages.append(user(f"question {turn} {'q' * 300}"))
        answer = assistant({"text": f"answer {turn} {'a' * 300}"})
        views.append(view(turn, *messages, answer={"output": {"message": answer}}))
        messages.append(answer)
    return views


def test_requests_of_different_services_are_not_compared() -> None:
    before = view(1, user("a"), more={"system": [{"text": "one"}]})
    now = view(2, operation="Retrieve", model_id="", request={"retrievalQuery": {"text": "a"}})
    assert "call 1" not in shown(now, before)
    again = view(3, user("a"), operation="ConverseStream", more={"system": [{"text": "one"}]})
    assert "as in call 1" in shown(again, before, now)


def test_each_message_of_a_conversation_is_written_once() -> None:
    views = conversation(200)
    sizes = [len(call_html(each, views[:at])) for at, each in enumerate(views)]
    whole = Parsed("".join(call_html(each, views[:at]) for at, each in enumerate(views))).text
    assert all(whole.count(f"question {turn} q") == 1 for turn in range(1, 201))
    assert all(whole.count(f"answer {turn} a") == 1 for turn in range(1, 201))
    assert max(sizes[1:]) < 1.1 * min(sizes[1:])
    assert sum(sizes) < 2_000_000
    assert "messages 1-397: as in call 199" in whole
    assert "The answer of call 199" in whole


def test_messages_that_moved_are_links_too() -> None:
    """A window of the last messages, as agents send that shorten their history."""
    before = view(7, *(user(f"m{at}") for at in range(6)))
    text = shown(view(8, *(user(f"m{at}") for at in range(2, 7))), before)
    assert "messages 1-4: as in call 7 (messages 3-6 there)" in text
    assert "m6" in text
    assert "m5" not in text


def test_messages_that_a_conversation_repeats_are_one_link() -> None:
    again = (user("Go on."), assistant({"text": "Yes."})) * 20
    assert "messages 1-40: as in call 7" in shown(view(8, *again, user("Go on.")), view(7, *again))


def test_a_request_is_compared_with_the_one_of_its_own_conversation() -> None:
    one, other = view(1, user("one")), view(2, user("other"))
    text = shown(view(3, user("one"), assistant({"text": "x"}), user("more")), one, other)
    assert "message 1: as in call 1" in text


def test_what_changed_stands_beside_what_was() -> None:
    tools = [{"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}}} for name in ("a", "b", "c")]
    changed = {"toolSpec": {"name": "b", "inputSchema": {"json": {"type": "object", "required": ["x"]}}}}
    before = view(
        1,
        user("hi"),
        more={
            "inferenceConfig": {"maxTokens": 5, "topP": 1},
            "system": [{"text": "You are kind. " + "word " * 200}],
            "toolConfig": {"tools": tools},
        },
    )
    now = view(
        2,
        user("hi"),
        more={
            "inferenceConfig": {"maxTokens": 6, "temperature": 0},
            "system": [{"text": "You are rude. " + "word " * 200}],
            "toolConfig": {"tools": [tools[0], changed, {"toolSpec": {"name": "d"}}]},
        },
    )
    html = call_html(now, [before])
    text = Parsed(html).text
    assert "inferenceConfig.maxTokens56" in text
    assert "inferenceConfig.topP1not given" in text
    assert "inferenceConfig.temperaturenot given0" in text
    assert "1 other setting as in call 1" in text
    assert "<del>kind</del>" in html
    assert "<ins>rude</ins>" in html
    assert text.count("word") < 150  # of what is equal, the ends
    assert "new: d" in text
    assert "left out: c" in text
    assert "changed: b" in text
    assert "1 other tool as in call 1" in text


def test_what_is_equal_is_a_link() -> None:
    more = {"system": [{"text": "unchanged"}], "inferenceConfig": {"maxTokens": 5}}
    text = shown(view(2, user("hi"), more=more), view(1, user("hi"), more=more))
    assert "unchanged" not in text
    assert text.count("as in call 1") == 3


def test_deltas_are_joined_with_their_times_and_pauses() -> None:
    events = [
        (1.0, {"messageStart": {"role": "assistant"}}),
        (2.0, delta("Bun")),
        (3.0, delta(" di")),
        (253.0, delta("!")),
    ]
    events += [
        (254.0, {"contentBlockStop": {"contentBlockIndex": 0}}),
        (900.0, {"throttlingException": {"message": "no"}}),
    ]
    html = call_html(view(events=events, outcome="cut"))
    text = Parsed(html).text
    assert "2.0 to 253.0 mstext block 0, 3 pieces" in text
    assert '<span title="2.0 ms">Bun</span><span title="3.0 ms"> di</span>' in html
    assert "pause of 250.0 ms" in text
    assert "pause of 646.0 ms" in text
    assert "throttlingException" in text
    assert text.rstrip().endswith("cut")
    assert "failed" in Parsed(html).values("class")[0]


def test_a_tool_result_names_its_use() -> None:
    use = {
        "contentBlockStart": {"contentBlockIndex": 0, "start": {"toolUse": {"name": "get_weather", "toolUseId": "t1"}}}
    }
    result = {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": "18"}]}}]}
    asked = view(1, user("hi"), events=[(1.0, use)])
    echo = assistant({"toolUse": {"name": "get_weather", "toolUseId": "t1", "input": {}}})
    assert "result of get_weather used in call 1 t1" in shown(view(2, user("hi"), echo, result), asked)
    assert "result of get_weather t1" in shown(view(2, user("hi"), echo, result))
    assert "result t1" in shown(view(2, user("hi"), result))


def test_why_a_call_was_refused_and_what_was_scripted() -> None:
    text = shown(
        view(
            status=400, refusal=RefusedBy("claude_x", "no `temperature`", "a page"), faults=["reset after 3"],
            notes=["a note"], line="test_x.py:12", waited=1500.0,
        )
    )  # fmt: skip
    assert "Refused by the rule claude_xno `temperature`Source: a page" in text
    assert "Faultreset after 3" in text
    assert "Notea note" in text
    assert "answer fromtest_x.py:12" in text
    assert "waited before the next attempt1,500.0 ms" in text


def test_blobs_are_shown_by_their_size() -> None:
    sizes = plain(
        {"image": {"source": {"bytes": bytes(10_000)}}, "redactedContent": base64.b64encode(bytes(999)).decode()}
    )
    assert json.dumps(sizes).count("10,000 bytes, SHA-256") == 1
    assert sizes["redactedContent"].startswith("999 bytes, SHA-256")
    assert plain({"bytes": "no base64 " * 50, "text": "A" * 500}) == {"bytes": "no base64 " * 50, "text": "A" * 500}


NESTED: Any = None
for _ in range(3000):
    NESTED = [NESTED]


@pytest.mark.parametrize(
    "request_",
    [None, "", [], {}, {"messages": None}, {"messages": [None, 1, {"content": 5}]}, {"system": 7, "toolConfig": [1]},
     {"toolConfig": {"tools": [None, {"toolSpec": {"name": 5}}]}}, {"messages": [{"role": 5, "content": [[], None]}]},
     {"messages": plain([NESTED])}],
    ids=range(10),
)  # fmt: skip
def test_any_request_is_shown(request_: Any) -> None:
    now = CallView(2, request=request_, events=[(0.0, None), (1.0, {}), (2.0, {"contentBlockDelta": "x"})], answer=[])
    Parsed(call_html(now, [CallView(1, request=request_), CallView(1, request={"messages": [user("x")], "system": 1})]))


def test_a_change_reaches_over_pieces_and_leaves_the_others() -> None:
    events = [delta("a "), delta("b", 1), delta("se"), {"x": "secret"}, delta("cret"), delta(" z")]
    made = changed_events(events, lambda value: json.loads(json.dumps(value).replace("secret", "***")))
    assert made == [delta("a "), delta("b", 1), delta("***"), {"x": "***"}, delta(""), delta(" z")]
    assert changed_events([delta("a"), delta("b")], lambda text: f"{text}c") == [delta("a"), delta("bc")]


def test_control_characters_and_directions_are_visible() -> None:
    text = shown(view(1, user("a\0b\u202ec\ud800d\x1b[31m")))
    assert "a␀b\\u202ec\\ud800d␛[31m" in text
    document("T", [PageSection("\ud800", Html(), "a")]).encode()


def test_a_notebook_gets_styles_and_no_script() -> None:
    parsed = Parsed(notebook_html(call_html(view(1, user("hi")))))
    assert [name for name, _ in parsed.elements[:2]] == ["div", "style"]
    assert "script" not in [name for name, _ in parsed.elements]
    selectors = [
        line for line in parsed.styles[0].splitlines() if line.rstrip().endswith("{") and not line.startswith("@")
    ]
    assert all(".converse" in each for each in selectors)


@pytest.mark.parametrize("content", LISTED.values(), ids=LISTED)
def test_a_private_key_in_a_list_of_its_lines_is_masked(content: list[Any]) -> None:
    assert LONG[:24] not in json.dumps(mask_value(content, own=()))


def test_a_call_that_was_answered_with_no_answer_is_not_fine() -> None:
    fake = Fake()
    fake.core.exchange(Request("POST", "/model/a/b/converse", (), b'{"messages":[]}'))
    [call] = fake.calls.all
    assert str(call).startswith("200  no answer: UnknownOperationException in a body that clients do not read")
    assert not views_of([call])[0].is_fine
