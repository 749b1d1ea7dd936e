"""A recording is put on disk: searched for secrets, its media beside it, whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from converse_harness.recordings.lines import Line
from converse_harness.recordings.media import set_aside
from converse_harness.recordings.secrecy.leaks import refuse
from converse_harness.recordings.writing import text_of, write


def store(path: Path, lines: Sequence[Line]) -> str:
    """Write these lines, redacted before, to a file, and what is media to files beside it; returns the file's text.

    Raises SecretFound and OSError; then what was there is as it was, and nothing new is left behind.
    """
    refuse(lines, path)
    lines, files = set_aside(lines, path)
    text = text_of(lines)
    new: list[Path] = []
    try:
        for name, data in files.items():
            place = path.parent / name
            if not _holds(place, data):
                new += [place] if not place.exists() else []
                write(place, data)
        write(path, text)
    except BaseException:
        for place in new:
            with suppress(OSError):
                place.unlink()
            with suppress(OSError):
                place.parent.rmdir()
        raise
    return text


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() == data
    except OSError:
        return False
