"""Answers that somebody saved without their requests: they become recordings, and any request gets them."""

import base64
import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import pytest
from botocore.exceptions import ClientError
from hypothesis import given, settings

from converse_harness import UnexpectedCall, fake_converse, recording
from converse_harness.cli import main
from converse_harness.recordings.format.lines import event_as_sent
from converse_harness.recordings.play.matching import Match, MatchFunction
from converse_strategies import stream_events
from tests.features.cassettes.hand_made import ANSWER, ASKED, BEDROCK, NOVA, client_of, interaction, written
from tests.profiles import examples

ID = "5bd2f6a1-6b9c-4f31-9d5e-0d6f4f7a8c11"
EVENTS: list[dict[str, Any]] = [
    {"messageStart": {"role": "assistant"}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "18 °C"}}},
    {"contentBlockStop": {"contentBlockIndex": 0}},
    {"messageStop": {"stopReason": "end_turn"}},
    {
        "metadata": {
            "metrics": {"latencyMs": 9},
            "usage": {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7},
        }
    },
]
METADATA = {
    "RequestId": ID,
    "HTTPStatusCode": 200,
    "HTTPHeaders": {
        "date": "Tue, 28 Oct 2025 08:42:30 GMT",
        "content-type": "application/json",
        "content-length": "999",
        "x-amzn-requestid": ID,
        "x-amzn-bedrock-x": "kept",
    },
    "RetryAttempts": 0,
}
FORMS: Mapping[str, tuple[str, str]] = {
    "the AWS CLI": ("out.json", json.dumps(json.loads(ANSWER), indent=4)),
    "boto3": ("out.json", json.dumps({"ResponseMetadata": METADATA, **json.loads(ANSWER)})),
    "a list of events": ("events.json", json.dumps(EVENTS, indent=1)),
    "events in lines": ("x.chunks.txt", "".join(f"{json.dumps(event)}\n" for event in EVENTS)),
    "events in lines with a blank one": ("x.txt", "\n\n".join(map(json.dumps, EVENTS))),
    "a stream of boto3": ("s.json", json.dumps({"ResponseMetadata": METADATA, "stream": EVENTS})),
    "a member events": ("s.json", json.dumps({"model": "x", "events": EVENTS})),
}


