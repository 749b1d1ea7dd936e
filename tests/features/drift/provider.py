"""A recording, and a second fake that stands for the provider: it answers with the recording, as somebody edited it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import pytest

from converse_harness import ConverseServer, recording
from converse_harness.cli import main
from converse_harness.recordings.format.lines import Line
from converse_harness.server.mounts import ServerFake
from tests.recordings.asking import body, tools, user, write

MODEL: Final = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
REQUEST_ID: Final = "5f0c6f0e-0000-4000-8000-00000000000{}"
TEXT: Final = "Chur to Tirano takes four hours."
_USE: Final = {"input": {"city": "Bern"}, "name": "get_weather", "toolUseId": "tooluse_kZJMlvQmRJ6eAyJE5GIl7Q"}
_USAGE: Final[dict[str, Any]] = {
    "cacheReadInputTokenCount": 0,
    "cacheReadInputTokens": 0,
    "cacheWriteInputTokenCount": 0,
    "cacheWriteInputTokens": 0,
    "inputTokens": 14,
    "outputTokens": 8,
    "totalTokens": 22,
}


def _head(number: int, **more: Any) -> Line:
    return {"t": 400, "status": 200, "requestId": REQUEST_ID.format(number), **more}


def _call(operation: str, question: str) -> Line:
    request = body(user(question), toolConfig=tools("get_weather"))
    return {"call": 0, "operation": operation, "modelId": MODEL, "request": request}


def _events(*events: Line) -> list[Line]:
    return [{"t": 410 + number, **event, "p": 5} for number, event in enumerate(events)]


def delta(index: int, text: str) -> Line:
    """The event of a piece of text."""
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": {"text": text}}}


def stop(index: int) -> Line:
    """The event at the end of a block."""
    return {"contentBlockStop": {"contentBlockIndex": index}}


def session() -> list[list[Line]]:
    """The lines of a recording: an answer in JSON, a stream, and a refusal, each with keys in the order of AWS."""
    message = {"content": [{"text": TEXT}, {"toolUse": deepcopy(_USE)}], "role": "assistant"}
    answer = {
        "metrics": {"latencyMs": 390},
        "output": {"message": message},
        "stopReason": "tool_use",
        "usage": deepcopy(_USAGE),
    }
    start = {"name": "get_weather", "toolUseId": _USE["toolUseId"]}
    pieces = ('{"city": ', '"Bern"}')
    inputs = [{"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": each}}}} for each in pieces]
    usage = {name: _USAGE[name] for name in ("inputTokens", "outputTokens", "totalTokens")}
    streamed = _events(
        {"messageStart": {"role": "assistant"}},
        delta(0, "Chur to"),
        delta(0, " Tirano"),
        stop(0),
        {"contentBlockStart": {"contentBlockIndex": 1, "start": {"toolUse": start}}},
        *inputs,
        stop(1),
        {"messageStop": {"stopReason": "tool_use"}},
        {"metadata": {"metrics": {"latencyMs": 390}, "usage": usage}},
    )
    words = {"message": "The model returned the following errors: messages: text content blocks must be non-empty"}
    return [
        [_call("Converse", "How long is it?"), _head(1, body=answer)],
        [_call("ConverseStream", "How long is it?"), _head(2), *streamed],
        [_call("Converse", " "), _head(3, type="ValidationException", body=words) | {"status": 400}],
    ]


Edit = Callable[[list[list[Line]]], object]
"""Changes the lines of the exchanges: what the provider answers today."""


@contextmanager
def provider(folder: Path, *edits: Edit) -> Generator[ServerFake]:
    """A server that answers the recorded requests with the recorded answers, edited."""
    exchanges = session()
    for edit in edits:
        edit(exchanges)
    exchanges = [[call | {"faults": ["edited"]}, *answer] for call, *answer in exchanges]
    path = write(folder / "provider.jsonl", *exchanges)
    with answering(recording(path)) as fake:
        yield fake


@contextmanager
def answering(*replies: Any) -> Generator[ServerFake]:
    """A server that answers with these replies, and refuses nothing by itself."""
    with ConverseServer() as server, server.script(*replies, unused="allow", rules="off") as fake:
        yield fake


class Again:
    """`converse-harness record --again` of a recording in a folder of its own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        self.elsewhere = folder
        self.path = self.record(session())
        self._capsys = capsys

    def record(self, exchanges: Sequence[Sequence[Line]], name: str = "trip.jsonl") -> Path:
        """Write a recording into the folder."""
        return write(self.folder / name, *exchanges)

    def ask(self, url: str, *arguments: str, code: int = 0) -> list[str]:
        """Run the command for the whole folder. Check its exit code and that it writes nothing; return its lines."""
        before = self.files()
        given = ["record", "--again", str(self.folder), "--diff", "--upstream", url, *arguments]
        assert main(given) == code
        assert self.files() == before
        out, err = self._capsys.readouterr()
        return [*out.splitlines(), *err.splitlines()]

    def files(self) -> dict[str, bytes]:
        """The files of the folder, with their content."""
        return {str(path): path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}

    def after(self, *edits: Edit, code: int = 0) -> list[str]:
        """Ask a provider that answers like this; return the lines about changes without their titles, and the last."""
        with provider(self.elsewhere, *edits) as fake:
            return [line for line in self.ask(fake.url, code=code) if " call " not in line]


def json_of(exchange: list[Line]) -> Any:
    """The body of an answer, to be edited."""
    return exchange[1]["body"]
