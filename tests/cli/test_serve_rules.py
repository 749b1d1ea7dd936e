"""`converse-harness serve --rules LEVEL`: requests that Bedrock would refuse, for other processes and languages."""

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from converse_harness.bedrock.rules import unknown_rule
from converse_harness.cli import main
from tests.bedrock.rules.asking import NOVA, TEXT, assistant, document, user
from tests.bedrock.rules.broken_gateway import NAME, START
from tests.cli.test_serve import serving
from tests.recordings.damaged import STREAM, text

pytestmark = pytest.mark.needs_os

ASSISTANT_FIRST: dict[str, Any] = {"messages": [assistant(TEXT), user(TEXT)]}
ONCE: dict[str, Any] = {"messages": [user(TEXT)]}
LEVELS = (
    'rules=\'loose\'; one of "off" (answer every request), "warn" (answer as scripted, with a note for each '
    'request that Bedrock would refuse), "default" (refuse requests that Bedrock refuses for the requested model), '
    '"strict" (refuse also model ids that Bedrock does not accept); or with exceptions, such as '
    "default,some_cite_nothing=off."
)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A file with an answer for everything."""
    file = tmp_path / "hi.py"
    file.write_text("from converse_harness import reply\nscript = [reply.text('hi').times(9)]", encoding="utf-8")
    return file


def ask(url: str, body: object, model: str = NOVA) -> httpx.Response:
    return httpx.post(f"{url}/model/{model.replace(':', '%3A')}/converse", json=body, trust_env=False)


def test_the_line_of_a_refused_call_names_the_rule(script: Path) -> None:
    with serving(script) as served:
        refused = ask(served.url, ASSISTANT_FIRST)
        assert (refused.status_code, refused.json()) == (400, {"message": START})
        assert refused.headers["x-amzn-ErrorType"].startswith("ValidationException:")
        said = f"REFUSED 400 first_message_is_the_users: {START}"
        assert re.search(rf'  "hi" +-> {re.escape(said)} +\d+ ms$', served.line())
        ask(served.url, {"messages": [user(document("a.txt"), TEXT)]})
        said = f"REFUSED 400 document_names_are_plain: {NAME}"[:157]
        assert re.search(rf'  "hi" +-> {re.escape(said)}\.\.\. +\d+ ms$', served.line())
        assert ask(served.url, ONCE).status_code == ask(served.url, ONCE, "my-model").status_code == 200


def test_warn_answers_and_names_the_rule(script: Path) -> None:
    with serving(script, "--rules", "warn") as served:
        assert ask(served.url, ASSISTANT_FIRST).status_code == ask(served.url, ONCE).status_code == 200
        assert re.search(r'-> text "hi", 9 times +\d+ ms  breaks first_message_is_the_users$', served.line())
        assert re.search(r'-> text "hi", 9 times +\d+ ms$', served.line())
        in_a_row = {"messages": [user(TEXT), user(TEXT)]}
        assert ask(served.url, in_a_row, "anthropic.claude-3-haiku-20240307-v1:0").status_code == 200
        assert re.search(r'-> text "hi", 9 times +\d+ ms  note roles_alternate$', served.line())


@pytest.mark.parametrize("level", ["default", pytest.param("warn", marks=pytest.mark.slow)])
def test_of_what_a_recording_answers_nothing_is_said(tmp_path: Path, level: str) -> None:
    file = tmp_path / "empty.jsonl"
    file.write_text(text(*STREAM), encoding="utf-8")
    with serving(file, f"--rules={level}") as served:
        httpx.post(f"{served.url}/model/m/converse-stream", json={"messages": []}, trust_env=False)
        assert re.search(r"-> 6 events +6 events +\d+ ms$", served.line())


@pytest.mark.slow
def test_off_answers_whatever_is_asked(script: Path) -> None:
    with serving(script, "--rules=off") as served:
        assert ask(served.url, ASSISTANT_FIRST).status_code == 200
        assert re.search(r'-> text "hi", 9 times +\d+ ms$', served.line())


def test_strict_refuses_made_up_models(script: Path) -> None:
    with serving(script, "--rules=strict") as served:
        assert ask(served.url, ONCE, "my-model").json() == {"message": "The provided model identifier is invalid."}
        assert "-> REFUSED 400 model_exists: The provided" in served.line()


def test_fakes_of_the_control_api_have_the_level_unless_they_say_another() -> None:
    with serving("--rules=off") as served:
        for body, status in (({}, 200), ({"rules": "default"}, 400)):
            opened = httpx.post(
                f"{served.url}/__converse/fakes", json={"always": {"text": "hi"}, **body}, trust_env=False
            )
            assert ask(opened.json()["url"], ASSISTANT_FIRST).status_code == status


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--rules", "loose", LEVELS),
        ("--rules", "warn,some_cite_nothing=loose", LEVELS.replace("'loose'", "'warn,some_cite_nothing=loose'")),
        ("--rules", "some_cite=off", f"rules='some_cite=off'; some_cite: {unknown_rule('some_cite')}"),
        ("--keep-calls", "0", "keep_calls='0'; it is a whole number from 1, or all to keep all calls."),
    ],
)
def test_a_wrong_value_of_a_setting(option: str, value: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serve", option, value])
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith(f"converse-harness serve: error: argument {option}: {said}\n")
