"""What AWS sent and was asked holds no secret once accounts are masked: nothing is refused, nothing else changed.

Compared with: 378 published recordings of Converse and ConverseStream, in which all accounts are 123456789012.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from converse_harness import Redaction
from converse_harness.recordings.format.lines import Line
from converse_harness.recordings.record.captured import CapturedExchange, exchange_lines
from converse_harness.recordings.record.write import SessionWriter
from converse_harness.recordings.redaction import Redacted
from converse_harness.secrets.accounts import stand_in
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


@pytest.fixture(scope="module")
def cleaned(captured: dict[str, CapturedExchange]) -> dict[str, tuple[list[Line], Redacted]]:
    """The lines of each interaction, and what is written in place of them."""
    lines = {name: exchange_lines(each, 1) for name, each in captured.items()}
    return {name: (each, Redaction().redacted(each)) for name, each in lines.items()}


def test_nothing_is_taken_for_a_secret(cleaned: dict[str, tuple[list[Line], Redacted]]) -> None:
    found = {name: {leak.kind for leak in redacted.found} for name, (_, redacted) in cleaned.items()}
    with_accounts = {name for name, kinds in found.items() if kinds}
    assert {kind for kinds in found.values() for kind in kinds} == {"an AWS account id"}
    assert with_accounts == {name for name, (lines, _) in cleaned.items() if ACCOUNT in json.dumps(lines)}


def test_nothing_but_accounts_is_changed(cleaned: dict[str, tuple[list[Line], Redacted]]) -> None:
    for name, (lines, redacted) in cleaned.items():
        masked: list[Line] = json.loads(json.dumps(lines).replace(ACCOUNT, stand_in(1)))
        assert redacted.lines == masked, name


def test_no_account_is_written(captured: dict[str, CapturedExchange], tmp_path: Path) -> None:
    with_accounts = [each for each in captured.values() if ACCOUNT in repr(each)]
    assert with_accounts
    SessionWriter(tmp_path / "accounts.jsonl", captured=with_accounts).save()
    assert ACCOUNT not in (tmp_path / "accounts.jsonl").read_text()
