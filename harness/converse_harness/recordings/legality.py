"""Whether AWS could have sent an answer: the order of its events, its model, and what it sends beyond that."""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any, Final

from converse_harness import bedrock
from converse_harness.bedrock import FindingKind
from converse_harness.bedrock.service import nearest
from converse_harness.errors import DamagedData, StreamOrderError
from converse_harness.recordings.keys import is_text, said
from converse_harness.recordings.lines import Line, body_bytes, event_of
from converse_harness.recordings.replies import RecordedExchange
from converse_harness.stream.frames import Decoder
from converse_harness.stream.grammar import CARRIED, ERROR_FRAME, GOES_ON, StreamOrder

MAX_PROBLEMS: Final = 5
"""The most problems of one answer that are told; of the others their number."""

_NEWER: Final = frozenset({FindingKind.UNKNOWN, FindingKind.ENUM, FindingKind.UNION})
_OLDER: Final = frozenset({FindingKind.REQUIRED, FindingKind.LENGTH, FindingKind.RANGE, FindingKind.PATTERN})
"""The rules by which a newer model and an older one may differ from the installed one."""

_HOLDERS: Final = {
    "text": "ContentBlockDelta",
    "toolUse": "ToolUseBlockDelta",
    "reasoningContent": "ReasoningContentBlockDelta",
}
_LIMITS: Final = frozenset({"min", "max", "pattern", "enum"})


def problems(exchange: RecordedExchange) -> list[str]:
    """What AWS would not have sent, in words; empty where the answer is legal. The recorder writes it as `faults`."""
    found = [text for _, text in illegal(exchange)]
    return (
        found
        if len(found) <= MAX_PROBLEMS
        else [*found[: MAX_PROBLEMS - 1], f"and {len(found) - MAX_PROBLEMS + 1} more"]
    )


def is_newer(header: Line) -> bool:
    """Whether a recording was made with a newer botocore than the installed one."""
    return _version(header.get("botocore")) > _version(bedrock.botocore_version())


def other_models(header: Line) -> Collection[FindingKind]:
    """The rules that are not held against a recording, because it was made with another botocore."""
    made, here = _version(header.get("botocore")), _version(bedrock.botocore_version())
    return () if made in ((), here) else _NEWER if made > here else _OLDER


def illegal(exchange: RecordedExchange, allowing: Collection[FindingKind] = ()) -> Iterator[tuple[int, str]]:
    """What AWS would not have sent: the line, counted from that of the call, and what is wrong with it.

    `allowing` are rules of the model that are not held against it.
    """
    if "failed" in exchange.head:
        return
    if any(key.startswith("body") for key in exchange.head):
        if exchange.end is None:  # of a part of a body nothing is known
            yield from ((1, text) for text in _body_problems(exchange, allowing))
    elif (status := exchange.head["status"]) != 200:
        yield 1, f'status {status} has no body; only 200 has a stream. Give it a "body".'
    elif exchange.operation in bedrock.operations():
        operation = bedrock.operation(exchange.operation)
        if not operation.has_event_stream_output:
            yield 1, f"{operation.name} answers with a body, not with an event stream."
        else:
            yield from _stream_problems(exchange, operation, allowing)


def _version(text: object) -> tuple[int, ...]:
    parts = text.split(".") if isinstance(text, str) else []
    return tuple(map(int, parts)) if all(part.isdecimal() for part in parts) else ()


def _body_problems(exchange: RecordedExchange, allowing: Collection[FindingKind]) -> Iterator[str]:
    head = exchange.head
    status: int = head["status"]
    name: str | None = head.get("type")
    if name is not None:
        yield from _error_problems(name, status, head, allowing)
    elif status < 400 and exchange.operation in bedrock.operations():
        operation = bedrock.operation(exchange.operation)
        if status != (usual := operation.http.get("responseCode", 200)):
            yield f"{operation.name} answers with status {usual}, not {status}."
        elif operation.has_event_stream_output:
            yield f"{operation.name} answers with an event stream, not with a body."
        elif "payload" not in operation.output_shape.serialization:
            yield from _shape_problems(operation.output_shape.name, head, allowing)


