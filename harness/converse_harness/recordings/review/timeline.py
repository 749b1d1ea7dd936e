"""Make rows that show an exchange to a reader: the request, then the answer as it arrived, piece by piece with times.

The answer need not be legal: a part that cannot be interpreted is shown as JSON.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from converse_harness.bedrock.guardrails import POLICIES
from converse_harness.json_values import is_array, is_object, json_text, member_of, object_of, objects_of, parsed_json
from converse_harness.recordings.digest import FileDigest, with_short_digests
from converse_harness.recordings.format.exchanges import RecordedExchange
from converse_harness.recordings.format.lines import Line, body_bytes, event_of
from converse_harness.stream.grammar import is_exception
from converse_harness.words import counted

_NOTHING_DONE: Final = "NONE"
"""The `action` of a guardrail finding that changed nothing in the conversation."""

_COUNTED: Final = {
    "inputTokens": "in",
    "outputTokens": "out",
    "totalTokens": "in all",
    "cacheReadInputTokens": "read from cache",
    "cacheWriteInputTokens": "written to cache",
}
"""Maps each member of `usage` to its label in the row "usage"."""


def json_line(value: Any) -> str:
    """Return the JSON text of a value on one line, with short digests of files."""
    return with_short_digests(json_text(value, indent=None))


class Piece(NamedTuple):
    """A piece of a text. `at` is its time in milliseconds after the request, or None for a text of the request."""

    at: int | None
    text: str


class TimelineRow(NamedTuple):
    """One item of a request or an answer: its label, and its text in pieces."""

    label: str
    pieces: tuple[Piece, ...]


def asked(exchange: RecordedExchange) -> Iterator[TimelineRow]:
    """Yield the rows of a request: the system prompt, the tools, the number of earlier messages, the last message."""
    request, call = exchange.request, exchange.call
    if exchange.any_request:
        yield _row("request", None, "not known: any call of this operation gets the answer")
    yield from block_rows(request.get("system"), None, "system")
    tools = objects_of(member_of(request, "toolConfig", "tools"))
    names = [str(member_of(tool, "toolSpec", "name")) for tool in tools if is_object(tool.get("toolSpec"))]
    if names:
        yield _row("tools", None, ", ".join(names))
    messages = objects_of(request.get("messages"))
    if len(messages) > 1:
        yield _row("before", None, counted(len(messages) - 1, "message"))
    if messages:
        yield from block_rows(messages[-1].get("content"), None, str(messages[-1].get("role")))
    elif "request" in call:
        yield _row("request", None, json_line(call["request"]))
    yield from (_row(key, None, call[key]) for key in ("requestText", "requestBase64") if key in call)


def answered(exchange: RecordedExchange) -> Iterator[TimelineRow]:
    """Yield the rows of an answer, in the order in which it arrived."""
    head = exchange.head
    yield from (_row("fault", None, fault) for fault in exchange.faults)
    body = body_bytes("body", head)
    if "failed" in head:
        yield _row("failed", head["t"], str(head["failed"]))
    elif body is not None:
        yield from _whole_rows(head, body)
    else:
        stream = _Stream()
        for line in exchange.events:
            yield from stream.rows(line)
        yield from stream.closed()
    if exchange.end is not None:
        yield _row("end", exchange.end["t"], str(exchange.end["end"]))


def _whole_rows(head: Line, body: bytes) -> Iterator[TimelineRow]:
    at: int = head["t"]
    text = body.decode(errors="replace")
    parsed = parsed_json(text, text)
    if head["status"] >= 400:
        message = member_of(parsed, "message")
        text = message if isinstance(message, str) else text
        yield _row("error", at, ": ".join(filter(None, (head.get("type"), text))))
    elif is_array(content := member_of(parsed, "output", "message", "content")) and is_object(parsed):
        yield from block_rows(content, at)
        yield _row("stop", at, str(parsed.get("stopReason")))
        yield from _metadata_rows(parsed, at)
    else:
        yield _row("body", at, text)


class _Stream:
    """Makes the rows of a stream, line by line. The row of a block is complete when the block ends."""

    def __init__(self) -> None:
        self._label = ""
        self._pieces: list[Piece] = []
        self._start: Mapping[str, Any] = {}

    def rows(self, line: Line) -> Iterator[TimelineRow]:
        """Add a line of the stream, and yield the rows that it completes; yield nothing while a block continues."""
        at: int = line["t"]
        name, members = event_of(line) or ("", {})
        delta: Any = members.get("delta") if name == "contentBlockDelta" else None
        if is_object(delta) and len(delta) == 1 and (found := _delta(delta)) is not None:
            label, text = found
            if label != self._label:
                yield from self.closed()
            self._label = label
            self._pieces.append(Piece(at, text))
            return
        yield from self.closed()
        start: Any = members.get("start") if name == "contentBlockStart" else None
        if is_object(start) and len(start) == 1:
            ((carried, value),) = start.items()
            self._label, self._start = _LABELS.get(carried, carried), value if is_object(value) else {}
            self._pieces = [Piece(at, "")]
        elif name == "metadata":
            yield from _metadata_rows(members, at)
        elif name == "messageStop":
            more = {key: value for key, value in members.items() if key != "stopReason"}
            yield _row("stop", at, str(members.get("stopReason")) + (f" {json_line(more)}" if more else ""))
        elif is_exception(name):
            yield _row("exception", at, f"{members.get('code', name)}: {members.get('message', json_line(members))}")
        elif not name:
            data = base64.b64decode(line.get("bytes") or line.get("frame") or "")
            yield _row("bytes", at, f"{len(data)} bytes that are no event")
        elif name not in ("messageStart", "contentBlockStop"):
            yield _row(name, at, json_line(members))

    def closed(self) -> Iterator[TimelineRow]:
        """Close the open block and yield its row; yield nothing if no block is open."""
        label, pieces, start = self._label, self._pieces, self._start
        self._label, self._pieces, self._start = "", [], {}
        if label == "tool_use":
            text = "".join(piece.text for piece in pieces)
            yield _tool_use(start, parsed_json(text, text) if text else {}, pieces[0].at)
        elif label:
            yield TimelineRow(label, tuple(pieces))


def block_rows(content: object, at: int | None, label: str = "text") -> Iterator[TimelineRow]:
    """Yield the rows of complete content blocks. Rows of plain text have the label `label`.

    `at` is the time of the blocks in milliseconds after the request; None for blocks of the request.
    """
    for block in objects_of(content):
        match block:
            case {"text": str(text)}:
                yield _row(label, at, text)
            case {"reasoningContent": {"reasoningText": {"text": str(text), **more}}}:
                yield _row("reasoning", at, text + _SIGNED * ("signature" in more))
            case {"reasoningContent": {"redactedContent": str(data)}}:
                yield _row("reasoning", at, _redacted(data))
            case {"toolUse": use} if is_object(use):
                yield _tool_use(use, use.get("input"), at)
            case {"toolResult": result} if is_object(result):
                status = f" ({result['status']})" if "status" in result else ""
                yield _row("tool_result", at, f"{result.get('toolUseId')}{status} {_texts(result.get('content'))}")
            case {"citationsContent": cited} if is_object(cited):
                yield from (_row("citation", at, _cited(each)) for each in objects_of(cited.get("citations")))
                yield _row(label, at, _texts(cited.get("content"), ""))
            case _:
                yield from (_row(name, at, file_in_words(value) or json_line(value)) for name, value in block.items())


def file_in_words(value: object) -> str:
    """Return the name, the format and the digest of a file; "" for any other value of a content block."""
    data = member_of(value, "source", "bytes")
    if not isinstance(data, FileDigest) or not is_object(value) or not value.keys() <= {"name", "format", "source"}:
        return ""
    return with_short_digests(" ".join(str(each) for each in (*map(value.get, ("name", "format")), data) if each))


def _tool_use(use: Mapping[str, Any], given: object, at: int | None) -> TimelineRow:
    text = json_line(given)
    if len(text) > _ONE_LINE:
        text = f"\n{json_text(given)}"
    return _row("tool_use", at, f"{use.get('name')} {text}\n{use.get('toolUseId')}")


def _metadata_rows(members: Mapping[str, Any], at: int) -> Iterator[TimelineRow]:
    for side in ("inputAssessment", "outputAssessments"):
        named = member_of(members, "trace", "guardrail", side)
        for name, found in named.items() if is_object(named) else ():
            for assessment in objects_of([found] if is_object(found) else found):
                said = ", ".join(_verdicts(assessment)) or "nothing done"
                yield _row("guardrail", at, f"{name}, {side.removesuffix('s').removesuffix('Assessment')}: {said}")
    for label, *path in ("guardrail", "guardrail", "actionReason"), ("router", "promptRouter", "invokedModelId"):
        value = member_of(members, "trace", *path)
        if value is not None:
            yield _row(label, at, str(value))
    usage, latency = object_of(members.get("usage")), member_of(members, "metrics", "latencyMs")
    counts = [f"{usage[key]} {called}" for key, called in _COUNTED.items() if key in usage]
    if latency is not None:
        counts.append(f"latency {latency} ms")
    if counts:
        yield _row("usage", at, ", ".join(counts))


def _verdicts(assessment: Mapping[str, Any]) -> Iterator[str]:
    for policy in POLICIES.values():
        for finding in objects_of(member_of(assessment, policy.member, policy.findings)):
            if finding.get("action", _NOTHING_DONE) != _NOTHING_DONE:
                name = finding.get("name") or finding.get("type") or finding.get("match") or ""
                yield f"{finding['action']} {policy.member} {name}".rstrip()


def _cited(citation: Mapping[str, Any]) -> str:
    others = filter(None, (citation.get("location"), _texts(citation.get("sourceContent"))))
    return " ".join(str(each) for each in (citation.get("title"), *map(json_line, others)) if each)


def _redacted(data: str) -> str:
    return f"({len(data) * 3 // 4} bytes, redacted)"


def _texts(blocks: object, between: str = " ") -> str:
    """Return the texts of content blocks, joined by `between`. A block without a text is included as JSON."""
    texts = ((each.get("text"), each.get("json", each)) for each in objects_of(blocks))
    return between.join(text if isinstance(text, str) else json_line(other) for text, other in texts)


def _delta(delta: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the label and the text of a delta; None for a delta of an unknown form."""
    for path, kind, label, text in _DELTAS:
        if isinstance(value := member_of(delta, *path), kind):
            return label, text(value)
    return None


_SIGNED: Final = " (signed)"
_DELTAS: Final[Sequence[tuple[tuple[str, ...], type, str, Callable[[Any], str]]]] = (
    (("text",), str, "text", str),
    (("reasoningContent", "text"), str, "reasoning", str),
    (("reasoningContent", "signature"), str, "reasoning", lambda _: _SIGNED),
    (("reasoningContent", "redactedContent"), str, "reasoning", _redacted),
    (("toolUse", "input"), str, "tool_use", str),
    (("toolResult",), list, "tool_result", _texts),
    (("citation",), dict, "citation", lambda cited: f"{_cited(cited)}\n"),
)
"""For each form of a delta: the path of its value, the value's type, the label, and the function that shows the value.
"""
_ONE_LINE: Final = 60
_LABELS: Final = {"toolUse": "tool_use", "toolResult": "tool_result"}


def _row(label: str, at: int | None, text: str) -> TimelineRow:
    return TimelineRow(label, (Piece(at, text),))
