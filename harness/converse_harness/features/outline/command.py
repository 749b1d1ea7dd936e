"""`converse-harness show --outline`: the outline of a recording as text."""

from __future__ import annotations

import argparse

from converse_harness.cli.terminal import UsageFailed, say, session_in
from converse_harness.features.outline.outline import outline_of_exchanges


def print_outline(given: argparse.Namespace) -> int:
    """Print what was new in each request of a recording, and its answers; return the exit code 0.

    Raises UsageFailed if `--call` or `--stable` is given too: an outline tells all calls, and is stable.
    """
    for name in ("stable", "call"):
        if getattr(given, name) not in (None, False):
            raise UsageFailed(f"show --outline: it came with --{name}. Give one of them.")
    say(str(outline_of_exchanges(session_in(given.file).exchanges)))
    return 0
