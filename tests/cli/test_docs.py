"""`converse-harness docs`: the pages, from wherever the package is installed, and every failure that names one."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from converse_harness.cli import docs, main
from converse_harness.cli.docs import headings, page_names, places_with, read_page, section_of

ROOT = Path(__file__).resolve().parents[2]
PAGES = {file.relative_to(ROOT / "docs").with_suffix("").as_posix(): file for file in (ROOT / "docs").rglob("*.md")}
NAMED = re.compile(r"converse-harness docs ([a-z][\w-]*)(?![\w.-])(?: (?:\"\s+\")?([a-z][\w-]*))?")


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(["docs", *arguments]) == 0
    out, errors = capsys.readouterr()
    assert (errors, "\033[" in out) == ("", False)
    return out.splitlines()


def test_every_page_of_the_repository_is_listed_with_its_title(capsys: pytest.CaptureFixture[str]) -> None:
    listed = printed(capsys)
    assert [line.partition(" ")[0] for line in listed] == sorted(PAGES)
    assert re.search(r"^rules +Requests that Bedrock refuses$", "\n".join(listed), re.MULTILINE)


@pytest.mark.parametrize("page", sorted(PAGES))
def test_a_page_is_printed_but_for_what_is_for_the_tests(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    written = PAGES[page].read_text(encoding="utf-8").splitlines()
    assert printed(capsys, page) == [line for line in written if not line.startswith("<!-- ")]


@pytest.mark.parametrize(
    "model_id",
    [
        "us.anthropic.claude-opus-5",
        "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-5",
    ],
)
def test_the_id_of_a_model_leads_to_what_is_known_of_it(model_id: str, capsys: pytest.CaptureFixture[str]) -> None:
    first, *lines = printed(capsys, model_id)
    assert first == "Claude Opus 5  (anthropic.claude-opus-5*)"
    rows = {name.strip(): value for name, value in (re.split(r"(?<=\S)  +", line, maxsplit=1) for line in lines[:12])}
    assert rows["prefill"].startswith("no (")
    assert rows["on Bedrock since"] == "2026-07-24"
    assert any(re.fullmatch(r"  status of results +not known", line) for line in lines)
    assert any("claude_has_no_temperature" in line for line in lines)


@pytest.mark.parametrize("arguments", [("scripting", "running-out"), ("scripting#running-out",)])
def test_a_section_ends_before_the_next_one(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, *arguments)
    assert lines[0] == "## Running out"
    assert [line for line in lines if line.startswith("#")] == ["## Running out"]
    assert "call 3 has no reply left" in lines[2]


def test_a_section_has_what_is_below_it_and_a_comment_in_code_is_no_heading() -> None:
    lines = ["# Page", "## One", "```", "# code", "```", "### Below", "## Two"]
    assert [heading.text for heading in headings(lines)] == ["Page", "One", "Below", "Two"]
    assert section_of("page", lines, "one") == lines[1:6]


@pytest.mark.parametrize(
    ("name", "place", "line"),
    [
        ("text_is_not_blank", "rules#", "| `text_is_not_blank` | a text has more than whitespace |"),
        ("throttle_mid", "cases#", "| `throttle_mid` | After part of the text comes throttlingException. |"),
        ("throttled", "cases#", "| `throttled` |"),
        ("throttling", "trouble#throttling-and-retries", "## Throttling and retries"),
        ("on_operation", "scripting#answers-in-order", "`on_operation` takes answers in order"),
    ],
)
def test_a_name_that_is_no_page_leads_to_its_row(
    name: str, place: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = printed(capsys, name)
    found = [(where, what) for where, what in pairwise(lines) if what.startswith(line)]
    assert any(where.startswith(f"converse-harness docs {place}") for where, _ in found), lines
    page, _, section = found[0][0].removeprefix("converse-harness docs ").partition("#")
    assert found[0][1] in section_of(page, read_page(page), section)


@pytest.mark.parametrize("words", [("guardrail", "blocked"), ("guardrail blocked",), ("BLOCKED", "guardrail")])
def test_words_lead_to_the_sections_that_have_all_of_them(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    places = [
        line.removeprefix("converse-harness docs ").partition("#")
        for line in printed(capsys, *words)
        if line.startswith("converse-harness docs ")
    ]
    assert ("trouble", "#", "guardrails") in places
    for page, _, section in places:
        text = "\n".join(section_of(page, read_page(page), section)).lower()
        assert "guardrail" in text
        assert "blocked" in text


PAGES_WITH_WORDS = {
    "apart": "# Apart\n\n## Red\n\nA word.\n\n## Blue\n\nAnother one.\n",
    "lines": "# Lines\n\n## Colours\n\nIt is red.\n\nIt is blue.\n\n### Below\n\nA `dark_blue` and a red one.\n",
    "one": "# One\n\nOf red_house only.\n",
    "titles": "# Titles\n\n## Blue\n\nIt is red.\n\nIt is blue.\n",
}


@pytest.mark.parametrize(
    ("words", "places"),
    [
        (["red", "blue"], ["lines#below", "titles#blue", "apart", "lines#colours"]),
        (["RED", "house"], ["one#one"]),
        (["red", "blue", "qwxz"], ["lines#below", "titles#blue", "apart", "lines#colours"]),
        (["ed", "lue"], []),
    ],
)
def test_where_more_words_stand_nearer_comes_first(
    words: list[str], places: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in PAGES_WITH_WORDS.items():
        (tmp_path / f"{name}.md").write_text(text, encoding="utf-8")
    monkeypatch.setattr(docs, "_folder", lambda: tmp_path)
    assert [place for place, _ in places_with(words)] == places


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("scriptng",), "there is no page 'scriptng'. Did you mean 'scripting'? Pages: answers, architecture, "),
        (("scripting", "runing-out"), "scripting has no section 'runing-out'. Did you mean 'running-out'? Sections: "),
        (("qwxz", "zxwq"), "no page contains any of: qwxz, zxwq. Pages: answers, architecture, "),
    ],
)
def test_what_is_not_there(arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", *arguments]) == 2
    out, errors = capsys.readouterr()
    assert (out, errors[: len(message) + 23]) == ("", f"converse-harness docs: {message}")


def test_every_page_that_a_message_names_is_there() -> None:
    files = [*(ROOT / "harness").rglob("*.py"), *(ROOT / "strategies").rglob("*.py"), *(ROOT / "docs").glob("*.md")]
    named = {found for file in files for found in NAMED.findall(file.read_text(encoding="utf-8"))}
    assert {("scripting", "running-out"), ("guard", "children"), ("samples", "")} <= named
    assert {page for page, _ in named} <= set(page_names())
    for page, section in named:
        if section:
            section_of(page, read_page(page), section)
