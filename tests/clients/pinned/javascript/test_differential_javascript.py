"""The differential test asks the JavaScript clients with the adapters of the matrix."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.clients import differential


@pytest.mark.parametrize("client", ["aws_sdk_js", "ai_sdk"])
def test_a_client_is_asked_and_asked_again(client: str, tmp_path: Path) -> None:
    streams, seen = tmp_path / "streams.json", tmp_path / "seen.json"
    codes = [
        "reply.text('Hi')",
        "reply.message({'toolUse': {'name': 'f', 'toolUseId': 'a', 'input': {'n': 2**53 + 1}}})",
    ]
    streams.write_text(json.dumps(codes), encoding="utf-8")
    differential.consume(client, streams, seen)
    rows = json.loads(seen.read_text(encoding="utf-8"))["rows"]
    # JavaScript rounds the number that the AI SDK parses; the AWS SDK leaves the text of the input as it came.
    rounded = "mishandled: corrupted" if client == "ai_sdk" else "handled"
    assert [row["verdict"] for row in rows] == ["handled", rounded]
    processes = differential.ClientProcesses([seen])
    try:
        assert [processes.ask(client, code) for code in codes] == rows
    finally:
        processes.close()
