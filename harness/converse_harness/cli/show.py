"""`converse-harness show`: print a recording for people."""

from __future__ import annotations

import argparse
import shutil
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from converse_harness.cli.terminal import Printer
    from converse_harness.recordings.replies import RecordedExchange, RecordedSession
    from converse_harness.recordings.timeline import Piece, TimelineRow

_TROUBLE: Final = 1
"""The exit code for a file that cannot be read; that of wrong usage is 2."""

_PAUSE: Final = 1000
"""The milliseconds without anything from which on a pause is shown."""

_ASKED_LINES: Final = 3
_ANSWERED_LINES: Final = 20
"""The most lines of a text that was asked or answered; `--full` shows all."""

_WIDTH: Final = 100
_NARROWEST: Final = 50
"""Where there is no terminal, and the least that is laid out for."""

_INDENT: Final = 12
_LABEL: Final = 11
_MARGIN: Final = _INDENT + _LABEL + 2
"""The columns before a label, of a label, and before what was said."""

_STYLES: Final = {
    **dict.fromkeys(("fault", "failed", "error", "exception", "end", "bytes"), "31"),
    **dict.fromkeys(("reasoning", "stop", "usage", "before"), "2"),
    **dict.fromkeys(("tool_use", "tool_result"), "36"),
    **dict.fromkeys(("citation", "router"), "34"),
    "guardrail": "33",
}
"""The colours of labels."""

_DESCRIPTION: Final = (
    "Show what was asked and answered: text as it streamed, each line with the seconds since the request, reasoning, "
    "tools, citations, verdicts of guardrails, errors, usage. Pauses of a second and more are marked. What AWS would "
    "not have sent is shown as well. The exit code is 1 for a file that cannot be read."
)


