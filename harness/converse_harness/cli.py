"""The command `converse-harness`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from converse_harness.commands import COMMANDS

if TYPE_CHECKING:
    from converse_harness.cases import Case


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the result is the exit code.

    0 well, 1 failed, 2 wrong usage, 130 interrupted (Ctrl-C), 143 terminated (SIGTERM).
    """
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
    _add_serve(
        commands.add_parser("serve", help="serve a script, or the control API, to other processes and languages")
    )
    _add_cases(commands.add_parser("cases", help="list the catalogue: what can go wrong in an answer, by name"))
    for name, command in COMMANDS.items():
        command.add_arguments(commands.add_parser(name, help=command.help))
    given = parser.parse_args(arguments)
    run = {"serve": _serve, "cases": _cases, "demo": _demo}.get(given.command) or COMMANDS[given.command].run
    try:
        return run(parser, given)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of our output left, `| head` for instance
        # What Python still holds for it must go somewhere at exit, or the exit code becomes 120.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _add_serve(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Serve the fake over HTTP/1.1 and HTTP/2 until Ctrl-C, and print a line for every call. The control API at "
        "/__converse opens more fakes, each with a script and a URL of its own."
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        type=Path,
        help="a Python file that defines `script`, a list of replies, or a recording (.jsonl); without it there is "
        "only the control API",
    )
    parser.add_argument(
        "--case", metavar="NAME", type=_case, help="answer every call with this case of the catalogue (see `cases`)"
    )
    parser.add_argument(
        "--match",
        metavar="RULE",
        type=_match,
        help="which exchange of a recording answers a call: the next in `order`, one of `exact`ly that request, or one "
        "of its `shape` (default)",
    )
    parser.add_argument(
        "--pace",
        metavar="FACTOR",
        type=_pace,
        help="what the pauses of a recording are multiplied by, or `recorded` for 1 (default: 0, no pauses)",
    )
    parser.add_argument("--port", type=_port, default=0, help="the port to listen on (default: a free one)")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")
    parser.add_argument("--reload", action="store_true", help="start the script anew whenever FILE changes")


def _add_cases(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "List the cases of the catalogue that the installed botocore can read, one per line: the name, by which "
        "`serve --case`, the fixture converse_each_case and converse_harness.cases.CASES know it, and what happens."
    )
    parser.add_argument("glob", metavar="GLOB", nargs="?", help="only names that match it, or have it in them")
    parser.add_argument("--json", action="store_true", help="print a JSON list with all that is known of each")


def _case(name: str) -> Case:
    from converse_harness.cases import CASES, UnknownCase

    try:
        return CASES[name]
    except UnknownCase as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _match(rule: str) -> str:
    from converse_harness.recordings.playing.matching import MATCHES

    if rule not in MATCHES:
        raise argparse.ArgumentTypeError(f"{rule!r} is no rule; one of {', '.join(MATCHES)}")
    return rule


def _pace(text: str) -> float:
    try:
        factor = 1.0 if text == "recorded" else float(text)
    except ValueError:
        factor = -1.0
    if not 0 <= factor < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no pace; it is a number from 0 (no pauses), or `recorded` (1)")
    return factor


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; it is a number from 0 (a free one) to 65535")
    return int(text)


def _serve(parser: argparse.ArgumentParser, given: argparse.Namespace) -> int:
    if given.reload and given.file is None:
        parser.error("serve --reload needs the FILE that it watches")
    if given.case is not None and given.file is not None:
        parser.error("serve: FILE or --case, not both; a FILE may import converse_harness.cases.CASES")
    played = {name: value for name in ("match", "pace") if (value := getattr(given, name)) is not None}
    if played and (given.file is None or given.file.suffix != ".jsonl"):
        parser.error("serve: --match and --pace are for a recording (.jsonl)")
    from converse_harness.serve.command import serve
    from converse_harness.serve.loading import How

    options = {"host": given.host, "port": given.port, "reload": given.reload}
    return serve(given.file, how=How(**played), case=given.case, **options, out=sys.stdout, err=sys.stderr)


def _cases(parser: argparse.ArgumentParser, given: argparse.Namespace) -> int:
    from converse_harness.listing import list_cases

    return list_cases(given.glob, as_json=given.json, out=sys.stdout, err=sys.stderr)


def _demo(parser: argparse.ArgumentParser, given: argparse.Namespace) -> int:
    from converse_harness.demo import run

    run(sys.stdout)
    return 0
