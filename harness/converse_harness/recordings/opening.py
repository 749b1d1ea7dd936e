"""Opening a recording to play it: each of its exchanges is decoded and checked when it is used."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from converse_harness.recordings import media
from converse_harness.recordings.lines import Line
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
from converse_harness.recordings.structure import answer_problems, call_problems, header_problems

_CALL: Final = '"call"'
_MASKED: Final = '"masked"'

_USUAL: Final = f"{{{_CALL}"
"""How the line of a call begins, unless somebody has changed the order of its keys."""


def open_file(path: Path) -> RecordedSession:
    """The session that a file holds. Raises DamagedRecording for a file that is none, and OSError.

    What is wrong with an exchange is raised as DamagedRecording when that is asked for its call or its answer.
    """
    return open_text(text_of_file(path), path)


def open_text(text: str, path: object = "<recording>") -> RecordedSession:
    """The session that a text holds, as for `open_file`."""
    file = _File(text, path)
    if not file.starts or file.starts[0] != 2:
        return parse(text, path)  # it is damaged where it begins
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
        self.starts = self._calls(text)

    def _calls(self, text: str) -> list[int]:
        rows = self.rows.texts
        starts = [number for number, row in enumerate(rows, 1) if row.startswith(_USUAL)]
        if text.count(_CALL) > len(starts):  # as a name or value, or as the key of a call that is not the first
            others = (number for number, row in enumerate(rows[1:], 2) if _CALL in row and not row.startswith(_USUAL))
            starts = sorted([*starts, *filter(self._is_call, others)])
        return starts

    def _is_call(self, number: int) -> bool:
        try:
            return "call" in self.rows.line(number)
        except DamagedRecording:
            return False  # of the exchange before it, which says so

    def line(self, number: int) -> Line:
        """A line with its media, by its number from 1. Raises DamagedRecording."""
        line = self.rows.line(number)
        return with_media(line, number, self.path) if self._has_media else line

    def may_be_masked(self, number: int) -> bool:
        """Whether a call, counted from 0, may have places where a secret was."""
        return self._has_masks and _MASKED in self.rows.texts[self.starts[number] - 1]

    def call(self, number: int) -> Line:
        """The line of a call, counted from 0. Raises DamagedRecording."""
        at = self.starts[number]
        call = self.line(at)
        refuse(call_problems(call, at, number + 1, self.header), self.path)
        return call

    def answer(self, call: Line, number: int) -> Answer:
        """The answer to a call, counted from 0. Raises DamagedRecording."""
        at, last = self.starts[number], len(self.rows.texts)
        end = self.starts[number + 1] if number + 1 < len(self.starts) else last + 1
        lines = [call, *map(self.line, range(at + 1, max(end, min(at + 2, last + 1))))]
        refuse(answer_problems(lines, at), self.path)
        exchange = exchange_of(lines, at)
        refuse(exchange_violations(exchange, self.header), self.path)
        return exchange.head, exchange.events, exchange.end


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
