"""The command `converse-harness`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from converse_harness.commands import COMMANDS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the result is the exit code.

    0 well, 1 failed, 2 wrong usage, 130 interrupted (Ctrl-C), 143 terminated (SIGTERM).
    """
    parser = argparse.ArgumentParser(
        prog="converse-harness", description="A fake Amazon Bedrock Converse endpoint for tests of agents."
    )
    parser.add_argument("--version", action="version", version=f"converse-harness {version('converse-harness')}")
    commands = parser.add_subparsers(title="commands", dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        command.add_arguments(commands.add_parser(name, help=command.help))
    given = parser.parse_args(arguments)
    try:
        return COMMANDS[given.command].run(parser, given)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of our output left, `| head` for instance
        # What Python still holds for it must go somewhere at exit, or the exit code becomes 120.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