def _error_problems(name: str, status: int, head: Line, allowing: Collection[FindingKind]) -> Iterator[str]:
    known = bedrock.all_errors().get(name)
    if known is None:
        if FindingKind.UNKNOWN not in allowing:
            close = nearest(name, bedrock.all_errors())
            hint = f"did you mean {said(close)}?" if close else f"it has {', '.join(bedrock.all_errors())}."
            yield f"AWS's model has no error {said(name)} (botocore {bedrock.botocore_version()}); {hint}"
        return
    if known.status != status:
        yield f"{name} has status {known.status}, not {status} (AWS model)."
    yield from _shape_problems(name, head, allowing)


def _shape_problems(shape: str, head: Line, allowing: Collection[FindingKind]) -> Iterator[str]:
    try:
        body: object = json.loads(body_bytes("body", head) or b"")
    except (ValueError, RecursionError):
        yield f"the body is not the JSON of a {shape}."
        return
    yield from _violations(shape, body, allowing)


def _violations(shape: str, parsed: object, allowing: Collection[FindingKind]) -> Iterator[str]:
    value = bedrock.from_json(shape, parsed)
    return (each.message for each in bedrock.validate(shape, value) if each.kind not in allowing)


def _stream_problems(
    exchange: RecordedExchange, operation: bedrock.Operation, allowing: Collection[FindingKind]
) -> Iterator[tuple[int, str]]:
    order = _Order(held=operation.name == "ConverseStream")
    for offset, line in enumerate(exchange.events, 2):
        if order.goes_on(line):
            continue
        found = event_of(line)
        if found is None:
            if not _is_cut_off(exchange, offset - 2):
                yield offset, "these bytes are no event of a stream."
            return
        event = {found[0]: found[1]}
        broken = list(_event_problems(found[0], event, operation, allowing))
        yield from ((offset, text) for text in broken)
        misplaced = order.feed(event)
        if misplaced and not broken:
            yield offset, misplaced
    if exchange.end is None and (missing := order.finish()):
        yield 1 + len(exchange.events), missing


def _event_problems(
    name: str, event: Mapping[str, Any], operation: bedrock.Operation, allowing: Collection[FindingKind]
) -> Iterator[str]:
    union = operation.get_event_stream_output()
    if name in union.members:
        yield from _violations(union.name, event, allowing)
    elif name != ERROR_FRAME and FindingKind.UNKNOWN not in allowing:
        close = nearest(name, union.members)
        hint = f"did you mean {said(close)}?" if close else f"it has {', '.join(union.members)}."
        yield f"{operation.name} has no event {said(name)} (botocore {bedrock.botocore_version()}); {hint}"


class _Order:
    """How far a stream got in the grammar. Once it left that, nothing more is said of its order."""

    def __init__(self, *, held: bool) -> None:
        self._order = StreamOrder() if held else None

    def goes_on(self, line: Line) -> bool:
        """Whether a line is the delta by which a block goes on, as nearly all are; then it counts as read."""
        order = self._order
        if order is None or order.state not in _usual_deltas():
            return False
        text = order.more_text(line.get("contentBlockDelta"))
        if text is None or not (text.isascii() or is_text(text)):
            return False
        order.position += 1
        return True

    def feed(self, event: Mapping[str, Any]) -> str | None:
        """Go on by one event; what is wrong with its place."""
        if self._order is None:
            return None
        try:
            self._order.feed(event)
        except StreamOrderError as error:
            self._order = None
            return str(error)
        return None

    def finish(self) -> str | None:
        """What is wrong with an end here."""
        try:
            if self._order is not None:
                self._order.finish()
        except StreamOrderError as error:
            return str(error)
        return None


@cache
def _usual_deltas() -> frozenset[str]:
    """The states of GOES_ON whose texts the installed model does not limit: any text is legal there."""
    return frozenset(
        state
        for state, member in GOES_ON.items()
        if not _LIMITS & bedrock.member(_HOLDERS[member], CARRIED.get(member, member)).metadata.keys()
    )


def _is_cut_off(exchange: RecordedExchange, index: int) -> bool:
    """Whether from this event on there is only the beginning of a frame, as where the connection broke."""
    if exchange.end is None:
        return False
    decoder = Decoder()
    try:
        return not any(
            "bytes" not in line or decoder.feed(base64.b64decode(line["bytes"])) for line in exchange.events[index:]
        )
    except DamagedData:
        return False
