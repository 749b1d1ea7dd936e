"""`converse-harness record --again FILE --diff`: ask recorded requests again, and print what has drifted."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from converse_harness.cli.terminal import (
    BOLD,
    GREEN,
    RED,
    CommandFailed,
    UsageFailed,
    plain,
    recordings_in,
    redaction_of,
    say,
    with_progress,
)
from converse_harness.errors import ConverseHarnessError
from converse_harness.features.drift.report import DriftReport, requests_of
from converse_harness.server.http.upstream import Upstream

_TROUBLE: Final = 2
"""The exit code if it is not known whether the service has drifted: no keys, no answer, a damaged file."""

_NOT_WRITTEN: Final = (
    "record --again: add --diff, which compares the answers and writes nothing. --again writes no recording, because "
    "the later requests of a conversation contain the earlier answers. To record anew, run what asked them: "
    "pytest --converse-record=all, or record FILE"
)


def ask_again(given: argparse.Namespace) -> int:
    """Ask the requests of all named recordings again.

    Return the exit code: 1 if an answer has drifted, 2 if none has, but a request got no answer, otherwise 0.
    """
    if not given.again:
        raise UsageFailed("record --diff needs --again FILE: the recording whose requests are asked again")
    if not given.diff:
        raise UsageFailed(_NOT_WRITTEN)
    if given.file is not None:
        raise UsageFailed(f"record: FILE or --again FILE, not both; write --again {given.file} to ask it again")
    report = DriftReport(lambda: Upstream(given.upstream, given.region), redaction_of("record", given.redact))
    try:
        requests = requests_of(recordings_in(map(Path, given.again)))
        for lines in with_progress(report.ask, requests, "requests"):
            for line in lines:
                say(plain(line))
    except OSError as error:
        raise CommandFailed(f"{error.filename}: {error.strerror or error}", _TROUBLE) from error
    except ConverseHarnessError as error:
        raise CommandFailed(str(error), _TROUBLE) from error
    for line in report.summary():
        say(line, f"{BOLD};{RED if report.drifted or report.unknown else GREEN}")
    return 1 if report.drifted else _TROUBLE if report.unknown else 0
