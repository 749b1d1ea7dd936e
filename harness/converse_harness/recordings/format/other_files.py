"""Files that are found in place of a recording or of its media, as a table: how to know each kind, and what to do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

_START: Final = 512
"""Number of bytes at the start of a file that tell its kind."""


class OtherFile(NamedTuple):
    """A kind of file that is no recording.

    `start` matches the first bytes of such a file, `what` names it, and `advice` says what to do. In `advice`, `{name}`
    is the name of the file.
    """

    start: re.Pattern[bytes]
    what: str
    advice: str


OTHER_FILES: Final = (
    OtherFile(
        re.compile(rb"version https://git-lfs\.github\.com/spec/"),
        "a pointer of Git LFS, which has the content of the file elsewhere",
        "Run `git lfs pull`; in CI, check out with LFS.",
    ),
    OtherFile(
        re.compile(rb"(?:[./]*\.git)?/annex/objects/"),
        "a pointer of git-annex, which has the content of the file elsewhere",
        "Run `git annex get {name}`.",
    ),
    OtherFile(
        re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE),
        "an HTML page, for instance of a login or an error in place of a download",
        "Get the file itself.",
    ),
    OtherFile(re.compile(rb"\x1f\x8b"), "compressed with gzip", "Unpack it with gunzip."),
    OtherFile(re.compile(rb"\x28\xb5\x2f\xfd"), "compressed with zstd", "Unpack it with unzstd."),
    OtherFile(re.compile(rb"PK\x03\x04"), "a zip archive", "Unpack it."),
)
"""The first kind whose start matches counts."""


def other_file(data: bytes, name: object) -> tuple[str, str] | None:
    """Return what a file is in place of a recording, and what to do; None if it is of no kind in OTHER_FILES."""
    start = data[:_START]
    found = next((each for each in OTHER_FILES if each.start.match(start)), None)
    return found and (f"the file is {found.what}.", found.advice.format(name=name))


def broken_link(path: Path) -> tuple[str, str] | None:
    """Return the same for a symbolic link to a file that is not there, as git-annex makes it; None for other files."""
    if not path.is_symlink() or path.exists():
        return None
    target = path.readlink().as_posix()
    advice = (
        f"Run `git annex get {path.name}`." if "annex/objects/" in target else "Restore that file, or remove the link."
    )
    return f"the file is a symbolic link to {target}, which is not there.", advice
