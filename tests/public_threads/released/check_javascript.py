"""What the AI SDK did wrong in public threads: its provider for Bedrock as it was released, against our server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from converse_harness import ConverseServer, reply
from converse_harness.cases import CASES
from converse_harness.reply.reply import Reply

SCRIPT = Path(__file__).with_suffix(".mjs")
LIMIT = 120.0

Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(converse_server: ConverseServer, tmp_path: Path) -> Ask:
    """Ask in one of the ways of the script; the server answers with these replies."""
    shutil.copy(SCRIPT, tmp_path)
    (tmp_path / "node_modules").symlink_to(os.environ["CONVERSE_NODE_MODULES"], target_is_directory=True)

    def asked(way: str, *replies: Reply) -> dict[str, Any]:
        with converse_server.script(*replies) as fake:
            ran = subprocess.run(
                ["node", "--no-warnings", SCRIPT.name, way],
                cwd=tmp_path,
                env={**os.environ, **fake.environ},
                capture_output=True,
                text=True,
                check=False,
                timeout=LIMIT,
            )
        assert ran.returncode == 0, ran.stderr
        said: dict[str, Any] = json.loads(ran.stdout)
        return said

    return asked


def test_an_invented_name_of_a_tool_goes_back(ask: Ask) -> None:
    assert ask("name of a tool", reply.text("ok"))["text"] == "ok"


def test_an_input_that_is_no_json_goes_back(ask: Ask) -> None:
    assert ask("input of a tool", reply.text("ok"))["text"] == "ok"


def test_the_name_of_a_file_has_no_dots(ask: Ask) -> None:
    assert ask("name of a file", reply.text("ok"))["text"] == "ok"


def test_the_name_of_a_file_is_plain(ask: Ask) -> None:
    assert ask("name of another file", reply.text("ok"))["text"] == "ok"


@pytest.mark.parametrize("case", ["throttle_mid", "truncated_frame", "bad_crc"])
def test_it_is_an_error(ask: Ask, case: str) -> None:
    said = ask("streamed question", CASES[case].reply)
    assert said["errors"], f"the stream ends with {said['finishReason']!r} and no error"


def test_cited_text_is_text(ask: Ask) -> None:
    said = ask("question", CASES["citation_document"].reply)
    assert "18 °C and sunny" in said["text"], f"of the answer there is {said['text']!r}"
