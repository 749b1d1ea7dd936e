"""The page of --converse-report in Chromium, from disk: nothing runs, loads or hides that came in a call."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page

from converse_harness.cli import main
from tests.clients.pinned.browser.conftest import Open
from tests.features.report.pinned.browser.hostile import FORBIDDEN_TAGS, RTL, SECRETS, TEXTS, WIDE, report

EVENTS = """() => [...document.querySelectorAll("*")].flatMap((element) =>
  [...element.attributes].filter((each) => each.name.startsWith("on") || each.value.startsWith("javascript:")
    || (each.name === "href" && !each.value.startsWith("#")) || ["style", "src", "srcdoc"].includes(each.name))
    .map((each) => `${element.tagName} ${each.name}=${each.value}`))"""
"""The attributes that a report has no use for."""

MOST_BYTES = 2_000_000


def is_inert(page: Page) -> None:
    """Nothing of the texts has become markup."""
    assert page.evaluate("window.ran") is None
    assert page.evaluate(EVENTS) == []
    assert page.locator(", ".join(FORBIDDEN_TAGS)).count() == 0
    assert (page.locator("script").count(), page.locator("style").count()) == (1, 1)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of calls with hostile texts in every place."""
    return report(tmp_path_factory.mktemp("hostile"), "test_markup", "test_markup_that_rules_refuse", "test_secrets")


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of an agent's loop, and of a test that passes."""
    return report(tmp_path_factory.mktemp("agent"), "test_an_agent", "test_that_passes")


def test_it_opens_from_disk_and_is_clicked_through(visit: Open, agent: Path) -> None:
    opened = visit(agent)
    page = opened.page
    calls = page.locator("article.call:visible")
    assert calls.count() == 6
    details = page.locator("details")
    page.get_by_role("button", name="Open all").click()
    assert details.evaluate_all("all => all.every((each) => each.open)")
    page.get_by_role("button", name="Close all").click()
    assert not details.evaluate_all("all => all.some((each) => each.open)")
    page.get_by_label("only failed calls").check()
    assert calls.count() == 3
    assert page.get_by_role("status").inner_text() == "3 of 6 calls"
    page.get_by_label("only failed calls").uncheck()
    page.get_by_role("searchbox").fill("Bern")
    assert page.get_by_role("status").inner_text() == f"{calls.count()} of 6 calls"
    page.keyboard.press("Escape")
    assert calls.count() == 6
    assert opened.faults() == []


@pytest.mark.nightly
def test_keys_lead_from_call_to_call(visit: Open, agent: Path) -> None:
    page = visit(agent).page
    for key in ("j", "j", "j", "k"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.id").endswith("call-2")
    page.keyboard.press("o")
    assert page.locator("details").evaluate_all("all => all.every((each) => each.open)")
    page.keyboard.press("c")
    assert not page.locator("details").evaluate_all("all => all.some((each) => each.open)")
    page.keyboard.press("/")
    page.keyboard.type("jojo")
    assert page.get_by_role("searchbox").input_value() == "jojo"
    assert page.locator("article.call:visible").count() == 0


@pytest.mark.nightly
def test_every_link_leads_to_something_in_sight(visit: Open, agent: Path) -> None:
    page = visit(agent).page
    links = page.get_by_role("link")
    assert links.count() > 10
    for link in links.all():
        target = (link.get_attribute("href") or "").removeprefix("#")
        link.evaluate("link => link.click()")
        assert page.locator(f"[id='{target}']").is_visible(), target


@pytest.mark.nightly
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1400])
def test_it_can_be_read(visit: Open, agent: Path, width: int, dark: bool) -> None:
    opened = visit(agent, width=width, dark=dark)
    name = f"report-{width}-{'dark' if dark else 'light'}"
    opened.picture(name)
    assert opened.sideways() == 0
    opened.page.keyboard.press("o")
    opened.picture(f"{name}-open", whole=True)
    assert (opened.sideways(), opened.faults()) == (0, [])


@pytest.mark.nightly
def test_it_can_be_read_without_scripts(visit: Open, agent: Path) -> None:
    page = visit(agent, scripts=False).page
    assert not page.get_by_role("searchbox").is_visible()
    assert page.locator("article.call:visible").count() == 6


@pytest.mark.nightly
@pytest.mark.parametrize("policy", [True, False], ids=["policy", "no_policy"])
def test_markup_of_calls_is_text(visit: Open, hostile: Path, policy: bool) -> None:
    opened = visit(hostile, width=360, policy=policy)
    page = opened.page
    page.keyboard.press("o")
    is_inert(page)
    shown = page.evaluate("document.body.textContent")
    for text in TEXTS:
        assert shown.count(text) > 5, text
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u061c]", shown)
    assert shown.count("\\u202egpj.exe\\u202c") > 5
    assert WIDE in shown
    assert opened.sideways() == 0
    opened.picture(f"hostile-360-{'policy' if policy else 'no_policy'}")


@pytest.mark.nightly
def test_the_policy_stops_what_an_escape_would_have_missed(visit: Open, agent: Path, tmp_path: Path) -> None:
    page_text = agent.read_text(encoding="utf-8")
    stopped = 0
    for number, text in enumerate(TEXTS):
        spoiled = tmp_path / f"spoiled-{number}.html"
        spoiled.write_text(page_text.replace("<main", f"{text}<main", 1), encoding="utf-8")
        opened = visit(spoiled, sound=False)
        assert opened.page.evaluate("window.ran") is None
        assert opened.dialogs == []
        stopped += len(opened.page.evaluate("window.violations"))
    assert stopped > len(TEXTS) / 2


@pytest.mark.nightly
def test_no_secret_is_in_it(hostile: Path) -> None:
    written = hostile.read_text(encoding="utf-8")
    assert "test_secrets" in written
    assert [secret for secret in SECRETS if secret in written] == []


@pytest.mark.nightly
def test_two_hundred_calls_are_small_and_open_soon(
    visit: Open, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = report(tmp_path, "test_many_calls", many=200)
    opened = visit(file)
    loaded = opened.page.evaluate("performance.getEntriesByType('navigation')[0].duration")
    opened.page.keyboard.press("o")
    assert opened.page.locator("article.call").count() == 200
    with capsys.disabled():
        print(f"\n200 calls: {file.stat().st_size:,} bytes, loaded in {loaded:,.0f} ms")
    assert file.stat().st_size < MOST_BYTES


@pytest.mark.nightly
def test_the_page_of_a_recording_is_inert(visit: Open, tmp_path: Path) -> None:
    text = "".join(TEXTS) + RTL
    request = {"messages": [{"role": "user", "content": [{"text": text}]}], "system": [{"text": text}]}
    lines = [
        {"format": "converse-recording", "version": 2},
        {"call": 1, "operation": "ConverseStream", "modelId": "m", "request": request},
        {"t": 1, "status": 200},
        {"t": 1, "messageStart": {"role": "assistant"}},
        {"t": 2, "contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": text}}},
        {"t": 3, "contentBlockStop": {"contentBlockIndex": 0}},
        {"t": 4, "messageStop": {"stopReason": "end_turn"}},
        {
            "t": 5,
            "metadata": {"metrics": {"latencyMs": 5}, "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}},
        },
    ]
    file = tmp_path / "x.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    page_file = tmp_path / "x.html"
    assert main(["show", str(file), "--html", str(page_file)]) == 0
    for policy in (True, False):
        opened = visit(page_file, policy=policy)
        is_inert(opened.page)
        assert opened.page.locator("article.call:visible").count() == 1
