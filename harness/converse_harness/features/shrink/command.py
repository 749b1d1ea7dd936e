"""`converse-harness shrink RECORDING -- pytest ...`: answer a failing test from a recording, and shrink it."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Final

from converse_harness.cli.terminal import Arguments, CommandFailed, UsageFailed, session_in

DESCRIPTION: Final = (
    "Run pytest with the answers of a recording in place of the test's script, in the order of its calls. If the test "
    "fails, print the smallest script with which it fails in the same way. Example: `converse-harness shrink "
    "incident.jsonl -- pytest tests/test_trip.py::test_trip`. The exit code is pytest's."
)
ARGUMENTS: Final[Arguments] = {
    "file": {"metavar": "RECORDING", "type": Path, "help": "a recording"},
    "words": {
        "metavar": "COMMAND",
        "nargs": "+",
        "help": "behind `--`, the command that runs the test: pytest, or python -m pytest, with its arguments",
    },
    "--seconds": {"metavar": "SECONDS", "default": "60", "help": "how long to search (default: 60)"},
}


def run(given: argparse.Namespace) -> int:
    """Run the command with the options that answer and shrink; return its exit code.

    Raises UsageFailed for a command that is not pytest, and CommandFailed for a recording that cannot be read.
    """
    program, *arguments = given.words
    names = (Path(program).stem, arguments[1] if arguments[:1] == ["-m"] and len(arguments) > 1 else "")
    if not any(name in ("pytest", "py.test") for name in names):
        raise UsageFailed("shrink: the command must be pytest, as in: shrink FILE -- pytest tests/test_trip.py::test")
    session_in(given.file)
    options = [f"--converse-shrink={given.seconds}", f"--converse-shrink-from={given.file.resolve()}"]
    own = Path(sys.executable).with_name("pytest")
    command = [str(own) if program == "pytest" and own.exists() else program, *arguments, *options]
    try:
        return subprocess.run(command, check=False).returncode
    except OSError as error:
        raise CommandFailed(f"{program}: {error.strerror or error}") from error
