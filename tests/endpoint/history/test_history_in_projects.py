"""An agent that changes what the model said, in a project's tests: what is shown, and what the setting makes of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from converse_harness.cli import main
from tests.cli.test_serve import serving
from tests.plugin.conftest import imported, project

__all__ = ["imported", "project"]

AGENT = '''
import httpx
from agent import client

HELLO = {"role": "user", "content": [{"text": "hello"}]}
URL = "https://bedrock-runtime.us-east-1.amazonaws.com"


def survives(**options):
    """A conversation in which it changes what the model said, and survives whatever comes of it."""
    made = client(**options)
    try:
        message = made.converse(modelId="m", messages=[HELLO])["output"]["message"]
        message["content"][0]["text"] = message["content"][0]["text"].replace("sunny", "rainy")
        answer = made.converse(modelId="m", messages=[HELLO, message, HELLO])
        return answer["output"]["message"]["content"][0]["text"]
    except Exception:
        return "sorry"


def by_httpx(url=URL):
    """The same by another client."""
    def ask(*messages):
        body = {"messages": messages}
        answer = httpx.post(f"{url}/model/us.amazon.nova-lite-v1:0/converse", json=body, trust_env=False)
        return answer.json()["output"]["message"]
    message = ask(HELLO)
    message["content"][0]["text"] = message["content"][0]["text"].replace("sunny", "rainy")
    return ask(HELLO, message, HELLO)["content"][0]["text"]
'''

ANSWERS = 'reply.text("It is sunny in Zürich."), reply.text("ok")'
SAID = "call 2 changes text in the answer to call 1"
BELOW = [
    "arrived   Converse m, 3 messages, last: text *",
    "was       It is sunny in Zürich.",
    "is now    It is rainy in Zürich.",
    "at        messages[[]1]",
]
LOOSE = (
    '*history=\'loud\'*one of "note" (answer as scripted, and make a note of the change), "fail" (answer as '
    'scripted, and fail the test), "off" (do not compare answers).'
)


@pytest.fixture
def rewriting(project: pytest.Pytester) -> pytest.Pytester:
    """A pytester project whose module `rewriting` changes what the model said."""
    project.makepyfile(rewriting=AGENT)
    return project


@pytest.mark.parametrize("way", ["marker", "ini", "option"])
@pytest.mark.parametrize("level", ["note", "fail", "off", None])
def test_each_level_by_marker_ini_and_option(rewriting: pytest.Pytester, level: str | None, way: str) -> None:
    marker = f"@pytest.mark.converse(history={level!r})" if way == "marker" and level else ""
    rewriting.makepyfile(
        f"""
        import pytest
        from rewriting import survives
        from converse_harness import reply

        {marker}
        def test_it(converse):
            converse.script({ANSWERS})
            assert survives() == "ok"
        """
    )
    if way == "ini" and level:
        rewriting.makeini(f"[pytest]\nconverse_history = {level}\n")
    result = rewriting.runpytest(*([f"--converse-history={level}"] if way == "option" and level else []))
    result.assert_outcomes(passed=int(level != "fail"), failed=int(level == "fail"))
    if level == "fail":
        result.stdout.fnmatch_lines([f"E*ChangedHistory: {SAID}", "E*", *(f"E*   {line}" for line in BELOW)])
    elif level == "off":
        result.stdout.no_fnmatch_line("*converse notes*")
    else:
        result.stdout.fnmatch_lines(
            [
                "*= converse notes =*",
                "history_changes_text, in 1 test",
                f"    {SAID}",
                *(f"    {each}" for each in BELOW),
            ]
        )


def test_history_fail_works_with_every_fixture_and_shows_in_the_transcript(rewriting: pytest.Pytester) -> None:
    rewriting.makepyfile(
        f"""
        import pytest
        from rewriting import by_httpx, survives
        from converse_harness import reply

        pytestmark = pytest.mark.converse(history="fail")

        def test_httpx(converse_httpx):
            converse_httpx.script({ANSWERS})
            assert by_httpx() == "ok"

        def test_server(converse_server):
            fake = converse_server.script({ANSWERS})
            assert by_httpx(fake.url) == "ok"

        def test_what_the_call_says_wins(converse_server):
            fake = converse_server.script({ANSWERS}, history="note")
            assert by_httpx(fake.url) == "ok"
            assert [note.kind for note in fake.notes] == ["history_changes_text"]
            assert "    note     history_changes_text: {SAID}" in fake.transcript
        """
    )
    result = rewriting.runpytest()
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines([f"*ChangedHistory: {SAID}"] * 2)


@pytest.mark.parametrize("way", ["marker", "ini", "option"])
def test_a_level_that_is_none(rewriting: pytest.Pytester, way: str) -> None:
    marker = '@pytest.mark.converse(history="loud")' if way == "marker" else ""
    rewriting.makepyfile(f"import pytest\n\n{marker}\ndef test_it(converse):\n    pass\n")
    if way == "ini":
        rewriting.makeini("[pytest]\nconverse_history = loud\n")
    result = rewriting.runpytest(*(["--converse-history=loud"] if way == "option" else []))
    if way == "marker":
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines([LOOSE])
    else:
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([LOOSE.replace("='loud'", "*loud")])


# Other processes

HELLO = {"role": "user", "content": [{"text": "hello"}]}


def rewrites(url: str) -> None:
    """A conversation over HTTP in which the answer is changed."""

    def ask(*messages: object) -> Any:
        answer = httpx.post(f"{url}/model/m/converse", json={"messages": messages}, trust_env=False)
        return answer.json()["output"]["message"]

    message = ask(HELLO)
    message["content"][0]["text"] = message["content"][0]["text"].replace("sunny", "rainy")
    ask(HELLO, message, HELLO)


def test_serve_names_the_kind(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text(f"from converse_harness import reply\nscript = [{ANSWERS}]", encoding="utf-8")
    with serving(file) as served:
        rewrites(served.url)
        assert served.line().endswith(" ms")
        assert re.search(r'-> text "ok" +\d+ ms  note history_changes_text$', served.line())


def test_fakes_of_the_control_api_have_the_level_of_serve_unless_they_say_another() -> None:
    script = [{"text": "It is sunny in Zürich."}, {"text": "ok"}]
    with serving("--history=off") as served:
        for body, ok in (({}, True), ({"history": "note"}, True), ({"history": "fail"}, False)):
            fakes = f"{served.url}/__converse/fakes"
            opened = httpx.post(fakes, json={"script": script, **body}, trust_env=False).json()
            rewrites(opened["url"])
            closed = httpx.delete(f"{fakes}/{opened['id']}", trust_env=False).json()
            assert closed["ok"] == ok
            assert [text.partition("\n")[0] for text in closed["problems"]] == [] if ok else [SAID]


def test_serve_takes_no_other_level(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--history", "loud"])
    assert ended.value.code == 2
    assert f"argument --history: {LOOSE[1:].replace('*one of', '; one of')}\n" in capsys.readouterr().err
