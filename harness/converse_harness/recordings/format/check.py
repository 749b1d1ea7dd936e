"""Check that the lines of a file are a valid recording, and that AWS could have sent the recorded answers.

In a valid recording, each line has the keys of its kind, and the kinds follow each other in a legal order. AWS could
have sent an answer if its events are in a legal order, and if it matches AWS's API model or the known additions to this
model.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from converse_harness import bedrock
from converse_harness.bedrock import FindingKind
from converse_harness.endpoint.operations import labels
from converse_harness.errors import ConverseHarnessError, DamagedData, StreamOrderError
from converse_harness.json_values import is_object
from converse_harness.recordings.format.exchanges import RecordedExchange
from converse_harness.recordings.format.lines import (
    FOLLOWS,
    KINDS,
    LONGEST,
    ONE_OF,
    TYPES,
    WHOLE,
    Key,
    Line,
    Problem,
    body_bytes,
    event_as_sent,
    event_of,
    frame_bytes_of,
    hint,
    is_text,
    kind_of,
    said,
    wire_event_of,
)
from converse_harness.recordings.format.shared_parts import MissingPart, Parts
from converse_harness.stream.events import PADDING
from converse_harness.stream.frames import Decoder
from converse_harness.stream.grammar import CARRIED, ERROR_FRAME, GOES_ON, StreamOrder
from converse_harness.words import and_more, listed, nearest


def problems_of(lines: Sequence[Line]) -> Iterator[Problem]:
    """Yield the format errors in a recording's lines.

    Only lines without such errors may be passed to `read.session_of`.
    """
    first, *others = lines
    found = [*line_problems(first, 1), *problems_after("header", others, 1, newer=is_newer(first))]
    if found:
        yield from found
        return
    parts = Parts.of(lines)
    for number, line in enumerate(lines, 1):
        if "call" in line:
            try:
                parts.whole(line, number)
            except MissingPart as error:
                yield Problem(error.line or number, str(error))
        elif "part" in line and (last := parts.line_of[line["part"]]) != number:
            yield Problem(last, f"the part {said(line['part'])} is there already, in line {number}.")


def line_problems(line: Line, at: int, calls: int = 0, *, newer: bool = False) -> Iterator[Problem]:
    """Yield the errors within one line.

    `at` is the number of this line in the file, from 1; `calls` is the number of calls above it. If `newer` is true,
    the recording was made with a newer botocore, so an unknown operation is not an error.
    """
    kind = kind_of(line) if at > 1 else "header"
    if kind == "call":
        found = _call_problems(line, calls + 1, newer=newer)
    else:
        found = _event_problems(line) if kind == "event" else _problems(kind, line)
    yield from (Problem(at, text) for text in found)


def problems_after(before: str, lines: Sequence[Line], at: int, *, newer: bool = False) -> Iterator[Problem]:
    """Yield the errors in `lines`. They follow the line with the number `at` in the file, whose kind is `before`."""
    calls = 0
    for number, line in enumerate(lines, at + 1):
        if before == "event" and _is_usual_delta(line):
            continue
        kind = kind_of(line)
        if kind not in FOLLOWS[before]:
            yield Problem(number, f"this line is {_called(kind, line)}; {_expected(before)}.")
        yield from line_problems(line, number, calls, newer=newer)
        calls += kind == "call"
        before = WHOLE if kind == "head" and any(key in line for key in ONE_OF["head"]) else kind
    if before in ("call", "part"):
        yield Problem(at + len(lines), f"the file ends after this line; {_expected(before)}.")


def _called(kind: str, line: Line) -> str:
    found = event_of(line)
    event = f", {found[0]}" if found else " without a type"
    return KINDS[kind].called + (event if kind == "event" else "")


def _expected(before: str) -> str:
    where = "after a head with a body" if before == WHOLE else f"after {KINDS[before].called}"
    return f"{where} comes {listed([KINDS[kind].called for kind in FOLLOWS[before]], 'or')}"


def _is_usual_delta(line: Line) -> bool:
    """Whether a line has only a `contentBlockDelta` event, a valid time and a valid padding, as nearly all lines do."""
    try:
        at, padding = line["t"], line["p"]
        are_valid = type(at) is type(padding) is int and 0 <= at <= LONGEST and 0 <= padding <= len(PADDING)
        return are_valid and len(line) == 3 and type(line["contentBlockDelta"]) is dict
    except KeyError:
        return False


def _problems(kind: str, line: Line, more: Mapping[str, Key] = MappingProxyType({})) -> Iterator[str]:
    """Yield the errors in a line's keys and values. Allowed are the keys of its `kind`, and the keys in `more`."""
    keys = {**KINDS[kind].keys, **more}
    for key, value in line.items():
        if key not in keys:
            close = nearest(key, keys)
            it = f"did you mean {said(close)}? It" if close else "it"
            yield f"the key {said(key)} is not known; {it} is {KINDS[kind].called}, with {', '.join(keys)}."
        elif not TYPES[keys[key].type].test(value):
            yield f'"{key}" is {said(value)}; it must be {TYPES[keys[key].type].words}.'
    for key, known in keys.items():
        if known.required and key not in line:
            yield f'"{key}" is missing: {known.meaning}.'
    several = [key for key in ONE_OF.get(kind, ()) if key in line]
    if len(several) > 1:
        yield f"it has {' and '.join(several)}; one of them says it all."


