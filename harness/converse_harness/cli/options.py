"""Options that several commands have, and what their values may be."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from converse_harness.recordings.redaction import Redaction


class Address(TypedDict):
    """Where a server listens."""

    host: str
    port: int


def add_address(parser: argparse.ArgumentParser) -> None:
    """`--port` and `--host`."""
    parser.add_argument("--port", type=_port, default=0, help="the port to listen on (default: a free one)")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")


def address_of(given: argparse.Namespace) -> Address:
    """What these say."""
    return {"host": given.host, "port": given.port}


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; it is a number from 0 (a free one) to 65535")
    return int(text)


def add_redact(parser: argparse.ArgumentParser) -> None:
    """`--redact`."""
    parser.add_argument(
        "--redact",
        metavar="RULE",
        action="append",
        default=[],
        help="'PATTERN => REPLACEMENT', a regular expression and what takes the place of what it matches (can be given "
        "again); account ids and the signatures of URLs are replaced always, and other secrets refused",
    )


def redaction_of(parser: argparse.ArgumentParser, given: argparse.Namespace) -> Redaction:
    """What it says; ends the program where that is no rule."""
    from converse_harness.errors import ReplyError
    from converse_harness.recordings.redaction import Redaction

    try:
        return Redaction.of_lines(given.redact)
    except ReplyError as error:
        parser.error(f"{given.command} --redact: {error}")
