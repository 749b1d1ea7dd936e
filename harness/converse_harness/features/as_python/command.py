"""`converse-harness new-test`: write a test in Python with the answers of a recording."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from converse_harness.cli.terminal import Arguments, CommandFailed, UsageFailed, complain, say, session_in
from converse_harness.features.as_python.script import module_source, name_of_test, script_source
from converse_harness.recordings.record.write import write
from converse_harness.words import counted

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
    "--name": {"metavar": "NAME", "help": "the name of the test (default: the name of the recording)"},
    "--short": {
        "action": "store_true",
        "help": "leave out as well where texts are cut into deltas, token usage, and ids of tool uses: the fake fills "
        "them in",
    },
    "--force": {"action": "store_true", "help": "overwrite a file of -o that is there already"},
}


_FORMATTERS: Final = (("ruff", "format", "--quiet"), ("black", "--quiet"))
"""The commands that format a file, without the arguments for the file's path and its text."""


def run(given: argparse.Namespace) -> int:
    """Write the test; return the exit code 0, or 1 if an answer was left out.

    Raises UsageFailed for an invalid name, and CommandFailed if nothing can be written.
    """
    target: Path | None = given.output
    if target and target.exists() and not given.force:
        raise CommandFailed(f"{target} is there already. --force overwrites it.")
    name = given.name or name_of_test(given.file)
    if not (name.isidentifier() and name.startswith("test")):
        raise UsageFailed(f"new-test --name {name}: the name of a test begins with test and is a Python identifier.")
    session = session_in(given.file)
    script = script_source(session.exchanges, short=given.short)
    if not script.text:
        why = "\n".join(script.left_out) or "it has no exchange with Converse or ConverseStream."
        raise CommandFailed(f"{given.file}: {why}")
    source = module_source(session.exchanges, script, name, given.file.name)
    whole = formatted(source, target or Path.cwd() / f"{name}.py")
    if target is None:
        sys.stdout.buffer.write(whole.encode())  # Python reads source as UTF-8, whatever the encoding of stdout
        sys.stdout.flush()
    else:
        write(target, whole)
        say(f"{given.file} -> {target}::{name}: {counted(script.replies, 'reply', 'replies')}")
    for each in script.left_out:
        complain("new-test", f"left out {each}")
    return 1 if script.left_out else 0


def formatted(source: str, path: Path) -> str:
    """Return the source as ruff or black formats it, with the settings for a file at `path`.

    If neither is installed, or the formatter fails, return `source`.
    """
    for name, *arguments in _FORMATTERS:
        beside = Path(sys.executable).with_name(name)
        program = str(beside) if beside.exists() else shutil.which(name)
        if program is not None:
            command = [program, *arguments, "--stdin-filename", str(path), "-"]
            done = subprocess.run(command, input=source.encode(), capture_output=True, check=False)
            if done.returncode == 0:
                return done.stdout.decode().replace("\r\n", "\n")
    return source
