"""`converse-harness diff`: print the differences between two recordings, exchange by exchange."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from converse_harness.cli.terminal import BOLD, DIM, GREEN, RED, Arguments, say, session_in
from converse_harness.recordings.differences import lines_of
from converse_harness.recordings.play.matching import asked_in
from converse_harness.recordings.play.mismatch import summary
from converse_harness.recordings.review.compare import Compared, compare
from converse_harness.secrets.mask import mask
from converse_harness.words import counted

_TROUBLE: Final = 2
"""The exit code if a recording cannot be read."""

DESCRIPTION: Final = (
    "Show what differs between two recordings. Exchanges that ask the same belong together, or else those of the same "
    "shape. Where a request or an answer differs, each place is shown by its path, - as the first file has it, + as "
    "the second has it; of a stream the events that differ. The exit code is 0 where nothing does, 1 where something "
    "does, 2 for a file that cannot be read."
)
ARGUMENTS: Final[Arguments] = {
    "old": {"metavar": "A.jsonl", "type": Path, "help": "a recording"},
    "new": {"metavar": "B.jsonl", "type": Path, "help": "the recording that it is compared with"},
    "--times": {"action": "store_true", "help": "compare when things came as well, and the latency in answers"},
    "--bytes": {
        "action": "store_true",
        "help": "compare as well what is another one each time: ids, signatures, padding, chunks, where texts are cut "
        "into deltas, what the prompt cache contained, the exact form of events",
    },
}


def run(given: argparse.Namespace) -> int:
    """Print how two recordings differ; return the exit code: 0 if they are equal, 1 if they differ."""
    old, new = (session_in(path, _TROUBLE) for path in (given.old, given.new))
    found = compare(old, new, times=given.times, chance=given.bytes)
    _print(found, (given.old, given.new))
    if any(not each.equal for each in found):
        return 1
    left_out = [
        option
        for option, times, chance in (("--times", True, given.bytes), ("--bytes", given.times, True))
        if not all(each.equal for each in compare(old, new, times=times, chance=chance))
    ]
    if left_out:
        say(f"They differ in what {' and '.join(left_out)} would compare.", DIM)
    return 0


def _print(found: Sequence[Compared], paths: tuple[Path, Path]) -> None:
    for each in found:
        if each.equal:
            continue
        there = [(sign, path, one) for sign, path, one in zip("-+", paths, (each.old, each.new), strict=True) if one]
        sign, _, exchange = there[0]
        title = f"{'  '.join(f'{path}:{one.at}' for _, path, one in there)}  {mask(summary(asked_in(exchange)))}"
        if len(there) == 1:
            say(f"{sign} {title}", RED if sign == "-" else GREEN)
        else:
            say(title, BOLD)
            for line in (line for difference in each.found for line in lines_of(difference)):
                say(f"  {line}", RED if line.startswith("-") else GREEN)
        say()
    counts = {
        "equal": sum(each.equal for each in found),
        "different": sum(bool(each.found) for each in found),
        "only in the first": sum(each.new is None for each in found),
        "only in the second": sum(each.old is None for each in found),
    }
    said = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    say(f"{counted(len(found), 'exchange')}{': ' * bool(said)}{said}")
