"""`converse-harness cases`: list the catalogue of cases, as text or as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from fnmatch import fnmatchcase
from typing import Final

from converse_harness.cases import CASES, UnknownCase
from converse_harness.cli.terminal import BOLD, Arguments, CommandFailed, Printer

DESCRIPTION: Final = (
    "List the cases of the catalogue that the installed botocore can read, one per line: the name, by which "
    "`serve --case`, the fixture converse_each_case and converse_harness.cases.CASES know it, and what happens."
)
ARGUMENTS: Final[Arguments] = {
    "glob": {"metavar": "GLOB", "nargs": "?", "default": "", "help": "only names that match it, or have it in them"},
    "--json": {"action": "store_true", "help": "print a JSON list with all that is known of each"},
}

_NOTHING_FOUND: Final = 2


def run(given: argparse.Namespace) -> int:
    """Print the cases whose names match or contain the pattern.

    Raises CommandFailed (exit code 2) if no name matches.
    """
    found = [case for name, case in CASES.items() if given.glob in name or fnmatchcase(name, given.glob)]
    if not found:
        try:
            CASES[given.glob]
        except UnknownCase as error:
            raise CommandFailed(str(error), _NOTHING_FOUND) from error
    printer = Printer(sys.stdout)
    if given.json:
        described = [
            {
                "name": case.name,
                "sentence": case.sentence,
                "required": case.required,
                "source": case.source,
                "stream_only": case.stream_only,
                "replies": [reply.summary for reply in case.replies],
            }
            for case in found
        ]
        printer.say(json.dumps(described, indent=2))
        return 0
    width = max(len(case.name) for case in found)
    for case in found:
        printer.say(f"{printer.styled(f'{case.name:<{width}}', BOLD)}  {case.sentence}")
    return 0
