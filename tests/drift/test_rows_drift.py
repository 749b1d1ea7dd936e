"""The rows that newer answers contradict are listed, ready to paste; the recorded answers contradict none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from converse_harness import ConverseServer, record, reply
from converse_harness.bedrock.rules import BY_NAME
from converse_harness.intercept.clients import create_client
from converse_strategies.requests import asked
from converse_strategies.rule_breaks import breakable, refused_requests
from tests.bedrock.rules.asking import config
from tests.drift.__main__ import main
from tests.drift.rows import contradictions
from tests.drift.witnesses import SeenAnswer, seen_answers
from tests.oracle.conftest import shared

__all__ = ["shared"]

OPUS = "us.anthropic.claude-opus-5-5"
HAIKU = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
HELLO: list[dict[str, Any]] = [{"role": "user", "content": [{"text": "hi"}]}]
USAGE = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
"""A usage without counters of the prompt cache."""


def answer(text: str = "hi", usage: dict[str, Any] | None = None, *content: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": [{"text": text}, *content]}
    return {"output": {"message": message}, "stopReason": "end_turn", "usage": usage or USAGE}


def written(
    folder: Path, month: str, model_id: str, body: dict[str, Any], response: dict[str, Any], status: int = 200
) -> None:
    """Write an answer of Bedrock as a JSON file with its request."""
    known = {
        "operation": "Converse",
        "model_id": model_id,
        "recorded_at": f"{month}-07",
        "request": {"body": {"messages": HELLO, **body}},
        "response": {"status": status, "body": response},
    }
    (folder / f"{len([*folder.iterdir()])}.json").write_text(json.dumps(known))


PLANTED: dict[str, tuple[tuple[Any, ...], str]] = {
    "a forced tool is accepted": (
        ("2026-12", OPUS, config(any={}), answer(usage={**USAGE, "cacheReadInputTokens": 0})),
        '"toolChoice any": yes("2026-12", "recorded"),',
    ),
    "a system prompt is refused": (
        (
            "2026-12",
            HAIKU,
            {"system": [{"text": "s"}]},
            {
                "message": "This model doesn't support system messages. Try again without a system message or use a "
                "model that supports system messages."
            },
            400,
        ),
        '"system prompts": no("2026-12", "recorded"),',
    ),
    "the words are new": (
        ("2026-12", HAIKU, {}, {"message": "The moon is full."}, 400),
        "The moon is full.",
    ),
    "more tokens are accepted": (
        ("2026-12", "us.amazon.nova-pro-v1:0", {"inferenceConfig": {"maxTokens": 20_000}}, answer()),
        "most_tokens=20000,",
    ),
    "the counters are gone": (
        ("2026-12", HAIKU, {}, answer()),
        'counters=CacheCounters((), details=True, as_of="2026-12", seen="recorded"),',
    ),
    "a tool use has a type": (
        (
            "2026-12",
            "us.amazon.nova-pro-v1:0",
            config(),
            answer("t", None, {"toolUse": {"toolUseId": "a", "name": "look", "input": {}, "type": "tool_use"}}),
        ),
        'ToolUseType(("Converse",), "always", "2026-12", "recorded"),',
    ),
    "the model is new": (("2026-12", "us.anthropic.claude-opus-9", {}, answer()), "a row for this id"),
    "no model was seen to accept it": (
        ("2026-12", "us.amazon.nova-lite-v1:0", {"messages": [{"role": "user", "content": []}]}, answer()),
        'against=(recorded("',
    ),
}


@pytest.mark.parametrize(("planted", "paste"), PLANTED.values(), ids=PLANTED)
def test_what_contradicts_a_row_is_listed(
    planted: tuple[Any, ...], paste: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, *planted)
    assert main([str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert f"  paste  {paste}" in out
    assert "2026-12, " in out


@pytest.mark.parametrize("name", ["a forced tool is accepted", "a system prompt is refused", "the counters are gone"])
def test_an_answer_older_than_its_row_contradicts_nothing(name: str, tmp_path: Path) -> None:
    (_, *planted), _ = PLANTED[name]
    written(tmp_path, "2024-12", *planted)
    assert contradictions(seen_answers(tmp_path, [])) == []


@pytest.mark.needs_os
def test_our_recordings_and_cassettes_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "one.jsonl"
    with ConverseServer() as server, server.script(reply.text("hi"), rules="off") as service, record(file):
        create_client(endpoint_url=service.url).converse(modelId=OPUS, messages=HELLO, **config(any={}))
    (tmp_path / "notes.json").write_text("[1]")
    (tmp_path / "out.json").write_text(json.dumps(answer()))  # nobody knows its request, so it contradicts nothing
    assert main([str(tmp_path)]) == 1
    out, errors = capsys.readouterr()
    assert "Claude Opus 5.5" in out
    assert "no row has this id" not in out
    assert '"toolChoice any": yes(' in out
    assert "not read" in errors
    assert "notes.json" in errors


@given(case=refused_requests(rules=[name for name in breakable() if BY_NAME[name].models.lacking]))
def test_every_ability_that_a_model_learns_is_listed(case: Any) -> None:
    """Whatever a rule about an ability refuses: if Bedrock accepts it one day, the row is named."""
    request = asked(case.operation, case.request)
    seen = SeenAnswer("f", "2027-01", case.operation, request.model_id, request.body, 200, [answer()])
    topic = BY_NAME[case.rule].models.lacking
    assert any(each.paste == f'"{topic}": yes("2027-01", "recorded"),' for each in contradictions([seen]))


EXPLAINED = {
    "tools.0.custom: For 'array' type, 'minItems' values other than 0 or 1 are not supported (got: [2, 5])",
    "Provided S3Location not found",
}
"""What Bedrock said in the corpora and no rule says: nobody knows where the numbers come from, nor the buckets."""


def test_the_recorded_answers_contradict_no_row(shared: Path) -> None:
    """The rows were made from them. What is listed are ids that are none, and words that a request does not explain."""
    found = [each for corpus in ("corpus", "corpus-2") for each in _of(shared / corpus)]
    words = {each.paste.rpartition("errors: ")[2] for each in found if each.says == "no rule has these words"}
    assert words == EXPLAINED
    assert {each.says for each in found} == {"no rule has these words", "no row has this id"}
    assert all("." not in each.row or "(" in each.row for each in found if each.says == "no row has this id")


def _of(folder: Path) -> Iterator[Any]:
    unread: list[str] = []
    answers = [*seen_answers(folder, unread)]
    assert len(answers) > 350
    assert [line for line in unread if "index.json" not in line] == []
    return iter(contradictions(answers))
