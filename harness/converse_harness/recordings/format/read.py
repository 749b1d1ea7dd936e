"""Read a recording: the whole file at once, or each exchange when it is first used.

A file with thousands of exchanges opens quickly, because the first line of each exchange is found without decoding
JSON. Nearly every call needs only the next exchange. Both ways of reading raise the same errors.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn, cast

from converse_harness.errors import DamagedData
from converse_harness.json_values import is_deeper
from converse_harness.recordings.format import media
from converse_harness.recordings.format.check import is_newer, line_problems, problems_after, problems_of, violations
from converse_harness.recordings.format.exchanges import Answer, RecordedExchange, RecordedSession
from converse_harness.recordings.format.lines import DEEPEST, FORMAT, VERSION, Line, Problem, said
from converse_harness.recordings.format.other_files import broken_link, other_file
from converse_harness.recordings.format.shared_parts import MissingPart, Parts, exchanges_in

_MEND: Final = "Mend the line, or record the session again."
NESTED: Final = DEEPEST + 3
"""The deepest nesting of a line: DEEPEST levels of recorded JSON, and 3 for the line and for references to media."""

_CONFLICT: Final = re.compile(r"(?:<{7}|={7}|>{7}|\|{7})(?: .*)?")
"""Matches a line that git writes into a file to mark a merge conflict."""


class DamagedRecording(DamagedData):
    """Raised if a file is not a valid recording, or is a recording of another version.

    The attributes `path`, `line` (from 1), `problem` and `advice` contain the parts of the message.
    """

    def __init__(self, path: object, line: int, problem: str, advice: str = _MEND) -> None:
        super().__init__(f"{path}:{line}: {problem} {advice}".rstrip())
        self.path, self.line, self.problem, self.advice = path, line, problem, advice

    def __reduce__(self) -> tuple[type[DamagedRecording], tuple[object, ...]]:
        return type(self), (self.path, self.line, self.problem, self.advice)


def read(path: Path, *, legal: bool = True) -> RecordedSession:
    """Return the session in a file. Raises DamagedRecording, and OSError for a file that cannot be read.

    If `legal` is true, DamagedRecording is also raised for an answer that AWS would not have sent, unless its call
    declares `faults`.
    """
    return parse(text_of_file(path), path, legal=legal)


def text_of_file(path: Path) -> str:
    """Return the text of a file. Raises DamagedRecording, and OSError for a file that cannot be read."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        if (other := broken_link(path)) is not None:
            raise DamagedRecording(path, 1, *other) from None
        raise
    if (other := other_file(data, path.name)) is not None:
        raise DamagedRecording(path, 1, *other)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        problem = f"byte {error.start} of the file is not UTF-8."
        raise DamagedRecording(path, line, problem, "Save it as UTF-8, or record the session again.") from error


def parse(text: str, path: object = "<recording>", *, legal: bool = True, media_files: bool = True) -> RecordedSession:
    """Return the session in a text. Lines may end in CRLF; the last line needs no line ending. Raises DamagedRecording.

    `legal` has the same meaning as for `read`. If `media_files` is false, references to media files are not replaced by
    the content of these files.
    """
    rows = Rows(text, path)
    lines = [*map(rows.line if media_files else rows.without_media, rows.numbers)]
    _refuse(problems_of(lines), path)
    session = replace(session_of(lines), has_digests=media.has_digests(text))
    if legal:
        _refuse((each for exchange in session.exchanges for each in violations(exchange, session.header)), path)
    return session


def session_without_media(text: str, path: object) -> RecordedSession:
    """Return the session in a text, legal or not, without reading the files with media. Raises DamagedRecording."""
    return parse(text, path, legal=False, media_files=False)


def session_of(lines: Sequence[Line]) -> RecordedSession:
    """Return the session that consists of these lines. The caller has checked the lines with `problems_of`."""
    parts = Parts.of(lines)
    numbered = ((index + 1, exchange) for index, exchange in exchanges_in(lines))
    exchanges = (exchange_of([parts.whole(call, at), *answer], at) for at, (call, *answer) in numbered)
    return RecordedSession(lines[0], tuple(exchanges))


