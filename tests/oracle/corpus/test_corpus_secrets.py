"""What AWS sent and was asked holds no secret but accounts: nothing is refused, nothing else changed.

Compared with: 378 published recordings of Converse and ConverseStream, in which all accounts are 123456789012, the one
of AWS's documentation. For some tests another account takes its place.
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

DOCUMENTED, ACCOUNT = "123456789012", "210987654321"


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


Cleaned = dict[str, tuple[list[Line], Redacted]]


@pytest.fixture(scope="module")
def cleaned(captured: dict[str, CapturedExchange]) -> Cleaned:
    """The lines of each interaction with an account that is somebody's, and what is written in place of them."""
    lines = {name: with_account(exchange_lines(each, 1)) for name, each in captured.items()}
    return {name: (each, Redaction().redacted(each)) for name, each in lines.items()}


def with_account(lines: list[Line]) -> list[Line]:
    made: list[Line] = json.loads(json.dumps(lines).replace(DOCUMENTED, ACCOUNT))
    return made


def test_the_account_of_the_documentation_is_left_alone(captured: dict[str, CapturedExchange], tmp_path: Path) -> None:
    with_accounts = [each for each in captured.values() if DOCUMENTED in repr(each)]
    assert with_accounts
    writer = SessionWriter(tmp_path / "accounts.jsonl", captured=with_accounts)
    writer.save()
    assert (writer.written.masked, writer.written.left_out) == ((), ())
    text = (tmp_path / "accounts.jsonl").read_text()
    assert DOCUMENTED in text
    assert stand_in(1) not in text


def test_nothing_is_taken_for_a_secret(cleaned: Cleaned) -> None:
    found = {name: {leak.kind for leak in redacted.found} for name, (_, redacted) in cleaned.items()}
    with_accounts = {name for name, kinds in found.items() if kinds}
    assert {kind for kinds in found.values() for kind in kinds} == {"an AWS account id"}
    assert with_accounts == {name for name, (lines, _) in cleaned.items() if ACCOUNT in json.dumps(lines)}


def test_nothing_but_accounts_is_changed(cleaned: Cleaned) -> None:
    for name, (lines, redacted) in cleaned.items():
        masked: list[Line] = json.loads(json.dumps(lines).replace(ACCOUNT, stand_in(1)))
        assert redacted.lines == masked, name
