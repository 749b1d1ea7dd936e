"""Reading a recording: the whole file or nothing, and what is wrong with it by file, line and reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NoReturn, cast

from converse_harness.errors import DamagedData
from converse_harness.recordings import media
from converse_harness.recordings.contents import DEEPEST, is_deeper
from converse_harness.recordings.exchange import Session
from converse_harness.recordings.keys import said
from converse_harness.recordings.legality import illegal, other_models
from converse_harness.recordings.lines import FORMAT, VERSION, Line
from converse_harness.recordings.structure import Problem, problems_of, session_of

MEND: Final = "Mend the line, or record the session again."
NESTED: Final = DEEPEST + 3
"""A line has what was recorded inside of itself, and the bytes of media in an object of their own."""

BOM: Final = "\ufeff"


class DamagedRecording(DamagedData):
    """A file that is no recording of this version: `path`, `line` (from 1), what is wrong with it, what to do."""

    def __init__(self, path: object, line: int, problem: str, advice: str = MEND) -> None:
        super().__init__(f"{path}:{line}: {problem} {advice}")
        self.path, self.line, self.problem, self.advice = path, line, problem, advice

    def __reduce__(self) -> tuple[type[DamagedRecording], tuple[object, ...]]:
        return type(self), (self.path, self.line, self.problem, self.advice)


def read(path: Path, *, legal: bool = True) -> Session:
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


def parse(text: str, path: object = "<recording>", *, legal: bool = True) -> Session:
    """The session that a text holds. A line may end in CRLF, and the last one in nothing. Raises DamagedRecording.

    `legal` as for `read`.
    """
    lines = json_lines(text, path)
    if media.MARK in text:
        lines = [_with_media(line, number, path) for number, line in enumerate(lines, 1)]
    for problem in problems_of(lines):
        raise DamagedRecording(path, problem.line, problem.text, problem.advice or MEND)
    session = session_of(lines)
    for problem in breaches(session) if legal else ():
        raise DamagedRecording(path, problem.line, problem.text, problem.advice)
    return session


def breaches(session: Session) -> Iterator[Problem]:
    """What AWS would not have sent, in the answers that are not said to be faulty."""
    held_against_others = other_models(session.header)
    for exchange in session.exchanges:
        if not exchange.faults:
            advice = f'Mend it; or if it is meant, say so in line {exchange.at}: "faults": ["what is wrong"].'
            for offset, text in illegal(exchange, held_against_others):
                yield Problem(exchange.at + offset, text, advice)


def json_lines(text: str, path: object) -> list[Line]:
    """The lines, each a JSON object, the first the header of a recording of this version. Raises DamagedRecording."""
    if text.startswith(BOM):
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
    advice = "Install a newer converse-harness, or record the session again." if newer else MEND
    raise DamagedRecording(path, 1, problem, advice)
