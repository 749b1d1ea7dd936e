"""What depends on the model in an answer is as in its newest recordings: types of tool uses, counters of the cache.

Both corpora are read. A recording that differs must be named in its row of the table, with its month.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import pytest

from converse_harness import Endpoint, reply
from converse_harness.bedrock.models import COUNTERS, MODELS, Model, OtherForm, standing
from converse_harness.stream.http import Request
from tests.oracle.answers import content_of, events_of, month_of, tool_uses, usage
from tests.oracle.conftest import rows_of_aws

ASKED: Final = {"messages": [{"role": "user", "content": [{"text": "?"}]}]}


class Answer(NamedTuple):
    """A recorded answer of a model that its source names; `month` is "" if neither an answer nor a file has a day."""

    file: str
    operation: str
    model_id: str
    month: str
    raw: bool
    request: Mapping[str, Any] | None
    content: list[dict[str, Any]]
    """Its events, or its one body."""

    @property
    def model(self) -> str:
        """The name of its model."""
        model = standing(self.model_id).model
        assert model is not None
        return model.name

    def named_in(self, others: Iterable[OtherForm]) -> OtherForm | None:
        """The entry of a row that names it."""
        return next((each for each in others if each.of == self.model and self._within(each.month)), None)

    def _within(self, month: str) -> bool:
        return self.month <= month if month and self.month else month == self.month


@pytest.fixture(scope="module")
def answers(shared: Path) -> list[Answer]:
    """The recorded answers of both corpora to Converse and ConverseStream whose model is named."""
    found: list[Answer] = []
    second = json.loads((shared / "corpus-2" / "index.json").read_text())
    for corpus, rows in ((shared / "corpus", rows_of_aws(shared)), (shared / "corpus-2", second)):
        for row in rows:
            if row["status"] != 200 or row["operation"] not in ("Converse", "ConverseStream"):
                continue
            known = standing(str(row["model_id"]))
            if known.model is None or known.inferred:
                continue
            recorded = json.loads((corpus / row["file"]).read_text())
            body = recorded["request"].get("body")
            request = body if isinstance(body, dict) and "messages" in body else None
            month = month_of(recorded) or str(row.get("first_commit") or "")[:7]
            raw = row.get("fidelity") == "raw" and row["operation"] == "Converse"
            content = content_of(recorded["response"], stream=row["operation"] == "ConverseStream")
            found.append(Answer(row["file"], row["operation"], str(row["model_id"]), month, raw, request, content))
    return found


def sent(answer: Answer, asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the fake sends to this request of the answer's model: a tool use, as a test writes it."""
    action = "converse" if answer.operation == "Converse" else "converse-stream"
    path = f"/model/{quote(answer.model_id, safe='')}/{action}"
    endpoint = Endpoint(reply.tool_use("look", {"a": 1}), rules="off", history="off")
    made = endpoint.exchange(Request("POST", path, (), json.dumps(asked).encode())).response
    data = b"".join(chunk.data for chunk in made.chunks)
    return events_of(data) if answer.operation == "ConverseStream" else [json.loads(data)]


def test_a_tool_use_has_the_type_of_its_newest_recordings(answers: list[Answer]) -> None:
    """Where a recording has another type, a row of the table names it; each entry of a row is needed."""
    compared: Counter[str | None] = Counter()
    named: set[OtherForm] = set()
    for each in answers:
        config = (each.request or {}).get("toolConfig")
        asked = {**ASKED, **({"toolConfig": config} if config else {})}
        for use in tool_uses(each.content):
            (ours,) = tool_uses(sent(each, asked))
            compared[use.get("type")] += 1
            if use.get("type") == ours.get("type"):
                assert not each.raw or list(use) == list(ours), each.file
                continue
            types = (form for form in row_of(each).tool_types if each.operation in form.operations)
            other = each.named_in(other for form in types for other in form.others)
            assert other is not None, (each.file, each.month, use, ours)
            named.add(other)
    assert named == {other for row in MODELS for form in row.tool_types for other in form.others}
    assert compared["tool_use"] > 150
    assert compared[None] > 100


def test_the_usage_has_the_counters_of_its_newest_recordings(answers: list[Answer]) -> None:
    """Answers whose request is known: those to a request with a cachePoint have all counters."""
    compared: Counter[int] = Counter()
    named: set[OtherForm] = set()
    for each in answers:
        counted = usage(each.content)
        if each.request is None or not counted:
            continue
        point = {"system": [{"text": "?"}, {"cachePoint": {"type": "default"}}]} if has_point(each.request) else {}
        ours = usage(sent(each, {**ASKED, **point}))
        recorded, made = counted.keys() & COUNTERS, ours.keys() & COUNTERS
        compared[len(recorded)] += 1
        if recorded == made:
            continue
        other = each.named_in(row_of(each).counters.others)
        assert other is not None, (each.file, each.month, recorded, made)
        named.add(other)
    assert named == {other for row in MODELS for other in row.counters.others}
    assert compared.keys() == {0, 2, 4}
    assert min(compared.values()) > 20


def has_point(request: Mapping[str, Any]) -> bool:
    return '"cachePoint"' in json.dumps(request)


def row_of(answer: Answer) -> Model:
    """The row of the table of models for an answer."""
    row = standing(answer.model_id).model
    assert row is not None
    return row
