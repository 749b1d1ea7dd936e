"""Reading a recording, the whole file or nothing: its lines, its media, its exchanges, whether these are legal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn, cast

from converse_harness.errors import DamagedData
from converse_harness.recordings import media
from converse_harness.recordings.keys import Problem, said
from converse_harness.recordings.legality import illegal, other_models
from converse_harness.recordings.lines import DEEPEST, FORMAT, VERSION, Line, is_deeper
from converse_harness.recordings.parts import Parts, exchanges_in
from converse_harness.recordings.replies import RecordedExchange, RecordedSession
from converse_harness.recordings.structure import problems_of

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
        lines = [with_media(line, number, path) for number, line in enumerate(lines, 1)]
    refuse(problems_of(lines), path)
    session = session_of(lines)
    if legal:
        refuse(violations(session), path)
    return session


def refuse(problems: Iterable[Problem], path: object) -> None:
    """Raise DamagedRecording for the first of these problems, if there is one."""
    for problem in problems:
        raise DamagedRecording(path, problem.line, problem.text, problem.advice or _MEND)


def session_of(lines: Sequence[Line]) -> RecordedSession:
    """The session of lines that have no problems."""
    parts = Parts.of(lines)
    exchanges = (
        exchange_of([parts.whole(call, index + 1), *answer], index + 1)
        for index, (call, *answer) in exchanges_in(lines)
    )
    return RecordedSession(lines[0], tuple(exchanges))


def exchange_of(lines: Sequence[Line], at: int) -> RecordedExchange:
    """The exchange that these lines are, the first of them at this line of the file."""
    call, head, *events = lines
    end = events.pop() if events and "end" in events[-1] else None
    return RecordedExchange(at, call, head, tuple(events), end)


def violations(session: RecordedSession) -> Iterator[Problem]:
    """What AWS would not have sent, in the answers that are not said to be faulty."""
    for exchange in session.exchanges:
        yield from exchange_violations(exchange, session.header)


def exchange_violations(exchange: RecordedExchange, header: Line) -> Iterator[Problem]:
    """What AWS would not have sent in this answer, unless that is said to be faulty."""
    if not exchange.faults:
        advice = f'Mend it; or if it is meant, say so in line {exchange.at}: "faults": ["what is wrong"].'
        for offset, text in illegal(exchange, other_models(header)):
            yield Problem(exchange.at + offset, text, advice)


def json_lines(text: str, path: object) -> list[Line]:
    """The lines, each a JSON object, the first the header of a recording of this version. Raises DamagedRecording."""
    rows = Rows.of(text, path)
    return [rows.header(), *map(rows.line, range(2, len(rows.texts) + 1))]


class Rows(NamedTuple):
    """The lines of a file as they stand, and whether the last of them is ended; what they hold is read one by one."""

    path: object
    texts: list[str]
    ended: bool

    @classmethod
    def of(cls, text: str, path: object) -> Rows:
        """The lines of a text. Raises DamagedRecording for one that has none."""
        if text.startswith(_BOM):
            raise DamagedRecording(path, 1, "the file begins with a byte order mark.", "Save it as UTF-8 without one.")
        texts = text.split("\n")
        if not texts[-1].strip():
            texts.pop()
        if not texts:
            raise DamagedRecording(path, 1, "the file is empty.", "Record the session again.")
        return cls(path, texts, text.endswith("\n"))

    def header(self) -> Line:
        """The first line, that of a recording of this version. Raises DamagedRecording."""
        header = self.line(1)
        _check_header(header, self.path)
        return header

    def line(self, number: int) -> Line:
        """The JSON object on a line, by its number from 1. Raises DamagedRecording."""
        row = self.texts[number - 1]
        # What is usual is tried, not asked for: there are thousands of lines.
        try:
            value, end = _decode(row)
        except (ValueError, RecursionError):
            value, end = None, -1
        if end != len(row) or type(value) is not dict or (end > 2 * NESTED and is_deeper(value, NESTED)):
            cut = number == len(self.texts) and not self.ended
            value = _read_with_care(row, self.path, number, cut=cut)
        return cast("Line", value)


def with_media(line: Line, number: int, path: object) -> Line:
    """A line of a file with its media in it again. Raises DamagedRecording."""
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
    advice = f"{'Install a newer converse-harness, or r' if newer else 'R'}ecord the session again."
    raise DamagedRecording(path, 1, problem, advice)
