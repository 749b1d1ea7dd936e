"""`converse-harness rehearse`: what another model would refuse of recordings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from converse_harness import bedrock
from converse_harness.bedrock.rules import RuleRequest
from converse_harness.cli import main
from converse_harness.features.rehearsal.targets import target_of
from converse_harness.recordings.format.read import read
from tests.recordings.asking import counts_tokens
from tests.recordings.format.test_files import CLAUDE, shown, with_digests

SAMPLES = Path(__file__).parents[3] / "recordings"
LLAMA = "us.meta.llama4-scout-17b-instruct-v1:0"
OPUS = "us.anthropic.claude-opus-5"

HEADER = {"format": "converse-recording", "version": 2}
ANSWER = {
    "output": {"message": {"role": "assistant", "content": [{"text": "hi"}]}},
    "stopReason": "end_turn",
    "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
    "metrics": {"latencyMs": 1},
}
REFUSED = {"status": 400, "type": "ValidationException", "body": {"message": "no"}}
THROTTLED = {"status": 429, "type": "ThrottlingException", "body": {"message": "wait"}}


def exchange(call: int, model: str, head: dict[str, object] | None = None, **more: object) -> list[dict[str, object]]:
    request = {"messages": [{"role": "user", "content": [{"text": "hello"}]}], **more}
    asked = {"call": call, "operation": "Converse", "modelId": model, "request": request}
    return [asked, {"t": 5, **(head or {"status": 200, "body": ANSWER})}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Recordings: one file with two models, a retry and a refusal."""
    sonnet, nova = "anthropic.claude-sonnet-4-5", "amazon.nova-lite-v1:0"
    warm: dict[str, Any] = {"inferenceConfig": {"temperature": 0.5}}
    lines = [
        HEADER,
        *exchange(1, sonnet, THROTTLED, **warm),
        *exchange(2, sonnet, **warm),
        *exchange(3, nova, **warm),
        *exchange(4, sonnet, REFUSED, **warm),
        *exchange(5, sonnet),
    ]
    (tmp_path / "one.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return tmp_path


def test_what_would_be_refused_is_listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rehearse", str(folder), "--as", OPUS]) == 1
    out, errors = capsys.readouterr()
    assert errors == ""
    lines = out.splitlines()
    others = f"not of amazon.nova-lite-v1:0 (1 request) ('*={OPUS}' is for every id)"
    assert lines[:2] == [
        f"rehearsed as {OPUS}: 0 of 1 recording would be accepted",
        f"  in place of anthropic.claude-sonnet-4-5 (2 requests), the id asked most often; {others}",
    ]
    row = "claude_has_no_temperature  `temperature` is deprecated for this model.  one.jsonl:2"
    assert lines[2] == f"  {folder / 'one.jsonl'}  call 1  {row}"
    assert lines[3:5] == ["Bedrock's words, and who saw them last:", lines[4]]
    assert lines[5] == "left out: 1 exchange with a request that is refused as it is"
    assert lines[6].startswith("not rehearsed: signatures, ")


@counts_tokens
def test_what_is_counted_is_rehearsed_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (asked, _) = exchange(1, "anthropic.claude-sonnet-4-5")
    asked |= {"operation": "CountTokens", "request": {"input": {"converse": asked["request"]}}}
    lines = [HEADER, asked, {"t": 5, "status": 200, "body": {"inputTokens": 8}}]
    (tmp_path / "one.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert main(["rehearse", str(tmp_path), "--as", "anthropic.claude-sonnet-4-6"]) == 0
    assert main(["rehearse", str(tmp_path), "--as", OPUS]) == 1
    assert "call 1  model_counts_tokens  The provided model doesn't support counting" in capsys.readouterr().out


def test_an_error_that_is_no_refusal_accepts_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the second request was answered, so only it is known to be accepted although a rule refuses it."""
    warm: dict[str, Any] = {"inferenceConfig": {"temperature": 0.5}}
    cool: dict[str, Any] = {"inferenceConfig": {"temperature": 0.4}}
    calls = [*exchange(1, OPUS, THROTTLED, **warm), *exchange(2, OPUS, THROTTLED, **cool), *exchange(3, OPUS, **cool)]
    (tmp_path / "one.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in [HEADER, *calls]))
    assert main(["rehearse", str(tmp_path), "--as", OPUS]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"  in place of {OPUS} (1 request), the id asked most often" in lines
    assert "left out: 1 exchange with a request that is refused as it is" in lines


def test_additional_fields_that_no_rule_looks_at_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [HEADER, *exchange(1, "anthropic.claude-sonnet-4-5", additionalModelRequestFields={"effort": 5})]
    (tmp_path / "one.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    main(["rehearse", str(tmp_path), "--as", "us.amazon.nova-pro-v1:0"])
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("not rehearsed: additional model request fields (effort), signatures, ")


def test_nothing_is_refused_of_the_samples_as_their_own_models(capsys: pytest.CaptureFixture[str]) -> None:
    models = {each.model_id for path in SAMPLES.glob("*.jsonl") for each in read(path).exchanges}
    assert len(models) >= 2
    options = [f"--as={model}={model}" for model in models]
    assert main(["rehearse", str(SAMPLES), *options]) == 0
    assert capsys.readouterr().out.count(" would be accepted") == len(models)
    for path in SAMPLES.glob("*.jsonl"):
        for each in read(path).exchanges:
            body = bedrock.read_json(f"{each.operation}Request", each.request, recorded=True)
            assert target_of(each.model_id).refusals(RuleRequest(each.operation, each.model_id, body)) == []


def test_a_pattern_and_several_models(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rehearse", str(SAMPLES), "--as", f"*sonnet*={LLAMA}", "--as", f"*nova*={LLAMA}"]) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("rehearsed")]
    assert lines == [
        f"rehearsed as {LLAMA}: 2 of 3 recordings would be accepted",  # one has a document that may be cited
        f"rehearsed as {LLAMA}: 3 of 4 recordings would be accepted",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--as", "a b"], "rehearse --as 'a b': 'a b' is no model id. It is MODEL or PATTERN=MODEL; "),
        (["--as", "my-alias"], "rehearse: --as my-alias: nothing is claimed, because no row of the table of models"),
        ([], "the following arguments are required: --as"),
    ],
)
def test_wrong_usage_is_exit_code_2(
    arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(["rehearse", str(folder), *arguments])
    except SystemExit as left:
        code = int(str(left.code))
    out, errors = capsys.readouterr()
    assert (code, out) == (2, "")
    assert message in errors


@pytest.mark.parametrize(("text", "message"), [("nonsense", "one.jsonl"), (None, "is not there")])
def test_what_cannot_be_read_is_exit_code_2(
    text: str | None, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "one.jsonl"
    path.unlink() if text is None else path.write_text(text)
    try:
        code = main(["rehearse", str(path), "--as", OPUS])
    except SystemExit as left:
        code = int(str(left.code))
    assert code == 2
    assert message in capsys.readouterr().err


def test_no_rule_about_contents_is_broken_by_a_digest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, "rehearse", with_digests(tmp_path), "--as", CLAUDE)