class Laid(NamedTuple):
    """One printed line of a text, with the times of its first and last piece."""

    text: str
    at: int | None
    until: int | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `show`."""
    parser.description = _DESCRIPTION
    parser.add_argument("file", metavar="FILE", type=Path, help="a recording")
    parser.add_argument("--call", metavar="N", type=int, help="only the exchange of this call, counted from 1")
    parser.add_argument("--full", action="store_true", help="all of what is long")


def run(parser: argparse.ArgumentParser, given: argparse.Namespace) -> int:
    """Print a file; return the exit code."""
    from converse_harness.cli.terminal import RED, Printer
    from converse_harness.recordings.read import DamagedRecording, read

    try:
        session = read(given.file, legal=False)
    except DamagedRecording as error:
        Printer(sys.stderr).say(f"converse-harness show: {error}", RED)
        return _TROUBLE
    except OSError as error:
        Printer(sys.stderr).say(f"converse-harness show: {given.file}: {error.strerror or error}", RED)
        return _TROUBLE
    count = len(session.exchanges)
    if given.call is not None and not 1 <= given.call <= count:
        parser.error(f"show --call {given.call}: {given.file} has {_counted(count, 'call')}")
    printer = Printer(sys.stdout)
    width = max(_NARROWEST, shutil.get_terminal_size((_WIDTH, 0)).columns)
    _show_header(given.file, session, printer)
    for exchange in session.exchanges:
        if given.call in (None, exchange.call["call"]):
            printer.say()
            _show(exchange, printer, width - _MARGIN, full=given.full)
    return 0


def _show_header(path: Path, session: RecordedSession, printer: Printer) -> None:
    from converse_harness.cli.terminal import BOLD, DIM

    header = session.header
    made = "".join(f"{word} {header[key]}" for word, key in ((" recorded", "recorded"), (" by", "by")) if key in header)
    count = _counted(len(session.exchanges), "exchange")
    printer.say(f"{printer.styled(str(path), BOLD)}  {count}{printer.styled(_plain(made and f',{made}'), DIM)}")


def _show(exchange: RecordedExchange, printer: Printer, width: int, *, full: bool) -> None:
    from converse_harness.cli.terminal import BOLD, DIM
    from converse_harness.recordings.timeline import answered, asked

    title = " ".join(filter(None, (f"call {exchange.call['call']} ", exchange.operation, exchange.model_id)))
    printer.say(_plain(title), BOLD)
    for _, line in _wrapped(", ".join(_facts(exchange)), width):
        printer.say(" " * _INDENT + _plain(line), DIM)
    for row in asked(exchange):
        _show_row(row, printer, width, None if full else _ASKED_LINES)
    before: int | None = None
    for row in answered(exchange):
        before = _show_row(row, printer, width, None if full else _ANSWERED_LINES, before)


def _facts(exchange: RecordedExchange) -> Iterator[str]:
    head = exchange.head
    yield f"line {exchange.at}"
    if "status" in head:
        yield f"status {head['status']}"
    first = next((line["t"] for line in exchange.events if "contentBlockDelta" in line), None)
    if first is not None:
        yield f"first delta after {_seconds(first)}"
    yield f"{_seconds(max(line['t'] for line in exchange.lines() if 't' in line))} in all"
    if exchange.events:
        yield _counted(len(exchange.events), "event")
    if "requestId" in head:
        yield f"request id {head['requestId']}"


def _show_row(
    row: TimelineRow, printer: Printer, width: int, most: int | None, before: int | None = None
) -> int | None:
    """Print a row; return the time of its last piece."""
    from converse_harness.cli.terminal import DIM

    lines = list(laid_out(row.pieces, width))
    shown = lines if most is None else lines[:most]
    label, at_before = row.label, None
    for line in shown:
        if before is not None and line.at is not None and line.at - before >= _PAUSE:
            printer.say(f"{'':{_MARGIN}}({_seconds(line.at - before)} pause)", DIM)
        at = _seconds(line.at) if line.at is not None and line.at != at_before else ""
        time = printer.styled(f"{at:>{_INDENT - 2}}", DIM)
        named = printer.styled(f"{_plain(label):<{_LABEL}}", _STYLES.get(row.label, ""))
        printer.say(f"{time}  {named}  {_plain(line.text)}".rstrip())
        label, at_before = "", line.at
        before = before if line.until is None else line.until
    if len(lines) > len(shown):
        printer.say(f"{'':{_MARGIN}}... {_counted(len(lines) - len(shown), 'more line')} (--full shows all)", DIM)
    return before if not lines or lines[-1].until is None else lines[-1].until


def laid_out(pieces: Sequence[Piece], width: int) -> Iterator[Laid]:
    """Wrap a text to lines of at most this many characters; a pause also starts a new line."""
    cuts = [
        number
        for number, (piece, following) in enumerate(pairwise(pieces), 1)
        if piece.at is not None and following.at is not None and following.at - piece.at >= _PAUSE
    ]
    for start, end in zip([0, *cuts], [*cuts, len(pieces)], strict=True) if pieces else ():
        part = pieces[start:end]
        begins = [0, *accumulate(len(piece.text) for piece in part)]

        def piece_at(offset: int, part: Sequence[Piece] = part, begins: Sequence[int] = begins) -> Piece:
            return part[min(bisect_right(begins, offset), len(part)) - 1]

        for offset, text in _wrapped("".join(piece.text for piece in part), width):
            yield Laid(text, piece_at(offset).at, piece_at(max(offset, offset + len(text) - 1)).at)


def _wrapped(text: str, width: int) -> Iterable[tuple[int, str]]:
    """The lines of a text and their offsets; a long line is broken at a space if it has one."""
    lines: list[tuple[int, str]] = []
    begin = 0
    for paragraph in text.split("\n"):
        at = 0
        while len(paragraph) - at > width:
            space = paragraph.rfind(" ", at + 1, at + width + 1)
            cut = space if space > at else at + width
            lines.append((begin + at, paragraph[at:cut]))
            at = cut + (space > at)
        lines.append((begin + at, paragraph[at:]))
        begin += len(paragraph) + 1
    while len(lines) > 1 and not lines[-1][1]:
        lines.pop()
    return lines


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.3f} s"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _plain(text: str) -> str:
    """A text without control characters and without anything that looks like a secret."""
    from converse_harness.secrets import mask

    return "".join(each if each.isprintable() else "\ufffd" for each in mask(text))
