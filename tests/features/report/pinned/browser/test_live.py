"""The live page of a server in Chromium: calls appear while they happen, and nothing that came in them runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from playwright.sync_api import Page, expect

from converse_harness import ConverseServer, Reply, reply
from converse_harness.server.mounts import ServerFake
from tests.clients.pinned.browser.conftest import Open
from tests.features.report.pinned.browser.hostile import FORBIDDEN_TAGS, RTL, TEXTS, WIDE
from tests.features.report.pinned.browser.test_report import EVENTS


@pytest.fixture
def server() -> Iterator[ConverseServer]:
    with ConverseServer() as opened:
        yield opened


def ask(fake: ServerFake, text: str, **more: Any) -> str:
    """Send a message as a client does; the text of the answer."""
    client = botocore.session.get_session().create_client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=fake.url,
        aws_access_key_id="x",
        aws_secret_access_key="x",
        config=Config(retries={"total_max_attempts": 1}, proxies={}),
    )
    with suppress(ClientError):
        answer = client.converse_stream(
            modelId="us.amazon.nova-lite-v1:0", messages=[{"role": "user", "content": [{"text": text}]}], **more
        )
        return "".join(
            event.get("contentBlockDelta", {}).get("delta", {}).get("text", "") for event in answer["stream"]
        )
    return ""


def has_calls(page: Page, count: int) -> None:
    expect(page.locator("article.call")).to_have_count(count)


def is_inert(page: Page) -> None:
    assert page.evaluate("window.ran") is None
    assert page.evaluate(EVENTS) == []
    assert page.locator(", ".join(FORBIDDEN_TAGS)).count() == 0
    assert (page.locator("script").count(), page.locator("style").count()) == (2, 1)


def test_calls_appear_and_stay_open_where_they_were_opened(server: ConverseServer, visit: Open) -> None:
    fake = server.script()
    fake.always(reply.text("18 °C and sunny."))
    opened = visit(server.page_url)
    page = opened.page
    expect(page.get_by_text("Live: calls appear here")).to_be_visible()
    assert ask(fake, "first") == "18 °C and sunny."
    has_calls(page, 1)
    page.locator("article.call summary", has_text="headers").click()
    ask(fake, "second")
    has_calls(page, 2)
    expect(page.locator("article.call details[open]")).to_have_count(1)
    page.get_by_role("searchbox").fill("second")
    expect(page.locator("article.call:visible")).to_have_count(1)
    ask(fake, "third")  # it comes while the page is filtered
    has_calls(page, 3)
    expect(page.locator("article.call:visible")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator("article.call:visible")).to_have_count(3)
    assert opened.faults() == []


@pytest.mark.nightly
def test_an_answer_grows_while_it_is_sent_and_a_closed_fake_stays(server: ConverseServer, visit: Open) -> None:
    going_on = threading.Event()

    def answer(call: object) -> Reply:
        going_on.wait(30)
        return reply.text("at last")

    fake = server.script()
    fake.always(answer)
    page = visit(server.page_url).page
    asking = threading.Thread(target=ask, args=(fake, "slow"))
    asking.start()
    expect(page.locator("article.call .badge")).to_have_text("still running")
    going_on.set()
    asking.join()
    expect(page.locator("article.call .badge")).to_have_text("ok")
    expect(page.locator("article.call")).to_contain_text("at last")
    fake.close()
    expect(page.locator("h2 .state")).to_have_text("closed")
    has_calls(page, 1)


@pytest.mark.nightly
@pytest.mark.parametrize("policy", [True, False], ids=["policy", "no_policy"])
def test_markup_of_calls_is_text(server: ConverseServer, visit: Open, policy: bool) -> None:
    texts = (*TEXTS, RTL, WIDE)
    fake = server.script(rules="off")
    fake.always(lambda call: reply.text(call.last_user_text))
    opened = visit(server.page_url, width=360, policy=policy)
    page = opened.page
    for text in texts:
        ask(fake, text, system=[{"text": text}], additionalModelRequestFields={text: text})
    has_calls(page, len(texts))
    page.keyboard.press("o")
    is_inert(page)
    shown = page.evaluate("document.body.textContent")
    for text in TEXTS:
        assert shown.count(text) > 3, text
    assert not set(RTL) & set(shown) - {" ", *"gpj.exe"}
    assert opened.sideways() == 0


@pytest.mark.nightly
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1400])
def test_it_can_be_read(server: ConverseServer, visit: Open, width: int, dark: bool) -> None:
    fake = server.script(
        reply.reasoning("The person wants the weather.", "I look it up."),
        reply.tool_use("get_weather", {"city": "Zürich"}),
        reply.throttled(),
    )
    opened = visit(server.page_url, width=width, dark=dark)
    for text in ("What is the weather in Zürich?", "Go on, please.", "Now?", "And now?"):
        ask(fake, text)
    has_calls(opened.page, 4)
    name = f"live-{width}-{'dark' if dark else 'light'}"
    opened.picture(name)
    opened.page.keyboard.press("o")
    opened.picture(f"{name}-open", whole=True)
    assert (opened.sideways(), opened.faults()) == (0, [])


@pytest.mark.nightly
def test_without_the_token_it_shows_no_call(server: ConverseServer, visit: Open) -> None:
    fake = server.script()
    fake.always(reply.text("hi"))
    ask(fake, "a secret of the person")
    opened = visit(f"{server.url}/", width=360)
    assert opened.page.get_by_role("heading").first.inner_text() == "converse-harness"
    assert "a secret" not in opened.page.content()
    assert (opened.sideways(), opened.faults()) == (0, [])
