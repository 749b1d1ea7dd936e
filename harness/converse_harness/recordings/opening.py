"""Opening a recording to play it: each of its exchanges is decoded and checked when it is used."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

from converse_harness.recordings import media
from converse_harness.recordings.keys import Problem
from converse_harness.recordings.lines import Line
from converse_harness.recordings.parts import MissingPart, Parts
from converse_harness.recordings.read import (
    DamagedRecording,
    Rows,
    exchange_of,
    exchange_violations,
    parse,
    refuse,
    text_of_file,
    with_media,
)
from converse_harness.recordings.replies import Answer, RecordedExchange, RecordedSession
from converse_harness.recordings.structure import answer_problems, call_problems, header_problems, part_problems

_MASKED: Final = '"masked"'

_KEYS: Final = ('"call"', '"part"')
_BEGINNINGS: Final = ('{"call"', '{"part"')
_PART_NAME: Final = '{"part": "'
"""How the lines of calls and parts begin, unless somebody has changed the order of their keys or their spaces."""


def open_file(path: Path) -> RecordedSession:
    """The session that a file holds. Raises DamagedRecording for a file that is none, and OSError.

    What is wrong with an exchange is raised as DamagedRecording when that is asked for its call or its answer.
    """
    return open_text(text_of_file(path), path)


def open_text(text: str, path: object = "<recording>") -> RecordedSession:
    """The session that a text holds, as for `open_file`."""
    file = _File(text, path)
    if not file.is_usual:
        return parse(text, path)
    return RecordedSession(file.header, tuple(_OpenedExchange(file, number) for number in range(len(file.starts))))


class _File:
    """The lines of a recording, and with which of them its exchanges begin."""

    def __init__(self, text: str, path: object) -> None:
        self.path = path
        self.rows = Rows.of(text, path)
        self.header = self.rows.header()
        refuse(header_problems(self.header), path)
        self._has_media = media.MARK in text
        self._has_masks = _MASKED in text
        begun = self._beginnings(text)
        self.starts = [number for number, key in begun.items() if key == "call"]
        named = {self._part_name(number): number for number, key in begun.items() if key == "part"}
        self._ends = [*begun, len(self.rows.texts) + 1]
        self.is_usual = (
            bool(self.starts)
            and self._ends[0] == 2
            and self._ends[-2] == self.starts[-1]
            and len(named) + len(self.starts) == len(begun)
        )
        self._parts = Parts(named, self._part, self._answered)

    def _beginnings(self, text: str) -> dict[int, str]:
        """The numbers of the lines of calls and parts, in their order, with the key that says so."""
        rows = self.rows.texts
        begun = {number: row[2:6] for number, row in enumerate(rows, 1) if row.startswith(_BEGINNINGS)}
        if sum(map(text.count, _KEYS)) == len(begun):
            return begun
        # They are names or values as well, or somebody has changed the order of keys.
        for number, row in enumerate(rows[1:], 2):
            if number not in begun and any(key in row for key in _KEYS):
                line = self._read(number)
                if "call" in line or "part" in line:
                    begun[number] = "call" if "call" in line else "part"
        return dict(sorted(begun.items()))

    def _read(self, number: int) -> Line:
        """A line, empty where it is damaged: it counts as one of the exchange before it, which says so."""
        try:
            return self.rows.line(number)
        except DamagedRecording:
            return {}

    def _part_name(self, number: int) -> str:
        row = self.rows.texts[number - 1]
        name, _, rest = row[len(_PART_NAME) :].partition('"')
        if row.startswith(_PART_NAME) and rest.startswith(",") and "\\" not in name:
            return name
        return str(self._read(number).get("part"))

    def line(self, number: int) -> Line:
        """A line with its media, by its number from 1. Raises DamagedRecording."""
        line = self.rows.line(number)
        return with_media(line, number, self.path) if self._has_media else line

    def may_be_masked(self, number: int) -> bool:
        """Whether a call, counted from 0, may have places where a secret was."""
        return self._has_masks and _MASKED in self.rows.texts[self.starts[number] - 1]

    def call(self, number: int) -> Line:
        """The line of a call, counted from 0, with its whole request. Raises DamagedRecording."""
        at = self.starts[number]
        call = self.line(at)
        refuse(call_problems(call, at, number + 1, self.header), self.path)
        try:
            return self._parts.whole(call, at)
        except MissingPart as error:
            refuse(chain.from_iterable(map(self._part_problems, self._parts.line_of.values())), self.path)
            raise DamagedRecording(self.path, at, str(error)) from error

    def answer(self, call: Line, number: int) -> Answer:
        """The answer to a call, counted from 0. Raises DamagedRecording."""
        at = self.starts[number]
        lines = [call, *self._after(at)]
        refuse(answer_problems(lines, at), self.path)
        exchange = exchange_of(lines, at)
        refuse(exchange_violations(exchange, self.header), self.path)
        return exchange.head, exchange.events, exchange.end

    def _after(self, at: int) -> list[Line]:
        """The lines of an answer; of a call without one, which is line `at`, the line that is in its place."""
        end = self._ends[bisect_right(self._ends, at)]
        return [*map(self.line, range(at + 1, max(end, min(at + 2, len(self.rows.texts) + 1))))]

    def _part(self, number: int) -> Line:
        refuse(self._part_problems(number), self.path)
        return self.line(number)

    def _part_problems(self, number: int) -> Iterator[Problem]:
        return part_problems(self.line(number), number)

    def _answered(self, number: int) -> Sequence[Line]:
        """The lines of the exchange of a call, by its number from 1."""
        at = self.starts[number - 1]
        return [self.line(at), *self._after(at)]


class _OpenedExchange(RecordedExchange):
    """An exchange of an opened recording."""

    __slots__ = ("_file", "_number")

    def __init__(self, file: _File, number: int) -> None:
        self.at = file.starts[number]
        self._call = self._answer = None
        self._file = file
        self._number = number

    @property
    def masked(self) -> list[str]:
        """The places in it where a secret was; none for a call that is damaged, which says so when it is used."""
        if not self._file.may_be_masked(self._number):
            return []
        try:
            return super().masked
        except DamagedRecording:
            return []

    def _read_call(self) -> Line:
        return self._file.call(self._number)

    def _read_answer(self) -> Answer:
        return self._file.answer(self.call, self._number)
