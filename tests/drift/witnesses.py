"""The answers in a folder: recordings of this project, cassettes, and JSON files with a request and a response."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from converse_harness.errors import ConverseHarnessError
from converse_harness.recordings.format.lines import event_of
from converse_harness.recordings.format.read import read
from tests.oracle.answers import content_of, month_of


class SeenAnswer(NamedTuple):
    """What Bedrock answered to a request.

    `month` is "" if no file says it. `content` are the events of a stream, or the one body; of an error, its body.
    """

    file: str
    month: str
    operation: str
    model_id: str
    request: Mapping[str, Any]
    status: int
    content: list[dict[str, Any]]

    @property
    def message(self) -> str:
        """The message of an error, otherwise ""."""
        return "" if self.status == 200 or not self.content else str(self.content[0].get("message", ""))


_CONVERSING = ("Converse", "ConverseStream")


def seen_answers(folder: Path, unread: list[str]) -> Iterator[SeenAnswer]:
    """Yield the answers to Converse and ConverseStream in a folder; add a line to `unread` for each other file."""
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        found: list[SeenAnswer] = []
        try:
            if path.suffix == ".jsonl":
                found = [*_recorded(path, str(path))]
            elif path.suffix in (".yaml", ".yml"):
                found = [*_of_cassette(path)]
            elif path.suffix == ".json":
                found = [*_of_json(path)]
        except (ConverseHarnessError, ImportError, ValueError, LookupError, TypeError) as error:
            unread.append(f"{path}: {str(error).partition(chr(10))[0]}")
        yield from (each for each in found if each.operation in _CONVERSING)


def _recorded(path: Path, name: str) -> Iterator[SeenAnswer]:
    session = read(path)
    for each in session.exchanges:
        if "failed" in each.head or each.end is not None or each.any_request:
            continue
        events = [{found[0]: found[1]} for found in map(event_of, each.events) if found is not None]
        content = events or [body for body in [each.head.get("body")] if isinstance(body, dict)]
        month = str(session.header.get("recorded", ""))[:7]
        yield SeenAnswer(name, month, each.operation, each.model_id, each.request, each.head["status"], content)


def _of_cassette(path: Path) -> Iterator[SeenAnswer]:
    # Here and not above, because the leaf may have been taken away; then cassettes are named as not read.
    from converse_harness.features.cassettes.convert import Hosts, import_cassette

    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "imported.jsonl")
        import_cassette(path, target, Hosts(lambda host: host.startswith("bedrock")))
        if target.exists():
            yield from _recorded(target, str(path))


def _of_json(path: Path) -> Iterator[SeenAnswer]:
    """Yield the answer in a JSON file with `request` (`path` or a model id beside it, `body`) and `response`."""
    known = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(known, dict) or not isinstance(known.get("request"), dict) or "response" not in known:
        yield from _of_cassette(path)
        return
    request, response = known["request"], known["response"]
    target = str(request.get("path") or "")
    model_id = unquote(target.split("/")[2]) if target.startswith("/model/") else str(known.get("model_id") or "")
    operation = str(known.get("operation") or ("ConverseStream" if target.endswith("-stream") else "Converse"))
    status = int(response.get("status") or known.get("status") or 200)
    stream = status == 200 and operation == "ConverseStream"
    content = content_of(response, stream=stream) if operation in _CONVERSING else []
    body = request.get("body")
    if isinstance(body, dict) and isinstance(body.get("messages"), list):
        yield SeenAnswer(str(path), month_of(known), operation, model_id, body, status, content)
