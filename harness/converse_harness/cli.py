"""The command `converse-harness`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the result is the exit code: 0 well, 1 failed, 2 wrong usage, 130 interrupted."""
    parser = argparse.ArgumentParser(
        prog="converse-harness", description="A fake Amazon Bedrock Converse endpoint for tests of agents."
    )
    parser.add_argument("--version", action="version", version=f"converse-harness {version('converse-harness')}")
    commands = parser.add_subparsers(title="commands", dest="command", required=True, metavar="COMMAND")
    commands.add_parser(
        "demo",
        help="run a real boto client through a tool loop against the fake",
        description="Run a real, unchanged botocore client through a two-turn tool loop against the fake: "
        "no account, no network.",
    )
    parser.parse_args(arguments)
    try:
        from converse_harness.demo import run

        run(sys.stdout)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of our output left, `| head` for instance
        sys.stderr.close()
        return 1
    return 0