def _call_problems(line: Line, number: int, *, newer: bool) -> Iterator[str]:
    operation: object = line.get("operation")
    known = labels(operation, line.get("service")) if isinstance(operation, str) else ()
    others = [key for key in line if key not in KINDS["call"].keys]
    if known is None and not newer:
        close = hint(operation, bedrock.operations(), ", for instance")
        yield f'"operation" is {said(operation)}, which botocore {bedrock.botocore_version()} does not have; {close}'
    named = others if known is None else known
    label = Key("name", f"a label in the path of {operation}", required="anyRequest" not in line)
    yield from _problems("call", line, dict.fromkeys(named, label))
    if type(line["call"]) is int and line["call"] != number:
        yield f'"call" is {line["call"]}; the calls are numbered from 1, and this is call {number}.'
    if ("operation" in line) == ("method" in line and "path" in line):
        yield 'it has either "operation", or "method" and "path" where that is not known.'


def _event_problems(line: Line) -> Iterator[str]:
    names = [key for key in line if key not in KINDS["event"].keys]
    if len(names) > 1:
        yield f"it has {' and '.join(map(said, names))}; a line has one event, and beside it {_BESIDE}."
        return
    yield from _problems("event", line, dict.fromkeys(names, _MEMBERS))
    if not names:
        if "frame" not in line:
            yield f"it has no event; a line has one, and beside it {_BESIDE}."
        elif "payload" in line or "p" in line:
            yield 'a "frame" without an event has neither "payload" nor "p".'
    elif names[0] not in bedrock.stream_events():
        yield from _unknown_event_problems(names[0], line)


def _unknown_event_problems(name: str, line: Line) -> Iterator[str]:
    """Yield the reason, if any, why an event of a type that is not in AWS's API model cannot be encoded as a frame."""
    members = line[name]
    usual = {"code": str, "message": str}
    if name == ERROR_FRAME and is_object(members) and {key: type(each) for key, each in members.items()} != usual:
        yield f'"{name}" is {said(members)}; it has a "code" and a "message", each a text.'
        return
    try:
        frame_bytes_of(line, event_as_sent(line))
    except (ConverseHarnessError, ValueError, LookupError, TypeError, OverflowError):
        yield f"{said(name)} cannot be sent as an event."


_MEMBERS: Final = Key("object", "the members of the event")
_BESIDE: Final = ", ".join(KINDS["event"].keys)


# The code below checks whether AWS could have sent an answer.

