"""What AWS accepted of a model is not refused of it, and what it refused is, with the same words."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote

import pytest

from converse_harness import Endpoint, RefusedRequest, bedrock, reply
from converse_harness.bedrock.models import standing
from converse_harness.bedrock.rules import Refusal, RuleRequest, notes_of, refusals_of
from converse_harness.settings import RuleLevel
from converse_harness.stream.http import Request
from tests.oracle.conftest import body_with_media, rows_of_aws

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


def whole(corpus: Path, rows: Iterable[Mapping[str, Any]]) -> list[Recorded]:
    """Every request of a corpus that is whole. Where only the model is known, the path is the one to this model."""
    found: list[Recorded] = []
    for entry in rows:
        known = json.loads((corpus / entry["file"]).read_text())
        body, answer = known["request"]["body"], known["response"]
        if isinstance(body, dict) and NOT_WHOLE not in body:
            raw = base64.b64decode(answer.get("body_base64") or "")
            said = answer.get("body") or (json.loads(raw) if raw and entry["status"] != 200 else {})
            path = known["request"]["path"] or f"/model/{quote(known['model_id'], safe='')}/converse"
            found.append(
                Recorded(entry["file"], known["operation"], path, body, entry["status"], said.get("message", ""))
            )
    return found


@pytest.fixture(scope="module")
def recorded(shared: Path) -> list[Recorded]:
    """Those of the first corpus that AWS answered."""
    return whole(shared / "corpus", rows_of_aws(shared))


@pytest.fixture(scope="module")
def accepted(shared: Path) -> list[Recorded]:
    """What AWS accepted of the second corpus, as far as the request is known."""
    rows = json.loads((shared / "corpus-2" / "index.json").read_text())
    return [each for each in whole(shared / "corpus-2", rows) if each.status == 200]


def refused(each: Recorded, level: RuleLevel = "default") -> list[Refusal]:
    return [*refusals_of(each.asked, level)]


def test_they_are_all_there(recorded: list[Recorded]) -> None:
    assert Counter(each.status for each in recorded) == {200: 349, 400: 20}


def test_what_aws_accepted_breaks_no_rule(recorded: list[Recorded]) -> None:
    found = [(each.file, refusal) for each in recorded if each.status == 200 for refusal in refused(each)]
    assert found == []


def test_at_the_strict_level_a_model_that_has_ended_since_is_refused(recorded: list[Recorded]) -> None:
    found = {
        (each.asked.model_id, refusal.rule.name)
        for each in recorded
        if each.status == 200
        for refusal in refused(each, "strict")
    }
    assert found == {("anthropic.claude-3-5-sonnet-20240620-v1:0", "model_is_not_retired")}


def test_of_the_second_corpus_nothing_is_refused(accepted: list[Recorded]) -> None:
    """Hundreds of requests: of raw cassettes, of JSON that a recorder had parsed, and of scripts that made them."""
    assert len(accepted) == 515
    assert [(each.file, each.asked.model_id, found.rule.name) for each in accepted for found in refused(each)] == []


UNNAMED = {
    "vercel__ai/__fixtures____amazon-bedrock-issue-11035-with-thinking__3f9c7342__00.json": "an application's profile",
    "vercel__ai/__fixtures____amazon-bedrock-nova-2-high-reasoning-success__833e611d__00.json": "the name of a file",
}
"""Files of the second corpus without an id of a model, and what they have instead."""


def test_of_the_second_corpus_only_retired_models_are_refused_at_the_strict_level(accepted: list[Recorded]) -> None:
    assert {each.file for each in accepted} > UNNAMED.keys()
    found = {
        (each.asked.model_id, refusal.rule.name)
        for each in accepted
        if each.file not in UNNAMED
        for refusal in refused(each, "strict")
    }
    assert found == {
        ("anthropic.claude-3-5-haiku-20241022-v1:0", "model_is_not_retired"),
        ("anthropic.claude-3-5-sonnet-20240620-v1:0", "model_is_not_retired"),
        ("anthropic.claude-3-5-sonnet-20241022-v2:0", "model_is_not_retired"),
        ("us.meta.llama3-2-3b-instruct-v1:0", "model_is_not_retired"),
    }


NOTED = {
    ("anthropic.claude-3-5-haiku-20241022-v1:0", "members_are_known"): 1,
    ("anthropic.claude-3-5-haiku-20241022-v1:0", "roles_alternate"): 9,
    ("anthropic.claude-3-5-sonnet-20241022-v2:0", "members_are_known"): 3,
    ("anthropic.claude-3-haiku-20240307-v1:0", "roles_alternate"): 2,
    ("us.anthropic.claude-opus-4-7", "newer_claudes_have_no_strict_tools"): 1,
    ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude_results_have_texts"): 1,
}
"""How often which rule notes an accepted request of the second corpus. These requests are the evidence against the
rules, or for it where Bedrock ignores a member; of Opus 4.7 the request is not sure, as its file is only named so."""


def test_of_the_second_corpus_little_is_noted(accepted: list[Recorded]) -> None:
    found = Counter((each.asked.model_id, note.rule.name) for each in accepted for note in notes_of(each.asked))
    assert found == NOTED


def test_of_what_aws_accepted_nothing_is_noted(recorded: list[Recorded]) -> None:
    noted = [(each.file, note.rule.name, note.path) for each in recorded for note in notes_of(each.asked)]
    assert noted == []


def test_what_aws_refused_is_refused_with_the_same_words(recorded: list[Recorded]) -> None:
    """Also over the endpoint, byte for byte; the model ids at the strict level, for a made-up one is fine else."""
    messages: Counter[str] = Counter()
    for each in recorded:
        if each.status != 400:
            continue
        level: RuleLevel = "strict" if each.message == IDENTIFIER else "default"
        endpoint = Endpoint(reply.text("accepted"), rules=level)
        exchange = endpoint.exchange(Request("POST", each.path, (), body_with_media(each.body)))
        answer = b"".join(chunk.data for chunk in exchange.response.chunks)
        assert (exchange.response.status, json.loads(answer)) == (400, {"message": each.message}), each.file
        assert [type(problem) for problem in endpoint.problems] == [RefusedRequest]
        messages[each.message] += 1
    assert len(messages) == 5
    assert messages[IDENTIFIER] == 7


NOT_DERIVABLE: Final[Mapping[str, str]] = {
    "The security token included in the request is invalid.": "the keys decide",
    "Too many requests, please wait before trying again.": "the traffic decides",
    "Service capacity limit has been reached. Please try again later.": "the service's load decides",
    "Provided S3Location not found": "no buckets are known",
    "too many total text bytes": "the file has placeholders instead of its texts",
    "(got: [2, 5])": "the schema has a 2 and no 5",
    "Invocation of model ID anthropic.claude-3-5": "the region decides: some took them on demand",
    "Invocation of model ID meta.llama3-2-1b-instruct-v1:0 with on-demand": "the region decides: it was taken once",
    "duplicate Ids: tooluseAc": "the file's conversation lacks the first message",
}
"""Parts of the words in the second corpus that a request does not explain, and why."""


def test_the_refusals_of_the_second_corpus_have_the_same_words(shared: Path) -> None:
    """At the default level, or else at strict; of models that have ended since, without the rule that says so."""
    rows = json.loads((shared / "corpus-2" / "index.json").read_text())
    found: Counter[str] = Counter()
    explained: set[str] = set()
    for each in whole(shared / "corpus-2", rows):
        if each.status == 200 or each.asked.model_id == "(not named)":
            continue
        ours = [one.message for one in refused(each, "strict") if one.rule.name != "model_is_not_retired"]
        part = next((part for part in NOT_DERIVABLE if part in each.message), None)
        if part is not None:
            assert each.message not in ours, part
            explained.add(part)
        else:
            assert ours[:1] == [each.message], each.file
            found["same"] += 1
    assert explained == NOT_DERIVABLE.keys()
    assert found["same"] == 36


def test_no_model_of_the_corpus_is_unknown(shared: Path) -> None:
    index = json.loads((shared / "corpus" / "index.json").read_text())
    asked = {str(entry["model_id"]) for entry in index if "." in str(entry["model_id"])}
    unknown = {each for each in asked if standing(each).model is None or standing(each).inferred}
    assert unknown == {"us.does-not-exist-model-v1:0"}
