"""The tool that compares two checkouts prints the same for one checkout, and something else for another core."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from converse_harness import Call
from tests.conversations import draw
from tests.house.conversations_sent import send


def test_two_runs_differ_only_if_the_core_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "drawn.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in draw(Random(1), 6)), encoding="utf-8")
    printed: list[list[str]] = []
    for _ in range(2):
        send([file])
        printed.append(capsys.readouterr().out.splitlines())
    assert printed[0] == printed[1]
    assert len(printed[0]) > 6 * 4  # each request in process and over a socket, at once and at the end
    monkeypatch.setattr(Call, "attempt", 7)
    send([file])
    other = capsys.readouterr().out.splitlines()
    assert any("attempt=7" in line for line in other)
    assert len(other) == len(printed[0])
