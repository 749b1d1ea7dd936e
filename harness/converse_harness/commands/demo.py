"""`converse-harness demo`: the fake, shown by a real client."""

from __future__ import annotations

import argparse
import sys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None."""
    parser.description = (
        "Run a real, unchanged botocore client through a two-turn tool loop against the fake: no account, no network."
    )


def run(_parser: argparse.ArgumentParser, _given: argparse.Namespace) -> int:
    """Show it."""
    from converse_harness.demo import show

    show(sys.stdout)
    return 0
