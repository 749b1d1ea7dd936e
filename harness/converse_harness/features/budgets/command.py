"""`converse-harness costs OLD NEW`: compare what the tests of two runs cost."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from converse_harness.cli.terminal import BOLD, GREEN, RED, Arguments, CommandFailed, plain, say
from converse_harness.errors import DamagedData
from converse_harness.features.budgets.costs import CostsCompared, CostsOfTest, read_costs
from converse_harness.words import counted, plural

DESCRIPTION: Final = (
    "Compare what the tests of two runs of `pytest --converse-costs=FILE` cost: a line for each test that changed, is "
    "new or is gone, and the totals. The exit code is 1 if a test of both runs costs more by something exact "
    "(calls, attempts, tools, characters, rewrites, pauses), otherwise 0; 2 if a file cannot be read, or if no test is "
    "in both. Estimated tokens "
    "are printed, and decide nothing."
)
ARGUMENTS: Final[Arguments] = {
    "old": {"metavar": "OLD", "type": Path, "help": "the file of the earlier run, for instance of the main branch"},
    "new": {"metavar": "NEW", "type": Path, "help": "the file of the later run"},
}

_TROUBLE: Final = 2
"""The exit code if a file cannot be read."""


def run(given: argparse.Namespace) -> int:
    """Print the comparison; return 1 if a test costs more, otherwise 0. Raises CommandFailed for a damaged file."""
    old, new = _read(given.old), _read(given.new)
    if not old.keys() & new.keys():
        raise CommandFailed(
            f"no test is in both {given.old} ({counted(len(old), 'test')}) and {given.new} "
            f"({counted(len(new), 'test')}): run the same tests, from the same rootdir.",
            _TROUBLE,
        )
    compared = CostsCompared(old, new)
    for line in compared.lines():
        say(plain(line))
    count = len(compared.more)
    verdict = f"{counted(count, 'test')} {plural(count, 'costs', 'cost')} more." if count else "No test costs more."
    say(verdict, f"{BOLD};{RED if count else GREEN}")
    return 1 if count else 0


def _read(path: Path) -> dict[str, CostsOfTest]:
    try:
        return read_costs(path)
    except OSError as error:
        raise CommandFailed(f"{path}: {error.strerror or error}", _TROUBLE) from error
    except DamagedData as error:
        raise CommandFailed(str(error), _TROUBLE) from error
