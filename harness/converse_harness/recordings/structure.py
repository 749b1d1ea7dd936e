"""Whether lines are a recording: each has the keys of its kind, and they follow each other as they must."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final, cast

from converse_harness import bedrock
from converse_harness.bedrock.service import nearest
from converse_harness.endpoint.operations import labels
from converse_harness.errors import ConverseHarnessError
from converse_harness.recordings.keys import FOLLOWS, KINDS, LONGEST, ONE_OF, TYPES, WHOLE, Key, Problem, kind_of, said
from converse_harness.recordings.legality import is_newer
from converse_harness.recordings.lines import Line, event_of, frame_bytes_of
from converse_harness.recordings.parts import Parts
from converse_harness.stream.events import PADDING
from converse_harness.stream.grammar import ERROR_FRAME

_NONE: Final[Mapping[str, Key]] = MappingProxyType({})


def problems_of(lines: Sequence[Line]) -> Iterator[Problem]:
    """Everything by which the lines are no recording; `session_of` makes one of lines that have none."""
    found = [*header_problems(lines[0]), *_problems_after("header", lines, 1, 0, newer=is_newer(lines[0]))]
    yield from found or _part_problems(lines)


def _part_problems(lines: Sequence[Line]) -> Iterator[Problem]:
    """What is wrong with the parts of requests and with the calls that name them."""
    parts = Parts.of(lines)
    for number, line in enumerate(lines, 1):
        if "call" in line:
            yield from parts.problems(line, number)
        elif "part" in line and parts.line_of[line["part"]] != number:
            yield Problem(
                parts.line_of[line["part"]], f"the part {said(line['part'])} is there already, in line {number}."
            )


def header_problems(header: Line) -> Iterator[Problem]:
    """What is wrong with the first line of a file."""
    return (Problem(1, text) for text in _problems("header", header))


def call_problems(call: Line, at: int, number: int, header: Line) -> Iterator[Problem]:
    """What is wrong with the line of a call, which is line `at` of its file; `number` is the one that it must have."""
    return (Problem(at, text) for text in _call_problems(call, number, newer=is_newer(header)))


def part_problems(part: Line, at: int) -> Iterator[Problem]:
    """What is wrong with the line of a part, which is line `at` of its file."""
    return (Problem(at, text) for text in _problems("part", part))


def answer_problems(lines: Sequence[Line], at: int) -> Iterator[Problem]:
    """What is wrong with the lines of an exchange after that of its call, which is line `at` and as it must be.

    A call without an answer is followed here by the line that follows it in the file, if there is one.
    """
    return _problems_after("call", lines, at, 0, newer=False)


def _problems_after(before: str, lines: Sequence[Line], at: int, calls: int, *, newer: bool) -> Iterator[Problem]:
    """What is wrong with the lines behind the first, which is line `at` of the file, of the kind `before`."""
    for number, line in enumerate(lines[1:], at + 1):
        if before == "event" and _is_usual_delta(line):
            continue
        kind = kind_of(line)
        if kind not in FOLLOWS[before]:
            yield Problem(number, f"this line is {_called(kind, line)}; {_expected(before)}.")
        if kind == "call":
            calls += 1
            found = _call_problems(line, calls, newer=newer)
        else:
            found = _OTHERS[kind](line)
        yield from (Problem(number, text) for text in found)
        before = WHOLE if kind == "head" and any(key in line for key in ONE_OF["head"]) else kind
    if before in ("call", "part"):
        yield Problem(at + len(lines) - 1, f"the file ends after this line; {_expected(before)}.")


def _called(kind: str, line: Line) -> str:
    if kind != "event":
        return KINDS[kind].called
    name = event_of(line)
    return f"an event, {name[0]}" if name is not None else "an event without a type"


def _expected(before: str) -> str:
    where = "after a head with a body" if before == WHOLE else f"after {KINDS[before].called}"
    first, *others = [KINDS[kind].called for kind in FOLLOWS[before]]
    return f"{where} comes {', '.join([first, *others[:-1]])}{f' or {others[-1]}' if others else ''}"


def _is_usual_delta(line: Line) -> bool:
    """Whether it is what nearly all lines are: a padded delta and its time."""
    try:
        at, padding = line["t"], line["p"]
        return (
            type(line["contentBlockDelta"]) is dict
            and len(line) == 3
            and type(at) is type(padding) is int
            and 0 <= at <= LONGEST
            and 0 <= padding <= len(PADDING)
        )
    except KeyError:
        return False


def _problems(kind: str, line: Line, more: Mapping[str, Key] = _NONE) -> Iterator[str]:
    """What is wrong with the keys of a line, and their values; `more` keys may be there as well."""
    keys = {**KINDS[kind].keys, **more}
    for key, value in line.items():
        if key not in keys:
            close = nearest(key, keys)
            hint = f"did you mean {said(close)}? It" if close else "it"
            yield f"the key {said(key)} is not known; {hint} is {KINDS[kind].called}, with {', '.join(keys)}."
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
    known = labels(operation) if isinstance(operation, str) else ()
    others = [key for key in line if key not in KINDS["call"].keys]
    if known is None and not newer:
        close = nearest(operation, bedrock.operations())
        hint = f"did you mean {said(close)}?" if close else f"it has {', '.join(bedrock.operations())}, for instance."
        yield f'"operation" is {said(operation)}, which botocore {bedrock.botocore_version()} does not have; {hint}'
    named = others if known is None else known
    label = Key("name", f"a label in the path of {operation}", required=True)
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
    """What of an event that is not in the model cannot be sent at all."""
    members = line[name]
    if name == ERROR_FRAME and isinstance(members, dict):
        parts = cast("dict[str, object]", members)
        if list(map(type, map(parts.get, ("code", "message")))) != [str, str] or len(parts) > 2:
            yield f'"{name}" is {said(parts)}; it has a "code" and a "message", each a text.'
            return
    try:
        frame_bytes_of(line, {name: members})
    except (ConverseHarnessError, ValueError, LookupError, TypeError, OverflowError):
        yield f"{said(name)} cannot be sent as an event."


_MEMBERS: Final = Key("object", "the members of the event")
_BESIDE: Final = ", ".join(KINDS["event"].keys)

_OTHERS: Final[Mapping[str, Callable[[Line], Iterator[str]]]] = {
    **{kind: partial(_problems, kind) for kind in KINDS},
    "event": _event_problems,
}
"""How each kind of line but a call is looked at."""
