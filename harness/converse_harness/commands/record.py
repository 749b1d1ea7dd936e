"""`converse-harness record`: a proxy that passes calls on to Bedrock and records them, for any program and language."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

MODES: Final = {
    "all": "record everything anew",
    "new_episodes": "play what the file has, add what it has not",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.description = (
        "Pass what clients ask on to Amazon Bedrock until Ctrl-C, live, and record it. What they sign is signed anew "
        "with the credentials of this environment (as boto3 finds them), or sent with AWS_BEARER_TOKEN_BEDROCK. FILE "
        "is written anew whenever a call has ended; its line is printed when it is on disk."
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="the recording, recordings/weather.jsonl for instance")
    parser.add_argument("--upstream", metavar="URL", help="pass calls on to this URL (default: Bedrock in the region)")
    parser.add_argument("--region", metavar="REGION", help="the AWS region (default: that of the environment)")
    parser.add_argument("--port", type=_port, default=0, help="the port to listen on (default: a free one)")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")
    modes = "; ".join(f"{name}: {meaning}" for name, meaning in MODES.items())
    parser.add_argument("--mode", choices=MODES, default="all", help=f"{modes} (default: %(default)s)")
    parser.add_argument(
        "--redact",
        metavar="RULE",
        action="append",
        default=[],
        help="'PATTERN => REPLACEMENT', a regular expression and what takes the place of what it matches (can be given "
        "again); account ids and the signatures of URLs are replaced always, and other secrets refused",
    )


def run(parser: argparse.ArgumentParser, given: argparse.Namespace) -> int:
    """Record until interrupted; the result is the exit code."""
    from converse_harness.errors import ReplyError
    from converse_harness.recordings.secrecy.redaction import Redaction
    from converse_harness.serve.recording import Places, record

    try:
        redaction = Redaction.of_lines(given.redact)
    except ReplyError as error:
        parser.error(f"record --redact: {error}")
    places: Places = {
        "upstream": given.upstream,
        "region": given.region,
        "mode": given.mode,
        "redaction": redaction,
    }
    return record(given.file, host=given.host, port=given.port, out=sys.stdout, err=sys.stderr, **places)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; it is a number from 0 (a free one) to 65535")
    return int(text)
