"""`converse-harness check`: what is to be said against recordings, for people and for CI."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from converse_harness.cli.lines import Printer
    from converse_harness.recordings.check import Checked, Finding

CLEAN: Final = 0
FOUND: Final = 1
"""The exit codes; that of wrong usage is 2."""

DESCRIPTION: Final = (
    "Check recordings: their format, whether AWS could have sent what they say, secrets, files of media, and whether "
    "the installed botocore's model still knows what was asked and answered. One line for each finding, as FILE:LINE: "
    "SORT: TEXT. The exit code is 0 where nothing was found, 1 where something was, 2 for wrong usage. Faults that a "
    "call names are listed, and are no finding."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `check` takes."""
    parser.description = DESCRIPTION
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", type=Path, help="a recording, or a folder: all *.jsonl files in it"
    )
    parser.add_argument("--json", action="store_true", help="print a JSON list with an object for each finding")


def run(parser: argparse.ArgumentParser, given: argparse.Namespace) -> int:
    """Check all that is named; the result is the exit code."""
    from converse_harness.cli.lines import Printer
    from converse_harness.recordings.check import Sort, check_file, left_over, recordings_in

    files: dict[Path, None] = {}
    for path in given.paths:
        found = recordings_in(path) if path.exists() else []
        if not found:
            parser.error(f"{path}: {'there is no recording (*.jsonl) in it' if path.exists() else 'is not there'}")
        files |= dict.fromkeys(found)
    checked = [check_file(file) for file in files]
    findings = [finding for each in checked for finding in each.findings]
    findings += [finding for path in given.paths if path.is_dir() for finding in left_over(path)]
    printer = Printer(sys.stdout)
    if given.json:
        printer.say(json.dumps([_described(finding) for finding in findings], indent=2))
    else:
        _print(findings, checked, printer)
    return FOUND if any(finding.sort is not Sort.FAULT for finding in findings) else CLEAN


def _print(findings: Sequence[Finding], checked: Sequence[Checked], printer: Printer) -> None:
    from converse_harness.cli.lines import BOLD, DIM, RED
    from converse_harness.recordings.check import Sort
    from converse_harness.secrets import mask

    for finding in findings:
        text = "".join(each if each.isprintable() else "\ufffd" for each in mask(finding.text))
        style = DIM if finding.sort is Sort.FAULT else RED
        printer.say(f"{printer.styled(finding.where, BOLD)}: {printer.styled(finding.sort.value, style)}: {text}")
    printer.say("".join(_summary(findings, checked)), BOLD)


def _summary(findings: Sequence[Finding], checked: Sequence[Checked]) -> Iterator[str]:
    from converse_harness.recordings.check import Sort

    exchanges = sum(each.exchanges for each in checked)
    counts = {sort: sum(finding.sort is sort for finding in findings) for sort in Sort}
    faults = counts.pop(Sort.FAULT)
    yield f"{_counted(len(checked), 'recording')}, {_counted(exchanges, 'exchange')}: "
    said = ", ".join(f"{count} {sort.value}" for sort, count in counts.items() if count)
    yield f"{_counted(sum(counts.values()), 'finding')} ({said})" if said else "nothing found"
    if faults:
        yield f"; {_counted(faults, 'fault')} that {'is' if faults == 1 else 'are'} meant"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _described(finding: Finding) -> dict[str, object]:
    from converse_harness.secrets import mask

    return {
        "path": str(finding.path),
        "line": finding.line,
        "sort": finding.sort.value,
        "text": mask(finding.text),
    }
