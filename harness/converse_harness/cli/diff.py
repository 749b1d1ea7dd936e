"""`converse-harness diff`: what differs between two recordings, exchange by exchange."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from converse_harness.cli.terminal import Printer
    from converse_harness.recordings.compare import Compared
    from converse_harness.recordings.replies import RecordedExchange, RecordedSession

_EQUAL: Final = 0
_DIFFERENT: Final = 1
_TROUBLE: Final = 2
"""The exit codes; the last one is also that of wrong usage."""

_GREEN: Final = "32"

_DESCRIPTION: Final = (
    "Show what differs between two recordings. Exchanges that ask the same belong together, or else those of the same "
    "shape. Where a request or an answer differs, each place is shown by its path, - as the first file has it, + as "
    "the second has it; of a stream the events that differ. The exit code is 0 where nothing does, 1 where something "
    "does, 2 for a file that cannot be read."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `diff`."""
    parser.description = _DESCRIPTION
    parser.add_argument("old", metavar="A.jsonl", type=Path, help="a recording")
    parser.add_argument("new", metavar="B.jsonl", type=Path, help="the recording that it is compared with")
    parser.add_argument("--times", action="store_true", help="compare when things came as well")
    parser.add_argument(
        "--bytes",
        action="store_true",
        help="compare as well what is another one each time: request ids, padding, chunks, the exact form of events",
    )


def run(parser: argparse.ArgumentParser, given: argparse.Namespace) -> int:
    """Compare two files; return the exit code."""
    del parser
    from converse_harness.cli.terminal import RED, Printer
    from converse_harness.recordings.compare import compare
    from converse_harness.recordings.read import DamagedRecording, read

    sessions: list[RecordedSession] = []
    for path in (given.old, given.new):
        try:
            sessions.append(read(path, legal=False))
        except DamagedRecording as error:
            Printer(sys.stderr).say(f"converse-harness diff: {error}", RED)
            return _TROUBLE
        except OSError as error:
            Printer(sys.stderr).say(f"converse-harness diff: {path}: {error.strerror or error}", RED)
            return _TROUBLE
    old, new = sessions
    found = compare(old, new, times=given.times, chance=given.bytes)
    _print(found, (given.old, given.new), Printer(sys.stdout))
    if any(not each.equal for each in found):
        return _DIFFERENT
    _say_what_was_left_out(old, new, given, Printer(sys.stdout))
    return _EQUAL


def _print(found: Sequence[Compared], paths: tuple[Path, Path], printer: Printer) -> None:
    from converse_harness.cli.terminal import BOLD, RED
    from converse_harness.recordings.compare import lines_of

    for each in found:
        if each.equal:
            continue
        there = [(sign, path, one) for sign, path, one in zip("-+", paths, (each.old, each.new), strict=True) if one]
        if len(there) == 1:
            ((sign, path, one),) = there
            printer.say(f"{sign} {_place(path, one)}  {_summary(one)}", RED if sign == "-" else _GREEN)
        else:
            printer.say(f"{'  '.join(_place(path, one) for _, path, one in there)}  {_summary(there[0][2])}", BOLD)
            for line in (line for difference in each.found for line in lines_of(difference)):
                printer.say(f"  {line}", RED if line.startswith("-") else _GREEN)
        printer.say()
    printer.say(_totals(found))


def _place(path: Path, exchange: RecordedExchange) -> str:
    return f"{path}:{exchange.at}"


def _summary(exchange: RecordedExchange) -> str:
    from converse_harness.recordings.matching import asked_in
    from converse_harness.recordings.mismatch import summary
    from converse_harness.secrets import mask

    return mask(summary(asked_in(exchange)))


def _totals(found: Sequence[Compared]) -> str:
    """The numbers of exchanges that are equal, that differ, and that are in one file only."""
    equal = sum(each.equal for each in found)
    differ = sum(bool(each.found) for each in found)
    counts = {
        "equal": equal,
        "different": differ,
        "only in the first": sum(each.new is None for each in found),
        "only in the second": sum(each.old is None for each in found),
    }
    said = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return f"{len(found)} exchange{'s' * (len(found) != 1)}{': ' * bool(said)}{said}"


def _say_what_was_left_out(
    old: RecordedSession, new: RecordedSession, given: argparse.Namespace, printer: Printer
) -> None:
    from converse_harness.cli.terminal import DIM
    from converse_harness.recordings.compare import compare

    options = [
        option
        for option, times, chance in (("--times", True, given.bytes), ("--bytes", given.times, True))
        if not all(each.equal for each in compare(old, new, times=times, chance=chance))
    ]
    if options:
        printer.say(f"They differ in what {' and '.join(options)} would compare.", DIM)
