"""`converse-harness cases`: list the catalogue of cases, as text or as JSON."""

from __future__ import annotations

import argparse
import json
from fnmatch import fnmatchcase
from typing import Final

from converse_harness.cases import CASES, UnknownCase
from converse_harness.cli.terminal import BOLD, Arguments, CommandFailed, say, styled

DESCRIPTION: Final = (
    "List the cases of the catalogue that the installed botocore can read, one per line: the name, by which "
    "`serve --case`, the fixture converse_each_case and converse_harness.cases.CASES know it, and what happens."
)
ARGUMENTS: Final[Arguments] = {
    "glob": {"metavar": "GLOB", "nargs": "?", "default": "", "help": "only names that match it, or have it in them"},
    "--json": {"action": "store_true", "help": "print a JSON list with all that is known of each"},
}


def run(given: argparse.Namespace) -> int:
    """Print the cases whose names contain or match the given glob; return the exit code 0.

    Raises CommandFailed, with the exit code 2, if there is no such case.
    """
    found = [case for name, case in CASES.items() if given.glob in name or fnmatchcase(name, given.glob)]
    if not found:
        try:
            CASES[given.glob]
        except UnknownCase as error:
            raise CommandFailed(str(error), code=2) from error
    if given.json:
        members = ("name", "sentence", "required", "source", "stream_only")
        described = [
            {**{name: getattr(case, name) for name in members}, "replies": [reply.summary for reply in case.replies]}
            for case in found
        ]
        say(json.dumps(described, indent=2))
        return 0
    width = max(len(case.name) for case in found)
    for case in found:
        say(f"{styled(f'{case.name:<{width}}', BOLD)}  {case.sentence}")
    return 0
