"""`converse-harness show`: print a recording in a readable form."""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Iterator, Sequence
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Final, NamedTuple

from converse_harness.cli.terminal import (
    BOLD,
    DIM,
    Arguments,
    UsageFailed,
    plain,
    say,
    session_in,
    styled,
)
from converse_harness.features import functions_given, options_of
from converse_harness.recordings.format.exchanges import RecordedExchange, RecordedSession
from converse_harness.recordings.review.stable import stable_rows
from converse_harness.recordings.review.timeline import Piece, TimelineRow, answered, asked
from converse_harness.words import counted

_PAUSE: Final = 1000
"""The minimum length of a pause that is shown, in milliseconds. A pause separates two pieces of an answer."""

_ASKED_LINES: Final = 3
_ANSWERED_LINES: Final = 20
"""The maximum numbers of printed lines for one text of the request, and for one text of the answer. `--full` prints all
lines."""

_WIDTH: Final = 100
_NARROWEST: Final = 50
"""Widths of lines in columns: the width if the output is no terminal (_WIDTH), and the minimum (_NARROWEST)."""

_INDENT: Final = 12
_LABEL: Final = 11
_MARGIN: Final = _INDENT + _LABEL + 2
"""Widths in columns: of the times before the labels, of the labels, and of all that precedes a text."""

_STYLES: Final = {
    **dict.fromkeys(("fault", "failed", "error", "exception", "end", "bytes"), "31"),
    **dict.fromkeys(("reasoning", "stop", "usage", "before"), "2"),
    **dict.fromkeys(("tool_use", "tool_result"), "36"),
    **dict.fromkeys(("citation", "router"), "34"),
    "guardrail": "33",
}
"""The ANSI style of each label."""

DESCRIPTION: Final = (
    "Show what was asked and answered: text as it streamed, each line with the seconds since the request, reasoning, "
    "tools, citations, verdicts of guardrails, errors, usage. Pauses of a second and more are marked. What AWS would "
    "not have sent is shown as well. The exit code is 1 for a file that cannot be read."
)
ARGUMENTS: Final[Arguments] = {
    "file": {"metavar": "FILE", "type": Path, "help": "a recording"},
    "--call": {"metavar": "N", "type": int, "help": "only the exchange of this call, counted from 1"},
    "--full": {"action": "store_true", "help": "all of what is long"},
    **options_of("show"),
    "--stable": {
        "action": "store_true",
        "help": "the conversation alone, without what differs between two recordings of the same session; made for "
        "`git diff`: git config diff.converse.textconv 'converse-harness show --stable'. A file that is no recording "
        "is printed as it is, with the exit code 0",
    },
}


class Laid(NamedTuple):
    """One printed line of a text that was received in pieces.

    `at` and `until` are the times of the first and last piece in this line, in milliseconds since the request. Both are
    None for a text of the request.
    """

    text: str
    at: int | None
    until: int | None


def run(given: argparse.Namespace) -> int:
    """Print the recording; return the exit code 0.

    Raises UsageFailed if the recording has no call with the number of `--call`, or if options contradict each other.
    """
    for _, show_otherwise in functions_given("show", given):
        return int(show_otherwise(given))
    if given.stable:
        return _show_stable(given.file, given.call)
    session = session_in(given.file)
    count = len(session.exchanges)
    check_call(given.call, given.file, count)
    made = about(session)
    origin = styled(plain(made and f", {made}"), DIM)
    say(f"{styled(str(given.file), BOLD)}  {counted(count, 'exchange')}{origin}")
    width = max(_NARROWEST, shutil.get_terminal_size((_WIDTH, 0)).columns) - _MARGIN
    for exchange in session.exchanges:
        if given.call in (None, exchange.call["call"]):
            say()
            _show(exchange, width, full=given.full)
    return 0


def about(session: RecordedSession) -> str:
    """Return when a recording was made, and by what, as far as its header has this."""
    times, by = (
        [f"{key} {session.header[key]}" for key in keys if key in session.header]
        for keys in (("recorded", "imported"), ("by",))
    )
    return " ".join([", ".join(times), *by]).strip()


def check_call(call: int | None, path: Path, count: int) -> None:
    """Raise UsageFailed if a recording with `count` calls has no call with this number."""
    if call is not None and not 1 <= call <= count:
        raise UsageFailed(f"show --call {call}: {path} has {counted(count, 'call')}")


