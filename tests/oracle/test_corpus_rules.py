"""What AWS accepted of a model is not refused of it, and what it refused is, with the same words."""

from __future__ import annotations

import base64
import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pytest

from converse_harness import Endpoint, RefusedRequest, bedrock, reply
from converse_harness.bedrock.models import standing
from converse_harness.bedrock.rules import RuleLevel, RuleRequest, notes_of, refusals_of
from converse_harness.stream.http import Request
from tests.oracle.conftest import body_with_media

NOT_WHOLE = "_prompt_key"
"""All that one recorder kept of a request."""

IDENTIFIER = "The provided model identifier is invalid."


class Recorded(NamedTuple):
    """A request that AWS answered."""

    file: str
    operation: str
    path: str
    body: dict[str, Any]
    status: int
    message: str

    @property
    def asked(self) -> RuleRequest:
        """It as the rules see it."""
        shape = bedrock.operation(self.operation).input_shape.name
        body = bedrock.read_json(shape, self.body, recorded=True)
        return RuleRequest(self.operation, unquote(self.path.split("/")[2]), body)


@pytest.fixture(scope="module")
def recorded(shared: Path) -> list[Recorded]:
    """Every request of the corpus that is whole."""
    corpus = shared / "corpus"
    found: list[Recorded] = []
    for entry in json.loads((corpus / "index.json").read_text()):
        known = json.loads((corpus / entry["file"]).read_text())
        body = known["request"]["body"]
        if isinstance(body, dict) and NOT_WHOLE not in body:
            said = json.loads(base64.b64decode(known["response"]["body_base64"])) if entry["status"] != 200 else {}
            path, status, message = known["request"]["path"], entry["status"], said.get("message", "")
            found.append(Recorded(entry["file"], known["operation"], path, body, status, message))
    return found


def test_they_are_all_there(recorded: list[Recorded]) -> None:
    assert Counter(each.status for each in recorded) == {200: 352, 400: 20}


@pytest.mark.parametrize("level", ["default", "strict"])
def test_what_aws_accepted_breaks_no_rule(recorded: list[Recorded], level: RuleLevel) -> None:
    refused = [
        (each.file, refusal.rule.name, refusal.path)
        for each in recorded
        if each.status == 200
        for refusal in refusals_of(each.asked, level)
    ]
    assert refused == []


def test_of_what_aws_accepted_nothing_is_noted(recorded: list[Recorded]) -> None:
    noted = [(each.file, note.rule.name, note.path) for each in recorded for note in notes_of(each.asked)]
    assert noted == []


def test_what_aws_refused_is_refused_with_the_same_words(recorded: list[Recorded]) -> None:
    """Also over the endpoint, byte for byte; the model ids at the strict level, for a made-up one is fine else."""
    messages: Counter[str] = Counter()
    for each in recorded:
        if each.status != 400:
            continue
        level = "strict" if each.message == IDENTIFIER else "default"
        endpoint = Endpoint(reply.text("accepted"), rules=level)
        exchange = endpoint.exchange(Request("POST", each.path, (), body_with_media(each.body)))
        answer = b"".join(chunk.data for chunk in exchange.response.chunks)
        assert (exchange.response.status, json.loads(answer)) == (400, {"message": each.message}), each.file
        assert [type(problem) for problem in endpoint.problems] == [RefusedRequest]
        messages[each.message] += 1
    assert len(messages) == 5
    assert messages[IDENTIFIER] == 7


def test_no_model_of_the_corpus_is_unknown(shared: Path) -> None:
    index = json.loads((shared / "corpus" / "index.json").read_text())
    asked = {str(entry["model_id"]) for entry in index if "." in str(entry["model_id"])}
    unknown = {each for each in asked if standing(each).model is None or standing(each).inferred}
    assert unknown == {"us.does-not-exist-model-v1:0"}