MAX_PROBLEMS: Final = 5
"""The maximum number of problems listed for one answer; further problems are only counted."""

_NEWER: Final = frozenset({FindingKind.UNKNOWN, FindingKind.ENUM, FindingKind.UNION})
_OLDER: Final = frozenset({FindingKind.REQUIRED, FindingKind.LENGTH, FindingKind.RANGE, FindingKind.PATTERN})
"""The kinds of validation findings to ignore in a recording that was made with a newer (`_NEWER`) or older (`_OLDER`)
botocore than the installed one.
"""

_Kinds = Collection[FindingKind]

_HOLDERS: Final = {
    "text": "ContentBlockDelta",
    "toolUse": "ToolUseBlockDelta",
    "reasoningContent": "ReasoningContentBlockDelta",
}
_LIMITS: Final = frozenset({"min", "max", "pattern", "enum"})


def faults_of(exchange: RecordedExchange) -> list[str]:
    """Return the texts for the key `faults` of a call: at most MAX_PROBLEMS violations of AWS's rules in its answer."""
    found = [text for _, text in illegal(exchange)]
    return found if len(found) <= MAX_PROBLEMS else and_more(found, MAX_PROBLEMS - 1)


def is_newer(header: Line) -> bool:
    """Whether a recording was made with a newer botocore than the installed one."""
    return _version(header.get("botocore")) > _version(bedrock.botocore_version())


def _other_models(header: Line) -> _Kinds:
    """Return the kinds of validation findings to ignore if a recording was made with another version of botocore."""
    made, here = _version(header.get("botocore")), _version(bedrock.botocore_version())
    return () if made in ((), here) else _NEWER if made > here else _OLDER


def illegal(exchange: RecordedExchange, allowing: _Kinds = ()) -> Iterator[tuple[int, str]]:
    """Yield each violation of AWS's rules in an answer, as a text.

    The number before the text is the distance, in lines, from the line of the call. `allowing` are the kinds of
    validation findings to ignore.
    """
    if "failed" in exchange.head:
        return
    if any(key.startswith("body") for key in exchange.head):
        if exchange.end is None:  # a body that was cut off cannot be checked
            yield from ((1, text) for text in _body_problems(exchange, allowing))
    elif (status := exchange.head["status"]) != 200:
        yield 1, f'status {status} has no body; only 200 has a stream. Give it a "body".'
    elif exchange.operation in bedrock.operations():
        operation = bedrock.operation(exchange.operation)
        if not operation.has_event_stream_output:
            yield 1, f"{operation.name} answers with a body, not with an event stream."
        else:
            yield from _stream_problems(exchange, operation, allowing)


def violations(exchange: RecordedExchange, header: Line) -> Iterator[Problem]:
    """Yield each violation of AWS's rules in an answer; none if the call's key `faults` says that they are intended."""
    if not exchange.faults:
        advice = f'Mend it; or if it is meant, say so in line {exchange.at}: "faults": ["what is wrong"].'
        for offset, text in illegal(exchange, _other_models(header)):
            yield Problem(exchange.at + offset, text, advice)


def _version(text: object) -> tuple[int, ...]:
    parts = text.split(".") if isinstance(text, str) else []
    return tuple(map(int, parts)) if all(part.isdecimal() for part in parts) else ()


def _body_problems(exchange: RecordedExchange, allowing: _Kinds) -> Iterator[str]:
    head = exchange.head
    status: int = head["status"]
    name: str | None = head.get("type")
    if name is not None:
        yield from _error_problems(name, status, exchange, allowing)
    elif status < 400 and exchange.operation in bedrock.operations():
        operation = bedrock.operation(exchange.operation)
        if status != (usual := operation.http.get("responseCode", 200)):
            yield f"{operation.name} answers with status {usual}, not {status}."
        elif operation.has_event_stream_output:
            yield f"{operation.name} answers with an event stream, not with a body."
        elif "payload" not in operation.output_shape.serialization:
            yield from _shape_problems(operation.output_shape.name, head, allowing)


