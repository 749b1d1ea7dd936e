"""`converse-harness new-test`: write a test in Python with the answers of a recording."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from converse_harness.cli.terminal import Arguments, CommandFailed, UsageFailed, complain, say, session_in
from converse_harness.recordings.edits import CannotEdit, line_length, read_source, with_test
from converse_harness.recordings.script_source import function_source, name_of_test, script_source
from converse_harness.recordings.write import write

DESCRIPTION: Final = (
    "Write a recording as a test: converse.script(...) with the shortest replies that send the same answers, and a "
    "place for your code. The same are the events of a stream with their deltas, bodies, errors and broken ends; "
    "left out are times, padding, request ids and latency. Example: `converse-harness new-test "
    "recordings/weather.jsonl --short -o tests/test_weather.py`. The exit code is 1 for a file that cannot be read, "
    "and if an answer was left out."
)
ARGUMENTS: Final[Arguments] = {
    "file": {"metavar": "FILE", "type": Path, "help": "a recording"},
    "-o --output": {"metavar": "TEST", "type": Path, "help": "the file to write (default: the output)"},
    "--into": {"metavar": "TEST", "type": Path, "help": "a file of tests that gets one more test, at its end"},
    "--name": {"metavar": "NAME", "help": "the name of the test (default: the name of the recording)"},
    "--short": {
        "action": "store_true",
        "help": "leave out as well where texts are cut into deltas, token usage, and ids of tool uses: the fake fills "
        "them in",
    },
    "--force": {"action": "store_true", "help": "overwrite a file of -o that is there already"},
}


def run(given: argparse.Namespace) -> int:
    """Write the test; return the exit code 0, or 1 if an answer was left out.

    Raises UsageFailed for contradicting options, and CommandFailed if nothing can be written.
    """
    target: Path | None = given.output or given.into
    if given.output and given.into:
        raise UsageFailed("new-test: -o writes a file, and --into adds to one; give one of them.")
    if given.output and given.output.exists() and not given.force:
        raise CommandFailed(f"{given.output} is there already. --force overwrites it, --into adds a test to it.")
    if given.into and not given.into.exists():
        raise UsageFailed(f"new-test --into {given.into}: it is not there; -o writes a new file.")
    name = given.name or name_of_test(given.file)
    if not (name.isidentifier() and name.startswith("test")):
        raise UsageFailed(f"new-test --name {name}: the name of a test begins with test and is a Python identifier.")
    session = session_in(given.file)
    width = line_length(target or Path.cwd() / "test.py")
    script = script_source(session.exchanges, short=given.short, width=width)
    if not script.text:
        why = "\n".join(script.left_out) or "it has no exchange with Converse or ConverseStream."
        raise CommandFailed(f"{given.file}: {why}")
    test = function_source(session.exchanges, script, name, width)
    try:
        before = read_source(given.into) if given.into else f'"""Replies of {given.file.name}."""\n'
        whole = with_test(before, test, name, script.names)
    except CannotEdit as error:
        raise CommandFailed(f"{given.into}: {error}") from error
    if target is None:
        sys.stdout.buffer.write(whole.encode())  # Python reads source as UTF-8, whatever the encoding of stdout
        sys.stdout.flush()
    else:
        write(target, whole)
        say(f"{given.file} -> {target}::{name}: {script.replies} repl{'y' if script.replies == 1 else 'ies'}")
    for each in script.left_out:
        complain("new-test", f"left out {each}")
    return 1 if script.left_out else 0
