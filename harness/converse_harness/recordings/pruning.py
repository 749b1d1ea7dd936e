"""Remove recordings, and exchanges of recordings, that no test uses."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from converse_harness.recordings import media
from converse_harness.recordings.choices import FAILED_SUFFIX, SUFFIX
from converse_harness.recordings.lines import Line
from converse_harness.recordings.read import read
from converse_harness.recordings.use import FORMAT
from converse_harness.recordings.write import store

_SOURCES: Final = re.compile(
    r"\.(cfg|go|ini|java|[cm]?[jt]sx?|json|kt|md|pyi?|rb|rs|sh|toml|txt|ya?ml)\Z", re.IGNORECASE
)
"""Matches the suffix of a file that is searched for the names of recordings."""

_NOT_SEARCHED: Final = re.compile(r"\.(?!github\Z).*|__pycache__|node_modules|site-packages|build|dist")
"""Matches the name of a folder that is not searched."""

_LARGEST: Final = 2_000_000
"""The size in bytes of the largest file that is searched."""

_BEGINNING: Final = 40
"""A list of used recordings is not searched. It is recognised by FORMAT within this number of bytes at its beginning.
"""


def named_in_sources(paths: Collection[Path], root: Path) -> dict[Path, str]:
    """Map each recording to the place, as `file:line`, where a source file below `root` contains the recording's file
    name.

    Recordings that no source file names are left out. A test in another language, or a test that starts a server, may
    use a recording without pytest's knowledge.
    """
    names = {path.name.encode(): path for path in paths}
    found: dict[Path, str] = {}
    for file in _sources(root) if names else ():
        data = b""
        with suppress(OSError):  # a file that cannot be read here cannot be read by a test either
            data = file.read_bytes()
        if FORMAT.encode() in data[:_BEGINNING]:
            continue  # a list written by `--converse-used` contains the name of every recording
        for name, path in names.items():
            at = data.find(name)
            if at >= 0 and path not in found:
                line = data.count(b"\n", 0, at) + 1
                found[path] = f"{file.relative_to(root).as_posix()}:{line}"
    return found


def _sources(root: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not _NOT_SEARCHED.fullmatch(name))
        if "pyvenv.cfg" in files:
            folders.clear()
            continue
        for name in sorted(files):
            path = Path(folder, name)
            with suppress(OSError):  # `stat` fails for a link to a missing file
                if _SOURCES.search(name) and path.stat().st_size <= _LARGEST:
                    yield path


def usual_path(path: Path) -> Path:
    """For the recording of a failed test, return the path of the test's usual recording.

    Any other path is returned unchanged.
    """
    name = path.name.removesuffix(FAILED_SUFFIX)
    return path if name == path.name else path.with_name(name + SUFFIX)


def remove_exchanges(path: Path, lines: Collection[int]) -> int:
    """Remove the exchanges whose calls are on the lines with these numbers, and return how many were removed.

    Media files that no other exchange uses are removed, too. Raises OSError or DamagedRecording; then the file is
    unchanged.
    """
    session = read(path, legal=False)
    kept = [exchange for exchange in session.exchanges if exchange.at not in lines]
    made: list[Line] = [session.header]
    for number, exchange in enumerate(kept, 1):
        call, *answer = exchange.lines()
        made += [{**call, "call": number}, *answer]
    text = store(path, made)
    folder = path.parent / media.folder_of(path)
    for each in sorted(folder.iterdir()) if folder.is_dir() else ():
        if f'"{folder.name}/{each.name}"' not in text:
            each.unlink()
    with suppress(OSError):  # `rmdir` fails if the folder is missing or not empty
        folder.rmdir()
    return len(session.exchanges) - len(kept)
