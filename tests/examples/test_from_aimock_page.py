"""The control API takes each reply, condition and modifier that docs/from-aimock.md puts in the place of a fixture."""

import json
import re
from typing import Any, Final

import httpx
import pytest

from converse_harness import ConverseServer
from tests.examples.tables import DOCS

ROWS: Final = re.findall(
    r"^\| (`\".*?) \| (.*?) \|$", (DOCS / "from-aimock.md").read_text(encoding="utf-8"), re.MULTILINE
)
"""What stands in a fixture, and what stands in the body in its place."""

PARTS: Final = [part for _, cell in ROWS for part in re.findall(r"`([{\"][^`]*:[^`]*)`", cell)]
"""The JSON of the second column: a reply, or a member of a condition or of a reply."""

CONDITIONS: Final = ("last_user_text", "system", "model", "tool", "turn")


def body(part: str) -> dict[str, Any]:
    """The body of a fake with this part of the table; `...` stands for anything."""
    text = part.replace("{...}", '{"text": "a"}').replace('"..."', '"a"').replace("[..., ...]", '[{"text": "a"}]')
    given = json.loads(text if text.startswith("{") else f"{{{text}}}")
    match [*given]:
        case ["always" | "script"]:
            return {"when": [{"turn": 1, **given}]}
        case [name] if name in CONDITIONS:
            return {"when": [{**given, "always": {"text": "a"}}]}
        case ["regex"]:
            return {"when": [{"last_user_text": given, "always": {"text": "a"}}]}
        case ["broken" | "paced" | "stop_reason"]:
            return {"script": [{"text": "a b c", **given}]}
        case _:
            return {"script": [given]}


def test_the_table_is_read() -> None:
    assert {'"turn": 1', '{"text": "hi"}', '"broken": {"fault": "closed", "after": 3}'} < {*PARTS}


@pytest.mark.parametrize("part", PARTS)
def test_the_server_takes_it(part: str, converse_server: ConverseServer) -> None:
    api = f"{converse_server.url}/__converse/fakes"
    opened = httpx.post(api, json=body(part))
    assert opened.status_code == 201, opened.text
    httpx.delete(f"{api}/{opened.json()['id']}")
