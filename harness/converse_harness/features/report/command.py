"""`converse-harness show --html`: a recording as a page of HTML."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from converse_harness.cli.show import about, check_call
from converse_harness.cli.terminal import CommandFailed, UsageFailed, say, session_in
from converse_harness.features.report.recordings import views_of_exchanges
from converse_harness.features.report.view import PageSection, call_html, document, joined, overview_html
from converse_harness.recordings.record.write import write
from converse_harness.secrets.mask import mask
from converse_harness.words import counted

_PRINTED: Final = "-"
"""The value of `--html` without a file name: the page is printed."""


def write_page(given: argparse.Namespace) -> int:
    """Write or print a page of HTML with a recording, or with one call of it; return the exit code 0.

    Raises UsageFailed if the recording has no call with the number of `--call`, if options contradict each other, or if
    the file to write is a folder. Raises CommandFailed if the file cannot be written.
    """
    if given.stable:
        raise UsageFailed("show --html: it came with --stable, which is text. Give one of them.")
    session = session_in(given.file)
    number: int | None = given.call
    check_call(number, given.file, len(session.exchanges))
    views = [*views_of_exchanges(session.exchanges)]
    if number is None:
        parts = [overview_html(views), *(call_html(view, views[:at]) for at, view in enumerate(views))]
    else:  # the overview is left out, because its links would lead nowhere
        parts = [call_html(views[number - 1])]
    section = PageSection(counted(len(views), "call"), joined(parts), "calls")
    page = document(mask(str(given.file)), [section], lead=mask(about(session)) or None)
    if given.html == _PRINTED:
        say(page.removesuffix("\n"))
        return 0
    out = Path(given.html)
    if out.is_dir():
        raise UsageFailed(f"show --html {out}: it is a folder; name a file, such as {out / 'recording.html'}")
    try:
        write(out, page)
    except OSError as error:
        raise CommandFailed(f"{out}: {error.strerror or error}") from error
    say(f"wrote {out} ({counted(len(parts) - (number is None), 'call')}, {len(page.encode()):,} bytes)")
    return 0
