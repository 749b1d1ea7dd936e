"""`converse-harness record`: a proxy that passes calls on to Bedrock and records them, for any program and language."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from converse_harness.commands.options import add_address, add_redact, address_of, redaction_of

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
    add_address(parser)
    modes = "; ".join(f"{name}: {meaning}" for name, meaning in MODES.items())
    parser.add_argument("--mode", choices=MODES, default="all", help=f"{modes} (default: %(default)s)")
    add_redact(parser)


def run(parser: argparse.ArgumentParser, given: argparse.Namespace) -> int:
    """Record until interrupted; the result is the exit code."""
    from converse_harness.serve.recording import Places, record

    places: Places = {
        "upstream": given.upstream,
        "region": given.region,
        "mode": given.mode,
        "redaction": redaction_of(parser, given),
    }
    return record(given.file, out=sys.stdout, err=sys.stderr, **address_of(given), **places)
