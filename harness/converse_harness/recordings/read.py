"""Reading a recording, the whole file or nothing: each line has the keys of its kind, and they follow each other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple, NoReturn, cast

from converse_harness import bedrock
from converse_harness.bedrock.service import nearest
from converse_harness.endpoint.operations import labels
from converse_harness.errors import ConverseHarnessError, DamagedData
from converse_harness.recordings import media
from converse_harness.recordings.keys import FOLLOWS, KINDS, LONGEST, ONE_OF, TYPES, WHOLE, Key, kind_of, said
from converse_harness.recordings.legality import illegal, is_newer, other_models
from converse_harness.recordings.lines import DEEPEST, FORMAT, VERSION, Line, event_of, frame_bytes_of, is_deeper
from converse_harness.recordings.replies import RecordedExchange, RecordedSession
from converse_harness.stream.events import PADDING
from converse_harness.stream.grammar import ERROR_FRAME

_NONE: Final[Mapping[str, Key]] = MappingProxyType({})


class Problem(NamedTuple):
    """What is wrong with a line, by its number in the file, from 1; what to do, where it is not to mend the line."""

    line: int
    text: str
    advice: str = ""


def problems_of(lines: Sequence[Line]) -> Iterator[Problem]:
    """Everything by which the lines are no recording; `session_of` makes one of lines that have none."""
    yield from (Problem(1, text) for text in _problems("header", lines[0]))
    newer = is_newer(lines[0])
    before, calls = "header", 0
    for number, line in enumerate(lines[1:], 2):
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
    if before == "call":
        yield Problem(len(lines), f"the file ends after this line; {_expected(before)}.")


def session_of(lines: Sequence[Line]) -> RecordedSession:
    """The session of lines that have no problems."""
    starts = [index for index, line in enumerate(lines) if "call" in line]
    cuts = zip(starts, [*starts[1:], len(lines)], strict=False)
    return RecordedSession(lines[0], tuple(exchange_of(lines[start:end], start + 1) for start, end in cuts))


def exchange_of(lines: Sequence[Line], at: int) -> RecordedExchange:
    """The exchange that these lines are, the first of them at this line of the file."""
    call, head, *events = lines
    end = events.pop() if events and "end" in events[-1] else None
    return RecordedExchange(at, call, head, tuple(events), end)


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


_MEND: Final = "Mend the line, or record the session again."
NESTED: Final = DEEPEST + 3
"""A line has what was recorded inside of itself, and the bytes of media in an object of their own."""

_BOM: Final = "\ufeff"


class DamagedRecording(DamagedData):
    """A file that is no recording of this version: `path`, `line` (from 1), what is wrong with it, what to do."""

    def __init__(self, path: object, line: int, problem: str, advice: str = _MEND) -> None:
        super().__init__(f"{path}:{line}: {problem} {advice}")
        self.path, self.line, self.problem, self.advice = path, line, problem, advice

    def __reduce__(self) -> tuple[type[DamagedRecording], tuple[object, ...]]:
        return type(self), (self.path, self.line, self.problem, self.advice)


def read(path: Path, *, legal: bool = True) -> RecordedSession:
    """The session that a file holds. Raises DamagedRecording, and OSError for a file that cannot be read.

    `legal`: what AWS would not have sent is refused, unless the call says that it is meant.
    """
    return parse(text_of_file(path), path, legal=legal)


def text_of_file(path: Path) -> str:
    """The text of a file. Raises DamagedRecording, and OSError for a file that cannot be read."""
    data = path.read_bytes()
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        problem = f"byte {error.start} of the file is not UTF-8."
        raise DamagedRecording(path, line, problem, "Save it as UTF-8, or record the session again.") from error


def parse(text: str, path: object = "<recording>", *, legal: bool = True) -> RecordedSession:
    """The session that a text holds. A line may end in CRLF, and the last one in nothing. Raises DamagedRecording.

    `legal` as for `read`.
    """
    lines = json_lines(text, path)
    if media.MARK in text:
        lines = [_with_media(line, number, path) for number, line in enumerate(lines, 1)]
    for problem in problems_of(lines):
        raise DamagedRecording(path, problem.line, problem.text, problem.advice or _MEND)
    session = session_of(lines)
    for problem in violations(session) if legal else ():
        raise DamagedRecording(path, problem.line, problem.text, problem.advice)
    return session


def violations(session: RecordedSession) -> Iterator[Problem]:
    """What AWS would not have sent, in the answers that are not said to be faulty."""
    held_against_others = other_models(session.header)
    for exchange in session.exchanges:
        if not exchange.faults:
            advice = f'Mend it; or if it is meant, say so in line {exchange.at}: "faults": ["what is wrong"].'
            for offset, text in illegal(exchange, held_against_others):
                yield Problem(exchange.at + offset, text, advice)


def json_lines(text: str, path: object) -> list[Line]:
    """The lines, each a JSON object, the first the header of a recording of this version. Raises DamagedRecording."""
    if text.startswith(_BOM):
        raise DamagedRecording(path, 1, "the file begins with a byte order mark.", "Save it as UTF-8 without one.")
    rows = text.split("\n")
    if not rows[-1].strip():
        rows.pop()
    if not rows:
        raise DamagedRecording(path, 1, "the file is empty.", "Record the session again.")
    lines: list[Line] = []
    for number, row in enumerate(rows, 1):
        # What is usual is tried, not asked for: there are thousands of lines.
        try:
            value, end = _decode(row)
        except (ValueError, RecursionError):
            value, end = None, -1
        if end != len(row) or type(value) is not dict or (end > 2 * NESTED and is_deeper(value, NESTED)):
            cut = number == len(rows) and not text.endswith("\n")
            value = _read_with_care(row, path, number, cut=cut)
        lines.append(cast("Line", value))
        if number == 1:
            _check_header(lines[0], path)
    return lines


def _with_media(line: Line, number: int, path: object) -> Line:
    try:
        return media.put_back(line, Path(str(path)).parent)
    except media.DamagedMedia as error:
        raise DamagedRecording(path, number, str(error)) from error


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{digits[:20]} is larger than any float")
    return value


_decode: Final = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite).raw_decode


def _read_with_care(row: str, path: object, number: int, *, cut: bool) -> Line:
    """What a line that is not as usual holds, or what is wrong with it."""
    row = row.strip(" \t\r")
    if not row:
        raise DamagedRecording(path, number, "this line is empty.", "Delete it.")
    try:
        value, end = cast("tuple[object, int]", _decode(row))
        if end != len(row):
            raise ValueError(f"there is more behind its value: column {end + 1}")
    except ValueError as error:
        why = f"{error.msg}: column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
        end_of_file = " The file ends in the middle of it." if cut else ""
        raise DamagedRecording(path, number, f"this line is not JSON ({why}).{end_of_file}") from error
    except RecursionError:
        value, end = {}, -1
    if end < 0 or is_deeper(value, NESTED):
        raise DamagedRecording(path, number, f"this line is nested more than {NESTED} levels deep.") from None
    if not isinstance(value, dict):
        raise DamagedRecording(path, number, f"this line is {said(value)}; a line is a JSON object.")
    return cast("Line", value)


def _check_header(header: Line, path: object) -> None:
    if header.get("format") != FORMAT:
        problem = f'the first line is {said(header)}; that of a recording has "format": "{FORMAT}".'
        raise DamagedRecording(path, 1, problem, "Is it another file?")
    version: Any = header.get("version")
    if version == VERSION and type(version) is int:
        return
    problem = f'"version" is {said(version)}; this converse-harness reads version {VERSION}.'
    newer = type(version) is int and version > VERSION
    advice = "Install a newer converse-harness, or record the session again." if newer else _MEND
    raise DamagedRecording(path, 1, problem, advice)