def exchange_of(lines: Sequence[Line], at: int) -> RecordedExchange:
    """Return the exchange that consists of these lines; `at` is the number of the call's line in the file, from 1."""
    call, head, *events = lines
    end = events.pop() if events and "end" in events[-1] else None
    return RecordedExchange(at, call, head, tuple(events), end)


def _refuse(problems: Iterable[Problem], path: object) -> None:
    """Raise DamagedRecording for the first of these problems; return if there are no problems."""
    for problem in problems:
        raise DamagedRecording(path, problem.line, problem.text, problem.advice or _MEND)


class Rows:
    """The lines of a file as text; each line is decoded separately, on demand.

    Raises DamagedRecording for an empty text, a byte order mark, or a first line that is not a header of this version.
    """

    def __init__(self, text: str, path: object) -> None:
        self.path = path
        if text.startswith("\ufeff"):
            raise DamagedRecording(path, 1, "the file begins with a byte order mark.", "Save it as UTF-8 without one.")
        self.texts = text.split("\n")
        self._is_ended = not self.texts[-1].strip()
        if self._is_ended:
            self.texts.pop()
        if not self.texts:
            raise DamagedRecording(path, 1, "the file is empty.", "Record the session again.")
        self._has_media = media.has_marks(text)
        self.header = self.as_written(1)
        _check_header(self.header, path)

    @property
    def numbers(self) -> range:
        """The numbers of all lines, from 1."""
        return range(1, len(self.texts) + 1)

    def as_written(self, number: int) -> Line:
        """Return the JSON object on the line with this number, from 1. Raises DamagedRecording."""
        row = self.texts[number - 1]
        # A file may have thousands of lines, so decode the line as one plain JSON object, which is fast. If this fails,
        # read the line again with all checks.
        try:
            value, end = _scan(row, 0)
        except (ValueError, RecursionError, StopIteration):
            value, end = None, -1
        if end != len(row) or type(value) is not dict or (end > 2 * NESTED and is_deeper(value, NESTED)):
            return _read_with_care(row, self.path, number, cut=number == len(self.texts) and not self._is_ended)
        return cast("Line", value)

    def line(self, number: int) -> Line:
        """Return the JSON object on the line with this number, with media from the media files. Raises
        DamagedRecording.
        """
        line = self.as_written(number)
        if not self._has_media:
            return line
        try:
            return media.put_back(line, Path(str(self.path)).parent)
        except media.DamagedMedia as error:
            raise DamagedRecording(self.path, number, str(error)) from error

    def without_media(self, number: int) -> Line:
        """Return the JSON object on the line with this number, with references to its media files as they are written.

        Raises DamagedRecording.
        """
        line = self.as_written(number)
        return media.with_digests(line) if self._has_media else line


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{digits[:20]} is larger than any float")
    return value


_DECODER: Final[Any] = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)
_scan: Final = _DECODER.scan_once


def _read_with_care(row: str, path: object, number: int, *, cut: bool) -> Line:
    """Return the JSON object on a line for which the fast reading failed. Raises DamagedRecording if there is no such
    object.

    `cut` states whether the file ends within this line.
    """
    row = row.strip(" \t\r")
    if _CONFLICT.fullmatch(row):
        problem = (
            f"this line is a conflict marker of git, {said(row)}: resolve the conflict, or record the session again."
        )
        raise DamagedRecording(path, number, problem, "")
    if not row:
        raise DamagedRecording(path, number, "this line is empty.", "Delete it.")
    try:
        value, end = cast("tuple[object, int]", _DECODER.raw_decode(row))
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
    if version != VERSION or type(version) is not int:
        problem = f'"version" is {said(version)}; this converse-harness reads version {VERSION}.'
        newer = type(version) is int and version > VERSION
        advice = f"{'Install a newer converse-harness, or r' if newer else 'R'}ecord the session again."
        raise DamagedRecording(path, 1, problem, advice)