def imported(tmp_path: Path, name: str, text: str, *options: str) -> Path:
    """The recording that the command makes of a file."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    made = tmp_path / "made.jsonl"
    assert main(["import", str(tmp_path / name), "-o", str(made), "--force", *options]) == 0
    return made


def answer_to(made: Path, operation: str, **asked: Any) -> dict[str, Any]:
    """What boto3 returns for a request, with the events of a stream as a list."""
    with fake_converse(recording(made)):
        client = client_of(BEDROCK)
        called = {**ASKED, **asked}
        if operation == "Converse":
            return dict(client.converse(**called))
        answer = client.converse_stream(**called)
        return {**answer, "stream": list(answer["stream"])}


@pytest.mark.parametrize("form", FORMS)
def test_any_request_gets_the_answer(form: str, tmp_path: Path) -> None:
    name, text = FORMS[form]
    made = imported(tmp_path, name, text)
    (exchange,) = recording(made).exchanges
    system = [{"text": "Answer briefly."}]
    got = answer_to(made, exchange.operation, modelId="another.model-v1:0", system=system)
    metadata = got.pop("ResponseMetadata")
    assert got == ({"stream": EVENTS} if exchange.operation == "ConverseStream" else json.loads(ANSWER))
    assert UUID(metadata["RequestId"]).version == 4
    if "boto3" in form:
        assert (metadata["RequestId"], metadata["HTTPHeaders"]["x-amzn-bedrock-x"]) == (ID, "kept")
    assert main(["check", str(made)]) == 0


@given(stream_events())
@settings(max_examples=examples(0.5))
def test_drawn_events_come_back_as_they_were(events: list[dict[str, Any]]) -> None:
    wire = json.loads(json.dumps(events, default=lambda data: base64.b64encode(data).decode()))
    with TemporaryDirectory() as folder:
        made = imported(Path(folder), "events.json", json.dumps(wire))
        (exchange,) = recording(made).exchanges
        assert [event_as_sent(line) for line in exchange.events] == events
        assert exchange.faults == []


def test_padding_that_was_saved_is_kept(tmp_path: Path) -> None:
    padded = [{name: {**members, "p": "abcdefg"}} for event in EVENTS for name, members in event.items()]
    (exchange,) = recording(imported(tmp_path, "e.json", json.dumps(padded))).exchanges
    assert [line["p"] for line in exchange.events] == [7] * len(EVENTS)
    strange = [{"messageStart": {"role": "assistant", "p": "no padding"}}, *EVENTS[1:]]
    (exchange,) = recording(imported(tmp_path, "e.json", json.dumps(strange))).exchanges
    assert exchange.events[0] == {"t": 0, "messageStart": {"role": "assistant", "p": "no padding"}}


def never(recorded: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    """A match function that lets no recorded request answer a call."""
    return False


def test_each_answer_is_for_one_call_of_its_operation_and_of_its_model(tmp_path: Path) -> None:
    made = imported(tmp_path, "two.json", json.dumps([json.loads(ANSWER)] * 2), "--model", NOVA)
    assert [each.model_id for each in recording(made).exchanges] == [NOVA] * 2
    client = client_of(BEDROCK)
    rules: tuple[Match | MatchFunction, ...] = ("order", "exact", "shape", never)
    for match in rules:
        with fake_converse(recording(made, match=match), unexpected="allow") as fake:
            assert client.converse(**ASKED)["stopReason"] == "end_turn"
            for other in ({"modelId": "another.model-v1:0"}, {}):
                asked: Callable[..., Any] = client.converse if other else client.converse_stream
                with pytest.raises(ClientError):
                    asked(**{**ASKED, **other})
            assert client.converse(**ASKED)["stopReason"] == "end_turn"
            with pytest.raises(ClientError):
                client.converse(**ASKED)
        assert [call.status for call in fake.calls] == [200, 400, 400, 200, 400]


def test_a_call_too_many_is_told_which_answer_was_played(tmp_path: Path) -> None:
    made = imported(tmp_path, "out.json", ANSWER.decode())
    fake = fake_converse(recording(made))
    with fake:
        client_of(BEDROCK).converse(**ASKED)
        with pytest.raises(ClientError):
            client_of(BEDROCK).converse(**ASKED)
        with pytest.raises(UnexpectedCall) as failed:
            fake.check()
    assert f"{made}:2, which matches, was played already by call 1." in str(failed.value)


def test_a_known_request_comes_before_any(tmp_path: Path) -> None:
    made = tmp_path / "both.jsonl"
    imported(tmp_path, "any.json", ANSWER.decode())
    header, call, head = (tmp_path / "made.jsonl").read_text().splitlines()
    known = {"call": 2, "operation": "Converse", "modelId": NOVA, "request": {"messages": ASKED["messages"]}}
    made.write_text("\n".join([header, call, head, json.dumps(known), head.replace("end_turn", "max_tokens")]) + "\n")
    with fake_converse(recording(made)):
        client = client_of(BEDROCK)
        assert [client.converse(**ASKED)["stopReason"] for _ in range(2)] == ["max_tokens", "end_turn"]


def test_show_says_that_it_is_imported_and_when_it_was_answered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dated = interaction({"body": {"string": ANSWER}, "headers": {"Date": ["Thu, 06 Feb 2025 05:12:36 GMT"]}})
    later = interaction({"body": {"string": ANSWER}, "headers": {"Date": ["Fri, 07 Feb 2025 05:12:36 GMT"]}})
    cassette = written(tmp_path, interaction({"body": {"string": ANSWER}}), later, dated)
    undated = written(tmp_path, interaction({"body": {"string": ANSWER}, "headers": {"Date": "no"}}), name="b.yaml")
    for source, recorded in ((cassette, "recorded 2025-02-06T05:12:36Z, "), (undated, "")):
        made = tmp_path / "made.jsonl"
        assert main(["import", str(source), "-o", str(made), "--force"]) == 0
        capsys.readouterr()
        assert main(["show", str(made)]) == 0
        title = capsys.readouterr().out.splitlines()[0]
        header = json.loads(made.read_text().splitlines()[0])
        exchanges = f"{len(recording(made).exchanges)} exchange{'s' * (recorded != '')}"
        assert title == f"{made}  {exchanges}, {recorded}imported {header['imported']} by {header['by']}"


def test_show_says_that_the_request_is_not_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = imported(tmp_path, *FORMS["events in lines"])
    assert main(["show", str(made)]) == 0
    assert "request      not known: any call of this operation gets the answer\n" in capsys.readouterr().out


def test_request_ids_are_made_once_and_differ(tmp_path: Path) -> None:
    cassette = written(tmp_path, *[interaction({"body": {"string": ANSWER}})] * 2)
    ids: list[list[str]] = []
    for name in ("a.jsonl", "b.jsonl"):
        assert main(["import", str(cassette), "-o", str(tmp_path / name)]) == 0
        ids.append([str(each.head["requestId"]) for each in recording(tmp_path / name).exchanges])
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 2
    with fake_converse(recording(tmp_path / "a.jsonl", match="order"), rules="off"):
        client = client_of(BEDROCK)
        assert [client.converse(**ASKED)["ResponseMetadata"]["RequestId"] for _ in range(2)] == ids[0]


def test_what_the_command_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("saved").mkdir()
    for name in ("the AWS CLI", "events in lines"):
        Path("saved", FORMS[name][0]).write_text(FORMS[name][1], encoding="utf-8")
    lines = [
        "saved/out.json -> saved/out.jsonl: 1 exchange, 1 re-serialised",
        "saved/x.chunks.txt -> saved/x.chunks.jsonl: 1 exchange, 1 re-serialised",
        "2 exchanges in 2 recordings: 2 re-serialised.",
        "Re-serialised: the file holds parsed JSON and no bytes; spacing and order of keys are ours.",
    ]
    for options, of in (("", "any model; --model ID names one"), (f"--force --model {NOVA}", NOVA)):
        assert main(["import", "saved", *shlex.split(options)]) == 0
        said = f"2 answers without a request: each answers the next call of {of}."
        assert capsys.readouterr().out.splitlines() == [*lines, said]


@pytest.mark.parametrize(
    "text",
    [
        '{"output": {"text": "x"}, "stopReason": "end_turn"}',
        '{"output": {"message": {}}}',
        json.dumps([json.loads(ANSWER), {"x": 1}]),
        json.dumps([*EVENTS, {"x": {}}]),
        json.dumps([{**EVENTS[0], **EVENTS[1]}]),
        '{"stream": []}',
        "[]",
        '{"messageStart": 1}\n{"messageStop": {}}',
        '{"messageStart": {}}\nno JSON',
    ],
)
def test_what_is_no_answer_is_not_imported(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.json").write_text(text)
    assert main(["import", str(tmp_path / "x.json")]) == 1
    assert not (tmp_path / "x.jsonl").exists()
    assert "x.json:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (json.dumps([EVENTS[0], {"metadata": {"x": float("nan")}}]), "event 2, metadata, cannot be sent"),
        (ANSWER.decode().replace("9", "NaN"), "its answer cannot be sent"),
    ],
)
def test_what_cannot_be_sent_is_told(text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.json").write_text(text)
    assert main(["import", str(tmp_path / "x.json")]) == 1
    assert f"x.json:1: {said}" in capsys.readouterr().err


def test_a_cassette_is_no_saved_answer(tmp_path: Path) -> None:
    cassette = {"interactions": [interaction({"body": {"string": ANSWER.decode()}})], "version": 1, "events": EVENTS}
    (exchange,) = recording(imported(tmp_path, "x.json", json.dumps(cassette))).exchanges
    assert not exchange.any_request
