"""Which answers of the corpus are made by hand is measured, and nothing that the project knows rests on them alone.

Compared with: 378 published recordings of Converse and ConverseStream, and the errors of a second collection.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from converse_harness.bedrock.api.beyond import BEYOND_MODEL
from converse_harness.bedrock.families import ERRORS, RECORDED
from converse_harness.bedrock.rules import RULES
from tests.oracle.conftest import HAND_MADE, rows_of_aws

Recorded = dict[str, Any]

NO_REQUEST = "_prompt_key"
"""All that the table of a mock server has of a request."""

NORMALIZED = "pydantic/pydantic-ai"
"""Its recorder writes typographic quotes and dashes, of three bytes, as ASCII."""


def recordings(shared: Path, corpus: str = "corpus") -> Iterator[tuple[str, Recorded]]:
    for row in json.loads((shared / corpus / "index.json").read_text()):
        yield row["file"], json.loads((shared / corpus / row["file"]).read_text())


def is_accused(recorded: Recorded) -> bool:
    """Whether a body has not the length that its header says, in any spelling, or has no request."""
    request, response = recorded["request"]["body"], recorded["response"]
    if isinstance(request, dict) and NO_REQUEST in request:
        return True
    length = _header(response, "content-length")
    if response["is_event_stream"] or not length.isdigit():
        return False
    body = json.loads(base64.b64decode(response["body_base64"]))
    changed = _ascii_marks(body) if recorded["source"]["repo"] == NORMALIZED else 0
    return not any(size <= int(length) <= size + 2 * changed for size in _sizes(body))


def _header(response: Mapping[str, Any], name: str) -> str:
    return next((str(value) for each, value in response["headers"] or () if each.lower() == name), "")


def _sizes(body: object) -> Iterator[int]:
    """How long it is as AWS writes it, and as recorders do: with spaces, with escapes."""
    for separators in ((",", ":"), (", ", ": ")):
        for escaped in (False, True):
            yield len(json.dumps(body, separators=separators, ensure_ascii=escaped).encode())


def _ascii_marks(value: object) -> int:
    """How many quotes and dashes its texts have."""
    if isinstance(value, str):
        return sum(map(value.count, "'\"-"))
    return sum(
        map(_ascii_marks, value.values() if isinstance(value, dict) else value if isinstance(value, list) else ())
    )


def test_those_that_are_made_by_hand_are_named_and_no_other_is(shared: Path) -> None:
    accused = [file for file, recorded in recordings(shared) if is_accused(recorded)]
    assert sorted(accused) == sorted(HAND_MADE)
    assert sum(not each.certain for each in HAND_MADE.values()) == 1


def test_most_answers_are_measured(shared: Path) -> None:
    """A header that is missing or masked says nothing: so much is left."""
    lengths = [_header(recorded["response"], "content-length") for _, recorded in recordings(shared)]
    assert sum(map(str.isdigit, lengths)) == 268
    assert len(rows_of_aws(shared)) == len(lengths) - len(HAND_MADE) == 369


@pytest.fixture(scope="module")
def sources(shared: Path) -> set[tuple[str, str]]:
    """The files in which nothing but answers made by hand stands."""
    made = {(row["source"]["repo"], row["source"]["path"]) for row in _rows(shared) if row["file"] in HAND_MADE}
    return made - {(row["source"]["repo"], row["source"]["path"]) for row in rows_of_aws(shared)}


def _rows(shared: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((shared / "corpus" / "index.json").read_text())
    return rows


def test_what_aws_sends_beyond_its_model_is_seen_elsewhere(sources: set[tuple[str, str]]) -> None:
    assert len(sources) == 6
    assert [row for row in BEYOND_MODEL if row.recording in sources] == []


def test_the_witnesses_of_rules_are_others(sources: set[tuple[str, str]]) -> None:
    names = [Path(path).stem for _, path in sources]
    recorded = [str(each) for rule in RULES for each in (*rule.witnesses, *rule.against) if each.kind == "recording"]
    assert len(recorded) > 10
    assert [each for each in recorded if "newrelic" in each or any(each.endswith(name) for name in names)] == []


def test_the_words_of_their_errors_are_recorded_elsewhere(shared: Path) -> None:
    """With the same status and type; also what is said to be recorded is not said to be of them."""
    made, others = set[tuple[int, str, str]](), set[tuple[int, str, str]]()
    for file, recorded in (*recordings(shared), *recordings(shared, "corpus-2")):
        response = recorded["response"]
        if response["status"] != 200 and response.get("body_base64"):
            kind = _header(response, "x-amzn-errortype").partition(":")[0] or "ValidationException"
            message = str(json.loads(base64.b64decode(response["body_base64"])).get("message"))
            (made if file in HAND_MADE else others).add((response["status"], kind, message))
    assert len(made) == 2
    assert made <= others
    assert [name for name, each in ERRORS.items() if each.source == RECORDED and "newrelic" in each.where] == []


def _members(value: object, path: str = "") -> Iterator[str]:
    """The paths of all members in a body, without the indexes of lists."""
    if isinstance(value, list):
        for each in value:
            yield from _members(each, path)
    elif isinstance(value, dict):
        for name, each in value.items():
            yield f"{path}.{name}"
            yield from _members(each, f"{path}.{name}")


def test_the_members_of_their_answers_are_recorded_elsewhere(shared: Path) -> None:
    """Two of them in the second collection alone: the tier, and the fields that a request asks for."""
    made, first, second = set[str](), set[str](), set[str]()
    for corpus, others in (("corpus", first), ("corpus-2", second)):
        for file, recorded in recordings(shared, corpus):
            response = recorded["response"]
            if response["status"] == 200 and recorded["operation"] == "Converse":
                body = response.get("body") or json.loads(base64.b64decode(response["body_base64"]))
                (made if file in HAND_MADE else others).update(_members(body))
    assert made - first == {".additionalModelResponseFields", ".serviceTier", ".serviceTier.type"}
    assert made <= first | second
