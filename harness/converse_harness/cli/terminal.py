"""Code that the commands share: printing lines, ending with an error, reading recordings, and parsing `--redact`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from converse_harness.secrets import mask

if TYPE_CHECKING:
    from converse_harness.recordings.redaction import Redaction
    from converse_harness.recordings.replies import RecordedSession

Arguments = Mapping[str, Mapping[str, Any]]
"""The arguments of a command. Each name (or its flags) is mapped to the options for `ArgumentParser.add_argument`."""

BOLD: Final = "1"
DIM: Final = "2"
RED: Final = "31"
GREEN: Final = "32"


class CommandFailed(Exception):
    """Raised if the command cannot continue: `main` prints the message, and the process exits with `code`."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class UsageFailed(Exception):
    """Raised if arguments contradict each other or name something that does not exist; the exit code is 2."""


@dataclass(frozen=True, slots=True)
class Printer:
    """Prints lines one by one, in colour on a terminal (unless NO_COLOR is set)."""

    out: TextIO

    def say(self, text: str = "", style: str = "") -> None:
        """Print a line and flush it."""
        encoding = self.out.encoding or "utf-8"
        text = text.encode(encoding, "backslashreplace").decode(encoding)
        print(self.styled(text, style), file=self.out, flush=True)

    def styled(self, text: str, style: str) -> str:
        """The text in this ANSI style, if the output is a terminal and NO_COLOR is not set."""
        if style and self.out.isatty() and not os.environ.get("NO_COLOR"):
            return f"\033[{style}m{text}\033[0m"
        return text

    def now(self, text: str, style: str = "") -> None:
        """Print a line with the time of day."""
        self.say(f"{time.strftime('%H:%M:%S')}  {text}", style)


def complain(command: str, text: str) -> None:
    """Print an error or a warning to stderr, after the command's name."""
    Printer(sys.stderr).say(f"converse-harness {command}: {text}", RED)


def counted(count: int, what: str) -> str:
    """Return the count with the noun `what`; the noun is in the plural unless the count is 1.

    >>> counted(1, "exchange"), counted(2, "exchange")
    ('1 exchange', '2 exchanges')
    """
    return f"{count} {what}{'s' * (count != 1)}"


def plain(text: str) -> str:
    """Mask a text's secrets, and replace its control characters by U+FFFD."""
    return "".join(each if each.isprintable() else "\ufffd" for each in mask(text))


def session_in(path: Path, code: int) -> RecordedSession:
    """Read a recording. The recording may contain events that AWS never sends.

    Raises CommandFailed, with the exit code `code`, if the file cannot be read.
    """
    from converse_harness.recordings.read import DamagedRecording, read

    try:
        return read(path, legal=False)
    except DamagedRecording as error:
        raise CommandFailed(str(error), code) from error
    except OSError as error:
        raise CommandFailed(f"{path}: {_folder(path) or error.strerror or error}", code) from error


def _folder(path: Path) -> str:
    """Return advice for a path that should be a recording but is a folder; "" if the path is not a folder."""
    if not path.is_dir():
        return ""
    first = next(iter(sorted(path.rglob(f"*{_SUFFIX}"))), None)
    return "it is a folder: name a file" + (f", such as {first}" if first else f"; no *{_SUFFIX} is in it")


_SUFFIX: Final = ".jsonl"

PATHS: Final[Arguments] = {
    "paths": {
        "metavar": "PATH",
        "nargs": "+",
        "type": Path,
        "help": "a recording, or a folder: all *.jsonl files in it",
    },
}


def recordings_in(paths: Iterable[Path]) -> list[Path]:
    """Return the recordings that the paths name, each once. Raises UsageFailed for a path without a recording."""
    files: dict[Path, None] = {}
    for path in paths:
        found = sorted(path.rglob(f"*{_SUFFIX}")) if path.is_dir() else [path] if path.exists() else []
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

REDACT_ADVICE: Final = "Here that is --redact 'PATTERN => REPLACEMENT'."


def redaction_of(command: str, rules: Sequence[str]) -> Redaction:
    """Build a redaction from the rules of `--redact`. Raises UsageFailed for an invalid rule."""
    from converse_harness.errors import ReplyError
    from converse_harness.recordings.redaction import Redaction

    try:
        return Redaction.of_lines(rules)
    except ReplyError as error:
        raise UsageFailed(f"{command} --redact: {error}") from error