def _show_stable(path: Path, call: int | None) -> int:
    """Print a recording without the values that differ in each run, such as ids and times; return the exit code 0.

    A damaged file is printed as it is, because `git diff` would end if this command failed.
    """
    from converse_harness.recordings.format.read import DamagedRecording, session_without_media, text_of_file

    try:
        session = session_without_media(text_of_file(path), path)
    except DamagedRecording as error:
        say(f"This is no recording that can be shown: line {error.line}: {error.problem}")
        for line in path.read_bytes().decode(errors="replace").splitlines():
            say(plain(line))
        return 0
    check_call(call, path, len(session.exchanges))
    for number, (label, shown) in enumerate(stable_rows(session.exchanges, call)):
        if label:
            for title, line in zip_longest((label,), shown.split("\n"), fillvalue=""):
                start = f"  {plain(title):<{_LABEL}}"
                say(f"{start}  {plain(line)}" if line else start.rstrip())  # a space at the end of a text is shown
        else:
            say("\n" * (number > 0) + plain(shown), BOLD)
    return 0


def _show(exchange: RecordedExchange, width: int, *, full: bool) -> None:
    title = " ".join(filter(None, (f"call {exchange.call['call']} ", exchange.operation, exchange.model_id)))
    say(plain(title), BOLD)
    for _, line in _wrapped(", ".join(_facts(exchange)), width):
        say(" " * _INDENT + plain(line), DIM)
    for row in asked(exchange):
        _show_row(row, width, None if full else _ASKED_LINES)
    before: int | None = None
    for row in answered(exchange):
        before = _show_row(row, width, None if full else _ANSWERED_LINES, before)


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
        yield counted(len(exchange.events), "event")
    if "requestId" in head:
        yield f"request id {head['requestId']}"


def _show_row(row: TimelineRow, width: int, most: int | None, before: int | None = None) -> int | None:
    """Print at most `most` lines of a row (None: all lines), and the long pauses before these lines.

    `before` is the time in milliseconds of the last piece of text before this row; None if it has no time. Return the
    time of the last piece of this row, or `before` if the row has no time.
    """
    lines = list(laid_out(row.pieces, width))
    shown = lines if most is None else lines[:most]
    label, at_before = row.label, None
    for line in shown:
        if before is not None and line.at is not None and line.at - before >= _PAUSE:
            say(f"{'':{_MARGIN}}({_seconds(line.at - before)} pause)", DIM)
        at = _seconds(line.at) if line.at is not None and line.at != at_before else ""
        time = styled(f"{at:>{_INDENT - 2}}", DIM)
        named = styled(f"{plain(label):<{_LABEL}}", _STYLES.get(row.label, ""))
        say(f"{time}  {named}  {plain(line.text)}".rstrip())
        label, at_before = "", line.at
        before = before if line.until is None else line.until
    if len(lines) > len(shown):
        say(f"{'':{_MARGIN}}... {counted(len(lines) - len(shown), 'more line')} (--full shows all)", DIM)
    return before if not lines or lines[-1].until is None else lines[-1].until


def laid_out(pieces: Sequence[Piece], width: int) -> Iterator[Laid]:
    """Join the pieces of a text and wrap it to lines of at most `width` characters.

    If a long pause separates two pieces, the second of them starts a new line.
    """
    cuts = [
        number
        for number, (piece, following) in enumerate(pairwise(pieces), 1)
        if piece.at is not None and following.at is not None and following.at - piece.at >= _PAUSE
    ]
    for start, end in pairwise([0, *cuts, len(pieces)]) if pieces else ():
        part = pieces[start:end]
        # The list `piece_at` contains one piece for each character of the text: the piece with this character. For an
        # empty text, it contains the last piece.
        piece_at = [piece for piece in part for _ in piece.text] or [part[-1]]
        for offset, text in _wrapped("".join(piece.text for piece in part), width):
            first, last = (min(each, len(piece_at) - 1) for each in (offset, offset + max(len(text) - 1, 0)))
            yield Laid(text, piece_at[first].at, piece_at[last].at)


def _wrapped(text: str, width: int) -> list[tuple[int, str]]:
    """Wrap a text at spaces, or inside a word that is too long.

    Return pairs of a line's offset in the text and the line.
    """
    found = re.finditer(rf"(?m)(.{{1,{width}}})(?: |$)|(.{{{width}}})|^$", text)
    lines = [(line.start(), line[1] or line[2] or "") for line in found]
    while len(lines) > 1 and not lines[-1][1]:
        lines.pop()
    return lines


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.3f} s"
