"""`converse-harness cases`: the catalogue for people, and as JSON for programs."""

from __future__ import annotations

import argparse
import json
import sys
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from converse_harness.cases import Case

_NOTHING_FOUND: Final = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `cases`."""
    parser.description = (
        "List the cases of the catalogue that the installed botocore can read, one per line: the name, by which "
        "`serve --case`, the fixture converse_each_case and converse_harness.cases.CASES know it, and what happens."
    )
    parser.add_argument("glob", metavar="GLOB", nargs="?", help="only names that match it, or have it in them")
    parser.add_argument("--json", action="store_true", help="print a JSON list with all that is known of each")


def run(_parser: argparse.ArgumentParser, given: argparse.Namespace) -> int:
    """Print the cases whose names match or contain the pattern; return the exit code, 2 if none matches."""
    from converse_harness.cases import CASES
    from converse_harness.cli.terminal import BOLD, RED, Printer

    glob: str | None = given.glob
    found = [case for name, case in CASES.items() if glob is None or glob in name or fnmatchcase(name, glob)]
    if not found:
        Printer(sys.stderr).say(f"converse-harness cases: {_not_found(glob or '')}", RED)
        return _NOTHING_FOUND
    printer = Printer(sys.stdout)
    if given.json:
        printer.say(json.dumps([_described(case) for case in found], indent=2))
        return 0
    width = max(len(case.name) for case in found)
    for case in found:
        printer.say(f"{printer.styled(f'{case.name:<{width}}', BOLD)}  {case.sentence}")
    return 0


def _described(case: Case) -> dict[str, Any]:
    """A case as JSON; `replies` are short descriptions of the replies, in order."""
    return {
        "name": case.name,
        "sentence": case.sentence,
        "required": case.required,
        "source": case.source,
        "stream_only": case.stream_only,
        "replies": [reply.summary for reply in case.replies],
    }


def _not_found(glob: str) -> str:
    from converse_harness.cases import CASES, UnknownCase

    try:
        CASES[glob]
    except UnknownCase as error:
        return str(error)
    raise AssertionError(f"{glob} is a case")  # it would have been found
