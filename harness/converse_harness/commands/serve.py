"""`converse-harness serve`: the fake for other processes and languages."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from converse_harness.commands.options import add_address, address_of

if TYPE_CHECKING:
    from converse_harness.cases import Case


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `serve` takes."""
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
    parser.add_argument(
        "--rules",
        metavar="LEVEL",
        type=_level,
        default="default",
        help="how strictly requests are held to what Bedrock refuses: off, warn, default or strict",
    )
    add_address(parser)
    parser.add_argument("--reload", action="store_true", help="start the script anew whenever FILE changes")


def run(parser: argparse.ArgumentParser, given: argparse.Namespace) -> int:
    """Serve until interrupted; the result is the exit code."""
    if given.reload and given.file is None:
        parser.error("serve --reload needs the FILE that it watches")
    if given.case is not None and given.file is not None:
        parser.error("serve: FILE or --case, not both; a FILE may import converse_harness.cases.CASES")
    played = {name: value for name in ("match", "pace") if (value := getattr(given, name)) is not None}
    if played and (given.file is None or given.file.suffix != ".jsonl"):
        parser.error("serve: --match and --pace are for a recording (.jsonl)")
    from converse_harness.serve.command import serve
    from converse_harness.serve.loading import How

    return serve(
        given.file,
        how=How(**played),
        case=given.case,
        rules=given.rules,
        reload=given.reload,
        out=sys.stdout,
        err=sys.stderr,
        **address_of(given),
    )


def _case(name: str) -> Case:
    from converse_harness.cases import CASES, UnknownCase

    try:
        return CASES[name]
    except UnknownCase as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _level(text: str) -> str:
    from converse_harness.errors import ReplyError
    from converse_harness.rules import level_of

    try:
        return level_of(text).value
    except ReplyError as error:
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
