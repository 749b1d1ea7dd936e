"""The errors that are recorded are what the helpers of `reply` build: status, headers and body, field for field.

Compared with: 22 published recordings of errors of Converse and ConverseStream.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from converse_harness import Endpoint, Reply, reply
from converse_harness.endpoint.operations import route
from converse_harness.stream.http import ERROR_HEADERS, Request
from tests.oracle.conftest import rows_of_aws

HELPERS = {
    "The provided model identifier is invalid.": reply.invalid_model_id(),
    "The security token included in the request is invalid.": reply.unrecognized_client(),
}
"""The recorded texts that a helper says by itself; any other is a `validation_error` with that text."""

BODY = b'{"messages":[{"role":"user","content":[{"text":"hi"}]}]}'
PATHS = {"Converse": "converse", "ConverseStream": "converse-stream"}

NOT_COMPARED = {"content-length", "date", "x-amzn-requestid"}
"""Date and request id are those of the request; the length has a test of its own."""


@dataclass(frozen=True)
class Recorded:
    """One error as it was recorded; a recorder may have dropped headers, and formatted the JSON anew."""

    name: str
    path: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    spaced: bool


@pytest.fixture(scope="session")
def errors(shared: Path) -> list[Recorded]:
    """Every error of AWS in the corpus, and those of a wrong token in the second one."""
    second = json.loads((shared / "corpus-2" / "index.json").read_text())
    files = [shared / "corpus" / row["file"] for row in rows_of_aws(shared) if row["status"] != 200]
    return [*map(_recorded, [*files, *(shared / "corpus-2" / row["file"] for row in second if row["status"] == 403)])]


def _recorded(path: Path) -> Recorded:
    recording = json.loads(path.read_text())
    response = recording["response"]
    headers = tuple((name, value) for name, value in response["headers"])
    body = base64.b64decode(response["body_base64"])
    spaced = "re-spaced" in (recording["note"] or "")
    return Recorded(path.stem, recording["request"]["path"], response["status"], headers, body, spaced)


def built(recorded: Recorded) -> tuple[int, tuple[tuple[str, str], ...], bytes]:
    """Status, headers and body of what the helper makes of it."""
    message = json.loads(recorded.body)["message"]
    made: Reply = HELPERS.get(message) or reply.validation_error(message)
    request = Request("POST", recorded.path, (), BODY)
    assert route(request) is not None
    response = Endpoint(made).exchange(request).response
    return response.status, response.headers, b"".join(chunk.data for chunk in response.chunks)


def test_they_are_all_there(errors: list[Recorded]) -> None:
    assert len(errors) == 22
    assert {json.loads(recorded.body)["message"] for recorded in errors} > HELPERS.keys()
    assert {recorded.path.rpartition("/")[2] for recorded in errors} == {"converse", "converse-stream"}


def test_statuses_and_bodies(errors: list[Recorded]) -> None:
    for recorded in errors:
        status, _, body = built(recorded)
        assert status == recorded.status, recorded.name
        if recorded.spaced:
            assert json.loads(body) == json.loads(recorded.body), recorded.name
        else:
            assert body == recorded.body, recorded.name
    assert sum(not recorded.spaced for recorded in errors) == 20


def test_every_header_that_was_kept(errors: list[Recorded]) -> None:
    compared: list[str] = []
    for recorded in errors:
        _, headers, _ = built(recorded)
        ours = {name.lower(): value for name, value in headers}
        kept = {name.lower(): value for name, value in recorded.headers if name.lower() not in NOT_COMPARED}
        assert {name: ours[name] for name in kept} == kept, recorded.name
        compared += kept
    assert Counter(compared) == {"content-type": 22, "connection": 22, "x-amzn-errortype": 6}


def test_lengths(errors: list[Recorded]) -> None:
    """A recorder that parses JSON loses its form: 14 of these 20 bodies had one byte more, which none of them shows."""
    more: list[int] = []
    for recorded in errors:
        _, headers, body = built(recorded)
        assert dict(headers)["Content-Length"] == str(len(body))
        lengths = [int(value) for name, value in recorded.headers if name.lower() == "content-length"]
        more += [length - len(body) for length in lengths]
    assert Counter(more) == {0: 6, 1: 14}


def test_the_order_of_headers(errors: list[Recorded]) -> None:
    """Two recorders of the second collection sort the names, or spell them in their own way."""
    whole = [recorded for recorded in errors if len(recorded.headers) == 1 + len(ERROR_HEADERS)]
    whole = [each for each in whole if each.headers[0][0] == "Date" and "x-amzn-RequestId" in dict(each.headers)]
    assert len(whole) == 2
    for recorded in whole:
        _, headers, _ = built(recorded)
        names = [name for name, _ in headers]
        assert ["Date", *names] == [name for name, _ in recorded.headers]


@pytest.mark.parametrize("operation", PATHS)
def test_the_answer_to_a_path_that_is_no_operation(shared: Path, operation: str) -> None:
    """Recorded once of each operation, without headers: a 200 whose body is no answer."""
    corpus = shared / "corpus-2"
    index = json.loads((corpus / "index.json").read_text())
    files = [entry["file"] for entry in index if "unknown-operation" in entry["file"]]
    answers = [json.loads((corpus / file).read_text()) for file in files]
    [recorded] = (each["response"] for each in answers if each["operation"] == operation)
    exchange = Endpoint(reply.unknown_operation()).exchange(Request("POST", f"/model/m/{PATHS[operation]}", (), BODY))
    body = b"".join(chunk.data for chunk in exchange.response.chunks)
    assert (exchange.response.status, json.loads(body)) == (recorded["status"], recorded["body"])