def _error_problems(name: str, status: int, exchange: RecordedExchange, allowing: _Kinds) -> Iterator[str]:
    service = exchange.service
    if service not in bedrock.services():
        return  # the installed botocore has no model of it
    known = bedrock.all_errors(service).get(name)
    if known is not None:
        if known.status != status:
            yield f"{name} has status {known.status}, not {status} (AWS model)."
        yield from _shape_problems(name, exchange.head, allowing, service)
    elif FindingKind.UNKNOWN not in allowing:
        close = hint(name, bedrock.all_errors(service))
        yield f"AWS's API model has no error {said(name)} (botocore {bedrock.botocore_version()}); {close}"


def _shape_problems(shape: str, head: Line, allowing: _Kinds, of: str = bedrock.SERVICE) -> Iterator[str]:
    try:
        body: object = json.loads(body_bytes("body", head) or b"")
    except (ValueError, RecursionError):
        yield f"the body is not the JSON of a {shape}."
        return
    yield from _violations(shape, body, allowing, of)


def _violations(shape: str, parsed: object, allowing: _Kinds, of: str = bedrock.SERVICE) -> Iterator[str]:
    value = bedrock.from_json(shape, parsed, of)
    return (each.message for each in bedrock.validate(shape, value, of=of) if each.kind not in allowing)


def _stream_problems(
    exchange: RecordedExchange, operation: bedrock.Operation, allowing: _Kinds
) -> Iterator[tuple[int, str]]:
    # Set to None after the first event in a wrong order.
    order = StreamOrder() if operation.name == "ConverseStream" else None
    usual = _usual_deltas()
    for offset, line in enumerate(exchange.events, 2):
        if order is not None and order.state in usual:
            text = order.more_text(line.get("contentBlockDelta"))
            if text is not None and (text.isascii() or is_text(text)):
                # This event continues the text of a block, as nearly all events do. It needs no slow check against
                # AWS's API model.
                order.position += 1
                continue
        found = wire_event_of(line)
        if found is None:
            if not _is_cut_off(exchange, offset - 2):
                yield offset, "these bytes are no event of a stream."
            return
        event = {found[0]: found[1]}
        broken = list(_model_problems(found[0], event, operation, allowing))
        yield from ((offset, text) for text in broken)
        try:
            if order is not None:
                order.feed(event)
        except StreamOrderError as error:
            order = None
            if not broken:
                yield offset, str(error)
    if order is not None and exchange.end is None:
        try:
            order.finish()
        except StreamOrderError as error:
            yield 1 + len(exchange.events), str(error)


def _model_problems(
    name: str, event: Mapping[str, Any], operation: bedrock.Operation, allowing: _Kinds
) -> Iterator[str]:
    union = operation.get_event_stream_output()
    if name in union.members:
        yield from _violations(union.name, event, allowing)
    elif name != ERROR_FRAME and FindingKind.UNKNOWN not in allowing:
        close = hint(name, union.members)
        yield f"{operation.name} has no event {said(name)} (botocore {bedrock.botocore_version()}); {close}"


@cache
def _usual_deltas() -> frozenset[str]:
    """Return the StreamOrder states in which a delta may continue a text, if AWS's API model allows any text there."""
    return frozenset(
        state
        for state, member in GOES_ON.items()
        if not _LIMITS & bedrock.member(_HOLDERS[member], CARRIED.get(member, member)).metadata.keys()
    )


def _is_cut_off(exchange: RecordedExchange, index: int) -> bool:
    """Whether an answer was cut off within a frame.

    Then its stream lines from `index` on contain only the beginning of a frame.
    """
    if exchange.end is None:
        return False
    decoder = Decoder()
    lines = exchange.events[index:]
    try:
        return not any("bytes" not in line or decoder.feed(base64.b64decode(line["bytes"])) for line in lines)
    except DamagedData:
        return False
