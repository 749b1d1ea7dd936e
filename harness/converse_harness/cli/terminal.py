"""Functions that the commands share: print lines, end with an error, read recordings, and parse `--redact`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeVar

from converse_harness.secrets.mask import mask

if TYPE_CHECKING:
    from converse_harness.recordings.format.exchanges import RecordedSession
    from converse_harness.recordings.redaction import Redaction

_T = TypeVar("_T")
_R = TypeVar("_R")

Arguments = Mapping[str, Mapping[str, Any]]
"""The arguments of a command: a mapping of names (or flags) to the keyword arguments of `add_argument` of argparse."""

BOLD: Final = "1"
DIM: Final = "2"
RED: Final = "31"
GREEN: Final = "32"

_TELL_OF_STYLES: Final = ("WT_SESSION", "TERM", "ANSICON", "ConEmuANSI")
"""Environment variables of Windows' terminals, of which only the old console shows ANSI styles as plain characters."""


class CommandFailed(Exception):
    """Raised if a command cannot continue: `main` then prints the message, and the process exits with `code`."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class UsageFailed(Exception):
    """Raised if arguments contradict each other or name something that does not exist. The exit code is then 2."""


def say(text: str = "", style: str = "", out: TextIO | None = None) -> None:
    """Print a line to `out` (default: stdout) in an ANSI style, and flush `out`.

    A character that the encoding of `out` cannot represent is printed as an escape sequence.
    """
    file = out or sys.stdout
    encoding = file.encoding or "utf-8"
    print(styled(text.encode(encoding, "backslashreplace").decode(encoding), style, file), file=file, flush=True)


def styled(text: str, style: str, out: TextIO | None = None) -> str:
    """Return the text in an ANSI style; unchanged if `out` (default: stdout) is no terminal, or if NO_COLOR is set.

    It is also unchanged on Windows, unless a variable tells that the terminal understands such styles.
    """
    if style and (out or sys.stdout).isatty() and not os.environ.get("NO_COLOR") and _has_styles():
        return f"\033[{style}m{text}\033[0m"
    return text


def _has_styles() -> bool:
    return sys.platform != "win32" or any(map(os.environ.get, _TELL_OF_STYLES))


def say_now(text: str, style: str = "") -> None:
    """Print a line to stdout that begins with the time of day."""
    say(f"{time.strftime('%H:%M:%S')}  {text}", style)


def complain(command: str, text: str) -> None:
    """Print an error or a warning of a command to stderr; the line begins with the name of the command."""
    say(f"converse-harness {command}: {text}", RED, sys.stderr)


_PATIENCE: Final = 2.0
"""If a command takes more seconds than this, its progress is shown."""


def with_progress(work: Callable[[_T], _R], items: Sequence[_T], what: str) -> Iterator[_R]:
    """Do the work for each item, and yield the results.

    If it is slow, the number of the current item is printed to stderr if that is a terminal. `what` are the items.
    """
    started, out = time.monotonic(), sys.stderr
    for number, item in enumerate(items, 1):
        is_shown = out.isatty() and time.monotonic() - started > _PATIENCE
        if is_shown:
            print(f"\r{number} of {len(items)} {what}", end="", file=out, flush=True)
        try:
            result = work(item)
        finally:
            if is_shown:
                print("\r\033[K", end="", file=out, flush=True)
        yield result


def plain(text: str) -> str:
    """Return a text with masked secrets, and with U+FFFD in place of control characters."""
    return "".join(each if each.isprintable() else "\ufffd" for each in mask(text))


def session_in(path: Path, code: int = 1) -> RecordedSession:
    """Read a recording. Events that AWS never sends are accepted.

    Raises CommandFailed, with the exit code `code`, if the file cannot be read.
    """
    from converse_harness.recordings.format.read import DamagedRecording, read

    try:
        return read(path, legal=False)
    except DamagedRecording as error:
        raise CommandFailed(str(error), code) from error
    except OSError as error:
        why = str(error.strerror or error)
        if path.is_dir():
            first = min(path.rglob("*.jsonl"), default=None)
            why = "it is a folder: name a file" + (f", such as {first}" if first else "; no *.jsonl is in it")
        raise CommandFailed(f"{path}: {why}", code) from error


PATHS: Final[Arguments] = {
    "paths": {
        "metavar": "PATH",
        "nargs": "+",
        "type": Path,
        "help": "a recording, or a folder: all *.jsonl files in it",
    },
}


def recordings_in(paths: Iterable[Path]) -> list[Path]:
    """Return each recording at one of the paths, or in a folder at one of the paths, only once.

    Raises UsageFailed for a path without a recording.
    """
    files: dict[Path, None] = {}
    for path in paths:
        found = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path] if path.exists() else []
        if not found:
            raise UsageFailed(f"{path}: {'there is no recording (*.jsonl) in it' if path.exists() else 'is not there'}")
        files |= dict.fromkeys(found)
    return [*files]


REDACT: Final[Arguments] = {
    "--redact": {
        "metavar": "RULE",
        "action": "append",
        "default": [],
        "help": "'PATTERN => REPLACEMENT', a regular expression and what takes the place of what it matches (can be "
        "given again); account ids are replaced and secrets masked without a rule",
    }
}

KEEP_FILES: Final[Arguments] = {
    "--keep-files": {
        "action": "store_true",
        "help": "keep the images, documents, videos and audio of requests in files beside the recording (default: only "
        "length and SHA-256 of each). Of these files, only what can be read as text is searched for secrets",
    }
}

REDACT_ADVICE: Final = "Here that is --redact 'PATTERN => REPLACEMENT'."


def redaction_of(command: str, rules: Sequence[str]) -> Redaction:
    """Make a Redaction from the values of `--redact`. Raises UsageFailed for an invalid rule."""
    from converse_harness.errors import ReplyError
    from converse_harness.recordings.redaction import Redaction

    try:
        return Redaction.of_lines(rules)
    except ReplyError as error:
        raise UsageFailed(f"{command} --redact: {error}") from error
