"""What the control API reports of changed history contains no Python, as tests/server/control/test_wording.py."""

from __future__ import annotations

import json
from typing import Any, Final

from tests.server.control.conftest import Client, client, exchange
from tests.server.control.test_wording import HELLO, LOOK, check_notes, check_problem

__all__ = ["client"]

LOOKS: Final = {"always": {"tool_use": {"name": "look", "input": {"at": 1}}}}


def changes_the_history(client: Client, fake: Any) -> None:
    answered = json.loads(exchange(fake, toolConfig=LOOK)[1])["output"]["message"]
    use = answered["content"][0]["toolUse"]
    use["input"] = {"at": 2}
    result = {"toolResult": {"toolUseId": use["toolUseId"], "content": [{"text": "found"}]}}
    exchange(fake, messages=[*HELLO, answered, {"role": "user", "content": [result]}], toolConfig=LOOK)


def test_a_problem_has_no_python_in_it(client: Client) -> None:
    check_problem(client, {**LOOKS, "history": "fail"}, changes_the_history)


def test_a_note_has_no_python_in_it(client: Client) -> None:
    fake = client.opened(LOOKS)
    changes_the_history(client, fake)
    (changed,) = check_notes(client, fake)
    assert 'open the fake with "history": "off"' in changed
