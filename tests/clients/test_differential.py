"""The differential test finds the smallest stream on which clients disagree, and takes what is known for agreed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.clients import differential


def outcomes(folder: Path, **clients: list[str]) -> list[Path]:
    """Files of outcomes, of a verdict for each stream."""
    files: list[Path] = []
    for client, verdicts in clients.items():
        rows = [{"verdict": verdict, "why": f"{client} {number}"} for number, verdict in enumerate(verdicts)]
        file = folder / f"{client}.json"
        file.write_text(json.dumps({"client": client, "rows": rows}), encoding="utf-8")
        files.append(file)
    return files


def test_the_smallest_stream_on_which_clients_disagree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    streams = tmp_path / "streams.json"
    streams.write_text(json.dumps(["reply.text('long')", "reply.text('a')", "x"]), encoding="utf-8")
    files = outcomes(tmp_path, one=["handled", "handled", "refused"], two=["refused", "refused", "refused"])
    (found,) = differential.disagreements(streams, files)
    assert found == "two, refused: two 1\n\nconverse.script(\n    reply.text('a')\n)\n"
    monkeypatch.setattr(differential, "KNOWN", [differential.Known("two", "refused", "two [01]", "later")])
    assert [*differential.disagreements(streams, files)] == []


def test_what_is_drawn_is_read_again_and_consumed(tmp_path: Path) -> None:
    streams, seen = tmp_path / "streams.json", tmp_path / "boto3.json"
    differential.draw(streams, 3, 0)
    differential.consume("boto3", streams, seen)
    assert len(differential.answers(streams)) == 3
    assert [row["verdict"] for row in json.loads(seen.read_text("utf-8"))["rows"]] == ["handled"] * 3
    assert [*differential.disagreements(streams, [seen])] == []
