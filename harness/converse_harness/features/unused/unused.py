"""Remove recordings, and exchanges of recordings, that no test uses."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from converse_harness.errors import DamagedData
from converse_harness.json_values import is_object, parsed_json
from converse_harness.recordings.format import media
from converse_harness.recordings.format.lines import Line
from converse_harness.recordings.format.read import read
from converse_harness.recordings.record.write import store

FORMAT: Final = "converse-use"
"""The value of the member `format`, with which the file begins."""


class Use(NamedTuple):
    """The result of a pytest run: which recordings its tests use.

    `root` is the rootdir and `folder` the folder of recordings. `missing` is the reason why the run did not include
    every test; "" if it included all. `failed` and `skipped` are node ids. `unused` are recordings that no test uses.
    `left` maps recordings to the line numbers of the exchanges that no test plays.
    """

    root: Path
    folder: Path
    missing: str
    failed: Sequence[str]
    skipped: Sequence[str]
    unused: Sequence[str]
    left: Mapping[str, Sequence[int]]


def write_use(path: Path, use: Use) -> None:
    """Write the result of a run to a file. Raises OSError."""
    values = {**use._asdict(), "root": str(use.root), "folder": str(use.folder)}
    path.write_text(json.dumps({"format": FORMAT, **values}, indent=1), encoding="utf-8", newline="\n")


def read_use(path: Path) -> Use:
    """Read the result of a run from a file. Raises OSError, and DamagedData for a file that `write_use` has not
    written.
    """
    values = parsed_json(path.read_bytes())
    if not is_object(values) or values.pop("format", None) != FORMAT or values.keys() != set(Use._fields):
        raise DamagedData(f"{path} is not what `pytest --converse-used={path}` writes. Write it again.")
    root, folder = Path(values.pop("root")), Path(values.pop("folder"))
    return Use(root, folder, **values)


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
    store(path, made)
    folder = path.parent / media.folder_of(path)
    if folder.is_dir():
        remove_media(media.unreferenced(folder))
    return len(session.exchanges) - len(kept)


def media_without_use(within: Path, removed: Collection[Path]) -> list[Path]:
    """Return the media files in a folder of recordings to which no line of their recording refers.

    The media of the recordings `removed` are left out, because they are removed with these. Raises OSError.
    """
    folders = sorted(within.rglob(f"*{media.FOLDER_SUFFIX}"))
    of_removed = {path.parent / media.folder_of(path) for path in removed}
    found = (media.unreferenced(each) for each in folders if each.is_dir() and each not in of_removed)
    return [file for files in found for file in files]


def remove_media(files: Collection[Path]) -> None:
    """Remove media files, and their folders if they are empty then. Raises OSError."""
    for each in files:
        each.unlink(missing_ok=True)
    for folder in {each.parent for each in files}:
        with suppress(OSError):  # `rmdir` fails if the folder is not empty
            folder.rmdir()
