"""Reading a recording: the whole file or nothing, and what is wrong with it by file, line and reason."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from converse_harness.errors import DamagedData
from converse_harness.recordings import media
from converse_harness.recordings.exchange import Exchange, Session
from converse_harness.recordings.lines import ENDS, EVENT_KEYS, FORMAT, VERSION, Line, event_of

_MEND: Final = "Mend the line, or record the session again."


class DamagedRecording(DamagedData):
    """A file that is no recording of this version: `path`, `line` (from 1) and what is wrong with it."""

    def __init__(self, path: object, line: int, problem: str, advice: str = _MEND) -> None:
        super().__init__(f"{path}:{line}: {problem} {advice}")
        self.path, self.line, self.problem = path, line, problem


def read(path: Path) -> Session:
    """The session that a file holds. Raises DamagedRecording, and OSError for a file that cannot be read."""
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise DamagedRecording(path, line, f"byte {error.start} of the file is not UTF-8.") from error
    return parse(text, path)


def parse(text: str, path: object = "<recording>") -> Session:
    """The session that a text holds. Raises DamagedRecording."""
    lines = _json_lines(text, path)
    header = lines[0] if lines else {}
    _check_header(header, path)
    if media.MARK in text:
        lines = [_with_media(line, number, path) for number, line in enumerate(lines, 1)]
    return Session(header, tuple(_exchanges(lines, path)))


def _with_media(line: Line, number: int, path: object) -> Line:
    try:
        return media.put_back(line, Path(str(path)).parent)
    except media.DamagedMedia as error:
        raise DamagedRecording(path, number, str(error)) from error


def _json_lines(text: str, path: object) -> list[Line]:
    rows = text.split("\n")
    if rows and not rows[-1]:
        rows.pop()
    try:
        # At once: a tenth of the time of parsing thousands of short lines one by one.
        parsed: list[Any] = json.loads(f"[{','.join(rows)}]")
        if len(parsed) == len(rows) and all(type(each) is dict for each in parsed):
            return parsed
    except ValueError:
        pass
    for number, row in enumerate(rows, 1):
        try:
            value: object = json.loads(row)
        except ValueError as error:
            cut = " The file ends in the middle of it." if number == len(rows) and not text.endswith("\n") else ""
            raise DamagedRecording(path, number, f"this line is not JSON ({error}).{cut}") from error
        if not isinstance(value, dict):
            raise DamagedRecording(path, number, f"this line is {row[:40]!r}; a line is a JSON object.")
    raise DamagedRecording(path, 1, "the lines are JSON one by one and not together.")


def _check_header(header: Line, path: object) -> None:
    if header.get("format") != FORMAT:
        came = json.dumps(header)[:60]
        raise DamagedRecording(
            path, 1, f'the first line is {came}; that of a recording has "format": "{FORMAT}".', "Is it another file?"
        )
    version = header.get("version")
    if version != VERSION:
        raise DamagedRecording(
            path,
            1,
            f"its version is {version!r}; this converse-harness reads version {VERSION}.",
            "Install a newer converse-harness, or record the session again.",
        )


def _exchanges(lines: Sequence[Line], path: object) -> Iterator[Exchange]:
    starts = [index for index, line in enumerate(lines) if "call" in line]
    if len(lines) > 1 and starts[:1] != [1]:
        raise DamagedRecording(path, 2, 'this line belongs to no call; one with "call" begins each exchange.')
    for start, following in zip(starts, [*starts[1:], len(lines)], strict=False):
        yield _exchange(lines[start:following], start + 1, path)


def _exchange(lines: Sequence[Line], at: int, path: object) -> Exchange:
    call, *rest = lines
    if not rest or not ("status" in rest[0] or "failed" in rest[0]):
        raise DamagedRecording(
            path, at + bool(rest), 'after a call comes the head of its answer, a line with "status" (or "failed").'
        )
    head, *events = rest
    _check_time(head, path, at + 1)
    end = events.pop() if events and "end" in events[-1] else None
    if end is not None and end["end"] not in ENDS:
        raise DamagedRecording(path, at + len(lines) - 1, f'"end" is {end["end"]!r}; one of {", ".join(ENDS)}.')
    for number, line in enumerate(events, at + 2):
        _check_time(line, path, number)
        found = event_of(line)
        if found is None and not ("frame" in line or "bytes" in line):
            raise DamagedRecording(path, number, "this line has no event.")
        if found is not None and type(found[1]) is not dict:
            raise DamagedRecording(path, number, f"{found[0]} is {found[1]!r}; the members of an event are an object.")
        if found is not None and len(line) - 1 > sum(map(line.__contains__, EVENT_KEYS)):
            several = ", ".join(key for key in line if key not in EVENT_KEYS)
            raise DamagedRecording(path, number, f"this line has several events: {several}.")
    return Exchange(at, call, head, tuple(events), end)


def _check_time(line: Line, path: object, number: int) -> None:
    if type(line.get("t")) is not int:
        raise DamagedRecording(path, number, f'"t" is {line.get("t")!r}; whole milliseconds since the request.')
