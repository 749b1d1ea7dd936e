"""`converse-harness prune`: remove recordings and exchanges that no test uses."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from converse_harness.cli.terminal import DIM, Arguments, CommandFailed, UsageFailed, say
from converse_harness.features.unused.unused import (
    Use,
    media_without_use,
    named_in_sources,
    read_use,
    remove_exchanges,
    remove_media,
)
from converse_harness.recordings.names import usual_path, why_not_played
from converse_harness.recordings.session import remove_recording
from converse_harness.shell import joined, words
from converse_harness.words import counted, first_few, plural

DESCRIPTION: Final = (
    "Remove recordings that no test uses, exchanges that no test plays (--converse-record=new_episodes keeps them), "
    "and media files that no recording names. It runs the tests with pytest, without a network, prints what they do "
    "not use, and asks before it removes that. "
    "Nothing is removed if a test failed or was skipped, or if not all tests ran: what they use is not known then. A "
    "recording whose file name stands in a source file of the project is kept. Example: `converse-harness prune "
    "--dry-run`. The exit code is 1 if it is not known what the tests use."
)
ARGUMENTS: Final[Arguments] = {
    "folder": {
        "metavar": "DIR",
        "nargs": "?",
        "type": Path,
        "help": "only recordings in this folder (default: the folder of recordings of the project)",
    },
    "--dry-run": {"action": "store_true", "help": "print what would be removed, and remove nothing"},
    "--yes": {"action": "store_true", "help": "remove without asking"},
    "--pytest": {"metavar": "ARGS", "default": "", "help": "arguments for pytest, as '-n 4'"},
    "--used": {
        "metavar": "FILE",
        "type": Path,
        "help": "do not run the tests: read what `pytest --converse-used=FILE` wrote",
    },
    "--despite-skips": {
        "action": "store_true",
        "help": "remove although tests were skipped, which may use recordings that no other test uses",
    },
}

_SHOWN: Final = 5
_STDERR: Final = 2
"""The file descriptor to which pytest prints. Therefore the standard output contains only what this command prints."""


def run(given: argparse.Namespace) -> int:
    """Print the recordings, exchanges and media files that nothing uses, and remove them; return the exit code 0.

    Raises CommandFailed if the run of the tests does not show which recordings they use. Raises UsageFailed for a
    folder that does not contain the tests' recordings.
    """
    if given.folder is not None and not given.folder.is_dir():
        raise UsageFailed(f"prune: the folder {given.folder} does not exist")
    use = _use(given)
    _check(use, despite_skips=given.despite_skips)
    within = Path(os.path.realpath(given.folder or use.folder))
    if not within.is_relative_to(os.path.realpath(use.folder)):
        raise UsageFailed(f"prune {given.folder}: the tests' recordings are in {use.folder}; prune removes no others.")
    unused, unplayed, kept = _plan(use, within)
    for path, why in kept.items():
        say(f"kept    {_shown(path)}: {why}")
    for path in unused:
        say(f"unused  {_shown(path)}")
    for path, lines in unplayed.items():
        places = f"{plural(len(lines), 'line')} {', '.join(map(str, lines))}"
        say(f"unused  {_shown(path)}: {counted(len(lines), 'exchange')} ({places})")
    media = media_without_use(within, unused)
    for path in media:
        say(f"unused  {_shown(path)}: no line of its recording names it")
    counts = {"recording": len(unused), "exchange": sum(map(len, unplayed.values())), "media file": len(media)}
    *others, last = [counted(count, noun) for noun, count in counts.items() if count] or [""]
    what = " and ".join(filter(None, [", ".join(others), last]))
    if not what:
        say("Nothing to remove.")
        return 0
    if given.dry_run or not (given.yes or _agrees(what)):
        say(f"Nothing was removed; --yes removes {what}.")
        return 0
    try:
        for path in unused:
            remove_recording(path, use.folder)
        for path, lines in unplayed.items():
            remove_exchanges(path, lines)
        remove_media(media)
    except OSError as error:
        raise CommandFailed(
            f"{error.filename}: {error.strerror or error}; what stands before it in the list above was removed. Mend "
            "this, and run the command again."
        ) from error
    say(f"Removed {what}.")
    return 0


def _use(given: argparse.Namespace) -> Use:
    if given.used is not None:
        if given.pytest:
            raise UsageFailed("prune: --used reads what a run wrote, and --pytest is for a new run; give one of them.")
        return read_use(given.used)
    with tempfile.TemporaryDirectory(prefix="converse-prune-") as folder:
        path = Path(folder, "used.json")
        command = [sys.executable, "-m", "pytest", "--converse-record=none", f"--converse-used={path}"]
        own = words(given.pytest)
        say(f"$ {joined(['pytest', command[3], *own])}", DIM, sys.stderr)
        code = subprocess.run([*command, *own], stdin=subprocess.DEVNULL, stdout=_STDERR, check=False).returncode
        if not path.exists():
            raise CommandFailed(
                f"pytest ended with {code} and did not write what the tests use; nothing is removed. Is there a folder "
                "of recordings (the ini setting converse_recordings), and does `pytest` pass here?"
            )
        return read_use(path)


def _check(use: Use, *, despite_skips: bool) -> None:
    """Raise CommandFailed if tests failed, were skipped or did not run, because these may use more recordings.

    With `despite_skips`, skipped tests are no reason.
    """
    if use.missing:
        raise CommandFailed(f"{use.missing}; nothing is removed, because other tests may use more.")
    if use.failed:
        raise CommandFailed(
            f"{counted(len(use.failed), 'test')} failed ({first_few(use.failed, _SHOWN)}); nothing is removed, because "
            "a test that fails may have used more."
        )
    if use.skipped and not despite_skips:
        raise CommandFailed(
            f"{counted(len(use.skipped), 'test')} skipped or expected to fail ({first_few(use.skipped, _SHOWN)}); "
            "nothing is removed, because they may use more. --despite-skips removes what the others do not use."
        )


def _plan(use: Use, within: Path) -> tuple[list[Path], dict[Path, Sequence[int]], dict[Path, str]]:
    """Return the recordings to remove, the exchanges to remove from other recordings, and the recordings to keep.

    An exchange is given by the line at which it begins. No test of the run used the recordings to keep; each is mapped
    to the reason why it is kept.
    """

    def is_within(path: Path) -> bool:
        return Path(os.path.realpath(path)).is_relative_to(within) and path.exists()

    unused = [path for path in map(Path, use.unused) if is_within(path)]
    named = named_in_sources(unused, use.root)
    kept: dict[Path, str] = {}
    for path in unused:
        usual = usual_path(path)
        if path in named:
            kept[path] = f"{named[path]} names it"
        elif usual != path and usual.exists() and usual not in unused:
            kept[path] = f"{why_not_played(path)}, and {usual.name} is in use"
    lines = {path: lines for name, lines in use.left.items() if lines and is_within(path := Path(name))}
    return [path for path in unused if path not in kept], lines, kept


def _shown(path: Path) -> str:
    try:
        return os.path.relpath(path)
    except ValueError:  # the path is on another drive of Windows
        return str(path)


def _agrees(what: str) -> bool:
    """Ask the user at the terminal, and return whether the user agrees to remove `what`; False without a terminal."""
    return (
        sys.stdin.isatty() and sys.stdout.isatty() and input(f"Remove {what}? [y/N] ").strip().lower() in ("y", "yes")
    )
