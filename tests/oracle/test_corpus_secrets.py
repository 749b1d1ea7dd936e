"""What AWS sent and was asked holds no secret once accounts are masked: nothing is refused, nothing else changed.

Compared with: 378 published recordings of Converse and ConverseStream, in which all accounts are 123456789012.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from converse_harness import Redaction
from converse_harness.recordings.capture import CapturedExchange, exchange_lines
from converse_harness.recordings.leaks import scan, stand_in
from converse_harness.recordings.lines import Line
from converse_harness.recordings.write import SessionWriter
from converse_harness.stream.http import Request

ACCOUNT = "123456789012"


@pytest.fixture(scope="module")
def captured(shared: Path) -> dict[str, CapturedExchange]:
    """Each interaction as a transport would hear it, by the name of its file."""
    corpus = shared / "corpus"
    index = json.loads((corpus / "index.json").read_text())
    assert len(index) == 378
    return {entry["file"]: _heard(json.loads((corpus / entry["file"]).read_text())) for entry in index}


def _heard(known: dict[str, dict[str, object]]) -> CapturedExchange:
    request, response = known["request"], known["response"]
    sent = Request("POST", str(request["path"]), (), json.dumps(request["body"]).encode())
    headers: list[list[str]] = json.loads(json.dumps(response["headers"]))
    body = base64.b64decode(str(response["body_base64"]))
    kept = tuple((name, value) for name, value in headers)
    return CapturedExchange(sent, status=int(str(response["status"])), headers=kept, pieces=[(body, 0.1)])


def test_nothing_is_taken_for_a_secret(captured: dict[str, CapturedExchange]) -> None:
    lines = {name: exchange_lines(each, 1) for name, each in captured.items()}
    found = {name: {leak.kind for leak in scan(each)} for name, each in lines.items()}
    with_accounts = {name for name, kinds in found.items() if kinds}
    assert {kind for kinds in found.values() for kind in kinds} == {"an AWS account id"}
    assert with_accounts == {name for name, each in lines.items() if ACCOUNT in json.dumps(each)}


def test_no_account_is_written(captured: dict[str, CapturedExchange], tmp_path: Path) -> None:
    with_accounts = [each for each in captured.values() if ACCOUNT in repr(each)]
    assert with_accounts
    SessionWriter(tmp_path / "accounts.jsonl", captured=with_accounts).save()
    assert ACCOUNT not in (tmp_path / "accounts.jsonl").read_text()


def test_nothing_but_accounts_is_changed(captured: dict[str, CapturedExchange]) -> None:
    for name, each in captured.items():
        lines = exchange_lines(each, 1)
        masked: list[Line] = json.loads(json.dumps(lines).replace(ACCOUNT, stand_in(1)))
        assert Redaction().redacted(lines).lines == masked, name
