"""`converse-harness serve --improvise`: alone, and where a file has no reply."""

import re
from pathlib import Path

import httpx
import pytest

from converse_harness.cli import main
from tests.cli.test_serve import BODY, script, serving

__all__ = ["script"]


def test_it_improvises_alone_and_where_the_file_has_no_reply(script: Path) -> None:
    tools = [{"toolSpec": {"name": "now", "inputSchema": {"json": {"type": "object"}}}}]
    for given, said in (
        (["--improvise"], "improvised"),
        ([script.name, "--improvise"], r"1 script \(2 replies\) and improv"),
    ):
        with serving(*given) as served:
            assert re.match(f"Serving {said}.* on http", served.head[0])
            for _ in given[1:]:
                served.ask(), served.ask()
            target = f"{served.url}/model/us.amazon.nova-lite-v1%3A0/converse"
            asked = {**BODY, "toolConfig": {"tools": tools}}
            answer = httpx.post(target, json=asked, trust_env=False).json()
            assert answer["output"]["message"]["content"][0]["toolUse"]["name"] == "now"


def test_reload_goes_on_improvising(script: Path) -> None:
    with serving(script.name, "--improvise", "--reload") as served:
        script.write_text("script = []", encoding="utf-8")
        assert served.line().endswith("serving 1 script (0 replies) and improvised answers from the beginning")
        assert served.ask().json()["output"]["message"]["content"] == [{"text": "This answer is improvised."}]


def test_a_case_and_improvised_answers_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--improvise", "--case", "overflow_pre"])
    assert ended.value.code == 2
    assert "--case or --improvise, not both; each of them answers every" in capsys.readouterr().err
