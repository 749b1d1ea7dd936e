"""The differential test finds streams on which clients disagree, shrinks them, and takes what is known for agreed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis.vendor.pretty import pretty

from converse_harness import Reply, assemble, reply
from tests.clients import differential
from tests.clients.differential import ClientProcesses, Disagreement, Row
from tests.clients.shrinking import LEAST, TRIES, shrunk

HANDLED: Row = {"verdict": "handled", "why": ""}

LONG = """reply.events([
    {"messageStart": {"role": "assistant"}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "It is "}}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "18 degrees"}}},
    {"contentBlockStop": {"contentBlockIndex": 0}},
    {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"reasoningContent": {"text": "I wonder"}}}},
    {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"reasoningContent": {"text": "still"}}}},
    {"contentBlockStop": {"contentBlockIndex": 1}},
    {"contentBlockStart": {"contentBlockIndex": 2, "start": {"toolUse": {"name": "f", "toolUseId": "tooluse_1"}}}},
    {"contentBlockDelta": {"contentBlockIndex": 2, "delta": {"toolUse": {"input": '{"a": [1, 77], '}}}},
    {"contentBlockDelta": {"contentBlockIndex": 2, "delta": {"toolUse": {"input": '"b": "c"}'}}}},
    {"contentBlockStop": {"contentBlockIndex": 2}},
    {"messageStop": {"stopReason": "tool_use"}},
    {"metadata": {"usage": {"inputTokens": 9, "outputTokens": 3, "totalTokens": 12}, "metrics": {"latencyMs": 5}}},
])"""


def outcomes(folder: Path, **clients: list[str]) -> list[Path]:
    """Files of outcomes, of a verdict for each stream."""
    files: list[Path] = []
    for client, verdicts in clients.items():
        rows = [{"verdict": verdict, "why": f"{client} {number}"} for number, verdict in enumerate(verdicts)]
        file = folder / f"{client}.json"
        file.write_text(json.dumps({"client": client, "rows": rows}), encoding="utf-8")
        files.append(file)
    return files


def disagreement(ask: Callable[[str, str], Row], code: str = LONG) -> Disagreement:
    """What the clients "broken" and "sound" make of a stream."""
    return Disagreement("broken", ask("broken", code), "sound", ask("sound", code)["verdict"], code)


def test_the_smallest_stream_on_which_clients_disagree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    streams = tmp_path / "streams.json"
    streams.write_text(json.dumps(["reply.text('long')", "reply.text('a')", "x"]), encoding="utf-8")
    files = outcomes(tmp_path, one=["handled", "handled", "refused"], two=["refused", "refused", "refused"])
    (found,) = differential.disagreements(streams, files)
    assert str(found) == "two, refused: two 1\none, handled\n\nconverse.script(\n    reply.text('a')\n)\n"
    monkeypatch.setattr(differential, "KNOWN", [differential.Known("two", "refused", "two [01]", "later")])
    assert differential.disagreements(streams, files) == []


def test_what_is_drawn_is_read_again_and_consumed(tmp_path: Path) -> None:
    streams, seen = tmp_path / "streams.json", tmp_path / "boto3.json"
    differential.draw(streams, 3, 0)
    differential.consume("boto3", streams, seen)
    assert len(differential.answers(streams)) == 3
    assert [row["verdict"] for row in json.loads(seen.read_text("utf-8"))["rows"]] == ["handled"] * 3
    assert differential.disagreements(streams, [seen]) == []


def test_a_disagreement_shrinks_to_what_it_needs() -> None:
    def ask(client: str, code: str) -> Row:
        if client == "broken" and "77" in code:
            return {"verdict": "mishandled: corrupted", "why": f"{code[-30:]!r}; it was another"}
        return HANDLED

    small = disagreement(ask).shrunk(ask)
    assert small.code == pretty(
        reply.message({"toolUse": {"name": "f", "toolUseId": "tooluse_1", "input": {"a": [77]}}})
    )
    assert small.row == ask("broken", small.code)


def test_a_smaller_stream_is_cut_as_the_disagreement_needs_it() -> None:
    def ask(client: str, code: str) -> Row:
        cut = sum("reasoningContent" in line for line in code.splitlines()) > 1
        return {"verdict": "refused", "why": "ValueError: cut"} if client == "broken" and cut else HANDLED

    answer = differential.answer(disagreement(ask).shrunk(ask).code)
    thought = {"reasoningContent": {"text": ""}}
    assert [*answer.events()] == [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": thought}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": thought}},
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "end_turn"}},
        LEAST,
    ]


@pytest.mark.parametrize("kept", ["part", "verdict", "other", "unknown"])
def test_a_smaller_stream_keeps_clients_verdicts_and_part(kept: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differential, "KNOWN", [differential.Known("broken", "refused", "is known", "planted")])
    without_reasoning: dict[str, tuple[Row, Row]] = {
        "part": ({"verdict": "refused", "why": "'text'; it was 'another'"}, HANDLED),
        "verdict": ({"verdict": "mishandled: lost", "why": "reasoning ''"}, HANDLED),
        "other": ({"verdict": "refused", "why": "reasoning ''"}, {"verdict": "refused", "why": ""}),
        "unknown": ({"verdict": "refused", "why": "reasoning that is known"}, HANDLED),
    }

    def ask(client: str, code: str) -> Row:
        if "reasoningContent" in code:
            return {"verdict": "refused", "why": "reasoning ''"} if client == "broken" else HANDLED
        broken, sound = without_reasoning[kept]
        return broken if client == "broken" else sound

    small = disagreement(ask).shrunk(ask).code
    assert "reasoningContent" in small
    assert len(small) < 70


def test_a_client_that_hangs_is_not_asked_again() -> None:
    row = {"verdict": "mishandled: hangs", "why": "it was stopped after 60 s"}
    found = Disagreement("broken", row, "sound", "handled", LONG)
    assert found.shrunk(lambda client, code: pytest.fail(f"{client} was asked for {code}")) is found


def test_shrinking_is_bounded_and_tries_legal_streams_alone() -> None:
    tried: list[str | None] = []

    def holds(answer: Reply) -> bool:
        whole = assemble(answer.events())
        assert whole.stop_reason != "tool_use" or "toolUse" in str(whole.message)
        tried.append(whole.stop_reason)
        return False

    answer = differential.answer(LONG)
    assert shrunk(answer, holds, tries=5) is answer
    assert len(tried) == 5
    assert shrunk(answer, holds) is answer
    assert 5 < len(tried) - 5 < TRIES  # it ends when nothing smaller is left


@pytest.mark.slow
def test_clients_are_asked_in_their_environments(tmp_path: Path) -> None:
    streams, seen = tmp_path / "streams.json", tmp_path / "boto3.json"
    streams.write_text("[]", encoding="utf-8")
    differential.consume("boto3", streams, seen)
    none = tmp_path / "none.json"
    none.write_text(json.dumps({"client": "none", "rows": [], "python": sys.executable, "environ": {}}), "utf-8")
    processes = ClientProcesses([seen, none])
    try:
        assert [processes.ask("boto3", LONG), processes.ask("boto3", "reply.text('a')")] == [HANDLED, HANDLED]
        with pytest.raises(RuntimeError, match="none ended while it was asked"):
            processes.ask("none", LONG)
    finally:
        processes.close()