# The code below reads each exchange only when it is first used.

_CALL: Final = '{"call"'
_PART: Final = '{"part": "'
_OTHER: Final = '{"t"'
"""_CALL, _PART and _OTHER are the beginnings of the lines of calls, parts and answers, as the recorder writes them."""


def open_file(path: Path) -> RecordedSession:
    """Return the session in a file; each exchange is read when its `call` or `answer` is first used.

    Raises OSError for a file that cannot be read, and DamagedRecording for a file that is not a recording. An invalid
    exchange raises DamagedRecording when it is read. But a file that is not formatted as the recorder writes it is read
    and checked completely at once.
    """
    return open_text(text_of_file(path), path)


def open_text(text: str, path: object = "<recording>") -> RecordedSession:
    """Return the session in a text. As in `open_file`, each exchange is read when it is first used."""
    file = _OpenFile(text, path)
    if not file.is_usual:
        return parse(text, path)
    masks, digests = '"masked"' in text, media.has_digests(text)
    return RecordedSession(file.header, tuple(file.exchanges()), has_masks=masks, has_digests=digests)


class _OpenFile(Rows):
    """The lines of a recording; `starts` contains the line number of each call, found without decoding JSON.

    `is_usual` is true if the file is formatted as the recorder writes it. Otherwise `starts` may be wrong.
    """

    def __init__(self, text: str, path: object) -> None:
        super().__init__(text, path)
        _refuse(line_problems(self.header, 1), path)
        begun = [number for number, row in enumerate(self.texts, 1) if row.startswith((_CALL, _PART))]
        self.starts = [number for number in begun if self.texts[number - 1].startswith(_CALL)]
        self._ends = [*begun, len(self.texts) + 1]
        parts = ((self.texts[number - 1], number) for number in begun)
        named = {row[len(_PART) :].partition('"')[0]: number for row, number in parts if row.startswith(_PART)}
        self.is_usual = (
            bool(self.starts)
            and self._ends[0] == 2
            and self._ends[-2] == self.starts[-1]
            and len(named) + len(self.starts) == len(begun)
            and all(row.startswith((_CALL, _PART, _OTHER)) for row in self.texts[1:])
        )
        self._parts = Parts(named, self._part, self._answered)

    def exchanges(self) -> Iterator[RecordedExchange]:
        """Yield the exchanges. An exchange is read when its `call` or `answer` is first used."""
        for number, at in enumerate(self.starts, 1):
            yield RecordedExchange.later(at, partial(self._call, at, number), partial(self._answer, at))

    def _call(self, at: int, number: int) -> Line:
        call = self.line(at)
        _refuse(line_problems(call, at, number - 1, newer=is_newer(self.header)), self.path)
        try:
            return self._parts.whole(call, at)
        except MissingPart as error:
            for each in self._parts.line_of.values():
                self._part(each)  # if the part itself is invalid, this raises a more exact error
            raise DamagedRecording(self.path, error.line or at, str(error)) from error

    def _answer(self, at: int, call: Line) -> Answer:
        lines = self._after(at)
        _refuse(problems_after("call", lines, at), self.path)
        exchange = exchange_of([call, *lines], at)
        _refuse(violations(exchange, self.header), self.path)
        return exchange.answer

    def _after(self, at: int) -> list[Line]:
        """Return the lines of the answer to the call on line `at`. If there is no answer, return the one line after the
        call.
        """
        end = self._ends[bisect_right(self._ends, at)]
        return [*map(self.line, range(at + 1, max(end, min(at + 2, len(self.texts) + 1))))]

    def _part(self, number: int) -> Line:
        part = self.line(number)
        _refuse(line_problems(part, number), self.path)
        return part

    def _answered(self, number: int) -> Sequence[Line]:
        """Return the lines of a call and its answer; `number` is the number of the call, from 1."""
        at = self.starts[number - 1]
        return [self.line(at), *self._after(at)]
